"""The script of a program's random decisions: it is followed depth first, and the program is run again along each path.

Every random number that a program asks for is a stand-in, which puts questions to the script: which
of these, with these weights? The law of the result is the sum of the weights of the paths that lead
to it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from specsim.base import clock
from specsim.forking.paths import Decision, NotReproducible, Walk

Result = Hashable
KEPT = "a random number kept from an earlier call"
# Most decisions along one path: a program that draws until something fits has a path without end.
DEEPEST = 1000
# Answers of a smaller share are not followed: the 1e-20 that keeps a row from being empty would
# double every path.
NEGLIGIBLE = 2.0**-60


class NotScriptable(BaseException):
    """Raised when the program uses a random number as no stand-in can follow; no `except Exception` hides it."""


class TooLong(BaseException):
    """Raised when a law has more paths, or takes more time, than allowed."""


class Path(NamedTuple):
    """The decisions of a run, its result, and its probability."""

    decisions: tuple[Decision, ...]
    result: Any
    weight: float


class Exact(NamedTuple):
    """The law of a program's results, the number of its paths and of replays of the first, and the paths on demand."""

    law: dict[Any, float]
    leaves: int
    replays: int = 0
    paths: tuple[Path, ...] = ()


class Script:
    """A walk through the paths of a program; each of its questions is a tuple of weights, one for every answer."""

    def __init__(self) -> None:
        self.walk = Walk()
        self.frozen, self.refused = False, ""
        # Whether this run holds a stand-in.
        self.held = False
        # JAX: the number of root keys that were made, and what each key was used for.
        self.roots, self.keys = 0, dict[Any, str]()
        # Number of the first uniform of this run; uniforms of earlier runs have smaller numbers.
        self.first = 0
        # The interval in which each uniform of this run is known to lie.
        self.intervals: list[tuple[float, float]] = []
        # Whether all paths were followed: a stand-in that is used now was stored by the program.
        self.closed = False
        # By exponential: the exponentials that it raced with, and the winner for each tuple of
        # weights of a race.
        self.races: dict[int, tuple[tuple[int, ...], dict[tuple[float, ...], int]]] = {}
        self.thread = threading.get_ident()

    def start(self, frozen: bool) -> None:
        """Begin a run along the path; a frozen one must not go further."""
        self.walk.start()
        self.frozen, self.thread = frozen, threading.get_ident()
        self.first += len(self.intervals)
        self.intervals, self.races, self.held = [], {}, False
        self.roots, self.keys = 0, {}
        _running[:] = [self]

    def choose(self, weights: Sequence[float]) -> int:
        """Return the index of the answer; its probability is proportional to its (non-negative) weight."""
        self._here()
        asked = tuple(float(weight) for weight in weights)
        if not all(0 <= weight < math.inf for weight in asked) or not any(asked):
            raise RuntimeError(f"probabilities must be finite, non-negative and not all 0, got {list(asked)}")
        if self.walk.is_at_end:
            if self.frozen:
                raise NotReproducible("a run along the same path asks for more random numbers")
            if self.walk.read >= DEEPEST:
                raise TooLong(f"more than {DEEPEST} decisions along one path")
            return self.walk.choose(asked, _followed(asked))
        return self.walk.choose(asked)

    def fresh(self) -> int:
        """Return the number of a new uniform, which may lie anywhere in [0, 1)."""
        self._here()
        self.intervals.append((0.0, 1.0))
        return self.first + len(self.intervals) - 1

    def interval(self, cell: int) -> tuple[float, float]:
        """Return where a uniform u is known to lie, or where 1 - u is, of number ~cell; another run's is refused."""
        if cell < 0:
            low, high = self.interval(~cell)
            return 1 - high, 1 - low
        self._here()
        if cell < self.first:
            self.refuse(KEPT)
        return self.intervals[cell - self.first]

    def below(self, cell: int, cut: float) -> bool:
        """Return whether a uniform is below a number; asks only where its interval holds both answers."""
        if cell < 0:
            return not self.below(~cell, 1 - cut)
        low, high = self.interval(cell)
        if low < cut < high:
            answer = self.choose((cut - low, high - cut))
            self.intervals[cell - self.first] = low, high = (low, cut) if answer == 0 else (cut, high)
        return cut > low

    def _here(self) -> None:
        """Refuse questions after the last run, and from other threads, whose order the next run need not repeat."""
        if self.closed:
            self.refuse(KEPT)
        if threading.get_ident() != self.thread:
            self.refuse("a random number in a thread of the program's own")

    def refuse(self, what: str) -> NoReturn:
        """Raise NotScriptable; remember why, in case that the program catches every exception."""
        self.refused = self.refused or what
        for running in _running:
            running.refused = running.refused or what
        raise NotScriptable(self.refused)

    def weight(self) -> float:
        """Return the probability of the path."""
        return float(math.prod(weights[answers[0]] / math.fsum(weights) for weights, answers in self.walk.path))


