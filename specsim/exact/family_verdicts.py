"""Verdicts on step, chain, coupled and tree rules, by enumeration of small cases; each returns a `Guarantee`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import arrays
from specsim.discover import Rule
from specsim.draft import distinct
from specsim.exact import coupled
from specsim.exact.chain import strong_law, target_law
from specsim.exact.small_laws import rational_laws, rational_table
from specsim.exact.step import enumerate_step
from specsim.exact.tree import continued_law, drawn_trees, kept_law
from specsim.exact.verdicts import ROUNDING, Guarantee, on_rationals, verdict
from specsim.trees import topology
from specsim.types import Array, Draws, TokenTree
from specsim.verify.lookup import step_argument, tree_rule

# Number of random tables for each shape and vocabulary, by scheme; other schemes have one. Of paths
# there are three, for two of them show no difference for a rule that does not merge equal
# beginnings.
_TABLES = {"paths": 3}
# Shapes of trees by scheme: parents, or (width, depth) of beams; other schemes have those of "iid".
_SHAPES: dict[str, list[tuple[int, ...]]] = {
    "iid": [(-1, 0), (-1, -1), (-1, -1, 0, 1)],
    "paths": [(-1, 0), (-1, -1), (-1, 0, -1, 2)],
    "beam": [(1, 2), (2, 1), (2, 2)],
    "distinct": [(-1, -1), (-1, -1, 0, 0)],
}


@lru_cache
def step_verdict(rule: ModuleType, num_drafts: int, one_hot: bool, random_number: bool) -> Guarantee:
    """Return the verdict on a step rule, over all pairs of laws on two and three tokens with small denominators.

    With `random_number` the number of draws is random, as in scheme "distinct".
    """
    is_exact = discover.facts(rule).exact
    cases, worst, witness = 0, Fraction(0), ""
    for vocab in (2, 3):
        # All pairs (p, q) as rows.
        laws = rational_laws(vocab, 3)
        targets = np.array([row for row in laws if max(row) == 1]) if one_hot else laws
        p, q = (w.reshape(-1, vocab) for w in np.broadcast_arrays(targets[:, None], laws[None]))
        if not is_exact:
            p, q = p.astype(np.float64), q.astype(np.float64)

        # The distance of the rule's law from p.
        count = distinct.draws(q, num_drafts, limit=3) if random_number else num_drafts
        law, _ = enumerate_step(rule, p, q, count)
        bias = arrays.positive_part(p - law).sum(axis=-1)
        cases += len(bias)
        if bias.max() > max(worst, 0 if is_exact else ROUNDING):
            k = int(np.argmax(bias))
            worst, witness = Fraction(bias[k]), f"p = {_show(p[k])}, q = {_show(q[k])} gives {_show(law[k])}"
    return verdict(rule, worst, cases, witness)


@lru_cache
def chain_verdict(rule: ModuleType, one_hot: bool) -> Guarantee:
    """Return the verdict on a chain rule: blocks continued to gamma + 1 tokens, on random tables."""
    rng, worst, witness = np.random.default_rng(0), Fraction(0), ""
    runnable = on_rationals(rule)
    # Five random tables of each size.
    sizes = [(vocab, gamma) for vocab in (2, 3) for gamma in (1, 2) for _ in range(5)]
    for vocab, gamma in sizes:
        # The distance of the rule's law of texts from the target's.
        target, draft = _tables(rng, vocab, gamma, one_hot)
        law, _ = strong_law(runnable, target, draft, gamma)
        goal = target_law(target, gamma + 1)
        bias = sum((max(goal[text] - law.get(text, Fraction(0)), Fraction(0)) for text in goal), Fraction(0))
        if bias > max(worst, 0 if discover.facts(rule).exact else ROUNDING):
            worst, witness = Fraction(bias), f"a table with {vocab} tokens at gamma = {gamma}"
    return verdict(rule, worst, len(sizes), witness)


@lru_cache
def coupled_verdict(rule: ModuleType, num_drafts: int, one_hot: bool) -> Guarantee:
    """Return the verdict on a coupled rule, over all pairs of laws on two and three tokens with small denominators."""
    cases, worst, witness = 0, Fraction(0), ""
    for vocab, denominator in ((2, 3), (3, 2)):
        # All pairs (p, q) whose entries are multiples of 1 / denominator.
        laws = rational_laws(vocab, denominator)
        targets = [row for row in laws if not one_hot or max(row) == 1]
        for p, q in itertools.product(targets, laws):
            law = coupled.token_law(rule, p, q, num_drafts)
            bias = sum((max(goal - mass, Fraction(0)) for goal, mass in zip(p, law, strict=True)), Fraction(0))
            cases += 1
            if bias > worst:
                worst, witness = bias, f"p = {_show(p)}, q = {_show(q)} gives {_show(law)}"
    return verdict(rule, worst, cases, witness, exact=True)


@lru_cache
def tree_verdict(rule: ModuleType, scheme: str | None, one_hot: bool, step: Rule | None) -> Guarantee:
    """Return the verdict on a tree rule: texts of three tokens, on random tables, for every scheme and small shape."""
    known = [*discover.names("draft"), *topology.SCHEMES]
    if scheme not in (None, *known):
        raise ValueError(f"scheme {scheme!r} is unknown; schemes of trees: {', '.join(known)}")
    # The schemes to try; a scheme that the rule does not verify is refused.
    if scheme is not None:
        tree_rule(rule, scheme)
    step_options = step_argument(rule, step)
    if scheme is not None:
        schemes: list[str] = [scheme]
    elif step_options:
        schemes = verified_schemes(rule, step_options)
    else:
        schemes = list(discover.facts(rule).own)

    # Random tables for each scheme, shape and vocabulary.
    rng, worst, witness, cases = np.random.default_rng(0), Fraction(0), "", 0
    runnable = on_rationals(rule)
    for tree_scheme in schemes:
        shapes = _SHAPES.get(tree_scheme, _SHAPES["iid"])
        repeats = range(_TABLES.get(tree_scheme, 1))
        options = {"draws": _one_or_two} if tree_scheme == "distinct" else {}
        for shape, vocab, _ in itertools.product(shapes, (2, 3), repeats):
            # The law of accepted drafts and next token, continued by the target.
            target, draft = _tables(rng, vocab, 2, one_hot)
            trees = drawn_trees(draft.__getitem__, shape, tree_scheme, **options)
            law = kept_law(runnable, target.__getitem__, trees, **step_options, **options)
            texts = continued_law(law, target.__getitem__, 3)
            bias = sum((max(goal - mass, Fraction(0)) for _, mass, goal in texts), Fraction(0))
            cases += 1
            if bias > max(worst, 0 if discover.facts(rule).exact else ROUNDING):
                worst, witness = Fraction(bias), f"{tree_scheme} trees of shape {shape} with {vocab} tokens"
    return verdict(rule, worst, cases, witness)


def verified_schemes(rule: ModuleType, step_options: Mapping[str, Any]) -> list[str]:
    """Return the schemes (CHILDREN) of a tree rule that it verifies with the step rule of `step_options`.

    If there are none, return all of them, so that running the rule raises an error that says why.
    """

    def is_verified(scheme: str) -> bool:
        """Return whether the rule prepares for two siblings of a scheme."""
        try:
            try_siblings(rule, scheme, step_options)
        except ValueError:
            return False
        return True

    schemes = discover.facts(rule).own
    return [scheme for scheme in schemes if is_verified(scheme)] or list(schemes)


def try_siblings(rule: ModuleType, scheme: str, step_options: Mapping[str, Any]) -> None:
    """Let a tree rule prepare for two siblings; ValueError if it, or its step rule, does not verify them."""
    half = np.full((3, 2), 0.5)
    tokens, parents, depths = np.arange(2), np.array([-1, -1]), np.array([1, 1])
    rule.prepare(half, half, TokenTree(parents, tokens, depths, scheme), **step_options)


def _tables(rng: np.random.Generator, vocab: int, depth: int, one_hot: bool) -> list[dict[tuple[int, ...], Array]]:
    """Return random tables [target, draft]; the target's laws are one-hot if asked for."""
    return [rational_table(rng, vocab, depth, one_hot=is_one_hot) for is_one_hot in (one_hot, False)]


def _one_or_two(q: Array) -> Draws:
    """Return the law of the number of draws at a node of scheme "distinct": one or two, depending on q."""
    return Draws(1, q.max(axis=-1), 2)


def _show(row: Array) -> str:
    """Return a law in words: fractions as they are, floats to six digits."""
    return "(" + ", ".join(f"{mass:.6g}" if isinstance(mass, float) else str(mass) for mass in row) + ")"
