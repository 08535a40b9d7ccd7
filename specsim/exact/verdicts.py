"""Verdicts of losslessness: their record, their words, and those on processes, on random tables in rationals."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base.results import result
from specsim.exact.process_branches import Joint, distance, outcome
from specsim.exact.small_laws import rational_table
from specsim.types import Array
from specsim.verify.stepwise import Stepwise

# The package whose rules have proofs; the module of a user's file has a name of one part.
PACKAGE = "specsim."
# Largest total variation that counts as rounding, for rules that are enumerated in float64.
ROUNDING = 1e-12


@result("lossless", "bias", "reason")
class Guarantee(NamedTuple):
    """Verdict on a rule: lossless or not, the largest bias (TV) met, its witness, and how many cases were run.

    The bias is a float64 where the rule has no Fractions.
    """

    lossless: bool
    bias: Fraction | float
    cases: int
    reason: str


_MODELS = ("target", "draft")
# (Size of the vocabulary, length) of the texts that processes fill.
_TEXTS = ((2, 3), (3, 2), (2, 4))


def verdict(rule: ModuleType, worst: Fraction, cases: int, witness: str, exact: bool | None = None) -> Guarantee:
    """Return the record of a run, with its witness if there is one; `exact` unless the rule says otherwise."""
    bias_is_exact = discover.facts(rule).exact if exact is None else exact
    bias = worst if bias_is_exact else float(worst)
    if worst:
        shown = worst if bias_is_exact else f"{bias:.6g} in float64"
        return Guarantee(False, bias, cases, f"{witness}, bias (TV) {shown}")
    kind = "exact cases" if bias_is_exact else f"cases in float64 above {ROUNDING:g}"
    return Guarantee(True, bias, cases, f"no difference in {cases} {kind}; {in_general(rule)}")


def in_general(rule: ModuleType) -> str:
    """Return the theorem of the package that covers a rule beyond the cases tried, or nothing."""
    if discover.facts(rule).theorem == "open":
        return "no proof carries it further"
    if getattr(rule, "__name__", "").startswith(PACKAGE):
        return f"in general by {discover.facts(rule).theorem}"
    return f"no further: that {discover.facts(rule).theorem} covers it is its own file's word"


def tried_counts(rule: ModuleType, num_drafts: int | None, all_of: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of drafts to enumerate: `num_drafts`, or those of `all_of` that the rule takes.

    A rule that takes none of `all_of` is enumerated with the first number that it takes.
    """
    if num_drafts is not None:
        return (num_drafts,)
    counts = discover.facts(rule).counts
    if counts is None:
        return all_of
    return tuple(k for k in all_of if k in counts) or tuple(counts or all_of)[:1]


def worst_of(verdicts: Mapping[int, Guarantee]) -> Guarantee:
    """Return the verdict of largest bias among several, by number of drafts; its reason says with how many.

    It counts the cases of all.
    """
    k, worst = max(verdicts.items(), key=lambda item: item[1].bias)
    cases = sum(verdict.cases for verdict in verdicts.values())
    if not worst.lossless:
        return worst._replace(cases=cases, reason=f"{worst.reason}, with {_drafts([k])}")
    # "no difference in 30 exact cases; in general by T01": 30 becomes the sum, and the numbers of
    # drafts stand before the semicolon.
    first, semicolon, rest = worst.reason.replace(str(worst.cases), str(cases), 1).partition(";")
    return worst._replace(cases=cases, reason=f"{first} with {_drafts(list(verdicts))}{semicolon}{rest}")


def _drafts(counts: list[int]) -> str:
    """Return numbers of drafts in words."""
    if counts == [1]:
        return "one draft"
    *most, last = map(str, counts)
    return f"{', '.join(most)} or {last} drafts" if most else f"{last} drafts"


@lru_cache
def process_verdict(process: ModuleType, rule: ModuleType | Stepwise, one_hot: bool) -> Guarantee:
    """Return whether texts that a process fills by a rule have the target's law, on random tables."""
    inner_rule = rule.step if isinstance(rule, Stepwise) else rule
    is_exact = discover.facts(process).exact and discover.facts(inner_rule).exact
    runnable = on_rationals(rule)
    rng, worst, witness, cases = np.random.default_rng(0), Fraction(0), "", 0
    for (vocab, length), params in itertools.product(_TEXTS, discover.process_cases(process)):
        # Random models, and the distance of the process' law of texts from the target's.
        tables = [rational_table(rng, vocab, length - 1, one_hot=is_one_hot) for is_one_hot in (one_hot, False)]
        models = {name: Joint(table.__getitem__, vocab, length) for name, table in zip(_MODELS, tables, strict=True)}
        filled = outcome(discover.with_params(process, params), runnable, models, length)
        bias = distance(filled.law, models["target"].texts())
        cases += 1
        if bias > max(worst, 0 if is_exact else ROUNDING):
            values = "".join(f", {name} = {value}" for name, value in params.items())
            worst, witness = bias, f"a table with {vocab} tokens at {length} places{values}"
    return verdict(process, worst, cases, witness, is_exact)


def on_rationals(rule: Any) -> Any:
    """Return the rule, which is passed float64 rows if it cannot run on Fractions."""
    if isinstance(rule, Stepwise):
        return Stepwise(on_rationals(rule.step))
    if discover.facts(rule).exact:
        return rule

    def prepare(p: Array, q: Array, *more: Any, **params: Any) -> Any:
        """Prepare from float64 rows."""
        return rule.prepare(p.astype(np.float64), q.astype(np.float64), *more, **params)

    wrapped = ModuleType(rule.__name__)
    vars(wrapped).update(vars(rule), prepare=prepare)
    return wrapped
