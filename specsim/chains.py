"""Exact laws of chain rules on toy models, by summing over every drafted block. Fractions stay exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from specsim._dist import normalize_or, positive_part
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
    law: Law = {}
    for x in itertools.product(range(target[()].shape[-1]), repeat=gamma):
        weight, _, joint = _block(rule, target, draft, x, prefix)
        for n, y in zip(*np.nonzero(joint), strict=True) if weight else ():
            out = (*x[:n], int(y))
            law[out] = law.get(out, 0) + weight * joint[n, y]
    return law


def _block(
    rule: ModuleType, target: Table, draft: Table, x: tuple[int, ...], prefix: tuple[int, ...] = ()
) -> tuple[Array, Any, Array]:
    """(probability of the drafts x, plan, joint law of (kept, next token) given them)."""
    vocab, gamma = target[()].shape[-1], len(x)
    q = np.array([draft[prefix + x[:i]] for i in range(gamma)]).reshape(gamma, vocab)
    weight = math.prod([q[i, t] for i, t in enumerate(x)])
    if not weight:
        return 0, None, None
    plan = rule.prepare(np.array([target[prefix + x[:i]] for i in range(gamma + 1)]), q)
    return weight, plan, rule.transition(plan, np.array(x, dtype=np.int64))


def strong_law(rule: ModuleType, target: Table, draft: Table, gamma: int) -> tuple[Law, Array]:
    """One block continued to gamma+1 tokens: (joint law of the text, E[drafts kept]).

    Equal to `target_law(target, gamma + 1)` exactly when the rule is lossless; one-token marginals are not enough. The
    continuation is the target's own, unless the rule says otherwise.
    """
    law: Law = {}
    kept = 0
    for x in itertools.product(range(target[()].shape[-1]), repeat=gamma):
        weight, plan, joint = _block(rule, target, draft, x)
        for n, y in zip(*np.nonzero(joint), strict=True) if weight else ():
            kept += weight * joint[n, y] * int(n)
            state = after_block(rule, plan, np.array(x, dtype=np.int64), n, y)
            for text, mass in _continued(target, draft, (*x[:n], int(y)), state, gamma + 1):
                law[text] = law.get(text, 0) + weight * joint[n, y] * mass
    return law, kept


def after_block(rule: ModuleType, plan: Any, drafts: Array, kept: Array, token: Array) -> tuple[Array, Array]:
    """(above, below): the next token comes from (above p - below q)+ normalised; (1, 0), p itself, for most rules."""
    if hasattr(rule, "continuation"):
        return tuple(w[..., 0] for w in rule.continuation(plan, drafts, np.asarray(kept), np.asarray(token)))
    return 1, 0


def _continued(target: Table, draft: Table, text: tuple[int, ...], state: Any, length: int) -> Iterator[Any]:
    """Every continuation of a text to `length` tokens, with its probability."""
    if len(text) == length:
        yield text, 1
        return
    (above, below), p = state, target[text]
    q = draft.get(text, 0 * p)  # past the block the target is itself again: its last token has no draft law
    law = normalize_or(positive_part(above * p - below * q), p) if below and len(text) < length - 1 else p
    for y in np.flatnonzero(law):
        for whole, mass in _continued(target, draft, (*text, int(y)), (above * p[y], below * q[y]), length):
            yield whole, law[y] * mass


def expected_blocks(rule: ModuleType, target: Table, draft: Table, gamma: int, length: int) -> Array:
    """Expected number of target calls to write `length` tokens, by recursion over every prefix a block can end at."""

    def remaining(prefix: tuple[int, ...]) -> Array:
        left = length - len(prefix)
        if left <= 0:
            return 0
        law = blocks(rule, target, draft, min(gamma, left - 1), prefix)
        return 1 + sum(weight * remaining(prefix + out) for out, weight in law.items())

    return remaining(())
