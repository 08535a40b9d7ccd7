"""The walk through the paths of a program's random decisions, depth first, for races and for programs.

A run reads the answers of its path one by one. Where the path ends, each new question gets its
first answer, and the others are left for later runs. So a program is run as often as there are
paths, and nothing of a run is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class NotReproducible(BaseException):
    """Two runs along one path asked other questions, or ended otherwise. No `except Exception` hides it."""


class Decision(NamedTuple):
    """A question with the answers that are left: the first is that of this path, the others are for later paths."""

    question: Sequence[Any]
    answers: tuple[int, ...]


class Walk:
    """The decisions of one path after the other."""

    def __init__(self) -> None:
        self.path: list[Decision] = []
        # How many decisions of the path this run has read.
        self.read = 0

    def start(self) -> None:
        """Begin a run along the path."""
        self.read = 0

    @property
    def is_at_end(self) -> bool:
        """True if the next question is one that the path does not answer yet."""
        return self.read == len(self.path)

    def choose(self, question: Sequence[Any], answers: tuple[int, ...] = (0, 1)) -> int:
        """Return this path's answer to its next question; raise NotReproducible if that was another question.

        At the end of the path it is the first of `answers`, and the others are left for later runs.
        """
        if self.read == len(self.path):
            self.path.append(Decision(question, answers))
        before, left = self.path[self.read]
        if before != question:
            raise NotReproducible(f"a run along the same path asks about {list(question)}, not {list(before)}")
        self.read += 1
        return left[0]

    def advance(self) -> bool:
        """Go on to the next path; False after the last."""
        while self.path:
            question, answers = self.path.pop()
            if len(answers) > 1:
                self.path.append(Decision(question, answers[1:]))
                return True
        return False
