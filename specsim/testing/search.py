"""Random small laws under hypothesis, which finds errors elsewhere than at the standard cases, and shrinks them."""

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

# Properties that are one statement about all laws; other properties name their own inputs.
SEARCHED = ("marginal", "joint", "contract")


def searched(subject: Subject, name: str, *, examples: int, budget: float) -> Verdict | None:
    """Return the smallest counterexample to a property that hypothesis finds, as a verdict; None if it finds none.

    The laws are the same every time. The evidence is exact: a subject that is judged by frequencies
    is not searched. Nothing is searched without hypothesis, nor after `budget` seconds.
    """
    if name not in SEARCHED or not examples or importlib.util.find_spec("hypothesis") is None:
        return None
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings

    patience = min(PATIENCE, budget / 2)
    trial = begin(subject, deadline=clock.now() + budget, patience=patience, delta=1e-6, seed=0)
    look = importlib.import_module(f"{PROPERTIES}.{name}").look
    failures: list[Verdict] = []

    # Hypothesis draws cases, the same in every run, and shrinks those that fail.

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
        """Fail if the property does not hold in a case."""
        runs_before = trial.caller.runs
        try:
            result = look(observe(trial, case, exact=True))
        except OutOfTime:
            return
        except Broken as reason:
            failures.append(Verdict(subject.name, name, "broken", words=f"{reason} ({case.words})"))
            raise
        if result.distance > result.allowed:
            failures.append(against(name, subject, case, result, trial.caller.runs - runs_before))
            raise AssertionError

    # The last failure is the smallest, whatever hypothesis raises for it.
    try:
        holds()
    except Exception:
        if not failures:
            raise
    return failures[-1] if failures else None


def cases(subject: Subject) -> SearchStrategy[Case]:
    """Return the strategy of pairs of models over two or three tokens, with one of the two smallest sizes."""
    from hypothesis import strategies as st

    # Laws depend on the last token, if texts have more than one.
    depth = int(subject.kind != "step")

    def models(vocab: int) -> SearchStrategy[tuple[Toy, Toy]]:
        """Return the strategy of (target, draft)."""
        draft = tables(vocab, depth) if subject.takes_q else _certain(vocab, depth)
        return st.tuples(tables(vocab, depth), draft).map(lambda pair: (Toy(pair[0], depth), Toy(pair[1], depth)))

    def case(drawn: tuple[int, tuple[Toy, Toy]]) -> Case:
        """Return the case of what was drawn."""
        size, (target, draft) = drawn
        return make(subject, target, draft, size, "")

    small = st.sampled_from(list(sizes(subject))[:2])
    return st.tuples(small, st.integers(2, 3).flatmap(models)).map(case)


def _certain(vocab: int, depth: int) -> SearchStrategy[dict[tuple[int, ...], Array]]:
    """Return the strategy of models that are certain of a token after each text."""
    from hypothesis import strategies as st

    def one_hot(token: int) -> Array:
        """Return the law of one token."""
        return np.array([Fraction(int(i == token)) for i in range(vocab)], dtype=object)

    prefixes: list[Any] = [x for n in range(depth + 1) for x in itertools.product(range(vocab), repeat=n)]
    return st.fixed_dictionaries({prefix: st.integers(0, vocab - 1).map(one_hot) for prefix in prefixes})
