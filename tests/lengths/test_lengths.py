"""Accepted lengths, block efficiency, the renewal law of block starts, and the planner built on them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import (
    accepted_length_law,
    block_efficiency,
    discover,
    estimate_hazards,
    optimal_gamma,
    pool_texts,
    renewal,
    speedup,
)
from specsim.exact.chain import blocks, expected_blocks, target_law
from specsim.exact.small_laws import rational_table
from specsim.lengths.blocks import text_survival

Array = Any
CHAIN = {name: rule for name, rule in discover.rules("chain").items() if discover.facts(rule).survival}
PROBABILITY = st.builds(lambda a, b: Fraction(min(a, b), max(a, b, 1)), st.integers(0, 9), st.integers(0, 9))
HAZARDS = st.lists(PROBABILITY, min_size=1, max_size=6)

# Leviathan et al. 2023, table 1 (c = 0), theory/verification.md section 12: (alpha, gamma) -> operations, speed
TABLE_1 = [
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
]
# theory/verification.md section 12: alpha = 4/5, c -> best gamma, its speedup
BEST = [(1 / 100, 14, 4.2316), (1 / 20, 8, 3.0921), (1 / 10, 6, 2.4696), (1 / 4, 3, 1.6869)]


@pytest.mark.parametrize(("alpha", "gamma", "operations", "speed"), TABLE_1)
def test_leviathan_table_1(alpha: float, gamma: int, operations: float, speed: float) -> None:
    tau = block_efficiency(alpha, gamma=gamma)
    assert round(float(tau), 2) == speed
    assert round(float(speedup(alpha, gamma=gamma)), 2) == speed
    assert round((gamma + 1) / float(tau), 2) == operations


@pytest.mark.parametrize(("cost", "gamma", "speed"), BEST)
def test_published_best_gamma(cost: float, gamma: int, speed: float) -> None:
    best = optimal_gamma(0.8, cost_ratio=cost)
    assert best.gamma == gamma
    assert best.speedup == pytest.approx(speed, abs=5e-5)
    assert best.curve[0] == 1
    assert best.curve.argmax() == gamma
    for g in (1, gamma, 20):
        assert best.curve[g] == pytest.approx(float(speedup(0.8, gamma=g, cost_ratio=cost)), abs=1e-14)


@given(HAZARDS)
def test_length_law_in_fractions(hazards: list[Fraction]) -> None:
    law, tau = accepted_length_law(hazards), block_efficiency(hazards)
    assert law.shape == (len(hazards) + 1,)
    assert all(isinstance(v, (Fraction, int)) and v >= 0 for v in law)
    assert sum(law) == 1
    assert 1 + sum(n * v for n, v in enumerate(law)) == tau
    reached = Fraction(1)
    for n, a in enumerate(hazards):  # by hand: n kept, then a failure
        assert law[n] == reached * (1 - a)
        reached *= a
    assert law[-1] == reached


@given(PROBABILITY, st.integers(0, 8))
def test_constant_alpha_is_the_geometric_formula(alpha: Fraction, gamma: int) -> None:
    tau = block_efficiency(alpha, gamma=gamma)
    assert isinstance(tau, (Fraction, int))
    assert tau == (gamma + 1 if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha))
    assert (accepted_length_law(alpha, gamma=gamma) == accepted_length_law([alpha] * gamma + [Fraction(0)])[:-1]).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_length_law_in_floats(hazards: list[float]) -> None:
    law = accepted_length_law(hazards)
    assert law.dtype == np.float64
    assert law.sum() == pytest.approx(1, abs=1e-14)
    assert law.min() >= 0


def test_batches_and_libraries() -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    jax.config.update("jax_enable_x64", True)
    a = np.random.default_rng(0).random((3, 4))
    wanted = block_efficiency(a)
    assert wanted.shape == (3,)
    assert wanted[1] == pytest.approx(block_efficiency(a[1]), abs=1e-15)
    assert accepted_length_law(a, gamma=2).shape == (3, 4, 3)
    on_jax, on_torch = block_efficiency(jax.numpy.asarray(a)), block_efficiency(torch.from_numpy(a))
    assert isinstance(on_jax, jax.Array)
    assert isinstance(on_torch, torch.Tensor)
    assert np.allclose(on_jax, wanted, atol=1e-15)
    assert np.allclose(on_torch.numpy(), wanted, atol=1e-15)
    assert isinstance(accepted_length_law(torch.from_numpy(a)), torch.Tensor)


def ratios(target: dict[tuple[int, ...], Array], draft: dict[tuple[int, ...], Array], text: tuple[int, ...]) -> Array:
    return np.array([draft[text[:i]][y] / target[text[:i]][y] for i, y in enumerate(text)], dtype=object)


@pytest.mark.parametrize("name", CHAIN)
@pytest.mark.parametrize(
    ("vocab", "length", "gamma"),
    [(2, 1, 1), (2, 4, 1), (2, 4, 2), (2, 5, 3), (3, 3, 2), (3, 4, 1), (3, 4, 3), (2, 3, 3)],
)
def test_mean_of_renewal_blocks_is_the_decoder_s(name: str, vocab: int, length: int, gamma: int) -> None:
    """Over all texts of the target, in rationals: renewal never decodes, `expected_blocks` enumerates decoding."""
    rule = CHAIN[name]
    for seed in range(3):
        rng = np.random.default_rng([vocab, length, gamma, seed])
        target, draft = (rational_table(rng, vocab, length) for _ in range(2))
        mean = sum(
            weight * renewal(text_survival(rule.survival, ratios(target, draft, text), gamma)).blocks
            for text, weight in target_law(target, length).items()
            if weight
        )
        assert mean == expected_blocks(rule, target, draft, gamma, length)


@pytest.mark.parametrize("name", CHAIN)
def test_pooled_hazards_are_the_decoder_s(name: str) -> None:
    """Texts pooled by hazards * tried and tried give E[blocks that keep draft i] / E[blocks that reach it], decoded."""
    rule, length, gamma = CHAIN[name], 4, 2
    rng = np.random.default_rng(8)
    target, draft = (rational_table(rng, 2, length) for _ in range(2))
    kept, tried = np.zeros(gamma, dtype=object), np.zeros(gamma, dtype=object)
    for text, weight in target_law(target, length).items():
        if weight:
            one = renewal(text_survival(rule.survival, ratios(target, draft, text), gamma))
            kept, tried = kept + weight * one.hazards * one.tried, tried + weight * one.tried
    wanted_kept, wanted_tried = np.zeros(gamma, dtype=object), np.zeros(gamma, dtype=object)

    def decode(prefix: tuple[int, ...], chance: Fraction) -> None:
        left = length - len(prefix)
        if left <= 0:
            return
        drafted = min(gamma, left - 1)  # no draft for the last token: the block emits one anyway
        for out, weight in blocks(rule, target, draft, drafted, prefix).items():
            for i in range(drafted):
                wanted_tried[i] += chance * weight * (len(out) - 1 >= i)
                wanted_kept[i] += chance * weight * (len(out) - 1 > i)
            decode(prefix + out, chance * weight)

    decode((), Fraction(1))
    assert (tried == wanted_tried).all()
    assert (kept == wanted_kept).all()


@given(st.integers(1, 5), st.integers(1, 3), st.data())
@settings(max_examples=60)
def test_renewal_is_the_sum_over_every_division_into_blocks(length: int, gamma: int, data: st.DataObject) -> None:
    row = st.lists(PROBABILITY, min_size=gamma, max_size=gamma).map(lambda r: sorted(r, reverse=True))
    rows = data.draw(st.lists(row, min_size=length, max_size=length))
    count, starts = Fraction(0), [Fraction(0)] * length
    tried, kept = [Fraction(0)] * gamma, [Fraction(0)] * gamma
    for sizes in itertools.chain.from_iterable(
        itertools.product(range(1, gamma + 2), repeat=n) for n in range(1, length + 1)
    ):
        begins = [0, *itertools.accumulate(sizes)]
        if begins[-2] >= length or begins[-1] < length:
            continue
        chance = Fraction(1)
        for t, size in zip(begins, sizes, strict=False):
            tail = [Fraction(1), *rows[t], Fraction(0)]
            chance *= tail[size - 1] - tail[size]
        count += chance * len(sizes)
        for t in begins[:-1]:
            starts[t] += chance
    for t, row in enumerate(rows):
        for i in range(min(gamma, length - t - 1)):
            tried[i] += starts[t] * (row[i - 1] if i else 1)
            kept[i] += starts[t] * row[i]
    found = renewal(rows)
    assert found.blocks == count == sum(found.starts)
    assert found.tau == length / count
    assert found.starts.tolist() == starts
    assert found.tried.tolist() == tried
    assert [h * t for h, t in zip(found.hazards, tried, strict=True)] == kept


def test_renewal_in_floats_and_without_drafts() -> None:
    rng = np.random.default_rng(0)
    rows = np.sort(rng.random((200, 4)), axis=1)[:, ::-1]
    found = renewal(rows)
    assert 200 / 5 <= found.blocks <= 200
    assert found.tau == pytest.approx(200 / found.blocks)
    assert ((found.hazards > 0) & (found.hazards < 1)).all()
    none = renewal(np.zeros((7, 0)))
    assert (none.blocks, none.tau) == (7, 1)
    constant = renewal(np.cumprod(np.full((5000, 3), 0.8), axis=1))
    assert constant.tau == pytest.approx(float(block_efficiency(0.8, gamma=3)), abs=2e-3)  # a long text: the i.i.d. tau
    assert np.allclose(constant.hazards, 0.8)


def test_planner_takes_callables_and_sequences() -> None:
    curve = [1.0, 1.0, 1.1, 1.3, 1.6, 2.0]
    as_list = optimal_gamma(0.8, cost_ratio=0.05, verify_cost=curve)
    as_call = optimal_gamma(0.8, cost_ratio=0.05, verify_cost=lambda m: curve[m - 1], max_gamma=5)
    as_array = optimal_gamma(0.8, cost_ratio=0.05, verify_cost=np.array(curve))
    assert as_list.curve.tolist() == as_call.curve.tolist() == as_array.curve.tolist()
    assert len(as_list.curve) == 6  # gamma = 0..5: the sequence covers 6 tokens
    by_hand = [1.0] + [sum(0.8**i for i in range(g + 1)) / (0.05 * g + curve[g]) for g in range(1, 6)]
    assert np.allclose(as_list.curve, by_hand, atol=1e-14)
    assert as_list.gamma == int(np.argmax(by_hand))
    assert as_list.gamma < optimal_gamma(0.8, cost_ratio=0.05).gamma
    assert float(speedup(0.8, gamma=2, verify_cost=curve, cost_ratio=0.1, overhead=0.2)) == pytest.approx(2.44 / 1.5)


def test_planner_on_a_hazard_curve() -> None:
    hazards = [0.9, 0.8, 0.1, 0.9]
    best = optimal_gamma(hazards, cost_ratio=0.1)
    assert best.gamma == 2
    assert len(best.curve) == 5
    assert best.curve[3] == pytest.approx(float(speedup(hazards[:3], cost_ratio=0.1)))
    assert optimal_gamma(0.05, cost_ratio=0.1).gamma == 0  # alpha <= c: do not speculate


def test_a_curve_too_short_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"verify_cost has 2 entries; t\(4\) is needed"):
        speedup(0.8, gamma=3, verify_cost=[1.0, 1.0])
    assert optimal_gamma(0.8, verify_cost=[1.0, 1.0]).gamma == 1  # the search is cut to what the curve covers


@pytest.mark.parametrize("curve", [[2, 2], [2.0, 2.1], lambda m: 2.0 * m], ids=["whole", "floats", "callable"])
def test_times_of_passes_are_in_target_steps(curve: Any) -> None:
    """t(1) = 2 halves every speedup without a word."""
    for call in (lambda: speedup(0.8, gamma=1, verify_cost=curve), lambda: optimal_gamma(0.8, verify_cost=curve)):
        with pytest.raises(ValueError, match=r"^verify_cost at 1 token is 2(\.0)?; it is in target steps, so 1"):
            call()


def test_the_unit_may_be_off_by_rounding_alone() -> None:
    assert speedup(0.8, gamma=1, verify_cost=[1 + 1e-12, 1.5]) == speedup(0.8, gamma=1, verify_cost=[1, 1.5])
    with pytest.raises(ValueError, match=r"^verify_cost at 1 token is 1\.001; it is in target steps, so 1"):
        speedup(0.8, gamma=1, verify_cost=[1.001, 1.5])


def test_hazards_end_where_nobody_came() -> None:
    """No NaN: of later positions nothing is known."""
    counted = estimate_hazards([0, 1], 4, counts=[3, 2])
    assert counted.hazards.tolist() == [0.4, 0.0]
    assert counted.intervals.shape == (2, 2)
    with pytest.raises(ValueError, match="no block came to test a draft beyond position 2"):
        counted.tau(3)
    for empty in (estimate_hazards([0, 0], 0), pool_texts([[0, 0], [0, 0]], [[0, 0], [0, 0]])):
        assert empty.hazards.shape == (0,)
        assert empty.tau(0)[0] == 1
    pooled = pool_texts([[1, 0, 0], [0, 0, 0]], [[2, 1, 0], [1, 0, 0]])
    assert pooled.hazards.tolist() == [1 / 3, 0]
