"""Exact laws of chain rules on toy models, by summing over every drafted block. Fractions stay exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from types import ModuleType

import numpy as np

from specsim.types import Array

Table = Mapping[tuple[int, ...], Array]  # prefix of token ids -> next-token law (V,)
Law = dict[tuple[int, ...], Array]


def target_law(table: Table, length: int) -> Law:
    """Law of the first `length` tokens under ancestral sampling."""
    vocab = table[()].shape[-1]
    return {
        text: math.prod([table[text[:i]][y] for i, y in enumerate(text)])
        for text in itertools.product(range(vocab), repeat=length)
    }


def blocks(rule: ModuleType, target: Table, draft: Table, gamma: int, prefix: tuple[int, ...] = ()) -> Law:
    """Law of (kept drafts..., next token) of one block after `prefix`."""
    vocab = target[()].shape[-1]
    law: Law = {}
    for x in itertools.product(range(vocab), repeat=gamma):
        q = np.array([draft[prefix + x[:i]] for i in range(gamma)]).reshape(gamma, vocab)
        weight = math.prod([q[i, t] for i, t in enumerate(x)])
        if not weight:
            continue
        p = np.array([target[prefix + x[:i]] for i in range(gamma + 1)])
        joint = rule.transition(rule.prepare(p, q), np.array(x, dtype=np.int64))
        for n, y in zip(*np.nonzero(joint), strict=True):
            out = (*x[:n], int(y))
            law[out] = law.get(out, 0) + weight * joint[n, y]
    return law


def strong_law(rule: ModuleType, target: Table, draft: Table, gamma: int) -> tuple[Law, Array]:
    """One block continued to gamma+1 tokens by the target: (joint law of the text, E[drafts kept]).

    Equal to `target_law(target, gamma + 1)` exactly when the rule is lossless; one-token marginals are not enough.
    """
    vocab = target[()].shape[-1]
    law: Law = {}
    kept = 0
    for out, weight in blocks(rule, target, draft, gamma).items():
        kept += weight * (len(out) - 1)
        for rest in itertools.product(range(vocab), repeat=gamma + 1 - len(out)):
            text = out + rest
            tail = math.prod([target[text[:i]][text[i]] for i in range(len(out), gamma + 1)])
            law[text] = law.get(text, 0) + weight * tail
    return law, kept


def expected_blocks(rule: ModuleType, target: Table, draft: Table, gamma: int, length: int) -> Array:
    """Expected number of target calls to write `length` tokens, by recursion over every prefix a block can end at."""

    def remaining(prefix: tuple[int, ...]) -> Array:
        left = length - len(prefix)
        if left <= 0:
            return 0
        law = blocks(rule, target, draft, min(gamma, left - 1), prefix)
        return 1 + sum(weight * remaining(prefix + out) for out, weight in law.items())

    return remaining(())
