"""The closed loop: fixed point, simulation and one of simpy agree; lengths are read as typed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.served_ways import a_way, fixed, settings
from helpers.server_processes import Processes, tokens_per_s

from specsim.latency import Timing, constant
from specsim.speed.load.loop import mean_cycles, steady
from specsim.speed.load.passes import simulate_clients
from specsim.speed.load.request_lengths import LengthLaw, Lengths, length_law
from specsim.speed.load.ways import Piece, Reading, Server, alike, alone_s, measured_reading, prompt_of, way_of

CHUNKS = Server()


def differences(count: int, requests: int) -> list[float]:
    """Return simulated over exact tokens per second, less 1."""
    off = []
    for way, server, clients, lengths in settings(count):
        times = simulate_clients(way, server, clients, lengths, requests=40 * clients + requests)
        off.append(times.tokens_per_s / steady(way, server, clients, lengths).tokens_per_s - 1)
    return off


def test_fixed_point_and_simulation_agree() -> None:
    """Lengths, costs, clients, drafts; prompts in the passes of others or alone."""
    off = differences(20, 60)
    assert max(map(abs, off)) < 0.02, off
    assert abs(np.mean(off)) < 0.005


@pytest.mark.slow
def test_fixed_point_and_simulation_agree_on_200_settings() -> None:
    off = differences(200, 300)
    assert max(map(abs, off)) < 0.02, sorted(off, key=abs)[-5:]
    assert abs(np.mean(off)) < 0.003


@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_an_independent_simulation_agrees(count: int) -> None:
    """simpy, within 3 % of both."""
    for way, server, clients, lengths in settings(count):
        seconds = (12 + 60 // clients) * steady(way, server, clients, lengths).answer_s
        by_processes = tokens_per_s(Processes(way, server, lengths, clients), clients, seconds)
        assert by_processes == pytest.approx(steady(way, server, clients, lengths).tokens_per_s, rel=0.03)
        simulated = simulate_clients(way, server, clients, lengths, requests=20 * clients + 60)
        assert by_processes == pytest.approx(simulated.tokens_per_s, rel=0.03)


def test_one_client_by_hand() -> None:
    """A prompt's pass, then a cycle for every token."""
    way = a_way(0.5, 0)._replace(attention_s=0.0)
    answer = steady(way, CHUNKS, 1, fixed(100, 11))
    prompt_s = 0.01 + 100 * 2e-5 + 0.001
    assert answer.answer_s == pytest.approx(prompt_s + 10 * (0.01 + 2e-5))
    waiting = steady(way._replace(wait_s=0.5, scale=0.5), CHUNKS, 1, fixed(100, 11))
    assert waiting.answer_s == pytest.approx(0.5 + (prompt_s - 0.001) / 2 + 0.001 + 10 * (0.01 + 2e-5))
    drafting = a_way(0.5, 1)._replace(attention_s=0.0)
    first_s = (0.01 + 100 * 2e-5) * 1.1 + 0.001
    assert steady(drafting, CHUNKS, 1, fixed(100, 1)).answer_s == pytest.approx(first_s)


def test_a_prompt_beside_others_costs_what_its_tokens_add() -> None:
    way = a_way(0.5, 3)._replace(attention_s=0.0)
    assert way.added_s(4, [Piece(0, 100)]) == pytest.approx(100 * 2e-5 * 1.1)
    assert way.added_s(0, [Piece(0, 100)]) == pytest.approx((0.01 + 100 * 2e-5) * 1.1 + 0.001)
    assert way.added_s(4, []) == 0
    # Attention: each token to those before it, those of earlier pieces included.
    near, far = (way._replace(attention_s=1e-6).added_s(4, [Piece(at, 100)]) for at in (0, 1000))
    assert far - near == pytest.approx(1e-6 * 100 * 1000 * 1.1)
    assert near - way.added_s(4, [Piece(0, 100)]) == pytest.approx(1e-6 * 100 * 50 * 1.1)


def test_pieces_of_a_prompt() -> None:
    server = Server(budget=100, cached_share=0.5)
    assert server.pieces(300, 20) == [Piece(150, 80), Piece(230, 70)]
    assert server.pieces(1, 0) == [Piece(0, 1)]
    assert sum(piece.tokens for piece in Server(budget=100).pieces(990, 64)) == 990


def test_pieces_take_cycles_of_their_own() -> None:
    """A budget below a prompt: the fixed point counts the cycles, and the simulation makes as many."""
    way, lengths = a_way(0.7, 2), fixed(500, 200)
    for budget in (64, 200):
        server = Server(budget=budget)
        simulated = simulate_clients(way, server, 3, lengths, requests=200)
        assert simulated.tokens_per_s == pytest.approx(steady(way, server, 3, lengths).tokens_per_s, rel=0.02)
    # Drafts of the others take most of the budget.
    way, server = a_way(0.7, 8), Server(budget=40)
    simulated = simulate_clients(way, server, 3, lengths, requests=200)
    assert simulated.tokens_per_s == pytest.approx(steady(way, server, 3, lengths).tokens_per_s, rel=0.03)


