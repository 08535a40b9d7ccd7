"""Checks of arguments that the public samplers share."""

from __future__ import annotations

from array_api_compat import is_array_api_obj, is_numpy_array

from specsim import discover
from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.types import Array, Draws
from specsim.verify.lookup import _in_support


def one_library(drafts: Array, u: Array, p: Array, q: Array, low: int = 0) -> tuple[Array, Array, Array, Array]:
    """Drafts, u, p and q in one library, with token ids checked: NumPy rows follow JAX or torch drafts or uniforms."""
    for other in (drafts, u):
        if is_numpy_array(p) and p.dtype != object and is_array_api_obj(other):
            p, q = check.like(p, other), check.like(q, other)
    return check.tokens(drafts, "drafts", p.shape[-1], p, low), u, p, q


def all_there(drafts: Array, count: int | Draws) -> None:
    """ValueError unless each row has a possible number of drafts, and empty places (-1) come last."""
    xp, places = array_namespace(drafts), count.limit if isinstance(count, Draws) else count
    if drafts.shape[-1] != places:
        raise ValueError(f"drafts has {drafts.shape[-1]} places in a row; num_drafts asks for {places}")
    if not isinstance(count, Draws) or not all(check.concrete(w) for w in (drafts, count.least, count.extra)):
        return
    # Empty places come last.
    empty = drafts < 0
    gap = xp.any(empty[..., :-1] & ~empty[..., 1:], axis=-1)
    if bool(xp.any(gap)):
        row, _ = check.first_bad(gap, gap)
        raise ValueError(f"drafts{row} has -1 in front of a token; empty places come last")
    # Their number is one that the law of N allows.
    number = xp.sum(xp.where(empty, 0, 1), axis=-1)
    is_allowed = (number == count.least) | ((number == count.least + 1) & (count.extra > 0))
    wrong = ~is_allowed
    if bool(xp.any(wrong)):
        row, count_there = check.first_bad(number, wrong)
        raise ValueError(
            f"drafts{row} has {count_there} tokens, which num_drafts rules out; all draws count, repeated ones too"
        )


def can_be_drawn(q: Array, places: Array, drafts: Array, rule: str, scheme: str) -> None:
    """ValueError for a draft that q excludes, or one drawn twice without replacement; drafts -1 are none."""
    if not (check.concrete(q) and check.concrete(places)):
        return
    xp, count = array_namespace(drafts), drafts.shape[-1]
    # Each draft alone.
    _in_support(q[..., None, :], places, drafts)
    # The tuple: these schemes draw not every tuple of possible drafts.
    if scheme in ("greedy", "hub"):
        never = xp.asarray(discover.find("draft", scheme).probability(q, places, count) <= 0)
        if bool(xp.any(never)):
            row, _ = check.first_bad(never, never)
            raise ValueError(f"drafts{row} cannot have been drawn {scheme!r} from its row of q, as {rule!r} expects")
    # Repeated tokens.
    ascending = xp.sort(drafts, axis=-1)
    again = (ascending[..., 1:] == ascending[..., :-1]) & (ascending[..., 1:] >= 0)
    if scheme == "without_replacement" and bool(xp.any(again)):
        _, token = check.first_bad(ascending[..., 1:], again)
        row, support = check.first_bad(xp.sum(xp.where(q > 0, 1, 0), axis=-1), xp.any(again, axis=-1))
        few = f"; q{row} has {support} tokens, fewer than num_drafts={count}" if support < count else ""
        raise ValueError(f"drafts{row} has token {token} twice, but {rule!r} verifies drafts without replacement{few}")
