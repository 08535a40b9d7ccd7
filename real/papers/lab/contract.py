"""What a system runs on, and what it gives: numbers by name, each exact, measured with its interval, or predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args

from real.papers.lab import choices
from real.studies.costs import Costs
from real.studies.intervals import Estimate

Verdict = Literal["shows", "does not show", "contradicts"]
AXES = tuple(axis for axis in choices.VALUES if axis not in choices.DEFAULTS)  # what every system says something of


class Lab(NamedTuple):
    """What every system is run with."""

    seed: int = 0
    share: float = 1.0  # of the texts (images, captions, frames) of every experiment; less is for a trial
    said: Callable[[str], None] = lambda words: None  # is told what runs now
    costs: Mapping[str, Costs] | None = None  # of the pair's cycles, by kind (`text_lab.costs`); else they are measured
    pair: Path | None = None  # a folder that `train_pair` made, for systems that name its `VOCAB`

    def texts(self, full: int, least: int = 8) -> int:
        """How many of a record's texts are run."""
        return max(min(least, full), round(self.share * full))


class Record(NamedTuple):
    """What was found. A name stands in one of the three, never in two."""

    exact: dict[str, float]  # closed forms and sums over everything that can happen
    measured: dict[str, Estimate]  # 95 % intervals over texts, unless the name says otherwise
    predicted: dict[str, Estimate]


class System(Protocol):
    """A module of `real.papers.systems`."""

    NAME: str
    PAPER: str  # arXiv:...
    CLAIM: str  # the headline in its own words, with its numbers
    AXES: dict[str, str]  # each of AXES by a key of `choices.VALUES`, and perhaps a few words
    TEST: str  # one sentence, fixed before any run: which interval has to exclude what
    HEADLINE: str  # the number shown beside the claim: a name in `measured`
    MODELS: tuple[str, ...]  # names of the shipped weights that it runs on: other weights make its record stale

    def run(self, lab: Lab) -> Record:
        """Everything that the test, and the page, need."""

    def verdict(self, record: Record) -> Verdict:
        """What the record says of the test."""


def flaw(names: Mapping[str, Any]) -> str | None:
    """What a module lacks to be a system, told from its names; None if it lacks nothing."""
    words = ("NAME", "PAPER", "CLAIM", "TEST", "HEADLINE")
    for name in words:
        if not isinstance(names.get(name), str) or not names[name].strip():
            raw = repr(names.get(name))
            return f"needs {name}, a text, got {raw:.40}"
    if not names["CLAIM"][0].isalpha():  # a column of numbers is not wrapped
        return f"needs a CLAIM that begins with a word, got {names['CLAIM'][:40]!r}"
    if not isinstance(names.get("MODELS"), tuple):
        return "needs MODELS, a tuple with the names of the weights that it runs on; () for none"
    axes = names.get("AXES")
    wrong = choices.flaw(axes if isinstance(axes, dict) else {})
    if wrong:
        return wrong
    for name in ("run", "verdict"):
        if not callable(names.get(name)):
            return f"needs a function {name}"
    return None


def checked(record: Record, headline: str) -> Record:
    """The record with plain floats; ValueError for a name that stands twice or a number that nobody can read.

    Parameters
    ----------
    record : Record
        What a system's `run` gave.
    headline : str
        The name that has to be among the measured ones.

    Returns
    -------
    Record
        The same numbers.

    Raises
    ------
    ValueError
        It names the part, the name and the number.
    """
    told: dict[str, str] = {}
    for part, values in record._asdict().items():
        for name, value in values.items():
            if name in told:
                raise ValueError(f"{part} {name!r} is in {told[name]}, too: a number is one or the other")
            told[name] = part
            numbers = (value,) if part == "exact" else tuple(value)
            if not all(math.isfinite(number) for number in numbers):
                raise ValueError(f"{part} {name!r} is not finite: {', '.join(str(float(n)) for n in numbers)}")
            if numbers[1:] != tuple(sorted(numbers[1:])):  # a statistic may lie outside: its interval is the null law's
                raise ValueError(f"{part} {name!r} has an interval from {numbers[1]} to {numbers[2]}")
    if headline not in record.measured:
        raise ValueError(f"HEADLINE {headline!r} was not measured; measured: {', '.join(record.measured) or 'nothing'}")
    return from_json(as_json(record))


def checked_verdict(verdict: Any) -> Verdict:
    """The verdict, if it is one."""
    if verdict not in get_args(Verdict):
        raise ValueError(f"verdict {verdict!r} is none; known: {', '.join(get_args(Verdict))}")
    known: Verdict = verdict
    return known


def as_json(record: Record) -> dict[str, Any]:
    """The record as JSON holds it."""
    return {
        "exact": {name: float(value) for name, value in record.exact.items()},
        "measured": {name: [float(v) for v in one] for name, one in record.measured.items()},
        "predicted": {name: [float(v) for v in one] for name, one in record.predicted.items()},
    }


def from_json(held: dict[str, Any]) -> Record:
    """The record that JSON held."""
    return Record(
        held["exact"],
        *({name: Estimate(*one) for name, one in held[part].items()} for part in ("measured", "predicted")),
    )