def test_answers_that_begin_in_the_middle_are_not_measured() -> None:
    way = a_way(0.5, 0)._replace(attention_s=0.0)
    times = simulate_clients(way, CHUNKS, 1, fixed(50, 100))
    assert times.total_s.mean == pytest.approx(0.012 + 99 * 0.01002, rel=1e-6)


def test_measured_prompts_lie_on_lines() -> None:
    """Between the sizes around them, and beyond the last on its line."""
    reading = measured_reading({1: 0.010, 101: 0.030, 201: 0.080}, 0.0)
    seconds = [reading.tokens_s(tokens) for tokens in (51, 101, 151, 301)]
    assert seconds == pytest.approx([0.020, 0.030, 0.055, 0.130])


def test_percentiles_by_hand() -> None:
    """One client, certain times: all quantiles are the same; the slow fifth of answers is in the upper ones."""
    way = a_way(0.5, 0)
    outputs = LengthLaw(np.array([10, 100]), np.array([0.92, 0.08]), "")
    times = simulate_clients(way, CHUNKS, 1, Lengths(fixed(50, 1).prompts, outputs), requests=2000)
    assert times.total_s.p50 < 0.2
    assert times.total_s.p95 == pytest.approx(times.total_s.p99) == pytest.approx(0.012 + 99 * 0.01002, rel=0.01)
    assert simulate_clients(way, CHUNKS, 1, fixed(50, 1)).tpot_s is None


def test_cycles_of_an_answer() -> None:
    """By enumeration: all sequences of blocks until the answer is full."""

    def cycles(law: list[float], left: int) -> float:
        if left <= 0:
            return 0.0
        return 1 + sum(p * cycles(law, left - kept - 1) for kept, p in enumerate(law))

    law = [0.3, 0.5, 0.2]
    for output in (1, 2, 3, 7, 12):
        assert mean_cycles(np.array(law), np.array([output]))[0] == pytest.approx(cycles(law, output - 1))


def test_a_batch_is_padded_to_a_captured_size() -> None:
    server = Server(captured=(1, 2, 4, 8))
    assert [server.padded(batch) for batch in (1, 3, 8, 9)] == [1, 4, 8, 9]
    latency = constant(0.1)._replace(target=lambda tokens, batch, context: Timing(float(batch)))
    way = way_of(latency, alike(np.ones(1)), server, Reading(float), context=0)
    seconds = [way.cycle_s(batch) for batch in (3, 4, 5)]
    assert seconds == pytest.approx([4.0, 4.0, 8.0])


def test_the_prompt_that_takes_a_time() -> None:
    way = a_way(0.5, 0)._replace(attention_s=0.0)
    assert prompt_of(way, CHUNKS, 0.001 + 0.01 + 300.5 * 2e-5, 1 << 17) == 300
    assert alone_s(way, CHUNKS, 300) == pytest.approx(0.001 + 0.01 + 300 * 2e-5)
    assert prompt_of(way, CHUNKS, 1e-6, 1 << 17) == 0


def test_lengths_are_read_as_typed(tmp_path: Path) -> None:
    assert length_law("512", "prompt_tokens", 1 << 20).values.tolist() == [512]
    assert length_law("4k", "prompt_tokens", 1 << 20).values.tolist() == [4096]
    for written in ("900±300", "900+-300", "900 +/- 300"):
        law = length_law(written, "prompt_tokens", 1 << 20)
        spread = float(np.sqrt(law.weights @ (law.values - law.mean) ** 2))
        assert (law.mean, spread) == (pytest.approx(900, rel=0.01), pytest.approx(300, rel=0.06))
    path = tmp_path / "lengths.csv"
    path.write_text("tokens\n10\n30\n30\n\n")
    law = length_law(str(path), "output_tokens", 100)
    assert (law.values.tolist(), law.mean) == ([10, 30], pytest.approx(70 / 3))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("0", "output_tokens must be at least 1, got 0"),
        ("101", "output_tokens is 101; it must be at most 100"),
        ("1.2.3+-5", "write a number, a mean with a standard deviation"),
        ("50+-900", "it may be 3 times the mean at most"),
        ("many", "write a number, a mean with a standard deviation"),
        ("FILE:10\nten\n", "line 2: 'ten' is no length; write one whole number per line"),
        ("FILE:", "has no lengths"),
        ("FILE:10\n500\n", "line 2 is 500; it must be at most 100"),
    ],
)
def test_lengths_that_cannot_be_used(written: str, message: str, tmp_path: Path) -> None:
    if written.startswith("FILE:"):
        path = tmp_path / "lengths.csv"
        path.write_text(written.removeprefix("FILE:"))
        written = str(path)
    with pytest.raises(ValueError, match=r"output_tokens|lengths") as error:
        length_law(written, "output_tokens", 100)
    assert message in str(error.value)
