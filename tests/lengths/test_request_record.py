"""The record of acceptance by request: counts, walks along traces, positions, prompts shared by two records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import AcceptanceRecord, estimate_hazards, request_of_blocks
from specsim.lengths.request_record import (
    LengthCounts,
    RequestAcceptance,
    at_length,
    check_record,
    position_counts,
    shared_prompts,
    with_all_steps,
)

BLOCKS = st.lists(st.integers(0, 4).flatmap(lambda g: st.tuples(st.integers(0, g), st.just(g))), min_size=1)


@settings(max_examples=40)
@given(st.lists(BLOCKS, min_size=1, max_size=4))
def test_positions_are_those_of_all_blocks_together(texts: list[list[tuple[int, int]]]) -> None:
    record = AcceptanceRecord(tuple(request_of_blocks(*zip(*blocks, strict=True)) for blocks in texts))
    tried, accepted = position_counts(record)
    blocks = [block for text in texts for block in text]
    if record.blocks:
        together = estimate_hazards([n for n, _ in blocks], [g for _, g in blocks])
        assert tried.sum(axis=0)[: len(together.tried)].tolist() == together.tried.tolist()
        assert accepted.sum(axis=0)[: len(together.kept)].tolist() == together.kept.tolist()
    steps = len(blocks)
    assert record.tau == pytest.approx(1 + sum(n for n, _ in blocks) / steps)
    assert check_record(record) is record
    assert with_all_steps(record).tau == pytest.approx(record.tau)
    assert with_all_steps(record).blocks == steps


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 6))
def test_a_walk_emits_the_whole_text_once(reach: list[int], length: int) -> None:
    record = at_length(AcceptanceRecord((RequestAcceptance(0, 0, reach=tuple(reach)),)), length)
    (request,) = record.requests
    assert request.emitted_tokens == len(reach)
    assert request.drafted == length * request.blocks
    check_record(record)


def test_a_walk_by_hand() -> None:
    """Positions 0 (4 accepted, 2 drafted), 3 (1), 5 (9, but the text ends behind one)."""
    reach = (4, 0, 0, 1, 7, 9, 0)
    (request,) = at_length(AcceptanceRecord((RequestAcceptance(0, 0, reach=reach),)), 2).requests
    assert request.histogram == (LengthCounts(2, (0, 2, 1)),)


def test_emitted_tokens_win_over_counts() -> None:
    request = RequestAcceptance(4, 18, 28, emitted=19)
    assert (request.tau, RequestAcceptance(0, 0).steps) == (4.75, 0)
    assert np.isnan(RequestAcceptance(0, 0).tau)
    assert np.isnan(AcceptanceRecord(()).tau)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (RequestAcceptance(1, 3, 2), "3 drafts accepted of 2 drafted"),
        (RequestAcceptance(-1, 0), "negative count"),
        (RequestAcceptance(2, 1, 2, (LengthCounts(2, (1, 1)),)), "blocks of 2 drafts need 3 counts"),
        (RequestAcceptance(2, 2, 4, (LengthCounts(2, (1, 1, 0)),)), "2 blocks and 1 accepted drafts, the request 2"),
    ],
)
def test_counts_that_contradict_each_other_are_refused(request_: RequestAcceptance, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_record(AcceptanceRecord((RequestAcceptance(1, 1, 2), request_)))


def test_blocks_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match=r"accepted\[1\] is 3, more than the 2 drafts"):
        request_of_blocks([0, 3], 2)
    with pytest.raises(ValueError, match="have 2 and 3 entries"):
        request_of_blocks([0, 1], [2, 2, 2])
    with pytest.raises(ValueError, match=r"drafted\[0\] is 1.5; give whole numbers"):
        request_of_blocks([0, 1], 1.5)
    with pytest.raises(ValueError, match=r"accepted\[0\]"):
        request_of_blocks([2**63], 3)
    with pytest.raises(ValueError, match="blocks have at most 4096 drafts"):
        request_of_blocks([0], 5000)


def test_prompts_are_shared_by_name_and_never_by_place() -> None:
    def record(*prompts: str) -> AcceptanceRecord:
        return AcceptanceRecord(tuple(request_of_blocks([1], 2, prompt=prompt) for prompt in prompts))

    assert shared_prompts(record("a", "b", "c"), record("c", "a")) == [(0, 1), (2, 0)]
    assert shared_prompts(record("a", "a"), record("a")) == []
    assert shared_prompts(record("", ""), record("", "")) == []
    # Names of two data sets may be the same, and the prompts not.
    ours, theirs = record("1", "2"), record("1", "2")
    other = theirs._replace(requests=tuple(request._replace(context=9) for request in theirs.requests))
    ours = ours._replace(requests=tuple(request._replace(context=7) for request in ours.requests))
    assert shared_prompts(ours, theirs) == [(0, 0), (1, 1)]
    assert shared_prompts(ours, other) == []
