"""Findings on one subject: the cases seen, which evidence counts, and why there is no stronger evidence."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from specsim.conform.cases import Case
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import ROUNDING, Observation, is_as_large, key_of, size_of
from specsim.conform.subject import Subject
from specsim.conform.verdict import Evidence

# Rounding of exact laws where nothing is known of the subject's floats.
UNKNOWN = 1e-5


class Findings:
    """The state of the judgement of one subject; `delta` is the false-alarm rate of the whole judgement.

    Attributes
    ----------
    delta : float
        Probability that a correct subject is convicted of anything.
    looks : int
        Monte Carlo observations that were begun: each has a part of `delta`, and a seed of its own.
    seen : dict
        Observations by the key of their case.
    kinds : list of Evidence
        Evidence that the subject allows, the strongest first.
    why : list of str
        Why there is no stronger evidence, one reason after the other.
    is_hidden : bool
        Whether the subject has randomness that no script sees.
    refused : str
        Why no verdict is possible at all; empty if one is.
    untaken : dict
        Large vocabularies at which the first call raised, with the error in words.
    dependent : dict
        Whether the rows of one call depend on each other, by the key of the case.
    """

    def __init__(self, subject: Subject, delta: float, kinds: Sequence[Evidence] | None = None) -> None:
        # Evidence, with the laws and reasons that it gave.
        by_default: list[Evidence] = ["scripted", "Monte Carlo"]
        if subject.randomness == "coins":
            by_default.insert(1, "coins")
        self.delta, self.looks = delta, 0
        self.kinds = by_default if kinds is None else list(kinds)
        self.seen: dict[Hashable, Observation] = {}
        self.why: list[str] = []
        self.is_hidden = False
        self.refused = ""
        self.untaken: dict[int, str] = {}
        self._slow_from: int | None = None
        self.dependent: dict[Hashable, bool] = {}
        self._declared = self._floats = subject.dtype
        self._too_long: dict[Evidence, list[tuple[int, int]]] = {}
        self._tried: set[int] = set()
        self._unfollowed: list[tuple[int, int]] = []

    def begin_look(self) -> int:
        """Begin a Monte Carlo observation, and return its number, from 1 on."""
        self.looks += 1
        return self.looks

    def keep(self, observation: Observation, case: Case) -> Observation:
        """Keep what was seen in a case, and return it."""
        self.seen[key_of(case)] = observation
        return observation

    def forget(self, case: Case) -> None:
        """Forget what was seen in a case, so that it is observed anew."""
        self.seen.pop(key_of(case), None)

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Set aside the cases seen while another subject stands in; drop the cases seen of that one."""
        held = self.seen
        self.seen = {}
        try:
            yield
        finally:
            self.seen = held

    def note(self, reason: str) -> None:
        """Note why there is no stronger evidence."""
        self.why.append(reason)

    def note_once(self, reason: str) -> None:
        """Note a reason that may be met at many cases; it is listed once."""
        self.why = list(dict.fromkeys([*self.why, reason]))

    def refuse(self, reason: str) -> None:
        """Give up: no verdict on this subject is possible, for this reason."""
        self.refused = reason

    def mistrust(self, reason: str) -> None:
        """Take no law for exact any more, nor any that was found before."""
        self.is_hidden, self.kinds = True, ["Monte Carlo"]
        self.seen = {key: seen for key, seen in self.seen.items() if seen.evidence == "Monte Carlo"}
        self.note(f"not reproducible: {reason}")

    def give_up(self, kind: Evidence, reason: str) -> None:
        """Ask for no evidence of this kind any more."""
        self.kinds.remove(kind)
        self.note(f"not {kind}: {reason}")

    @property
    def is_followed(self) -> bool:
        """Whether exact evidence may still be had."""
        return self.kinds != ["Monte Carlo"]

    @property
    def rounding(self) -> float:
        """How far rounding may move an exact law of one block."""
        return ROUNDING.get(self._floats, UNKNOWN)

    @property
    def is_float64(self) -> bool:
        """Whether the subject is taken to compute in float64."""
        return self._floats == "float64"

    def round_to(self, dtype: str) -> None:
        """Take the subject's arithmetic for one of shorter floats; known laws stay, with more rounding."""
        self._floats = dtype
        self.note(f"it computes in {dtype}, and is declared {self._declared}")
        self.seen = {key: seen._replace(rounding=self.rounding) for key, seen in self.seen.items()}

    def note_too_long(self, kind: Evidence, case: Case) -> None:
        """Remember that a case took too long: none that is as large is tried with this kind of evidence."""
        self._too_long.setdefault(kind, []).append(size_of(case))

    def is_too_long(self, kind: Evidence, case: Case) -> bool:
        """Return whether a case is as large as one that took too long."""
        return any(is_as_large(case, size) for size in self._too_long.get(kind, ()))

    def retry_long_cases(self) -> None:
        """Allow the cases that took too long again: there is time left."""
        self._too_long.clear()

    def note_unfollowed(self, case: Case) -> None:
        """Remember that a case of which only exact laws count had none."""
        self._unfollowed.append(size_of(case))

    def is_unfollowed(self, case: Case) -> bool:
        """Return whether a case is as large as one that had no exact law."""
        return any(is_as_large(case, size) for size in self._unfollowed)

    def is_tried(self, vocab: int) -> bool:
        """Return whether a first call at a vocabulary was made."""
        return vocab in self._tried

    def try_vocabulary(self, vocab: int) -> None:
        """Remember that a first call at a vocabulary is made."""
        self._tried.add(vocab)

    def exclude_vocabulary(self, vocab: int, reason: str) -> None:
        """Remember that the subject does not take a vocabulary, and what it raised."""
        self.untaken[vocab] = f"it does not take V={vocab}: {reason}"

    def note_slow(self, vocab: int, reason: str) -> None:
        """Remember that a call with so many tokens did not come back: larger vocabularies are not tried."""
        self._slow_from = min(vocab, self._slow_from or vocab)
        self.untaken[vocab] = f"from V={vocab} on nothing is known: a call {reason}"

    def is_slow(self, vocab: int) -> bool:
        """Return whether a call with as many tokens or fewer did not come back."""
        return self._slow_from is not None and vocab >= self._slow_from

    @property
    def has_dependent_rows(self) -> bool:
        """Whether rows of one call hang together in any case: then single calls count."""
        return any(self.dependent.values())

    def note_dependence(self, case: Case, *, depend: bool) -> bool:
        """Remember whether the rows of one call hang together in a case, and return it."""
        self.dependent[key_of(case)] = depend
        return depend

    def rate(self, look: int) -> float:
        """Return the false-alarm rate of one Monte Carlo observation, by its number."""
        return montecarlo.share(self.delta, look)
