"""Observation of a subject in one case: the probabilities, or frequencies, of its answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from specsim.conform.cases import Case
from specsim.conform.subject_call import Answer, Input
from specsim.conform.toys import Text
from specsim.conform.verdict import Evidence

ROUNDING = {"float64": 1e-9, "float32": 1e-5, "float16": 0.01, "bfloat16": 0.05}  # of laws, not of rules
Program = Callable[[Any], Answer]  # of a generator


class Observation(NamedTuple):
    """Probabilities (or frequencies) of the answers of a subject in one case."""

    case: Case
    law: dict[Answer, float]
    evidence: Evidence
    runs: int
    delta: float = 0.0  # false-alarm rate of one test of it; 0: exact
    rounding: float = 0.0  # what floats may do to an exact law
    programs: tuple[tuple[Program, float], ...] = ()  # of a scripted law: each with the probability of its drafts
    given: tuple[Input, ...] = ()  # of a law by coins: everything that can be drafted
    by_rows: bool = False  # frequencies of the rows of batches: independent runs only if the rows are

    def joint(self, length: int) -> dict[Text, float]:
        """Law of the first `length` tokens, where the target goes on after what was emitted."""
        out: dict[Text, float] = {}
        for seen, mass in self.law.items():
            for text, chance in continued(self.case.p, seen.text[:length], length, self.case.end):
                out[text] = out.get(text, 0.0) + mass * chance
        return out

    def goal(self, length: int) -> dict[Text, float]:
        """The target's own."""
        return dict(continued(self.case.p, (), length, self.case.end))

    def chance(self, answer: Answer, text: Text) -> float:
        """Probability of a text of the joint law, after an answer."""
        begun = answer.text[: len(text)]
        if text[: len(begun)] != begun or (begun[-1:] == (self.case.end,) and begun != text):
            return 0.0
        return math.prod(float(self.case.p(text[:i])[text[i]]) for i in range(len(begun), len(text)))

    def mean(self, of: Callable[[Answer], float]) -> float:
        """Expectation of something in an answer."""
        return math.fsum(mass * of(seen) for seen, mass in self.law.items())


def continued(
    target: Callable[[Text], Any], text: Text, length: int, end: int | None = None
) -> list[tuple[Text, float]]:
    """Every continuation of a text by the target to that length, or to the token `end`, with its probability."""
    live, stopped = [(text, 1.0)], []
    for _ in range(length - len(text)):
        stopped += [(t, m) for t, m in live if t[-1:] == (end,)]
        live = [
            ((*t, y), m * v) for t, m in live if t[-1:] != (end,) for y, v in enumerate(target(t).tolist()) if v > 0
        ]
    return stopped + live


def distance(one: dict[Any, float], other: dict[Any, float]) -> float:
    """Total variation of two laws."""
    return 0.5 * math.fsum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in one.keys() | other.keys())


def add(law: dict[Answer, float], found: dict[Answer, float], weight: float) -> None:
    """Add a law of so much weight to another."""
    for seen, mass in found.items():
        law[seen] = law.get(seen, 0.0) + weight * mass


def size_of(case: Case) -> tuple[int, int]:
    """Return tokens times drafts, and the tokens of the vocabulary."""
    return case.length * len(case.parents), case.target.vocab


def is_as_large(case: Case, size: tuple[int, int]) -> bool:
    """Whether a case is no smaller in either: one of few tokens may be followed where one of many takes too long."""
    return all(own >= most for own, most in zip(size_of(case), size, strict=True))


def key_of(case: Case) -> Any:
    """Return what tells a case from others: its models by identity, and all else that it says."""
    return id(case.target), id(case.draft), case[2:]
