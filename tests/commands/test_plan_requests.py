"""Kinds of requests, fitted to a log, in the tails of loads and of `predict`; without a log that is said."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.planning import as_json, run

import specsim
from specsim.commands.plan import rates
from specsim.commands.plan.requests import kinds_of
from specsim.latency import constant
from specsim.lengths.acceptance_record import as_acceptance
from specsim.lengths.request_record import AcceptanceRecord, request_of_blocks

PAIR = "--target llama-3.1-8b --draft eagle3 --hardware h100-sxm --gamma 4 --output-tokens 120 --prompt-tokens 64"
ALPHAS, SHARE, BLOCKS = (0.35, 0.85), 0.6, 40


@cache
def accepted() -> tuple[tuple[int, ...], ...]:
    """Accepted drafts of the blocks of 120 requests, of which three in five accept little."""
    rng = np.random.default_rng(2)
    alphas = np.where(rng.random(120) < SHARE, *ALPHAS)
    return tuple(tuple(np.minimum(rng.geometric(1 - alpha, size=BLOCKS) - 1, 4).tolist()) for alpha in alphas)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The same as answers of Spec-Bench, whose accept_lengths count the token of the target, too."""
    path = tmp_path / "answers.jsonl"
    turns = [
        {"index": 0, "turns": ["x"], "new_tokens": [sum(row) + BLOCKS], "wall_time": [1.0],
         "accept_lengths": [n + 1 for n in row]} for row in accepted()
    ]  # fmt: skip
    path.write_text("\n".join(json.dumps({"question_id": i, "choices": [turn]}) for i, turn in enumerate(turns)))
    return path


def by_requests(cycle_s: float, answer: int) -> np.ndarray:
    """Time per token of 4000 other requests of the same two kinds, block by block."""
    rng = np.random.default_rng(5)
    times = []
    for alpha in np.where(rng.random(4000) < SHARE, *ALPHAS):
        written = np.cumsum(np.minimum(rng.geometric(1 - alpha, size=answer) - 1, 4) + 1)
        times.append(cycle_s * (np.searchsorted(written, answer) + 1) / answer)
    return np.array(times)


def test_predicted_tails_are_those_of_requests() -> None:
    record = AcceptanceRecord(tuple(request_of_blocks(row, 4) for row in accepted()))
    found = specsim.predict(constant(0.05), record, gamma=4, answer=200)
    seen = by_requests(1.2, 200)
    assert found.per_token is not None
    assert (found.per_token.p95, found.per_token.p99) == pytest.approx(np.quantile(seen, [0.95, 0.99]), rel=0.08)
    assert found.per_token.mean == pytest.approx(seen.mean(), rel=0.04)
    alike = specsim.predict(constant(0.05), as_acceptance(record)._replace(requests=None), gamma=4, answer=200)
    assert alike.per_token is not None
    assert alike.per_token.p95 < 0.85 * found.per_token.p95
    assert any(words.startswith("requests are of 2 kinds, fitted to 120: ") for words in found.assumptions)
    assert any(words.startswith("all requests accept drafts alike") for words in alike.assumptions)
    plain = specsim.predict(constant(0.05), record, gamma=0, answer=200)
    assert plain.per_token == pytest.approx((1.0,) * 4)
    with pytest.raises(ValueError, match="answer needs acceptance: tau alone does not say how blocks differ"):
        specsim.predict(constant(0.05), tau=2.0, gamma=4, answer=200)


def test_shares_are_of_requests_not_of_their_blocks() -> None:
    """Half of the requests accept little, and have four in five of the blocks."""
    rng = np.random.default_rng(3)
    rows = [
        np.minimum(rng.geometric(1 - alpha, size=blocks) - 1, 4).tolist()
        for alpha, blocks in zip(ALPHAS, (80, 20), strict=True)
        for _ in range(40)
    ]
    acceptance = as_acceptance(AcceptanceRecord(tuple(request_of_blocks(row, 4) for row in rows)))
    kinds, _ = kinds_of(acceptance, [4])
    assert kinds[4].weights == pytest.approx([0.5, 0.5], abs=0.05)
    found = specsim.predict(constant(0.05), acceptance, gamma=4, answer=200).per_token
    assert found is not None
    pace = 1 / (1 + np.cumprod(np.repeat(np.array(ALPHAS)[:, None], 4, axis=1), axis=1).sum(axis=1))
    assert found.mean == pytest.approx(1.2 * pace.mean(), rel=0.06)


