"""The check of a step rule at the edges of float arithmetic: extreme uniforms on extreme laws."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from specsim import discover
from specsim.checks import backends
from specsim.checks.outcomes import written
from specsim.checks.step_cases import counts
from specsim.testing.cases import corners, drafted_tuples, edge_laws
from specsim.types import Array, Draws
from specsim.verify.hits import scheme_of


def edges(rule: ModuleType) -> None:
    """At u = 0 and u = 1 - ulp, on one-hots, zeros, p = q, V = 1, tiny masses: only tokens of positive probability.

    By `transition`, and, where the rule states no bias, by p itself; on NumPy and torch, which
    draws in its own way.
    """
    for vocab in (1, 2, 5):
        for name, p, q in edge_laws(vocab):
            for dtype in (np.float64, np.float32):
                for num_drafts in counts(rule):
                    _edge(rule, p.astype(dtype), q.astype(dtype), num_drafts, f"{name}, V={vocab}, {dtype.__name__}")


def _edge(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws, where: str) -> None:
    """Fail if some drafts and some corner of the uniforms give a token of probability 0."""
    # All drafts with all corners, and the law of each; a lossless rule emits no token that p
    # excludes.
    tuples, ends = drafted_tuples(q, num_drafts, scheme_of(rule, num_drafts)), corners(rule.uniforms(num_drafts))
    rows = [np.broadcast_to(law, (len(tuples), len(law))) for law in (p, q)]
    law = rule.transition(rule.prepare(*rows, num_drafts), tuples)
    if not discover.facts(rule).bias:
        law = np.where(p > 0, law, 0)
    x, law = np.repeat(tuples, len(ends), axis=0), np.repeat(law, len(ends), axis=0)
    u = np.tile(ends, (len(tuples), 1))

    # Tokens of each library; other libraries than NumPy are asked where all uniforms are equal.
    rows = [np.broadcast_to(row, (len(x), len(row))) for row in (p, q)]
    for library, make in backends.makers(p.dtype).items():
        asked = np.flatnonzero((library == "numpy") | (u == u[:, :1]).all(axis=-1))
        plan = rule.prepare(*(make(row[asked]) for row in rows), num_drafts)
        token = np.asarray(rule.verify(plan, make(x[asked]), make(u[asked])))
        inside = (token >= 0) & (token < len(p))
        bad = ~inside | ~(law[asked, np.where(inside, token, 0)] > 0)
        for k, y in zip(asked[bad], token[bad], strict=True):
            raise AssertionError(
                f"{where}, {library}: drafts {x[k]} and u={written(u[k])} give token {y}, which has probability 0"
            )
