"""Observation of a subject in one case: the probabilities, or frequencies, of its answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from specsim.conform.cases import Case
from specsim.conform.subject_call import Answer, Input
from specsim.conform.toys import Text
from specsim.conform.verdict import Evidence

# Total variation that rounding may move the law of one block by, for each type of the inputs.
ROUNDING = {"float64": 1e-9, "float32": 1e-5, "float16": 0.01, "bfloat16": 0.05}
# program(random) returns an answer.
Program = Callable[[Any], Answer]


class Observation(NamedTuple):
    """Probabilities (or frequencies) of the answers of a subject in one case."""

    case: Case
    law: dict[Answer, float]
    evidence: Evidence
    runs: int
    # False-alarm rate of one test of the observation; 0: it is exact.
    delta: float = 0.0
    # Distance that rounding may move an exact law by.
    rounding: float = 0.0
    # The programs of a scripted law, each with the probability of its drafts.
    programs: tuple[tuple[Program, float], ...] = ()
    # The inputs of a law by coins: all drafts that are possible.
    drafted: tuple[Input, ...] = ()
    # Whether frequencies are of the rows of batches, which are independent runs only if the rows
    # are independent.
    by_rows: bool = False

    def joint(self, length: int) -> dict[Text, float]:
        """Return the law of the first `length` tokens, where the target continues the emitted text."""
        law: dict[Text, float] = {}
        for seen, mass in self.law.items():
            for text, chance in continued(self.case.p, seen.text[:length], length, self.case.end):
                law[text] = law.get(text, 0.0) + mass * chance
        return law

    def goal(self, length: int) -> dict[Text, float]:
        """Return the target's law of the first `length` tokens."""
        return dict(continued(self.case.p, (), length, self.case.end))

    def chance(self, answer: Answer, text: Text) -> float:
        """Return the probability of a text of the joint law, given an answer."""
        begun = answer.text[: len(text)]
        if text[: len(begun)] != begun or (begun[-1:] == (self.case.end,) and begun != text):
            return 0.0
        return math.prod(float(self.case.p(text[:i])[text[i]]) for i in range(len(begun), len(text)))

    def mean(self, of: Callable[[Answer], float]) -> float:
        """Return the expectation of a function of the answer."""
        return math.fsum(mass * of(seen) for seen, mass in self.law.items())


def continued(
    target: Callable[[Text], Any], text: Text, length: int, end: int | None = None
) -> list[tuple[Text, float]]:
    """Return every continuation of a text by the target to that length, or to the token `end`, and its probability."""
    live, stopped = [(text, 1.0)], []
    for _ in range(length - len(text)):
        stopped += [(t, m) for t, m in live if t[-1:] == (end,)]
        live = [
            ((*t, y), m * v) for t, m in live if t[-1:] != (end,) for y, v in enumerate(target(t).tolist()) if v > 0
        ]
    return stopped + live


def distance(first: dict[Any, float], second: dict[Any, float]) -> float:
    """Return the total variation of two laws."""
    return 0.5 * math.fsum(abs(first.get(key, 0.0) - second.get(key, 0.0)) for key in first.keys() | second.keys())


def add(law: dict[Answer, float], other: dict[Answer, float], weight: float) -> None:
    """Add another law, times a weight, to a law."""
    for seen, mass in other.items():
        law[seen] = law.get(seen, 0.0) + weight * mass


def size_of(case: Case) -> tuple[int, int]:
    """Return tokens times drafts, and the tokens of the vocabulary."""
    return case.length * len(case.parents), case.target.vocab


def is_as_large(case: Case, size: tuple[int, int]) -> bool:
    """Return whether a case is no smaller in either number: a case of few tokens may be followed where many are not."""
    return all(number >= least for number, least in zip(size_of(case), size, strict=True))


def key_of(case: Case) -> Any:
    """Return what tells a case from others: its models by identity, and all else that it says."""
    return id(case.target), id(case.draft), case[2:]
