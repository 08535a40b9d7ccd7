"""Verdicts on a subject: one for each property, and the worst of them for the whole."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from specsim.base.results import result

Outcome = Literal[
    "lossless", "lossy by design", "vacuous", "inconclusive", "not available", "measured", "broken", "convicted"
]
Evidence = Literal["coins", "scripted", "Monte Carlo", "bound", "one call", "none"]
# Outcomes from the mildest to the worst: the outcome of a report is the worst of its verdicts.
ORDER: tuple[Outcome, ...] = (
    "not available",
    "measured",
    "lossless",
    "vacuous",
    "lossy by design",
    "inconclusive",
    "broken",
    "convicted",
)
# The property of a verdict on the whole subject, which could not be called, or whose process ended.
ALL = "all"
# What an inconclusive verdict asks for that more time may decide.
LARGER = "a larger budget"
# Exit status of the command, which is 2 for all other outcomes.
STATUS = {"lossless": 0, "lossy by design": 0, "convicted": 1}


class Counterexample(NamedTuple):
    """The smallest input found at which the law is wrong; expected and observed map outcomes to probabilities.

    Of a subject that broke it is the input of the call, and both are empty.
    """

    case: str  # in words: V, number of drafts, sampling parameters
    p: Any  # rows of the target, as they were passed
    q: Any  # rows of the draft; None where there are none
    drafts: Any  # None: over all drafts that q can give
    outcome: Any  # the token or text at which the two differ most
    expected: dict[Any, float]
    observed: dict[Any, float]
    given: Mapping[str, str] | None = None  # what else was passed, by its name: sampling_params, prompt, n, ...


@result("outcome", "property", "subject", "words")
class Verdict(NamedTuple):
    """One property of one subject.

    lossless: it holds, as far as `evidence` and `reach` say; convicted: it does not, and
    `counterexample` shows it; lossy by design: declared, `distance` is the price; vacuous: nothing
    was ever accepted, or ever rejected; inconclusive: `words` say what it would take; broken: it
    raised, hung, or returned no token ids; not available: `words` say what is missing; measured:
    `distance` is a distance, and nothing is said of the rule.
    """

    subject: str
    property: str
    outcome: Outcome
    evidence: Evidence = "none"
    reach: str = ""  # vocabularies, numbers of drafts; for Monte Carlo the smallest distance that would be found
    runs: int = 0  # of the subject
    distance: float = 0.0  # total variation, the largest over the cases
    counterexample: Counterexample | None = None
    words: str = ""

    @builtins.property
    def convicted(self) -> bool:
        """Whether the property was shown not to hold."""
        return self.outcome == "convicted"

    @builtins.property
    def wants_time(self) -> bool:
        """Whether more time may decide it."""
        return self.outcome == "inconclusive" and LARGER in self.words

    @builtins.property
    def is_exact(self) -> bool:
        """Whether it acquits by an exact law."""
        return self.outcome == "lossless" and self.evidence in ("scripted", "coins")


class Resemblance(NamedTuple):
    """The bug classes of the museum that a convicted subject resembles, and in what."""

    exhibits: tuple[str, ...]  # names of files in specsim/conform/museum/exhibits; none: nothing there is like it
    how: Literal["law", "symptoms", "property", "nothing"]
    words: str


@result("outcome", "subject", rows=lambda report: report.verdicts)
class Report(NamedTuple):
    """All verdicts on one subject."""

    subject: str
    verdicts: tuple[Verdict, ...]
    complete: bool = True  # False: the budget ran out, or it was interrupted, before every property had its turn
    resemblance: Resemblance | None = None  # of a convicted subject
    seconds: float = 0.0  # charged to it: those in which it had no processor do not count
    loaded: tuple[str, ...] = ()  # files that were imported, run or read while it was judged
    unhashed: tuple[str, ...] = ()  # what its code depended on and no file holds, in words: answers of servers

    @property
    def outcome(self) -> Outcome:
        """The worst verdict; one that is missing leaves a good report inconclusive."""
        outcomes: list[Outcome] = [verdict.outcome for verdict in self.verdicts]
        worst = max(outcomes, key=ORDER.index, default=ORDER[0])
        return "inconclusive" if not self.complete and worst in ("lossless", "lossy by design") else worst

    @property
    def interrupted(self) -> bool:
        """Whether the user ended the judgement, and not the subject."""
        return not self.complete and all(verdict.property != ALL for verdict in self.verdicts)

    @property
    def status(self) -> int:
        """Exit status of the command: 0 passed, 1 convicted, 2 undecided."""
        return STATUS.get(self.outcome, 2)
