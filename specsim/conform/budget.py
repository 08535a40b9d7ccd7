"""The time of one judgement: its deadline, what is left of it, and who may use which part."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.base import clock
from specsim.conform.cases import Case

# A Monte Carlo observation that decides nothing yet takes at most this part of the time left: 1 /
# MONTE_CARLO.
MONTE_CARLO = 4
# An exact observation takes at most 1 / EXACT of the time left.
EXACT = 3
# Where others wait, an exact observation takes up to this many times an equal share, if that is
# less.
SLACK = 3
# A case of which only an exact law counts takes at most 1 / BRIEF of the time left.
BRIEF = 10
# Seconds that a Monte Carlo observation shares at least, even where none are left.
LEAST = 0.01


class Budget:
    """The seconds of one judgement, until `deadline` (of clock.now), and how they are shared.

    Attributes
    ----------
    deadline : float
        When the judgement ends.
    patience : float
        Seconds of the processor after which one call is broken.
    grace : float
        Seconds that a call under way may take after the deadline.
    begun_at : float
        When the judgement began.
    ahead : sequence of Case
        Cases of the properties that follow.
    is_priority : bool
        Whether the property that is judged may exceed its equal share.
    open : int
        Observations among which the time left is shared.
    until : float
        When the observation that is being made must end.
    pace : float
        Seconds of one run, once runs were too slow for a first look; else 0.
    """

    def __init__(self, deadline: float, patience: float, grace: float = 1.0) -> None:
        self.deadline, self.patience, self.grace = deadline, patience, grace
        self.begun_at = clock.now()
        self.ahead: Sequence[Case] = ()
        self.is_priority = True
        self.open = MONTE_CARLO
        self.until = deadline
        self.pace = 0.0

    def left(self) -> float:
        """Return the seconds until the deadline, negative after it."""
        return self.deadline - clock.now()

    def passed(self) -> float:
        """Return the seconds since the judgement began."""
        return clock.now() - self.begun_at

    def turn_to(self, ahead: Sequence[Case], *, is_priority: bool) -> None:
        """Begin a property: the cases of those that follow, and whether it may exceed its equal share."""
        self.ahead, self.is_priority = ahead, is_priority

    def share_among(self, observations: int) -> None:
        """Share what is left of the time among so many observations, or one."""
        self.open = max(observations, 1)

    def end_of_exact(self, case: Case) -> float:
        """Return when an exact observation of a case has taken too long."""
        if case.exact_only:
            return clock.now() + self.left() / BRIEF
        return clock.now() + self.left() / (EXACT if self.is_priority else max(EXACT, self.open / SLACK))

    def begin_sampling(self, *, is_minor: bool) -> tuple[float, float]:
        """Begin a Monte Carlo observation, which must end at `until`; return its begin and the end of its fair share.

        It ends at its fair share once it decides something. A minor one, beside which another
        property decides, has only a part of the time.
        """
        begun, left = clock.now(), max(self.left(), MONTE_CARLO * LEAST)
        if is_minor:
            left /= MONTE_CARLO
        self.until = begun + left / min(MONTE_CARLO, self.open)
        return begun, begun + left / max(MONTE_CARLO, self.open)

    def has_time_for(self, runs: int, pace: float, begun: float) -> bool:
        """Return whether so many runs of `pace` seconds each, from `begun` on, end in time for the observation."""
        return begun + pace * runs <= self.until

    def note_pace(self, seconds: float) -> None:
        """Remember how long one run took, where that was too slow for a first look."""
        self.pace = seconds
