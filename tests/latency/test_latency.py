"""Times: textbook models, measured curves, tables, shapes, the roofline against recorded kernel times."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil, comb, log
from typing import Any

import numpy as np
import pytest
import table_roofline as bench
from hypothesis import given
from hypothesis import strategies as st

from specsim import latency
from specsim.latency import Constants, ModelShape, constant, expected_experts, from_measurements, memory_bound, roofline
from specsim.latency.tables import rows
from specsim.lengths.blocks import block_efficiency

VERIFY, DEVICES, ALONE = bench.ROWS, bench.DEVICES, bench.ALONE
H200 = latency.hardware("h200-sxm")
EIGHT, ONE = ModelShape.named("llama-3.1-8b"), ModelShape.named("llama-3.2-1b")
MIXTRAL = ModelShape.named("mixtral-8x7b")


def enumerated_experts(tokens: int, experts: int, per_token: int) -> Fraction:
    """The mean by the chain of how many experts were touched: an independent derivation."""
    law = {0: Fraction(1)}
    for _ in range(tokens):
        then: dict[int, Fraction] = {}
        for seen, chance in law.items():
            for new in range(min(per_token, experts - seen) + 1):
                ways = comb(experts - seen, new) * comb(seen, per_token - new)  # 0 where there are too few
                step = chance * Fraction(ways, comb(experts, per_token))
                then[seen + new] = then.get(seen + new, Fraction(0)) + step
        law = then
    return sum((seen * chance for seen, chance in law.items()), Fraction(0))


@given(st.integers(1, 6), st.integers(1, 9), st.data())
def test_expected_experts_is_the_enumerated_mean(tokens: int, experts: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, experts))
    exact = enumerated_experts(tokens, experts, k)
    assert expected_experts(tokens, experts=experts, per_token=k) == pytest.approx(float(exact), abs=1e-12)


def test_the_experts_check_can_fail() -> None:
    with_replacement = 8 * (1 - (1 - 1 / 8) ** (2 * 3))  # as if a token could pick an expert twice
    assert with_replacement != pytest.approx(float(enumerated_experts(3, 8, 2)), abs=1e-3)


def test_expected_experts_as_printed() -> None:
    """MoESD, arXiv:2505.19645, and its saturation threshold."""
    found = [expected_experts(t, experts=64, per_token=8) for t in (1, 4, 8, 32)]
    assert np.round(found, 2).tolist() == [8, 26.48, 42.01, 63.11]
    assert [round(expected_experts(t, experts=8, per_token=2), 2) for t in (1, 4, 8)] == [2, 5.47, 7.2]
    assert [round(expected_experts(t, experts=128, per_token=8), 2) for t in (4, 8)] == [29.12, 51.62]
    assert expected_experts(22, experts=64, per_token=8) < 0.95 * 64 <= expected_experts(23, experts=64, per_token=8)
    assert ceil(log(0.05) / log(1 - 8 / 64)) == 23
    # Correlated routing touches fewer, and one token always its own k.
    assert expected_experts(127, experts=64, per_token=8) > 63.9
    assert expected_experts(127, experts=64, per_token=8, correlation=0.5) < 55
    assert expected_experts(1, experts=64, per_token=8, correlation=0.5) == pytest.approx(8)


PUBLISHED = [(0.6, 2, 1.96), (0.7, 3, 2.53), (0.8, 2, 2.44), (0.8, 5, 3.69), (0.9, 2, 2.71), (0.9, 10, 6.86)]


@pytest.mark.parametrize(("alpha", "gamma", "value"), PUBLISHED)
def test_constant_gives_the_printed_speedups(alpha: float, gamma: int, value: float) -> None:
    """Leviathan et al. 2023, arXiv:2211.17192, table 1."""
    model = constant(0.0)
    speed = float(block_efficiency(alpha, gamma=gamma)) * model.cycle(0).value / model.cycle(gamma).value
    assert round(speed, 2) == value


def test_memory_bound_in_both_forms() -> None:
    for tau, gamma, c in product((1.5, 3.5), (1, 5), (0.02, 0.2)):
        found = tau / memory_bound(1.0, c).cycle(gamma).value
        assert found == pytest.approx((1 / c) * tau / (gamma + 1 / c))  # with C = target over draft
    assert round(3.5 / memory_bound(1.0, 0.02).cycle(5).value, 2) == 3.18
    seconds = memory_bound(16e9, 2e9, bandwidth=1e12)
    assert (seconds.unit, seconds.target(7, 3, 9).value, seconds.cycle(4).value) == ("s", 0.016, 0.024)
    assert seconds.cycle(4).error is None  # a prediction


def test_a_restricted_head_in_memory_traffic() -> None:
    """An EAGLE head for Llama-3-8B: one layer of 0.218 B, head 0.525 B; 32k of 128k tokens (arXiv:2502.14856)."""
    whole, cut = (0.218 + 0.525) / 7.505, (0.218 + 0.525 * 32000 / 128256) / 7.505
    assert (round(whole, 3), round(cut, 3)) == (0.099, 0.047)
    before, after = (t / memory_bound(1.0, c).cycle(4).value for t, c in ((3.2, whole), (3.104, cut)))
    assert before == pytest.approx(2.292, abs=2e-3)
    assert after == pytest.approx(2.617, abs=2e-3)


def test_measured_curves_are_not_forced_to_rise() -> None:
    model = from_measurements({1: 15.5, 2: 18.5, 3: 15.3, 6: 16.2}, {None: 2.0}, overhead=0.5)
    assert [model.target(m, 4, 99).value for m in (1, 2, 3)] == [15.5, 18.5, 15.3]
    assert model.target(4, 1, 0).value == pytest.approx(15.6)
    assert model.cycle(2).value == pytest.approx(4 + 15.3 + 0.5)
    assert model.cycle(0).value == 15.5  # plain decoding: no draft, no overhead
    assert model.cycle(2).error is None
    with pytest.raises(ValueError, match=r"^target at tokens = 7 was not measured: its range is 1\.\.6$"):
        model.cycle(6)


def test_measured_grids_and_their_noise() -> None:
    def plane(m: int, b: int, s: int) -> float:
        return 3 + 0.5 * m + 0.25 * b + 0.001 * s

    grid = {(m, b, s): plane(m, b, s) for m, b, s in product((1, 4, 9), (1, 8), (0, 1000))}
    model = from_measurements(grid, {(b, s): 0.1 * b + 1e-4 * s + 1 for b, s in product((1, 8), (0, 1000))})
    for m, b, s in product((1, 2, 6, 9), (1, 3, 8), (0, 250, 1000)):
        assert model.target(m, b, s).value == pytest.approx(plane(m, b, s))
        assert model.draft(b, s).value == pytest.approx(0.1 * b + 1e-4 * s + 1)
    rng = np.random.default_rng(0)
    many = {m: rng.normal(10 + m, 1, 400).tolist() for m in (1, 5)}
    middle = from_measurements(many, {None: [1.0, 1.1, 0.9]}).target(3, 1, 0)
    assert middle.error == pytest.approx((2 * 0.25 / 400) ** 0.5, rel=0.15)
    assert abs(middle.value - 13) < 4 * middle.error
    noisy = from_measurements({1: 1.0, 3: [1.0, 1.2]}, {None: [0.5, 0.7]}, overhead=[0.3, 0.5])
    assert noisy.cycle(2).error == pytest.approx((0.1**2 + (2 * 0.1) ** 2 + 0.1**2) ** 0.5)  # one draft time, twice
    assert noisy.parts(2)[0].error == 2 * noisy.draft(1, 0).error
    assert from_measurements({1: 1.0}, {None: [0.5, 0.7, 0.9]}).draft(1, 0).error == pytest.approx(0.2 / 3**0.5)
    # The same with one sample short of an error, on either side.
    assert from_measurements({1: 2.0, 3: [1.0, 1.1]}, {None: 1.0}).target(2, 1, 0).error is None
    assert from_measurements({1: [1.0, 1.1], 3: 2.0}, {None: 1.0}).target(2, 1, 0).error is None


def test_names_are_found_and_near_ones_listed() -> None:
    assert latency.hardware("H100 SXM").name == "H100-SXM5-80GB"
    assert ModelShape.named("Llama_3.1-70b").layers == 80
    with pytest.raises(ValueError, match=r"^hardware 'a100-sxm' could be A100-SXM4-80GB, A100-SXM4-40GB$"):
        latency.hardware("a100-sxm")
    with pytest.raises(ValueError, match=r"^model 'lama-3\.1-8b' is unknown; near names: .*Llama-3\.1-8B"):
        ModelShape.named("lama-3.1-8b")
    with pytest.raises(ValueError, match=r"^hardware '!' is unknown; known: A100-SXM4-80GB, "):
        latency.hardware("!")
    with pytest.raises(TypeError, match=r"^hardware must be a name, got 3$"):
        latency.hardware(3)  # type: ignore[arg-type]


def test_every_row_of_the_tables_reads() -> None:
    for name in rows("hardware"):
        device = latency.hardware(name)
        assert device.bandwidth > 1e10
        assert device.flops
        assert device.source
    for name in rows("models"):
        shape = ModelShape.named(name)
        assert shape.shared > 0
        assert shape.head == pytest.approx(shape.vocab * shape.hidden, rel=0.01), name
        assert shape.heads % shape.kv_heads == 0


def test_links() -> None:
    assert latency.hardware("H100-SXM5-80GB").link == 450e9  # between devices, not to the host
    assert latency.hardware("RTX 5060 Ti").link == 16e9  # only by way of the host


def test_ridge_points_as_printed() -> None:
    """Tokens at which 16-bit products stop being free: operations per second over bytes per second."""
    printed = {"A100-SXM4-80GB": 153, "H100-SXM5-80GB": 295, "H200-SXM-141GB": 206, "L40S": 419, "L40": 209, "L4": 403,
               "A10": 208, "RTX 3090": 76, "RTX 4090": 164, "H20-96GB": 37, "MI300X": 247, "TPU v4": 224,
               "TPU v5e": 241, "B200-SXM": 292}  # fmt: skip
    for name, ridge in printed.items():
        device = latency.hardware(name)
        assert round(device.flops["bf16"] / device.bandwidth) == ridge, name
    t4 = latency.hardware("T4")
    assert round(t4.flops["fp16"] / t4.bandwidth) == 203


def test_roofline_by_hand() -> None:
    free = Constants(1.0, 1.0, 0.0, 0.0)
    model = roofline(EIGHT, ONE, H200, constants=free)
    weights = 2 * (EIGHT.body + EIGHT.head) + 8 * EIGHT.vocab + 2 * EIGHT.kv_values * 2001
    assert model.target(1, 1, 2000).value == pytest.approx(weights / H200.bandwidth)
    assert model.draft(1, 0).value == pytest.approx(
        (2 * (ONE.body + ONE.head) + 8 * ONE.vocab + 2 * ONE.kv_values) / H200.bandwidth
    )
    busy = model.target(8, 512, 0).value
    multiply = 2 * 4096 * (EIGHT.body + EIGHT.head) / H200.flops["bf16"]
    assert busy == pytest.approx(multiply + (8 * 4096 * EIGHT.vocab + 2 * EIGHT.kv_values * 512 * 8) / H200.bandwidth)
    # Doubling devices halves all but the all-reduces.
    two = roofline(EIGHT, ONE, H200, tensor_parallel=2, constants=free._replace(allreduce_s=1e-5))
    moved = 2 * 32 * (1e-5 + 4096 * 2 / H200.link)
    assert two.target(1, 1, 2000).value == pytest.approx(weights / H200.bandwidth / 2 + moved)
    # A head of the cache is not divided: 16 devices hold 8 of them twice over.
    caches = [
        roofline(EIGHT, ONE, H200, tensor_parallel=16, constants=free).target(1, 64, s).value for s in (0, 10_000)
    ]
    assert caches[1] - caches[0] == pytest.approx(2 * EIGHT.kv_values * 64 * 10_000 / H200.bandwidth / 8)
    cut = roofline(EIGHT, ONE, H200, draft_vocab=32064, draft_context=512, constants=free)
    kept = 2 * (ONE.body + ONE.head / 4) + 8 * 32064 + 2 * ONE.kv_values * 513
    assert cut.draft(1, 9000).value == pytest.approx(kept / H200.bandwidth)
    held = roofline(EIGHT, ONE, H200, constants=free._replace(launch_s=1e-6, attention_s=1e-5, host_s=1e-3))
    assert held.target(1, 1, 0).value == pytest.approx(model.target(1, 1, 0).value + 129e-6 + 32e-5 + 1e-3)


def test_attention_multiplies_in_16_bits() -> None:
    """What a long context adds to many tokens is arithmetic, and the same whatever the weights are stored in."""
    added = []
    for dtype in ("bf16", "fp8"):
        time = roofline(EIGHT, ONE, H200, dtype=dtype).target
        added.append(time(512, 1, 60_000).value - time(512, 1, 0).value)
    assert added[0] == pytest.approx(added[1])
    work = 32 * 4 * 32 * 128 * 512 * 60_000 / (0.6 * H200.flops["bf16"])
    assert added[1] == pytest.approx(work, rel=0.02)


def test_roofline_of_experts() -> None:
    free = Constants(1.0, 1.0, 0.0, 0.0)
    model = roofline(MIXTRAL, ONE, H200, constants=free)
    for m in (1, 4, 8):
        read = MIXTRAL.shared + 32 * expected_experts(m, experts=8, per_token=2) * MIXTRAL.expert + MIXTRAL.head
        other = 8 * m * MIXTRAL.vocab + 2 * MIXTRAL.kv_values * m
        assert model.target(m, 1, 0).value == pytest.approx((2 * read + other) / H200.bandwidth)
    friendly = roofline(MIXTRAL, ONE, H200, correlation=0.5, constants=free)
    assert friendly.target(1, 1, 0).value == pytest.approx(model.target(1, 1, 0).value)
    assert friendly.target(8, 1, 0).value < model.target(8, 1, 0).value
    # Verification is not free for experts as it is for a dense model of the same device.
    assert model.target(4, 1, 0).value / model.target(1, 1, 0).value > 2
    assert (
        roofline(EIGHT, ONE, H200, constants=free).target(4, 1, 0).value
        < 1.01 * roofline(EIGHT, ONE, H200, constants=free).target(1, 1, 0).value
    )


@given(st.integers(1, 16), st.integers(1, 64), st.integers(0, 4000))
def test_roofline_never_falls(tokens: int, batch: int, context: int) -> None:
    for shape in (EIGHT, MIXTRAL):
        time = roofline(shape, ONE, H200).target
        here = time(tokens, batch, context).value
        assert here <= min(
            time(tokens + 1, batch, context).value,
            time(tokens, batch + 1, context).value,
            time(tokens, batch, context + 1).value,
        )


NAN = float("nan")
BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: constant(-0.1), r"^cost_ratio is -0\.1; it must lie in \[0, inf\)$"),
    (lambda: constant(NAN), r"^cost_ratio is nan; "),
    (lambda: constant(0.1, verify_cost=[1.0, 0.0]), r"^verify_cost\[1\] is 0\.0; it must lie in \(0, inf\)$"),
    (lambda: constant(0.1, verify_cost=[1.2]), r"^verify_cost\[0\] is 1\.2; t\(1\) is one target step, 1$"),
    (lambda: constant(0.1, verify_cost=[]), r"^verify_cost\[0\] is missing"),
    (lambda: constant(0.1, verify_cost=[1]).cycle(1), r"^verify_cost has 1 entries; t\(2\) is needed$"),
    (lambda: constant(0.1).cycle(-1), r"^gamma must be at least 0, got -1$"),
    (lambda: constant(0.1).cycle(1, batch=0), r"^batch must be at least 1, got 0$"),
    (lambda: memory_bound(0, 1), r"^target_weights is 0; "),
    (lambda: memory_bound(1, 1, bandwidth=0), r"^bandwidth is 0; "),
    (lambda: from_measurements({}, {None: 1.0}), r"^target must be a mapping with one measured point at least"),
    (lambda: from_measurements({2: 1.0}, {None: 1.0}), r"^target has no time for 1 token"),
    (lambda: from_measurements({1: [1.0, NAN]}, {None: 1.0}), r"^target\[1\]\[1\] is nan; "),
    (lambda: from_measurements({1: []}, {None: 1.0}), r"^target\[1\] is empty"),
    (lambda: from_measurements({1: -2.0}, {None: 1.0}), r"^target\[1\] is -2\.0; it must lie in \(0, inf\)$"),
    (lambda: from_measurements({1: 1.0}, {(1, 0): 0.0}), r"^draft\[\(1, 0\)\] is 0\.0; "),
    (lambda: from_measurements({1: 1.0, (1, 1): 1.0}, {None: 1.0}), r"^target has keys \[1, \(1, 1\)\]; "),
    (lambda: from_measurements({(1, 1, 0): 1.0, (2, 2, 0): 1.0}, {None: 1.0}), r"no time at \(1, 2, 0\); .*full grid"),
    (lambda: from_measurements({1: 1.0}, {None: 1.0}, unit="ms"), r'^unit must be "s" or "target steps"'),
    (lambda: from_measurements({1: 1.0}, {None: 1.0}, overhead=-1.0), r"^overhead is -1\.0; "),
    (lambda: roofline(EIGHT, ONE, "T4"), r"^dtype 'bf16' is not in the table for T4; it has fp16, int8$"),
    (lambda: roofline(EIGHT, ONE, H200, draft_vocab=10**6), r"^draft_vocab is 1000000, more than .* of 128256$"),
    (lambda: roofline(EIGHT, ONE, H200, constants=Constants(bandwidth=1.2)), r"^constants\.bandwidth is 1\.2; "),
    (lambda: roofline(EIGHT, ONE, H200, constants=Constants(host_s=-1.0)), r"^constants\.host_s is -1\.0; "),
    (
        lambda: roofline(EIGHT, ONE, H200._replace(link=0.0), tensor_parallel=2),
        r"^tensor_parallel is 2, but .* no link",
    ),
    (
        lambda: roofline(EIGHT, ONE, H200._replace(link=0.0), draft_tensor_parallel=2),
        r"^draft_tensor_parallel is 2, but .* no link",
    ),
    (lambda: roofline(EIGHT, ONE, H200, correlation=0), r"^correlation is 0; it must lie in \(0, 1\]$"),
    (lambda: roofline(EIGHT._replace(layers=0), ONE, H200), r"^Llama-3\.1-8B: layers must be at least 1, got 0$"),
    (lambda: roofline(EIGHT, ONE._replace(body=NAN), H200), r"^Llama-3\.2-1B: body is nan; it must lie in \(0, inf\)$"),
    (lambda: expected_experts(1, experts=2, per_token=3), r"^per_token is 3, more than the 2 experts of a layer$"),
    (lambda: expected_experts(0, experts=2, per_token=1), r"^tokens must be at least 1, got 0$"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
