"""Requests at a rate: known queues, exact identities of the event loop, and the rates that are looked for."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from helpers.servers import line
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import (
    request_times,
    service_costs,
    simulate_requests,
    stable_rate,
)
from specsim.latency import constant
from specsim.speed.load.events import Run, _quantiles, drawn, serve
from specsim.speed.load.service import Service, of_parts

HALF = [F(1, 4), F(1, 4), F(1, 2)]


@st.composite
def runs(draw: st.DrawFn) -> tuple[Service, list[F], list[int]]:
    """A server and requests, all in rationals."""
    ten = st.integers(0, 30).map(lambda k: F(k, 10))
    limit, output = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    costs = draw(st.lists(st.integers(1, 20).map(lambda k: F(k, 10)), min_size=limit, max_size=limit))
    served = of_parts(draw(ten), costs, np.array(HALF), output)
    gaps = draw(st.lists(ten, min_size=1, max_size=12))
    arrivals = [sum(gaps[: i + 1], F(0)) for i in range(len(gaps))]
    cycles = [draw(st.integers((output + 1) // 3, output - 1)) if output > 1 else 0 for _ in gaps]
    return served, arrivals, cycles


def by_cycle(arrivals: list[F], cycles: list[int], served: Service) -> Run:
    """The same server, one cycle after the other, with the number in the system counted from its list of events."""
    n, time, place = len(arrivals), arrivals[0], 0
    left: dict[int, int] = {}
    placed, first, done = list(arrivals), list(arrivals), list(arrivals)
    while place < n or left:
        if not left:
            time = max(time, arrivals[place])
        while place < n and len(left) < served.limit and arrivals[place] <= time:
            placed[place] = time
            time += served.prompt_s
            first[place] = done[place] = time
            if cycles[place]:
                left[place] = cycles[place]
            place += 1
        if left:
            time += served.cycle_s[len(left) - 1]
            for i in list(left):
                left[i] -= 1
                if not left[i]:
                    done[i] = time
                    del left[i]
    events = sorted([(t, 1) for t in arrivals] + [(t, -1) for t in done])
    area, number, last = F(0), 0, events[0][0]
    for t, step in events:
        area, number, last = area + number * (t - last), number + step, t
    return Run(list(arrivals), placed, first, done, [], area)


@given(runs())
@settings(max_examples=60, deadline=None)
def test_a_run_is_the_same_as_cycle_by_cycle(case: tuple[Service, list[F], list[int]]) -> None:
    served, arrivals, cycles = case
    ours, theirs = serve(arrivals, cycles, served), by_cycle(arrivals, cycles, served)
    assert (ours.placed, ours.first, ours.done) == (theirs.placed, theirs.first, theirs.done)
    assert ours.area == theirs.area


@given(runs())
@settings(max_examples=60, deadline=None)
def test_littles_law_is_an_identity_of_areas(case: tuple[Service, list[F], list[int]]) -> None:
    served, arrivals, cycles = case
    run = serve(arrivals, cycles, served)
    assert run.area == sum(d - a for d, a in zip(run.done, run.arrival, strict=True))
    gaps = sum((gap * many for gap, many, _ in run.gaps), F(0))
    assert gaps == sum(d - f for d, f in zip(run.done, run.first, strict=True)), "gaps make up the time after the first"
    assert sum(many for _, many, _ in run.gaps) == sum(cycles)
    busy = sum((run.first[i] - run.placed[i] for i in range(len(cycles))), F(0))
    assert busy == len(cycles) * served.prompt_s


def test_littles_law_in_floats() -> None:
    served = service_costs(constant(0.1), 0.8, gamma=3, prompt=1, output=64, limit=8)
    run = serve(*drawn(served, 0.2, 500, 3, 0), served)
    assert run.area == pytest.approx(sum(np.subtract(run.done, run.arrival)), rel=1e-12)


def test_cycles_of_an_answer_are_those_of_its_blocks() -> None:
    served = of_parts(F(1), [F(2)], np.array(HALF), 4)  # three tokens in blocks of 1, 2, 3
    assert served.cycles.tolist() == [0, F(1, 2), F(7, 16), F(1, 16)]
    assert (served.mean_cycles, served.variance_cycles) == (F(25, 16), F(95, 256))
    assert of_parts(1, [1], np.array([1.0]), 1).cycles.tolist() == [1.0], "one token: the prompt gives it"
    assert served.demand_s == [F(1) + F(25, 16) * 2]


@pytest.mark.parametrize("law", [None, [0.5, 0.0, 0.0, 0.5]], ids=["M/D/1", "M/G/1"])
def test_a_limit_of_one_is_pollaczek_and_khinchine(law: list[float] | None) -> None:
    served = line(1.0, 0.0, 2.0, 1, 11, law)
    mean = 2 + float(served.mean_cycles)
    second = mean**2 + float(served.variance_cycles)
    assert (float(served.variance_cycles) == 0) is (law is None)
    for load in (0.2, 0.6, 0.9):
        rate = load / mean
        wait = rate * second / (2 * (1 - load))
        found = request_times(served, rate)
        assert found.first_s == pytest.approx(wait + 2, rel=1e-12)
        assert found.total_s == pytest.approx(wait + mean, rel=1e-12)
        assert found.batch == pytest.approx(rate * (wait + mean), rel=1e-12)
        assert found.holds
    seen = simulate_requests(served, 0.6 / mean, requests=4000, runs=8)
    exact = 0.6 / mean * second / (2 * 0.4) + mean
    assert seen.total.mean.low <= exact <= seen.total.mean.high
    assert seen.total.mean.high - seen.total.mean.low < 0.2 * exact


def test_without_load_a_request_takes_what_it_takes_alone() -> None:
    served = line(0.7, 0.3, 2.5, 8, 41, [0.3, 0.2, 0.5])
    alone = 2.5 + float(served.mean_cycles)
    found = request_times(served, 1e-9)
    assert found.first_s == pytest.approx(2.5, abs=1e-6)
    assert found.total_s == pytest.approx(alone, abs=1e-6)
    assert found.token_s == pytest.approx((alone - 2.5) / 40, abs=1e-6)
    seen = simulate_requests(served, 1e-9, requests=2000, runs=4, level=0.999)
    assert seen.total.mean.low <= alone <= seen.total.mean.high
    assert seen.first.p50 == seen.first.p99 == pytest.approx(2.5, rel=1e-6)


def test_a_line_without_a_limit_is_the_formula_of_kong() -> None:
    """L = C1 / (1 - R C2), up to the half cycle that an arrival waits; many cycles make that small."""
    fixed, each, rate = 1.0, 0.05, 0.008
    served = line(fixed, each, 0.0, 512, 1001)
    one = 1000 * (fixed + each) / (1 - rate * 1000 * each)
    found = request_times(served, rate)
    assert found.full < 1e-9
    wait = found.first_s
    assert found.total_s - wait == pytest.approx(one, rel=1e-9)
    assert 0.5 * (fixed + each) < wait < 0.5 * (fixed + each * 20)


def test_closed_form_meets_the_simulation_under_load() -> None:
    served = line(5.0, 0.2, 12.0, 64, 65, [0.2, 0.2, 0.6])
    rate = 0.5 * stable_rate(served)
    found, seen = request_times(served, rate), simulate_requests(served, rate, requests=3000, runs=4)
    assert found.holds
    for value, mean in (
        (found.first_s, seen.first.mean),
        (found.token_s, seen.pace.mean),
        (found.total_s, seen.total.mean),
    ):
        assert abs(value / mean.value - 1) < 0.02 + (mean.high - mean.low) / 2 / mean.value


def test_more_load_takes_longer() -> None:
    served = line(1.0, 0.1, 3.0, 16, 33, [0.5, 0.5])
    top = stable_rate(served)
    times = [request_times(served, share * top) for share in np.linspace(0.01, 0.99, 40)]
    for name in ("first_s", "total_s", "batch", "full", "load", "reading"):
        values = [getattr(one, name) for one in times]
        assert values == sorted(values), name
    assert times[-1].total_s > 10 * times[0].total_s
    assert not times[-1].holds


def test_the_largest_stable_rate_is_where_the_queue_grows() -> None:
    served = line(1.0, 0.5, 2.0, 3, 11)
    assert stable_rate(served) == pytest.approx(1 / (2 + 10 * 2.5 / 3))
    arrivals = [0.0] * 300  # always full: the last is done after 300 demands
    done = max(serve(arrivals, [10] * 300, served).done)
    assert done == pytest.approx(300 / stable_rate(served), rel=0.01)


def test_gaps_are_cycles_and_tokens_of_a_block_come_together() -> None:
    served = line(1.0, 0.0, 0.5, 4, 101, [0.0, 0.0, 1.0])  # three tokens a cycle
    seen = simulate_requests(served, 1e-6, requests=40, runs=2)
    assert (seen.token.p50, seen.token.p99) == (0.0, 1.0)
    assert seen.token.mean.value == pytest.approx(34 / 100, rel=1e-6)  # 34 cycles, the last cut
    assert seen.pace.mean.value == pytest.approx(34 / 100, rel=1e-6)


def test_what_is_measured_of_a_run() -> None:
    """Not its first fifth, which meets an empty server, nor its last twentieth; quantiles are of weights."""
    served = line(1.0, 0.0, 0.5, 4, 9)
    assert simulate_requests(served, 0.01, requests=100, runs=2).requests == 2 * 75
    values = np.arange(1.0, 101.0)
    found = _quantiles([(values, np.ones(100)), (values, np.ones(100))], 2.0)
    assert (found.mean.value, found.p50, found.p99) == (50.5, 50.0, 99.0)
    weighted = _quantiles([(values, np.where(values == 7, 1e6, 1.0))] * 2, 2.0)
    assert (weighted.p50, weighted.p99) == (7.0, 7.0)


def test_the_closed_form_counts_as_good_up_to_a_load() -> None:
    """Of a processor that is shared nobody waits for a place: only the load tells these apart."""
    shared = line(1e-3, 1.0, 1e-3, 64, 9)
    found = {share: request_times(shared, share * stable_rate(shared)) for share in (0.69, 0.71)}
    assert max(one.full for one in found.values()) < 1e-6
    assert max(one.reading for one in found.values()) < 1e-3
    assert [one.holds for one in found.values()] == [True, False]


def test_intervals_hold_what_another_seed_finds() -> None:
    served = line(1.0, 0.1, 1.0, 8, 33, [0.5, 0.5])
    rate = 0.5 * stable_rate(served)
    long = simulate_requests(served, rate, requests=20_000, runs=2, seed=99).total.mean.value
    hit = 0
    for seed in range(10):
        mean = simulate_requests(served, rate, requests=500, runs=8, seed=seed).total.mean
        hit += mean.low <= long <= mean.high
    assert hit >= 7
    again = simulate_requests(served, rate, requests=500, runs=8, seed=4)
    assert again == simulate_requests(served, rate, requests=500, runs=8, seed=4)


def test_the_mean_of_a_long_answer_is_its_tokens_over_tau() -> None:
    served = service_costs(constant(0.1), 0.8, gamma=3, prompt=1, output=2001, limit=1)
    assert float(served.mean_cycles) == pytest.approx(2000 / 2.952, rel=2e-3)
    assert math.isclose(served.cycle_s[0], 1.3)
