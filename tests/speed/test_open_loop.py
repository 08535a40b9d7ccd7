"""Requests that arrive at a rate: closed form, simulation, one of simpy and the server of `serve` agree."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.served_ways import a_way, fixed, settings
from helpers.server_processes import Processes, requests_at

from specsim.speed.load.closed import regularity
from specsim.speed.load.events import serve
from specsim.speed.load.loop import answer_cycles, steady
from specsim.speed.load.open_loop import open_loop
from specsim.speed.load.passes import served, simulate_arrivals, simulate_clients
from specsim.speed.load.request_lengths import LengthLaw, Lengths
from specsim.speed.load.service import of_parts
from specsim.speed.load.ways import Kinds, Server

# Two kinds of requests, of blocks of three drafts: most of them accept few.
KINDS = Kinds(np.array([0.7, 0.3]), np.array([[0.7, 0.2, 0.05, 0.05], [0.05, 0.05, 0.1, 0.8]]))


def differences(count: int, requests: int) -> list[float]:
    """Return mean times in closed form over simulated ones, less 1, at 0.4 of the largest rate and at 0.7 of it."""
    off = []
    for way, server, clients, lengths in settings(count):
        limit = max(clients, 4)
        queue = open_loop(way, server, limit, lengths)
        for share in (0.4, 0.7):
            rate = share * queue.stable
            seen = simulate_arrivals(way, server, rate, limit, lengths, requests=requests)
            off.append(queue.total_s(rate) / seen.total_s.mean - 1)
    return off


def test_closed_form_and_simulation_agree() -> None:
    off = differences(3, 1500)
    assert max(map(abs, off)) < 0.05, off


@pytest.mark.slow
def test_closed_form_and_simulation_agree_on_60_settings() -> None:
    off = differences(60, 3000)
    assert max(map(abs, off)) < 0.05, sorted(off, key=abs)[-5:]
    assert np.median(np.abs(off)) < 0.01


@pytest.mark.parametrize("count", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_an_independent_simulation_agrees(count: int) -> None:
    """By processes of simpy at 0.6 of the largest rate: times to the first token and to the last."""
    for way, server, _, lengths in settings(count):
        # With few places the wait for one is most of the noise: `serve` checks it request by request.
        limit = 40
        rate = 0.6 * open_loop(way, server, limit, lengths).stable
        seen = simulate_arrivals(way, server, rate, limit, lengths, requests=2000)
        others = requests_at(Processes(way, server, lengths, limit), rate, 600)
        total_s = np.mean([request.done - request.came for request in others])
        assert seen.total_s.mean == pytest.approx(total_s, rel=0.06)
        first_s = np.mean([request.first - request.came for request in others])
        assert seen.ttft_s is not None
        assert seen.ttft_s.mean == pytest.approx(first_s, rel=0.3)


@pytest.mark.parametrize("limit", [1, 3, 20])
def test_prompts_read_alone_are_the_server_of_serve(limit: int) -> None:
    """Request by request: the same arrivals, the same cycles, the same times, to rounding."""
    way = a_way(0.5, 0)._replace(attention_s=0.0)
    lengths, server = fixed(300, 41), Server(chunked=False)
    prompt_s = way.added_s(0, server.pieces(300, 0))
    service = of_parts(prompt_s, [way.cycle_s(b) for b in range(1, limit + 1)], np.ones(1), 41)
    rng = np.random.default_rng(3)
    arrivals = np.cumsum(rng.exponential(1.3 * float(service.demand_s[-1]), 200))
    run = serve(arrivals.tolist(), [40] * 200, service)
    seen = served(way, server, arrivals, limit, lengths)
    middle = slice(40, 190)
    total_s, first_s = (np.array(times)[middle] - arrivals[middle] for times in (run.done, run.first))
    assert seen.ttft_s is not None
    assert (seen.total_s.mean, seen.total_s.p99) == pytest.approx((total_s.mean(), np.quantile(total_s, 0.99)))
    assert (seen.ttft_s.mean, seen.ttft_s.p50) == pytest.approx((first_s.mean(), np.quantile(first_s, 0.5)))


def test_two_places_by_hand() -> None:
    """The chain of two places: p_n is 1, a, ab, ab b, ..."""
    way = a_way(0.5, 0)._replace(attention_s=0.0)
    queue = open_loop(way, Server(), 2, fixed(100, 11))
    rate = 0.5 * queue.stable
    a, b = rate * queue.between_s
    norm = 1 + a + a * b / (1 - b)
    beyond = a * b * b / (1 - b) / norm
    served = (a + 2 * a * b) / norm + 2 * beyond
    queued = regularity(b, 2, 0.0) * beyond / (1 - b)
    by_hand = (served + queued) / rate + a / norm * way.cycle_s(1) / 2
    assert queue.total_s(rate) == pytest.approx(by_hand, rel=1e-9)
    assert queue.spread == pytest.approx(0.0, abs=1e-12)


def test_a_request_alone_by_hand() -> None:
    """Hardly any load: a wait, the prompt, and a cycle for each further token; nobody waits for a cycle to end."""
    way = a_way(0.5, 0)._replace(attention_s=0.0, wait_s=0.25)
    alone_s = 0.25 + 0.001 + 0.01 + 100 * 2e-5 + 10 * (0.01 + 2e-5)
    queue = open_loop(way, Server(), 4, fixed(100, 11))
    assert queue.total_s(1e-9) == pytest.approx(alone_s)
    seen = simulate_arrivals(way, Server(), 1e-6, 4, fixed(100, 11), requests=50)
    assert (seen.total_s.mean, seen.total_s.p99) == pytest.approx((alone_s, alone_s))
    assert seen.running == pytest.approx(1e-6 * 10 * 0.01002, rel=0.1)


def test_a_full_server_ends_as_many_requests_as_its_clients_do() -> None:
    """Beyond the largest stable rate the queue grows, and tokens per second are those of the closed loop."""
    way, lengths = a_way(0.7, 2), fixed(200, 60)
    queue = open_loop(way, Server(), 8, lengths)
    assert queue.stable == pytest.approx(steady(way, Server(), 8, lengths).tokens_per_s / 60)
    seen = simulate_arrivals(way, Server(), 3 * queue.stable, 8, lengths, requests=800)
    assert seen.running == pytest.approx(8, rel=0.05)
    assert seen.total_s.mean > 20 * queue.total_s(0.5 * queue.stable)


def test_kinds_of_requests_change_the_tails() -> None:
    """Few tokens of a cycle for most requests, many for some: P95 is that of the poor ones, and the mean is kept."""
    way = a_way(0.5, 3)._replace(kinds=KINDS)
    pooled = Kinds(np.ones(1), (np.array([0.7 / 1.45, 0.3 / 3.65]) @ KINDS.length_laws)[None])
    pooled = pooled._replace(length_laws=pooled.length_laws / pooled.length_laws.sum())
    lengths = fixed(50, 200)
    assert KINDS.tau == pytest.approx(pooled.tau)
    of_kinds, alike = (simulate_clients(w, Server(), 1, lengths) for w in (way, way._replace(kinds=pooled)))
    assert of_kinds.tokens_per_s == pytest.approx(alike.tokens_per_s, rel=0.05)
    assert of_kinds.tokens_per_s == pytest.approx(steady(way, Server(), 1, lengths).tokens_per_s, rel=0.05)
    assert of_kinds.tpot_s is not None
    assert alike.tpot_s is not None
    cycle_s = way.cycle_s(1)
    assert of_kinds.tpot_s.p95 == pytest.approx(cycle_s / 1.45, rel=0.12)
    assert of_kinds.tpot_s.p95 > 1.15 * alike.tpot_s.p95


def test_kinds_of_requests_by_processes() -> None:
    """simpy draws a kind for each request, too."""
    way, lengths = a_way(0.5, 3)._replace(kinds=KINDS), fixed(50, 120)
    rate = 0.5 * open_loop(way, Server(), 4, lengths).stable
    seen = simulate_arrivals(way, Server(), rate, 4, lengths, requests=1500)
    others = requests_at(Processes(way, Server(), lengths, 4), rate, 600)
    tpot_s = [(request.done - request.first) / 119 for request in others]
    assert seen.tpot_s is not None
    assert seen.tpot_s.p95 == pytest.approx(np.quantile(tpot_s, 0.95), rel=0.05)
    assert seen.tpot_s.mean == pytest.approx(np.mean(tpot_s), rel=0.04)


def test_kinds_and_both_lengths_are_independent() -> None:
    """Long answers are of every kind, and behind every prompt."""
    outputs = LengthLaw(np.array([50, 400]), KINDS.weights, "")
    way, lengths = a_way(0.5, 3)._replace(kinds=KINDS), Lengths(fixed(50, 1).prompts, outputs)
    seen = simulate_clients(way, Server(), 1, lengths, requests=2000)
    assert seen.tokens_per_s == pytest.approx(steady(way, Server(), 1, lengths).tokens_per_s, rel=0.05)
    # A long prompt and a long answer each take 0.1 s more; both come together in one request of a hundred.
    rare = np.array([0.9, 0.1])
    lengths = Lengths(LengthLaw(np.array([10, 5010]), rare, ""), LengthLaw(np.array([2, 12]), rare, ""))
    way = a_way(0.5, 0)._replace(attention_s=0.0)
    seen = simulate_clients(way, Server(), 1, lengths, requests=1000)
    assert seen.total_s.p95 == pytest.approx(seen.total_s.p50 + 0.1, rel=0.02)


def test_a_wait_that_occupies_no_device_holds_no_place() -> None:
    way = a_way(0.5, 0)._replace(attention_s=0.0, wait_s=0.25)
    queue = open_loop(way, Server(), 1, fixed(100, 11))
    rate = 0.5 * queue.stable
    seen = simulate_arrivals(way, Server(), rate, 1, fixed(100, 11), requests=1000)
    assert seen.total_s.mean == pytest.approx(queue.total_s(rate), rel=0.1)


def test_prompts_are_read_in_the_order_in_which_they_came() -> None:
    """Ten requests at once, each of ten passes: the i-th ends behind i of them, whichever place it has."""
    way = a_way(0.5, 0)._replace(attention_s=0.0)
    seen = served(way, Server(budget=100), np.arange(10) * 1e-9, 2, fixed(1000, 1))
    prompt_s = 10 * (0.001 + 0.01 + 100 * 2e-5)
    assert seen.total_s.mean == pytest.approx(np.mean(range(3, 11)) * prompt_s, rel=1e-6)


def test_the_spread_of_cycles_is_that_of_their_law() -> None:
    way = a_way(0.5, 1)
    service = of_parts(0, [1], way.kinds.length_laws[0], 201)
    exact = service.variance_cycles / service.mean_cycles**2
    assert open_loop(way, Server(), 2, fixed(10, 201)).spread == pytest.approx(exact, rel=0.05)


def test_where_cycles_have_the_reading_in_them() -> None:
    """All tokens come of cycles, the first one too, and nothing is said of the time to it."""
    way = a_way(0.6, 2)
    lengths = Lengths(None, LengthLaw(np.array([80]), np.ones(1), ""))
    assert answer_cycles(way, lengths) == pytest.approx(answer_cycles(way, fixed(1, 81)))
    seen = simulate_clients(way, Server(), 5, lengths)
    assert seen.ttft_s is None
    assert seen.tokens_per_s == pytest.approx(steady(way, Server(), 5, lengths).tokens_per_s, rel=0.02)
    assert seen.total_s.mean * seen.tokens_per_s == pytest.approx(5 * 80, rel=0.03)
    # Every token of an answer is one of the time per token.
    plain = a_way(0.6, 0)
    seen = simulate_clients(plain, Server(), 1, Lengths(None, LengthLaw(np.array([3]), np.ones(1), "")))
    assert seen.tpot_s is not None
    assert seen.tpot_s.mean == pytest.approx(plain.cycle_s(1))