def _followed(weights: Sequence[float]) -> tuple[int, ...]:
    """Return the answers that are followed: those that are not negligible beside the others."""
    least = NEGLIGIBLE * math.fsum(weights)
    return tuple(i for i, weight in enumerate(weights) if weight > least)


# The script whose program runs: a stand-in that the program stored earlier belongs to another
# script.
_running: list[Script] = []


def law(
    program: Callable[[Script], Result],
    script: Script,
    *,
    most: int = 20_000,
    deadline: float = math.inf,
    replays: int = 0,
    keep: bool = False,
) -> Exact:
    """Return the exact law of a program's (hashable) result; each path is run twice, and must end alike.

    The first path is run `replays` times more: where a program takes a bit from elsewhere, two runs
    say little. The paths are kept where asked for, to be run again.

    Raises NotScriptable, NotReproducible, or TooLong after `most` paths or at `deadline` (of
    clock.now).
    """
    out: dict[Any, list[float]] = {}
    paths: list[Path] = []
    leaves, more = 0, True

    # Depth first: run a path, run it again, and go on to the next.
    while more:
        result = _run(program, script, frozen=False)
        for _ in range(1 if leaves else 1 + replays):
            again = _run(program, script, frozen=True)
            if again != result:
                raise NotReproducible(f"a run along the same path gives {again}, not {result}")
        out.setdefault(result, []).append(script.weight())
        if keep:
            paths.append(Path(tuple(script.walk.path), result, script.weight()))
        leaves += 1
        more = script.walk.advance()
        if more and (leaves >= most or clock.now() > deadline):
            raise TooLong(f"more than {leaves} path{'s' * (leaves > 1)}" + (" in the time" if leaves < most else ""))
    return Exact({result: math.fsum(weights) for result, weights in out.items()}, leaves, replays, tuple(paths))


def replay(program: Callable[[Script], Result], script: Script, paths: Iterable[Path], deadline: float) -> int:
    """Return how many paths were run again by the deadline. Raises NotReproducible where one ends otherwise."""
    done = 0
    for path in paths:
        if clock.now() > deadline:
            break
        script.walk.path = list(path.decisions)
        again = _run(program, script, frozen=True)
        if again != path.result:
            raise NotReproducible(f"a run along the same path gives {again}, not {path.result}")
        done += 1
    return done


def _run(program: Callable[[Script], Result], script: Script, *, frozen: bool) -> Result:
    """Return the result of one run along the path; raise if the program was refused, or left the path early."""
    script.start(frozen)
    try:
        result = program(script)
    except Exception:
        if script.refused:
            raise NotScriptable(script.refused) from None
        raise
    if script.refused:
        raise NotScriptable(script.refused)
    if not script.walk.is_at_end:
        raise NotReproducible("a run along the same path asks for fewer random numbers")
    return result
