"""A subject that was written before the harness saw it, with its truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Unseen(NamedTuple):
    """One verifier: how it is called, and what is true of it."""

    name: str
    kind: str  # a kind of `specsim.conform.Subject`, or a layout of `assert_lossless_batch`
    run: Callable[..., Any]
    facts: dict[str, Any]  # what a `Subject` declares besides
    truth: str  # why it is lossless, or what is wrong
    distance: float  # total variation at the input that the truth names; 0: lossless


class Shelf(list[Unseen]):
    """The subjects of one file; a call gives the decorator that adds one, its docstring the truth."""

    def __call__(self, kind: str, distance: float = 0.0, **facts: Any) -> Callable[..., Any]:
        """Return a decorator for a verifier of that kind."""

        def add(run: Callable[..., Any]) -> Callable[..., Any]:
            truth = " ".join((run.__doc__ or "").split())
            self.append(Unseen(run.__name__, kind, run, facts, truth, distance))
            return run

        return add


def draw(random: Any, law: Any) -> int:
    """Return a token drawn by a generator from non-negative weights."""
    return int(random.choice(len(law), p=law / law.sum()))


def rest(p: Any, q: Any) -> Any:
    """Return the normalised excess of p over q; p where there is none."""
    excess = (p - q).clip(0)
    return excess / excess.sum() if excess.sum() > 0 else p


def inverse(law: Any, u: Any) -> int:
    """Return the token at which the cumulative law passes u, never one of probability 0."""
    cumulative = np.cumsum(law)
    token = int(np.searchsorted(cumulative, u, side="right"))
    return min(token, int(np.flatnonzero(law)[-1]))
