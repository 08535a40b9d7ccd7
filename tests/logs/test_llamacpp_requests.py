"""llama.cpp and mlx-vlm by request: answers' timings, lines of a server, and the server's counters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.log_files import lines, only, read

from specsim.logs.measures import log_acceptance, log_tau


def timings(tokens: int, accepted: int, drafted: int, **more: int | str) -> dict[str, object]:
    counts = {"draft_n": drafted, "draft_n_accepted": accepted}
    return {"timings": {"prompt_n": 30, "predicted_n": tokens, "predicted_ms": 100.0 * tokens, **counts, **more}}


def test_answers_of_llama_cpp_are_requests(tmp_path: Path) -> None:
    """The first token of 20 is of the prompt's pass: 19 emitted, 15 accepted, 4 steps."""
    run, record = only(lines(timings(20, 15, 20), timings(31, 10, 60), timings(11, 0, 30)), tmp_path)
    assert [request.blocks for request in record.requests] == [4, 20, 10]
    assert [request.context for request in record.requests] == [30, 30, 30]
    assert record.requests[0].seconds == 2.0
    assert run.blocks == record.blocks
    assert record.tau == pytest.approx(log_tau(run, length=8).value)
    found = log_acceptance(run, length=8)
    assert any(note.startswith("intervals are over 3 requests") for note in found.notes)


def test_rounds_of_mlx_vlm_emit_fewer_than_they_accept(tmp_path: Path) -> None:
    run, record = only(
        lines(timings(20, 18, 28, draft_rounds=4, draft_kind="dflash"), timings(20, 9, 70, draft_rounds=10)), tmp_path
    )
    first, second = record.requests
    assert (first.blocks, first.emitted, first.tau) == (4, 19, 4.75)
    assert (second.blocks, second.emitted, second.plain_steps) == (10, None, 0)
    assert run.blocks == 14


SERVER = "eval time = {ms} ms / {tokens} tokens\ndraft acceptance = 0.5 ({accepted} accepted / {drafted} generated)\n"


def test_lines_of_a_server_are_requests_where_they_tell_them_apart(tmp_path: Path) -> None:
    text = "".join(
        SERVER.format(ms=1000.0, tokens=tokens, accepted=accepted, drafted=drafted)
        for tokens, accepted, drafted in ((21, 12, 24), (41, 30, 30), (11, 2, 24))
    )
    run, record = only(text, tmp_path)
    assert [request.blocks for request in record.requests] == [8, 10, 8]
    assert run.blocks == 26
    # A request without drafts has no line of its own: the others cannot be told apart.
    (alone,) = read(text + "eval time = 900.0 ms / 20 tokens\n", tmp_path)
    assert alone.requests is None


METRICS = """# TYPE llamacpp:spec_decode_num_drafts counter
llamacpp:tokens_predicted_total 400
llamacpp:tokens_predicted_seconds_total 8.0
llamacpp:spec_decode_num_drafts_total {drafts}
llamacpp:spec_decode_num_draft_tokens_total {tokens}
llamacpp:spec_decode_num_accepted_tokens_total {accepted}
"""
POSITIONS = 'llamacpp:spec_decode_num_accepted_tokens_per_pos{{position="{0}"}} {1}\n'


def test_counters_of_llama_server(tmp_path: Path) -> None:
    text = METRICS.format(drafts=100, tokens=300, accepted=170) + "".join(
        POSITIONS.format(i, n) for i, n in enumerate((80, 60, 30))
    )
    (run,) = read(text, tmp_path)
    assert (run.engine, run.blocks, run.length, run.kept, run.coverage) == ("llama.cpp", 100, 3, (80, 60, 30), None)
    assert run.token is not None
    assert run.token.value == pytest.approx(0.02)
    # Two scrapes: what grew between them, also for a position that the first had not yet.
    before = METRICS.format(drafts=10, tokens=30, accepted=8) + POSITIONS.format(0, 8)
    before = before.replace("total 400", "total 25")
    (later,) = read(before + text, tmp_path)
    assert (later.blocks, later.accepted, later.kept) == (90, 162, (72, 60, 30))
    with pytest.raises(ValueError, match="falls from 100 to 10; expected scrapes of one server"):
        read(text + before, tmp_path)
    idle = METRICS.format(drafts=0, tokens=0, accepted=0)
    assert read(idle, tmp_path)[0].length == 0
    with pytest.raises(ValueError, match="has no llamacpp:spec_decode_num_accepted_tokens"):
        read(idle.replace("accepted", "other"), tmp_path)


def test_a_stream_counts_its_last_event(tmp_path: Path) -> None:
    part = {"id": "a", **timings(10, 5, 10)}
    whole = {"id": "a", **timings(20, 15, 20)}
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in (part, whole)) + "data: [DONE]\n"
    _, record = only(text, tmp_path)
    assert [request.blocks for request in record.requests] == [4]
