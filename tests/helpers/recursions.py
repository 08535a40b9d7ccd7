"""Tokens accepted by tree rules and block verification, by recursions written from the theory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from specsim import discover, trees
from specsim.exact.chain import target_law
from specsim.exact.small_laws import rational_table

Array = Any
Text = tuple[int, ...]
Call = tuple[Any, Any]  # Pr[called], weight
Verifier = Callable[[str, Array, Array, list[int], Any], list[Call]]
TREE, CHAIN = discover.rules("tree"), discover.rules("chain")
TOY_P, TOY_Q = (np.array([Fraction(a, 3), Fraction(3 - a, 3)]) for a in (1, 2))


def tables(vocab: int, depth: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([vocab, depth, seed])
    return rational_table(rng, vocab, depth), rational_table(rng, vocab, depth)


# What each rule does with the children of one node, from theory/verification.md 1, 5.2 and 5.3.
def walk(scheme: str, p: Array, q: Array, drawn: list[int], a: Any) -> list[Call]:
    """Tokenwise: the step rule's token is called, with weight 1."""
    step = discover.find("step", TREE["tokenwise"].STEPS[scheme])
    law = step.transition(step.prepare(p, q, len(drawn)), np.array(drawn))
    return [(law[y], 1) for y in dict.fromkeys(drawn)]


def follow(scheme: str, p: Array, q: Array, drawn: list[int], a: Any) -> list[Call]:
    """Target only: the target's own token is called."""
    return [(p[y], 1) for y in dict.fromkeys(drawn)]


def traverse(scheme: str, p: Array, q: Array, drawn: list[int], a: Any) -> list[Call]:
    """One child after the other, what is left of p, of q and of the weight changing with every failure."""
    calls, called = [], Fraction(1)
    for y in dict.fromkeys(drawn):
        weight = min(Fraction(1), a * p[y] / q[y])
        calls.append((called, weight))
        called *= 1 - weight
        over = np.maximum(a * p - q, 0)
        mass = over.sum()
        a = 1 if a == 1 else mass / (mass + 1 - a)
        p = over / mass if mass else p
        q = np.where(np.arange(len(q)) == y, 0, q)
        q = q / q.sum() if q.sum() else q
    return calls


def lift(scheme: str, p: Array, q: Array, drawn: list[int], a: Any) -> list[Call]:
    """The step rule's plan for the target scaled by a; a child's weight is conditional on those before it failing."""
    step = discover.find("step", TREE["lifted"].STEPS[scheme])
    plan = step.prepare(np.append(a * p, 1 - a), np.append(q, Fraction(0)), len(drawn))
    law, calls, left = step.transition(plan, np.array(drawn)), [], Fraction(1)
    for y in dict.fromkeys(drawn):
        calls.append((left, law[y] / left if left else Fraction(0)))
        left -= law[y]
    return calls


VERIFIERS: dict[str, Verifier] = {"tokenwise": walk, "target_only": follow, "traversal": traverse, "lifted": lift}
RECURSIVE = [(name, s) for name in VERIFIERS for s in TREE[name].CHILDREN if s != "beam"]


def siblings(scheme: str, q: Array, count: int) -> Iterator[tuple[list[int], Any]]:
    """Yield the tuples of siblings that can be drawn after a text, with their probabilities."""
    if scheme == "deterministic":
        order = sorted(range(len(q)), key=lambda y: -q[y])[:count]
        yield [y for y in order if q[y]], 1
        return
    law = discover.find("draft", "iid" if scheme == "paths" else scheme)
    for drawn in itertools.product(np.flatnonzero(q).tolist(), repeat=count):
        chance = law.probability(q, np.array(drawn), count)
        if chance:
            yield list(drawn), chance


def recursion(verifier: Verifier, target: Any, draft: Any, shape: Any, scheme: str) -> Fraction:
    """G of the empty text."""
    below = trees.children(shape)
    levels = int(trees.depths(shape).max())

    def down(text: Text, place: Any, a: Any) -> Fraction:
        """place: the node's row, or how many paths begin with the text."""
        count = (place if len(text) < levels else 0) if scheme == "paths" else len(below[place])
        total = Fraction(0)
        for drawn, chance in siblings(scheme, draft[text], count) if count else ():
            for y, (called, weight) in zip(
                dict.fromkeys(drawn), verifier(scheme, target[text], draft[text], drawn, a), strict=True
            ):
                where = drawn.count(y) if scheme == "paths" else below[place][drawn.index(y)] + 1
                if called and weight:
                    total += chance * called * (weight + down((*text, y), where, weight))
        return total

    return down((), sum(parent < 0 for parent in shape) if scheme == "paths" else 0, Fraction(1))


def block_recursion(target: Any, draft: Callable[[Text], Array], gamma: int) -> Fraction:
    """A(xy) = min(Q(xy), A(x) p(y|x)), the largest that losslessness allows (verification.md 2.1); E[n] = sum A."""

    def down(text: Text, drafted: Any, kept: Any) -> Fraction:
        if len(text) == gamma:
            return Fraction(0)
        p, q, total = target[text], draft(text), Fraction(0)
        for y in range(len(q)):
            both = drafted * q[y], kept * p[y]
            total += min(both) + (down((*text, y), both[0], min(both)) if min(both) else 0)
        return total

    return down((), Fraction(1), Fraction(1))


def capped_recursion(target: Any, draft: Callable[[Text], Array], gamma: int) -> Fraction:
    """E[n] = sum E_q min(1, r), r the joint ratio over the largest before it, 1 at least (verification.md 2.3)."""

    def down(text: Text, drawn: Any, ratio: Any, largest: Any) -> Fraction:
        if len(text) == gamma:
            return Fraction(0)
        p, q, total = target[text], draft(text), Fraction(0)
        for y in range(len(q)):
            if q[y]:
                here, mass = ratio * p[y] / q[y], drawn * q[y]
                total += mass * min(Fraction(1), here / largest) + down((*text, y), mass, here, max(largest, here))
        return total

    return down((), Fraction(1), Fraction(1), Fraction(1))


def highest(target: Any, draft: Any, count: int, gamma: int) -> Callable[[Text], Array]:
    """The law of the highest of K paths, counted over all K-tuples of paths (verification.md 5.3, GBV)."""
    # The law of whole paths, and the order by which the highest is chosen.
    vocab, mass = len(target[()]), {x: m for x, m in target_law(draft, gamma).items() if m}

    def rank(x: Text) -> list[Any]:
        """The ratios p/q along a path, ties by token."""
        laws = [(target[x[:i]][y], draft[x[:i]][y]) for i, y in enumerate(x)]
        return [(p / q, y) for (p, q), y in zip(laws, x, strict=True)]

    # The probability that the highest path begins with each text.
    law: dict[Text, Fraction] = {}
    for tuple_of in itertools.product(mass, repeat=count):
        top, chance = max(tuple_of, key=rank), Fraction(1)
        for x in tuple_of:
            chance *= mass[x]
        for i in range(gamma + 1):
            law[top[:i]] = law.get(top[:i], Fraction(0)) + chance

    def rows(text: Text) -> Array:
        """The next-token law of the highest path; the draft's after texts that it never begins with."""
        if not law.get(text):
            return draft[text]
        return np.array([law.get((*text, y), Fraction(0)) / law[text] for y in range(vocab)])

    return rows
