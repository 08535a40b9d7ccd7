"""Decisions about load: rates that are looked for, controllers that choose before each cycle, and what is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest
from helpers.servers import line

from specsim import (
    harmful_rate,
    largest_rate,
    request_times,
    roofline,
    serve_by_choice,
    service_costs,
    simulate_requests,
    stable_rate,
)
from specsim.latency import LatencyModel, Timing, constant
from specsim.speed.load.choices import Live
from specsim.speed.load.events import serve
from specsim.speed.load.rates import ServiceQueue, largest_within_of_any, none_helps_from
from specsim.speed.load.service import of_parts


def rising(prompt: float, c: float, each: float) -> LatencyModel:
    """A pass costs a line in its tokens, a draft step c."""
    return LatencyModel(
        lambda m, b, s: Timing(prompt if m > 50 else 1 + each * m * b),
        lambda b, s: Timing(c),
        lambda b, s: Timing(0.0),
        "s",
        (),
    )


def test_the_rate_from_which_speculation_hurts() -> None:
    sizes = {"prompt": 64, "output": 65, "limit": 64}
    times = rising(2.0, 0.05, 0.05)
    plain, fast = service_costs(times, gamma=0, **sizes), service_costs(times, 0.6, gamma=3, **sizes)
    turn = harmful_rate(plain, fast)
    assert turn is not None
    assert 0 < turn < stable_rate(plain)
    for share, better in ((0.98, True), (1.02, False)):
        rate = share * turn
        helps = rate < stable_rate(fast) and request_times(fast, rate).total_s < request_times(plain, rate).total_s
        assert helps is better
    free = service_costs(rising(2.0, 0.0, 0.0), 0.6, gamma=3, **sizes)
    assert harmful_rate(service_costs(rising(2.0, 0.0, 0.0), gamma=0, **sizes), free) is None
    dear = service_costs(rising(2.0, 9.0, 0.0), 0.6, gamma=3, **sizes)
    assert harmful_rate(service_costs(rising(2.0, 0.0, 0.0), gamma=0, **sizes), dear) == 0.0


def test_a_service_is_priced_by_its_parts() -> None:
    """A prompt of 64 tokens takes 2 s, and a draft a share of c of it; six sequences verify four tokens each."""
    made = service_costs(rising(2.0, 0.05, 0.01), [0.5, 0.5, 1.0], gamma=3, prompt=64, output=9, limit=6)
    assert made.prompt_s == pytest.approx(2.0 * (1 + 0.05 / 1.01))
    assert made.cycle_s[5] == pytest.approx(3 * 0.05 + 1 + 0.01 * 4 * 6)
    assert made.length_law.tolist() == [0.5, 0.25, 0.0, 0.25]
    plain = service_costs(rising(2.0, 0.05, 0.01), gamma=0, prompt=64, output=9, limit=6)
    assert (plain.prompt_s, plain.mean_cycles) == (2.0, 8)
    told = service_costs(rising(2.0, 0.05, 0.01), gamma=0, prompt=64, output=9, limit=6, prompt_s=7.0)
    assert told.prompt_s == 7.0


def test_speculation_that_cannot_keep_up_hurts() -> None:
    """Faster at every rate that it can serve: it hurts from its largest stable rate on."""
    plain, fast = line(9.0, 0.0, 0.0, 1, 11), line(8.0, 0.0, 0.0, 1, 11)
    assert harmful_rate(plain, fast) is None
    slow = fast._replace(cycle_s=(9.5,))
    assert harmful_rate(plain, slow) == 0.0
    wide = of_parts(0.0, [10.0] * 64, np.array([1.0]), 11)
    capped = of_parts(0.0, [0.5] * 63 + [50.0], np.array([1.0]), 11)  # fast until its batch is full
    assert harmful_rate(wide, capped) == pytest.approx(stable_rate(capped), rel=1e-6)


def test_the_largest_rate_under_a_bound() -> None:
    served = line(1.0, 0.1, 3.0, 16, 33, [0.5, 0.5])
    for of, factor in (("first", 2.0), ("token", 1.3), ("total", 1.5)):
        bound = factor * getattr(request_times(served, 1e-9), f"{of}_s")
        rate = largest_rate(served, bound, of=of)
        assert rate is not None
        assert getattr(request_times(served, rate), f"{of}_s") == pytest.approx(bound, rel=1e-6)
    assert largest_rate(served, 1.0) is None
    assert largest_rate(served, 1e12) == pytest.approx(stable_rate(served), rel=1e-5)


@pytest.mark.parametrize("load", [1 / 1000, 1 / 100, 1 / 10])
def test_a_bound_may_fail_below_the_first_rate_that_is_tried(load: float) -> None:
    """M/D/1: 10 + 5 rho / (1 - rho) is 10 and a little at loads far below 1/64 of what can be served."""
    served = service_costs(constant(0), gamma=0, prompt=1, output=10, limit=1)
    rate = largest_rate(served, 10 + 5 * load / (1 - load))
    assert rate == pytest.approx(load / 10, rel=1e-4)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.7, 0.9])
def test_the_best_of_several_is_that_of_each(alpha: float) -> None:
    """Ways that cannot raise it are passed over; the answer is that of asking all."""
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    sizes = {"prompt": 64, "output": 64, "limit": 64}
    plain, *ways = (service_costs(times, alpha if g else None, gamma=g, **sizes) for g in range(6))
    found = [harmful_rate(plain, way) for way in ways]
    queues = [ServiceQueue(way) for way in ways]
    last = None if None in found else max(h for h in found if h is not None)
    assert none_helps_from(ServiceQueue(plain), queues) == last
    for bound in (0.01, 0.3, 0.6, 50.0):
        reach = [r for way in ways if (r := largest_rate(way, bound)) is not None]
        assert largest_within_of_any(queues, bound) == max(reach, default=None)
    assert (none_helps_from(ServiceQueue(plain), []), largest_within_of_any([], 1.0)) == (0.0, None)


def test_a_controller_that_never_changes_is_the_plain_run() -> None:
    plain = line(1.0, 0.25, 0.5, 3, 9)
    rng = random.Random(5)
    arrivals = np.cumsum([rng.expovariate(0.2) for _ in range(60)]).tolist()
    run = serve(arrivals, [8] * 60, plain)
    seen: list[Live] = []

    def choose(live: Live) -> int:
        seen.append(live)
        return 0

    found = serve_by_choice(arrivals, [plain], choose)
    assert found.done == pytest.approx(run.done)
    assert found.first == pytest.approx(run.first)
    assert found.cycles.tolist() == [len(seen)]
    assert max(live.batch for live in seen) == 3
    assert max(live.waiting for live in seen) > 0
    assert (seen[0].written, min(live.written for live in seen)) == (1, 1)
    assert found.busy_s == pytest.approx(60 * 0.5 + sum(1 + 0.25 * live.batch for live in seen))


def test_a_controller_sees_who_waits_now() -> None:
    """One of three is served at a time: two wait, then one, then nobody; all have come at once."""
    plain, seen = line(1.0, 0.0, 0.5, 1, 3), list[int]()
    serve_by_choice([0.0, 0.0, 0.0], [plain], lambda live: seen.append(live.waiting) or 0)
    assert seen == [2, 2, 1, 1, 0, 0]


def test_a_controller_draws_blocks_from_their_law() -> None:
    sizes = {"prompt": 1, "output": 33, "limit": 4}
    ways = [service_costs(constant(0.2), 0.7 if g else None, gamma=g, **sizes) for g in (0, 3)]
    rate = 0.5 * stable_rate(ways[1])
    rng = random.Random(2)
    arrivals = np.cumsum([rng.expovariate(rate) for _ in range(1500)]).tolist()
    found = serve_by_choice(arrivals, ways, lambda live: 1, seed=7)
    mean = float(np.mean(np.subtract(found.done, found.arrival)))
    exact = request_times(ways[1], rate).total_s
    assert abs(mean / exact - 1) < 0.05
    switched = serve_by_choice(arrivals, ways, lambda live: int(live.batch < 3), seed=7)
    assert (switched.cycles > 0).all()


def test_texts_of_a_batch_are_drawn_independently() -> None:
    """Two that begin together take numbers of cycles that have nothing to do with each other."""
    ways = [of_parts(1.0, [1.0, 1.0], np.array([0.5, 0.5]), 33)]
    ends = np.array([serve_by_choice([0.0, 0.0], ways, lambda live: 0, seed=seed).done for seed in range(120)])
    assert ends.std(axis=0).min() > 1
    assert abs(np.corrcoef(ends.T)[0, 1]) < 4 / 120**0.5


BAD = [
    (lambda s: request_times(s, 0), r"^rate is 0; it must be above 0, and below 0\.3333, the largest stable rate$"),
    (lambda s: request_times(s, -1.5), r"^rate is -1\.5; it must be above 0, and below 0\.3333, the largest stable"),
    (lambda s: request_times(s, 0.5), r"^rate is 0\.5, beyond what can be served: the largest stable rate is 0\.3333$"),
    (lambda s: simulate_requests(s, 0.5), r"^rate is 0\.5, beyond what can be served: the largest stable rate is 0\.3"),
    (lambda s: simulate_requests(s, 0.1, requests=5), r"^requests must be at least 10, got 5$"),
    (
        lambda s: simulate_requests(s, 0.1, requests=10**6, runs=4),
        r"^4 runs of 1000000 requests are 4000000, more than",
    ),
    (lambda s: largest_rate(s, 0.0), r"^bound is 0\.0; it must lie in \(0, inf\)$"),
    (lambda s: largest_rate(s, 1.0, of="mean"), r"^of 'mean' is unknown; known: first, token, total$"),
    (lambda s: harmful_rate(s, s._replace(unit="s")), r"^plain has unit target steps, speculative s; both must serve"),
    (lambda s: serve_by_choice([1.0, 0.5], [s], lambda live: 0), r"^arrivals\[1\] is 0\.5, before the one in front of"),
    (lambda s: serve_by_choice([1.0], [], lambda live: 0), r"^ways must be a list of one Service at least, got \[\]$"),
    (lambda s: serve_by_choice([1.0], [s], lambda live: 2), r"^choose gave 2; there are 1 ways$"),
    (
        lambda s: service_costs(constant(0.1), gamma=2, prompt=1, output=2, limit=1),
        r"^gamma is 2, but no acceptance is",
    ),
    (
        lambda s: service_costs(constant(0.1), gamma=0, prompt=0, output=2, limit=1),
        r"^prompt must be at least 1, got 0$",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_is_named(call, message: str) -> None:  # type: ignore[no-untyped-def]
    served = service_costs(constant(0), gamma=0, prompt=1, output=11, limit=5)
    with pytest.raises(ValueError, match=message):
        call(served)
