"""Lossy: of equal siblings only one is tried, though they were drawn independently, with replacement."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, tree, random):
    node, path = -1, []
    while True:
        law, draft, seen = p[node + 1], q[node + 1], set()
        for child in np.flatnonzero(np.asarray(tree.parents) == node):
            x = int(tree.tokens[child])
            if x in seen:
                continue
            seen.add(x)
            if random.random() * draft[x] < law[x]:
                break
            law = np.maximum(law - draft, 0)
            law = law / law.sum() if law.sum() > 0 else draft
        else:
            return path, random.choice(len(law), p=law)
        path.append(int(child))
        node = int(child)


def subject():
    return Subject("equal_siblings_once", "tree", verify)
