"""Acceptance request by request: how many drafts each step of each request accepted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.results import result
from specsim.lengths.hazards import MAX_DRAFTS
from specsim.types import Array


class LengthCounts(NamedTuple):
    """Blocks of one draft length: counts[n] of them accepted n of their `drafted` drafts, n = 0, ..., drafted."""

    drafted: int
    counts: tuple[int, ...]


@result("blocks", "accepted")
class RequestAcceptance(NamedTuple):
    """Acceptance in one request, over its decoding steps; a field is None where the source does not have it.

    blocks: steps that had drafts. accepted, drafted: draft tokens of all blocks. histogram: blocks by draft length and
    accepted drafts, empty where only the totals are known. plain_steps: steps without a draft, as n-gram drafters have
    them. emitted: tokens of all steps, where they differ from steps + accepted, as for drafts accepted behind the end
    of an answer. tokens: tokens of the answer. prompt: what names the prompt, "" without a name. context: tokens of the
    prompt. seconds: time of the decoding. reach: accepted drafts of a block that would start at each position of the
    answer, if it drafted without end; `at_length` makes it blocks.

    Examples
    --------
    >>> request = RequestAcceptance(10, 13, 20, (LengthCounts(2, (2, 3, 5)),), plain_steps=5)
    >>> request.steps, request.tau
    (15, 1.8666666666666667)
    """

    blocks: int
    accepted: int
    drafted: int | None = None
    histogram: tuple[LengthCounts, ...] = ()
    plain_steps: int | None = 0
    emitted: int | None = None
    tokens: int | None = None
    prompt: str = ""
    context: int | None = None
    seconds: float | None = None
    reach: tuple[int, ...] = ()

    @property
    def steps(self) -> int:
        """Steps of the target, with a draft or without; those with one where the others are not counted."""
        return self.blocks + (self.plain_steps or 0)

    @property
    def emitted_tokens(self) -> int:
        """Tokens that the steps emitted."""
        return self.steps + self.accepted if self.emitted is None else self.emitted

    @property
    def tau(self) -> float:
        """Tokens per step of the target; not a number without a step."""
        return self.emitted_tokens / self.steps if self.steps else math.nan


@result("tau", "requests")
class AcceptanceRecord(NamedTuple):
    """Acceptance of a run, request by request: what every reader of an engine's file with requests returns.

    Examples
    --------
    >>> record = AcceptanceRecord((request_of_blocks([0, 2, 1], 2), request_of_blocks([2, 2], 2)))
    >>> record.length, record.tau
    (2, 2.4)
    """

    requests: tuple[RequestAcceptance, ...]

    @property
    def blocks(self) -> int:
        """Steps with drafts of all requests."""
        return sum(request.blocks for request in self.requests)

    @property
    def length(self) -> int:
        """The longest draft of any block with a histogram, 0 without one."""
        return max((row.drafted for request in self.requests for row in request.histogram), default=0)

    @property
    def tau(self) -> float:
        """Tokens per step of the target, all requests together."""
        steps = sum(request.steps for request in self.requests)
        return sum(request.emitted_tokens for request in self.requests) / steps if steps else math.nan

    @property
    def has_positions(self) -> bool:
        """Whether all blocks have a histogram, so that hazards by position are known."""
        return bool(self.blocks) and all(request.histogram or not request.blocks for request in self.requests)


def request_of_blocks(accepted: Array, drafted: Array, **more: Any) -> RequestAcceptance:
    """Count the blocks of one request.

    Parameters
    ----------
    accepted : array_like of int, shape (N,)
        Drafts that each block accepted.
    drafted : array_like of int, shape (N,) or one number
        Drafts that each block had; a block without drafts is a plain step.
    **more
        Further fields of `RequestAcceptance`: prompt, tokens, context, seconds.

    Returns
    -------
    RequestAcceptance
        Its histogram has a row for each length that some block drafted.

    Raises
    ------
    ValueError
        A negative or fractional number, accepted above drafted, or rows of different lengths.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, algorithm 1 (a block).

    Examples
    --------
    >>> request_of_blocks([0, 2, 1, 0], [2, 2, 2, 0]).histogram
    (LengthCounts(drafted=2, counts=(1, 1, 1)),)
    """
    # Validate two rows of whole numbers.
    n = _whole_numbers(accepted, "accepted")
    g = _whole_numbers(drafted, "drafted")
    if len(g) == 1 != len(n):
        g = np.full(len(n), g[0])
    if len(n) != len(g):
        raise ValueError(f"accepted and drafted have {len(n)} and {len(g)} entries; give one number for each block")
    if (n > g).any():
        i = int(np.argmax(n > g))
        raise ValueError(f"accepted[{i}] is {n[i]}, more than the {g[i]} drafts of that block")
    if g.size and g.max() > MAX_DRAFTS:
        raise ValueError(f"drafted[{int(g.argmax())}] is {g.max()}; blocks have at most {MAX_DRAFTS} drafts")
    # Count them by length.
    histogram = tuple(
        LengthCounts(int(length), tuple(np.bincount(n[g == length], minlength=length + 1).tolist()))
        for length in np.unique(g[g > 0])
    )
    plain = int((g == 0).sum())
    return RequestAcceptance(int((g > 0).sum()), int(n.sum()), int(g.sum()), histogram, plain, **more)


def at_length(record: AcceptanceRecord, length: int) -> AcceptanceRecord:
    """Return the blocks that drafts of one length have, where the source tells how far each position reaches.

    A block at position t accepts min(reach[t], length, tokens left - 1) drafts; the next one starts behind its tokens.

    Examples
    --------
    >>> record = AcceptanceRecord((RequestAcceptance(0, 0, reach=(3, 0, 1, 0, 2, 9)),))
    >>> at_length(record, 2).requests[0].histogram
    (LengthCounts(drafted=2, counts=(1, 1, 1)),)
    """
    g = check.integer(length, "length", 1, MAX_DRAFTS)
    return record._replace(requests=tuple(_walked(request, g) for request in record.requests))


def _walked(request: RequestAcceptance, length: int) -> RequestAcceptance:
    """Return a request with the blocks of a walk over its positions."""
    counts, position, end = [0] * (length + 1), 0, len(request.reach)
    while position < end:
        accepted = min(request.reach[position], length, end - position - 1)
        counts[accepted] += 1
        position += accepted + 1
    total = sum(n * count for n, count in enumerate(counts))
    blocks = sum(counts)
    return request._replace(
        blocks=blocks,
        accepted=total,
        drafted=blocks * length,
        histogram=(LengthCounts(length, tuple(counts)),),
    )


class PositionCounts(NamedTuple):
    """Blocks of each request that came to test draft 1, 2, ..., and that accepted it: two arrays (requests, length)."""

    tried: Array
    accepted: Array


def position_counts(record: AcceptanceRecord) -> PositionCounts:
    """Return how many blocks of each request tested and accepted each draft; a block counts as far as it drafted.

    Examples
    --------
    >>> record = AcceptanceRecord((request_of_blocks([0, 2, 1, 1], [2, 2, 2, 1]),))
    >>> [rows.tolist() for rows in position_counts(record)]
    [[[4, 2]], [[3, 1]]]
    """
    shape = (len(record.requests), record.length)
    tried, accepted = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for i, request in enumerate(record.requests):
        for drafted, counts in request.histogram:
            # at_least[n]: blocks that accepted n drafts or more.
            at_least = np.cumsum(counts[::-1])[::-1]
            tried[i, :drafted] += at_least[:-1]
            accepted[i, :drafted] += at_least[1:]
    return PositionCounts(tried, accepted)


def stepped(record: AcceptanceRecord) -> AcceptanceRecord:
    """Return the record without requests that had no step of the target."""
    return record._replace(requests=tuple(request for request in record.requests if request.steps))


def with_all_steps(record: AcceptanceRecord) -> AcceptanceRecord:
    """Return the record with steps that had no draft counted as blocks, without positions."""
    return record._replace(
        requests=tuple(
            request._replace(blocks=request.steps, plain_steps=0, histogram=()) for request in record.requests
        )
    )


def check_record(record: Any, name: str = "record") -> AcceptanceRecord:
    """Return the record; ValueError where the counts of a request contradict each other.

    >>> check_record(AcceptanceRecord((RequestAcceptance(1, 3, 2),)))
    Traceback (most recent call last):
    ValueError: record, request 0: 3 drafts accepted of 2 drafted; expected no more
    """
    check.record(record, name, AcceptanceRecord)
    for i, request in enumerate(record.requests):
        place = f"{name}, request {i}"
        check.record(request, place, RequestAcceptance)
        if request.drafted is not None and request.accepted > request.drafted:
            raise ValueError(
                f"{place}: {request.accepted} drafts accepted of {request.drafted} drafted; expected no more"
            )
        if min(request.blocks, request.accepted, request.plain_steps or 0, request.emitted or 0) < 0:
            raise ValueError(f"{place} has a negative count; expected 0 or more")
        _check_histogram(request, place)
    return record  # type: ignore[no-any-return]


def _check_histogram(request: RequestAcceptance, place: str) -> None:
    """ValueError unless a histogram has as many blocks and accepted drafts as its request."""
    if not request.histogram:
        return
    for row in request.histogram:
        if len(row.counts) != row.drafted + 1 or min(row.counts) < 0:
            raise ValueError(f"{place}: blocks of {row.drafted} drafts need {row.drafted + 1} counts of 0 or more")
    blocks = sum(sum(row.counts) for row in request.histogram)
    accepted = sum(n * count for row in request.histogram for n, count in enumerate(row.counts))
    if blocks != request.blocks or accepted != request.accepted:
        raise ValueError(
            f"{place}: the histogram has {blocks} blocks and {accepted} accepted drafts, the request {request.blocks} "
            f"and {request.accepted}; they differ"
        )


def shared_prompts(first: AcceptanceRecord, second: AcceptanceRecord) -> list[tuple[int, int]]:
    """Return the places of the requests with one prompt in both records.

    None where a record names a prompt twice, or where prompts of one name have different lengths: then the names are
    of two sets of prompts.
    """
    ours, theirs = (_by_prompt(record.requests) for record in (first, second))
    if ours is None or theirs is None:
        return []
    pairs = [(i, theirs[prompt]) for prompt, i in ours.items() if prompt in theirs]
    contexts = [(first.requests[i].context, second.requests[j].context) for i, j in pairs]
    return [] if any(None not in both and both[0] != both[1] for both in contexts) else pairs


def _by_prompt(requests: Sequence[RequestAcceptance]) -> dict[str, int] | None:
    """Return the place of each named prompt; None if a name stands twice."""
    named = [(request.prompt, i) for i, request in enumerate(requests) if request.prompt]
    by_prompt = dict(named)
    return by_prompt if len(by_prompt) == len(named) else None


def _whole_numbers(value: Iterable[int] | Array, name: str) -> Array:
    """Return whole numbers from 0 on, as int64."""
    w = np.atleast_1d(np.asarray(check.real_values(value, name, 0, 2**53)))
    if w.ndim != 1:
        raise ValueError(f"{name} must be one row of whole numbers, got shape {tuple(w.shape)}")
    if (w != np.floor(w)).any():
        i = int(np.argmax(w != np.floor(w)))
        raise ValueError(f"{name}[{i}] is {w[i]}; give whole numbers")
    return w.astype(np.int64)