def test_a_log_by_request_gives_the_tails_of_a_loop(log: Path) -> None:
    """At one client the time per token is a cycle over the tokens of the request's own cycles."""
    (point,) = as_json(f"--hazards {log} {PAIR} --concurrency 1")["loop"]
    alike = as_json(f"0.62 {PAIR} --concurrency 1")["loop"][0]["speculative"]["tpot_s"]
    seen = by_requests(1.0, 119)
    of_requests = point["speculative"]["tpot_s"]
    assert of_requests["p95"] / of_requests["mean"] == pytest.approx(np.quantile(seen, 0.95) / seen.mean(), rel=0.05)
    assert of_requests["p95"] / of_requests["mean"] > 1.15 * alike["p95"] / alike["mean"]
    assert point["speedup"]["low"] < point["speedup"]["value"] < point["speedup"]["high"]


def test_it_gives_the_tails_at_a_rate_and_is_named(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REQUESTS", 600)
    said = run(f"--hazards {log} {PAIR} --rate 1")
    assert "- hazards counted in answers.jsonl, intervals over requests" in said
    assert "- requests are of 2 kinds, fitted to 120: " in said
    (line,) = as_json(f"--hazards {log} {PAIR} --rate 1")["lines"]
    times = line["speculative"]["tpot_s"]
    seen = by_requests(1.0, 119)
    assert times["p95"] / times["mean"] == pytest.approx(np.quantile(seen, 0.95) / seen.mean(), rel=0.08)
    assert "- all requests accept drafts alike: where they differ, P95 and P99 are longer" in run(
        f"0.6 {PAIR} --rate 1"
    )


def test_a_plan_takes_the_hazards_of_a_log_by_request(log: Path) -> None:
    answer = as_json(f"--hazards {log} --cost-ratio 0.05 --drafted-share 1")
    best = answer["points"][0]
    assert best["gamma"] <= 4
    counted = np.minimum(np.array(accepted()), best["gamma"])
    assert best["tau"]["value"] == pytest.approx(1 + counted.mean())


def test_a_log_that_cannot_be_read_is_refused_in_the_words_of_its_reader(log: Path) -> None:
    """Once as a CSV with columns of JSON."""
    log.write_text(log.read_text().replace('"accept_lengths": [', '"accept_lengths": [-3, ', 1))
    said = run(f"--hazards {log} --cost-ratio 0.1 --drafted-share 1", 2)
    assert "columns" not in said
    assert "answers.jsonl" in said
    own = log.with_name("runs.json")
    own.write_text('{"runs": [{"speculation": "on", "length": 2, "blocks": 9, "drafted": 18, "accepted": 5}]}')
    said = run(f"--hazards {own} --cost-ratio 0.1", 2)
    assert "runs.json does not count acceptance by request: specsim log runs.json --out hazards.csv writes" in said


def test_what_is_neither_is_refused_as_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("place,hazard\n1,0.5\n")
    assert "h.csv has columns place, hazard; it needs position and hazard" in run(
        f"--hazards {path} --cost-ratio 0.1", 2
    )


def test_a_trace_by_position_has_blocks_of_the_longest_length_that_is_planned(tmp_path: Path) -> None:
    """Seven drafts are accepted from the first position and six from the second, and so on; with two a block, two."""
    trace = {"acc": {"acc_len": [8, 7, 6, 5, 4, 3, 2, 1] * 4}, "generated_token_ids": list(range(32))}
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(f"{json.dumps(trace)}\n" for _ in range(12)))
    for words, best in (("--max-gamma 2", 2), ("--max-gamma 7", 7)):
        points = as_json(f"--hazards {path} --drafted-share 1 --cost-ratio 0.01 {words}")["points"]
        assert points[0]["gamma"] == best
        assert points[0]["tau"]["value"] == pytest.approx(3.0 if best == 2 else 8.0, rel=0.2)
