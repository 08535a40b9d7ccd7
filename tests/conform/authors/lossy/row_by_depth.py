"""Lossy: rows of a tree are looked up by depth: below the second sibling stands the law of the first."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, tree, random):
    node, path = -1, []
    while True:
        level = [i for i in range(len(tree.parents)) if len(path) == depth(tree, i)]
        row = 0 if node < 0 else min(i for i in range(len(tree.parents)) if depth(tree, i) == len(path) - 1) + 1
        law, draft = p[row], q[row]
        for child in (i for i in level if tree.parents[i] == node):
            x = tree.tokens[child]
            if random.random() * draft[x] < law[x]:
                break
            law = np.maximum(law - draft, 0)
            law = law / law.sum() if law.sum() > 0 else draft
        else:
            return path, random.choice(len(law), p=law)
        path.append(child)
        node = child


def depth(tree, node):
    count = -1
    while node >= 0:
        node, count = tree.parents[node], count + 1
    return count


def subject():
    return Subject("row_by_depth", "tree", verify)
