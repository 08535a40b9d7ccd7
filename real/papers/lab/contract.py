"""The contract of a system: it runs in a `Lab`, and returns a `Record` of numbers by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, get_args

from real.models.names import SMOLLM2, TINY_PAIR
from real.papers.lab import choices
from real.studies.costs import Costs
from real.studies.intervals import Estimate

Verdict = Literal["shows", "does not show", "contradicts"]
# Axes that every system has to name a value of.
AXES = tuple(axis for axis in choices.VALUES if axis not in choices.DEFAULTS)


class Lab(NamedTuple):
    """The settings with which every system is run."""

    seed: int = 0
    # Share of the texts (images, captions, frames) of every experiment; less than 1 is a trial.
    share: float = 1.0
    # Called with each stage, for progress.
    said: Callable[[str], None] = lambda words: None
    # Name of a unit of work, and what computes its value (numbers, lists, mappings) -> the value: that of
    # a run that was cut off, if there is one.
    keep: Callable[[str, Callable[[], Any]], Any] = lambda name, make: make()
    # Costs of the pair's cycles, by kind (`text_lab.costs`); by default they are measured.
    costs: Mapping[str, Costs] | None = None
    # The pair that text systems run on: a name of `real.papers.lab.pairs`.
    pair: str = TINY_PAIR

    def texts(self, full: int, least: int = 8) -> int:
        """The number of texts to run, of the `full` number of a record."""
        return max(min(least, full), round(self.share * full))


class Record(NamedTuple):
    """The numbers of a run. A name stands in one of the three, never in two."""

    # Closed forms, and sums over all outcomes.
    exact: dict[str, float]
    # 95 % intervals over texts, unless the name says otherwise.
    measured: dict[str, Estimate]
    predicted: dict[str, Estimate]


class System(Protocol):
    """A module of `real.papers.systems`."""

    NAME: str
    # As arXiv:NUMBER.
    PAPER: str
    # The paper's headline in its own words, with its numbers.
    CLAIM: str
    # A key of `choices.VALUES` for each axis, and perhaps a few words.
    AXES: dict[str, str]
    # One sentence, fixed before any run: the interval, and the values that it has to exclude.
    TEST: str
    # The number shown beside the claim: a name in `measured`.
    HEADLINE: str
    # Names of the shipped weights that it runs on: other weights make its record stale.
    MODELS: tuple[str, ...]
    # Only where a run reads `Lab.pair`, PAIR: the name of the pair that the record is made on.

    def run(self, lab: Lab) -> Record:
        """Return all numbers that the test and the page need."""

    def verdict(self, record: Record) -> Verdict:
        """Return the outcome of the test on a record."""


def flaw(names: Mapping[str, Any]) -> str | None:
    """Return what a module with these names lacks to be a system; None if it lacks nothing."""
    # Texts. A claim begins with a word, since a column of numbers is not wrapped.
    for name in ("NAME", "PAPER", "CLAIM", "TEST", "HEADLINE"):
        if not isinstance(names.get(name), str) or not names[name].strip():
            raw = repr(names.get(name))
            return f"needs {name}, a text, got {raw:.40}"
    if not names["CLAIM"][0].isalpha():
        return f"needs a CLAIM that begins with a word, got {names['CLAIM'][:40]!r}"

    # The pair, weights, axes and functions.
    if names.get("PAIR", SMOLLM2) not in (SMOLLM2, TINY_PAIR):
        return f"has PAIR = {names['PAIR']!r}; known pairs: {TINY_PAIR}, {SMOLLM2}"
    if not isinstance(names.get("MODELS"), tuple):
        return "needs MODELS, a tuple with the names of the weights that it runs on; () for none"
    axes = names.get("AXES")
    lack = choices.flaw(axes if isinstance(axes, dict) else {})
    if lack:
        return lack
    for name in ("run", "verdict"):
        if not callable(names.get(name)):
            return f"needs a function {name}"
    return None


def checked(record: Record, headline: str) -> Record:
    """The record with plain floats; ValueError for a name that stands twice or a bad number.

    Parameters
    ----------
    record : Record
        The result of a system's `run`.
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
    parts: dict[str, str] = {}
    for part, values in record._asdict().items():
        for name, value in values.items():
            # A name stands in one part only.
            if name in parts:
                raise ValueError(f"{part} {name!r} is in {parts[name]}, too: a number is one or the other")
            parts[name] = part

            # Numbers are finite, and an interval's ends in order. A value may lie outside of its
            # interval: that of a test statistic is the null law's.
            numbers = (value,) if part == "exact" else tuple(value)
            if not all(math.isfinite(number) for number in numbers):
                listing = ", ".join(str(float(n)) for n in numbers)
                raise ValueError(f"{part} {name!r} is not finite: {listing}")
            if numbers[1:] != tuple(sorted(numbers[1:])):
                raise ValueError(f"{part} {name!r} has an interval from {numbers[1]} to {numbers[2]}")
    if headline not in record.measured:
        names = ", ".join(record.measured) or "nothing"
        raise ValueError(f"HEADLINE {headline!r} was not measured; measured: {names}")
    return from_json(as_json(record))


def checked_verdict(verdict: Any) -> Verdict:
    """The verdict; ValueError for an unknown one."""
    if verdict not in get_args(Verdict):
        raise ValueError(f"verdict {verdict!r} is none; known: {', '.join(get_args(Verdict))}")
    known: Verdict = verdict
    return known


def as_json(record: Record) -> dict[str, Any]:
    """The JSON form of a record."""
    return {
        "exact": {name: float(value) for name, value in record.exact.items()},
        "measured": {name: [float(v) for v in ends] for name, ends in record.measured.items()},
        "predicted": {name: [float(v) for v in ends] for name, ends in record.predicted.items()},
    }


def from_json(parts: dict[str, Any]) -> Record:
    """The record of a JSON form."""
    return Record(
        exact=parts["exact"],
        measured={name: Estimate(*ends) for name, ends in parts["measured"].items()},
        predicted={name: Estimate(*ends) for name, ends in parts["predicted"].items()},
    )
