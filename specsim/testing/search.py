"""Random small laws under hypothesis: what is wrong elsewhere than at the standard cases is found, and shrunk."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from specsim.base import clock
from specsim.conform import Subject, Verdict
from specsim.conform.cases import Case, make, sizes
from specsim.conform.judgement import PATIENCE, PROPERTIES
from specsim.conform.observing import observe
from specsim.conform.properties._laws import against
from specsim.conform.subject_call import Broken
from specsim.conform.timeout import OutOfTime
from specsim.conform.toys import Toy
from specsim.conform.trial import begin
from specsim.testing.strategies import tables
from specsim.types import Array

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SEARCHED = ("marginal", "joint", "contract")  # one statement about all laws; other properties name their own inputs


def searched(subject: Subject, name: str, *, examples: int, budget: float) -> Verdict | None:
    """The smallest counterexample to a property that hypothesis finds, as a verdict; None if it finds none.

    The same laws every time. Exact evidence only: a subject that is judged by frequencies is not searched, nor is
    anything without hypothesis or after `budget` seconds.
    """
    if name not in SEARCHED or not examples or importlib.util.find_spec("hypothesis") is None:
        return None
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings

    patience = min(PATIENCE, budget / 2)
    trial = begin(subject, deadline=clock.now() + budget, patience=patience, delta=1e-6, seed=0)
    look, failures = importlib.import_module(f"{PROPERTIES}.{name}").look, []

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )
    @given(cases(subject))
    def holds(case: Case) -> None:
        before = trial.caller.runs
        try:
            found = look(observe(trial, case, exact=True))
        except OutOfTime:
            return
        except Broken as reason:
            failures.append(Verdict(subject.name, name, "broken", words=f"{reason} ({case.words})"))
            raise
        if found.distance > found.allowed:
            failures.append(against(name, subject, case, found, trial.caller.runs - before))
            raise AssertionError

    try:
        holds()
    except Exception:  # whatever hypothesis makes of it: the last is the smallest
        if not failures:
            raise
    return failures[-1] if failures else None


def cases(subject: Subject) -> SearchStrategy[Case]:
    """Pairs of models over two or three tokens, and one of the two smallest numbers of drafts."""
    from hypothesis import strategies as st

    depth = int(subject.kind != "step")  # laws depend on the last token, where there is one

    def models(vocab: int) -> SearchStrategy[tuple[Toy, Toy]]:
        draft = tables(vocab, depth) if subject.takes_q else _certain(vocab, depth)
        return st.tuples(tables(vocab, depth), draft).map(lambda two: (Toy(two[0], depth), Toy(two[1], depth)))

    def case(drawn: tuple[int, tuple[Toy, Toy]]) -> Case:
        size, (target, draft) = drawn
        return make(subject, target, draft, size, "")

    small = st.sampled_from(list(sizes(subject))[:2])
    return st.tuples(small, st.integers(2, 3).flatmap(models)).map(case)


def _certain(vocab: int, depth: int) -> SearchStrategy[dict[tuple[int, ...], Array]]:
    from hypothesis import strategies as st

    def one_hot(token: int) -> Array:
        return np.array([Fraction(int(i == token)) for i in range(vocab)], dtype=object)

    prefixes: list[Any] = [x for n in range(depth + 1) for x in itertools.product(range(vocab), repeat=n)]
    return st.fixed_dictionaries({prefix: st.integers(0, vocab - 1).map(one_hot) for prefix in prefixes})
