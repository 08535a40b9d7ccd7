"""Laws, not means: request times, gaps and ragged batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import (
    accepted_length_law,
    batch_tokens,
    block_efficiency,
    convert_acceptance,
    estimate_hazards,
    inter_token_law,
    mixture_length_law,
    pool_texts,
    renewal,
    request_law,
    survival_hazards,
)
from specsim.lengths.requests import RequestLaw

F = Fraction
HAZARDS = st.lists(st.integers(0, 6).map(lambda n: F(n, 6)), min_size=1, max_size=3)


def enumerated_cycles(law: Any, tokens: int) -> dict[int, Fraction]:
    """P(cycles) by following every sequence of blocks."""
    found: dict[int, Fraction] = {}

    def follow(done: int, cycles: int, chance: Fraction) -> None:
        if done >= tokens:
            found[cycles] = found.get(cycles, F(0)) + chance
            return
        for n, share in enumerate(law, start=1):
            if share:
                follow(done + n, cycles + 1, chance * share)

    follow(0, 0, F(1))
    return found


@given(HAZARDS, st.integers(1, 7))
def test_request_law_is_the_enumerated_one(hazards: list[Fraction], tokens: int) -> None:
    law = accepted_length_law(hazards)
    found = request_law(law, tokens, cycle_s=0.5, first_s=2.0)
    exact = enumerated_cycles(law, tokens)
    assert {k: p for k, p in enumerate(found.cycles) if p} == exact
    mean = sum((k * p for k, p in exact.items()), F(0))
    assert found.mean_cycles == mean
    assert found.mean_s == pytest.approx(2 + 0.5 * float(mean))
    spread = sum((k * k * p for k, p in exact.items()), F(0)) - mean**2
    assert found.sd_s == pytest.approx(0.5 * math.sqrt(spread), abs=1e-7)
    # The mean again, from another module's law of block starts.
    survival = np.cumprod(np.array(hazards, dtype=object))
    assert renewal(np.tile(survival, (tokens, 1))).blocks == mean
    assert found.tau == F(tokens) / mean


def test_the_enumeration_can_tell() -> None:
    law = accepted_length_law([F(1, 2), F(1, 2)])
    assert enumerated_cycles(law, 5) != enumerated_cycles(accepted_length_law([F(1, 2), F(1, 3)]), 5)
    assert enumerated_cycles(law, 5) != enumerated_cycles(law, 6)


def test_quantiles_and_makespan_by_hand() -> None:
    law = request_law([F(1, 2), F(1, 2)], 4, cycle_s=1.0)  # 2, 3, 4 cycles: 1/4, 5/8, 1/8
    assert law.cycles.tolist() == [0, 0, F(1, 4), F(5, 8), F(1, 8)]
    assert [law.quantile(q) for q in (0.1, 0.25, 0.26, 0.875, 0.9, 1.0)] == [2, 2, 3, 3, 4, 4]
    both = sum(max(a, b) * float(law.cycles[a] * law.cycles[b]) for a, b in product(range(5), repeat=2))
    assert law.makespan_s(2) == pytest.approx(both)
    assert law.makespan_s(1) == pytest.approx(law.mean_s)
    assert RequestLaw(np.array([0, 0.7, 0.1, 0.1, 0.1]), 1.0, 0.0).quantile(0.9) == 3  # 0.7 + 0.1 + 0.1 is below 0.9
    late = request_law([F(1, 2), F(1, 2)], 4, cycle_s=0.5, first_s=2.0)  # the first token comes later, cycles are short
    assert [late.quantile(q) for q in (0.25, 0.875, 1.0)] == [3, 3.5, 4]
    assert late.makespan_s(2) == pytest.approx(2 + 0.5 * both)
    assert late.sd_s == pytest.approx(0.5 * law.sd_s)


@pytest.mark.parametrize("hazards", [[0.8] * 4, [0.9, 0.6, 0.3], [0.1]])
def test_long_requests_follow_renewal_theory(hazards: list[float]) -> None:
    """Mean n / tau + (E[N^2] / tau - 1) / (2 tau), sd near sigma sqrt(n / tau^3)."""
    law = accepted_length_law(hazards)
    size = np.arange(1, len(law) + 1)
    tau, square = float(law @ size), float(law @ size**2)
    by_survival = sum((2 * j + 1) * s for j, s in enumerate(np.cumprod([1, *hazards])))
    assert square == pytest.approx(by_survival)
    n = 800
    found = request_law(law, n, cycle_s=1.0)
    assert found.cycles.sum() == pytest.approx(1, abs=1e-12)
    overshoot = (square / tau - 1) / (2 * tau)
    assert found.mean_s == pytest.approx(n / tau + overshoot, abs=1e-9)
    assert overshoot > 1e-3  # what the check would miss without the term
    sd = math.sqrt((square - tau**2) * n / tau**3)
    assert found.sd_s == pytest.approx(sd, rel=0.01)
    assert found.tau < tau  # the last block is cut
    bound = n / tau + overshoot + sd * math.sqrt(2 * math.log(64)) + 1
    assert found.mean_s < found.makespan_s(64) < bound


def test_request_law_against_simulation() -> None:
    rng = np.random.default_rng(5)
    law = mixture_length_law([0.3, 0.95], [0.5, 0.5], gamma=5)
    found = request_law(law, 60, cycle_s=1.0)
    emitted = rng.choice(6, p=law, size=(20_000, 60)).cumsum(axis=1) + np.arange(1, 61)
    cycles = (emitted < 60).sum(axis=1) + 1
    seen = np.bincount(cycles, minlength=61)
    assert (
        np.abs(seen / 20_000 - found.cycles).sum() / 2 < 0.03
    )  # expected about 0.01 from 20,000 draws over some 25 values
    shifted = np.roll(found.cycles, 1)
    assert np.abs(seen / 20_000 - shifted).sum() / 2 > 0.05
    for share in (0.5, 0.99):
        assert abs(np.quantile(cycles, share) - found.quantile(share)) <= 1


def test_gaps_between_tokens() -> None:
    rng = np.random.default_rng(1)
    law = accepted_length_law(0.8, gamma=4)
    gaps = inter_token_law(law, cycle_s=0.02)
    blocks = rng.choice(5, p=law, size=50_000)
    inside = blocks.sum() / (blocks + 1).sum()
    assert gaps.inside == pytest.approx(inside, abs=0.005)
    assert gaps.mean_s == pytest.approx(0.02 / float(block_efficiency(0.8, gamma=4)))
    assert (gaps.quantile(0.5), gaps.quantile(0.99)) == (0.0, 0.02)
    assert inter_token_law([F(1)], cycle_s=1.0).inside == 0
    assert inter_token_law([F(0), F(1)], cycle_s=1.0).quantile(0.5) == 0


@given(HAZARDS, HAZARDS, st.integers(1, 3))
def test_ragged_batches_are_enumerated(a: list[Fraction], b: list[Fraction], batch: int) -> None:
    one = accepted_length_law(a)
    found = batch_tokens(one, batch)
    least = total = F(0)
    for lengths in product(range(len(one)), repeat=batch):
        chance = math.prod((one[n] for n in lengths), start=F(1))
        total += chance * (sum(lengths) + batch)
        least += chance * batch * (min(lengths) + 1)
    assert (found.continuous, found.lockstep) == (total, least)
    width = max(len(a), len(b))
    rows = [accepted_length_law(h + [F(0)] * (width - len(h))) for h in (a, b)]
    pair = batch_tokens(np.array(rows))
    exact = sum(rows[0][i] * rows[1][j] * 2 * (min(i, j) + 1) for i, j in product(range(width + 1), repeat=2))
    assert pair.lockstep == exact
    assert pair.continuous == sum((n + 1) * p for law in rows for n, p in enumerate(law))


def test_ragged_batches_as_printed() -> None:
    found = batch_tokens(accepted_length_law(0.8, gamma=4), 8)
    assert round(float(found.continuous) / 8, 3) == 3.362
    assert round(float(found.lockstep) / 8, 4) == 1.2014
    iid = block_efficiency(0.8**8, gamma=4)  # alpha replaced by alpha^B
    assert float(found.lockstep) / 8 == pytest.approx(float(iid))


NAN = float("nan")
BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: request_law([0.5, 0.4], 3, cycle_s=1.0), r"^length_law sums to 0\.9; "),
    (lambda: request_law([[0.5, 0.5]], 3, cycle_s=1.0), r"^length_law must have shape \(gamma\+1,\), got \(1, 2\)$"),
    (lambda: request_law([1.0], 0, cycle_s=1.0), r"^tokens must be at least 1, got 0$"),
    (lambda: request_law([1.0], 1, cycle_s=-1.0), r"^cycle_s is -1\.0; "),
    (lambda: request_law([1.0], 1, cycle_s=1.0, first_s=NAN), r"^first_s is nan; "),
    (lambda: request_law([1.0], 1, cycle_s=1.0).quantile(0), r"^share is 0; it must lie in \(0, 1\]$"),
    (lambda: request_law([1.0], 1, cycle_s=1.0).makespan_s(0), r"^batch must be at least 1, got 0$"),
    (lambda: inter_token_law([[1.0]], cycle_s=1.0), r"^length_law must have shape"),
    (lambda: batch_tokens([0.5, 0.5]), r"^give batch with one law, or laws of shape \(B, gamma\+1\); got \(2,\), None"),
    (lambda: batch_tokens([[1.0]], 2), r"^give batch with one law"),
    (lambda: mixture_length_law([0.5, 0.6], [1.0], gamma=2), r"^weights have shape \(1,\) for laws of shape \(2, 3\)"),
    (lambda: mixture_length_law([0.5, 0.6], [0.5, 0.6], gamma=2), r"^weights sums to 1\.1; "),
    (lambda: mixture_length_law([0.5, 1.6], [0.5, 0.5], gamma=2), r"^alpha\[1\] is 1\.6; it must lie in \[0, 1\]$"),
    (lambda: estimate_hazards([3], [2]), r"^accepted\[0\] is 3, more than the 2 drafts of that block$"),
    (lambda: estimate_hazards([1, 1], [2, 2, 2]), r"^accepted, drafted and counts have 2, 3 and 2 entries$"),
    (lambda: estimate_hazards([-1], [2]), r"^accepted\[0\] is -1\.0; it must lie in \[0, inf\)$"),
    (lambda: estimate_hazards([0.5], [2]), r"^accepted\[0\] is 0\.5; give whole numbers$"),
    (lambda: estimate_hazards([NAN], [2]), r"^accepted\[0\] is nan; "),
    (lambda: estimate_hazards([], [2]), r"^accepted must be one row of whole numbers, got shape \(0,\)$"),
    (lambda: estimate_hazards([0], [2], counts=[0]), r"^there is no block: counts are all 0$"),
    (lambda: estimate_hazards([0, 1], 2).tau(3), r"^gamma is 3, but no block came to test a draft beyond position 2$"),
    (lambda: estimate_hazards([0, 0], 2).tau(2), r"^gamma is 2, but no block came .* beyond position 1$"),
    (lambda: pool_texts([[1]], [[2]]), r"^kept and tried must have one shape \(T, gamma\) with T >= 2, got \(1, 1\)"),
    (lambda: pool_texts([[1], [3]], [[2], [2]]), r"^a text keeps more drafts than it tried$"),
    (lambda: pool_texts([[1], [NAN]], [[2], [2]]), r"^kept\[1\]\[0\] is nan; "),
    (lambda: estimate_hazards([0], 2, level=1), r"^level is 1; it must lie in \(0, 1\)$"),
    (lambda: survival_hazards([0.5, 0.6]), r"^survival\[1\] is 0\.6, above 0\.5 before it; "),
    (lambda: survival_hazards([[0.5]]), r"^survival must have shape \(gamma,\), got \(1, 1\)$"),
    (lambda: convert_acceptance(5.1, kind="tau", to="alpha", gamma=4), r"^value \(tau\) is 5\.1; .* \[1, 5\]$"),
    (lambda: convert_acceptance(0.81, kind="output_share", to="tau", gamma=4), r"it must lie in \[0, 0\.8\]$"),
    (
        lambda: convert_acceptance(1, kind="rate", to="tau", gamma=4),
        r"^kind 'rate' is unknown; .*known: tau, kept, ",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
