"""Mutants that are exhibits of the museum: a bug stands once, in the exhibit, and runs here on rationals as a rule."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import accumulate
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim.conform import Subject
from specsim.forking import rational
from specsim.types import Array


class Plan(NamedTuple):
    """The laws that an exhibit is given."""

    p: Array
    q: Array


class Random:
    """The generator of an exhibit, on uniforms that fork."""

    def __init__(self, uniform: Callable[[], Any]) -> None:
        self.random = uniform

    def choice(self, count: int, p: Array) -> int:
        """Return a token of a law."""
        u = self.random()
        return next(token for token, end in enumerate(accumulate(p)) if u < end)


def names_of_step(exhibit: str, like: ModuleType) -> dict[str, Any]:
    """Return the names of a step rule that is like another one, but for its law: that is an exhibit's."""
    subject = importlib.import_module(f"specsim.conform.museum.exhibits.{exhibit}").subject()
    names = {name: value for name, value in vars(like).items() if not name.startswith("__")}
    return names | {
        "prepare": lambda p, q, num_drafts: Plan(p, q),
        "transition": partial(transition, subject),
        "verify": partial(verify, subject),
    }


def names_of_chain(exhibit: str, like: ModuleType) -> dict[str, Any]:
    """Return the names of a chain rule that is like another one, but for its law: that is an exhibit's."""
    subject = importlib.import_module(f"specsim.conform.museum.exhibits.{exhibit}").subject()
    names = {name: value for name, value in vars(like).items() if not name.startswith("__")}
    return names | {"prepare": Plan, "transition": partial(chain_transition, subject)}


def chain_transition(subject: Subject, plan: Plan, drafts: Array) -> Array:
    """Return the exact joint law (gamma+1, V) of the drafts that an exhibit keeps and its token, given its drafts."""
    out = np.full(plan.p.shape, Fraction(0))
    for outcome, mass in rational.law(
        lambda fork: subject.run(*plan, drafts, Random(lambda: fork.uniforms(1)[0]))
    ).items():
        out[outcome] += mass
    return out


def transition(subject: Subject, plan: Plan, drafts: Array) -> Array:
    """Return the exact law of the token of an exhibit, (..., V), given drafts (..., K)."""
    p, q = (np.vectorize(Fraction, otypes=[object])(rows) for rows in plan)
    vocab = p.shape[-1]
    shape = np.broadcast_shapes(p.shape[:-1], q.shape[:-1], drafts.shape[:-1])
    p, q, drafts = (np.broadcast_to(rows, (*shape, rows.shape[-1])) for rows in (p, q, drafts))
    out = np.full((*shape, vocab), Fraction(0))
    for place in np.ndindex(*shape):
        # Drafts that q excludes are never drawn, and an exhibit may divide by 0 there: any law will
        # do.
        if not q[place][drafts[place]].all():
            out[place] = p[place]
            continue
        for token, mass in rational.law(partial(forked, subject, p[place], q[place], drafts[place])).items():
            out[(*place, token)] += mass
    return out


def verify(subject: Subject, plan: Plan, drafts: Array, u: Array) -> int:
    """Return the token of an exhibit at one position, given its drafts (K,) and uniforms."""
    return emitted(subject, *plan, drafts, Random(partial(next, iter(u))))


def forked(subject: Subject, p: Array, q: Array, drafts: Array, fork: rational.Fork) -> int:
    """Return the first token of a run on uniforms that fork."""
    return emitted(subject, p, q, drafts, Random(lambda: fork.uniforms(1)[0]))


def emitted(subject: Subject, p: Array, q: Array, drafts: Array, random: Random) -> int:
    """Return the first token of a run; a chain rule verifies one draft, and both its rows are p."""
    if subject.kind == "step":
        return int(subject.run(p, q, drafts, random))
    accepted, token = subject.run(np.stack([p, p]), q[None], drafts, random)
    return int(drafts[0]) if accepted else int(token)
