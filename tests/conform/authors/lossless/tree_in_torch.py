"""Lossless: SpecInfer's recursive rejection on a tree, in torch, with a children's dictionary."""

from collections import defaultdict

import torch

from specsim.conform import Subject


def verify(p, q, tree):
    children = defaultdict(list)
    for node, parent in enumerate(tree.parents):
        children[int(parent)].append(node)
    path, node = [], -1
    while True:
        law, draft = p[node + 1].clone(), q[node + 1]
        for child in children[node]:
            x = tree.tokens[child]
            if torch.rand((), dtype=p.dtype) <= law[x] / draft[x]:
                break
            law = (law - draft).clamp(min=0)
            law = law / law.sum()
        else:
            return torch.tensor(path, dtype=torch.int32), law.multinomial(1)
        path.append(child)
        node = child


def subject():
    return Subject("tree_in_torch", "tree", verify, arrays="torch", randomness="global")
