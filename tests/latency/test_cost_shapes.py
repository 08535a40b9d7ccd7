"""Weights kept in few bits, as measured and on a device; experts with a fixed time; each by its own arithmetic."""

from __future__ import annotations

import pytest

from specsim import plan
from specsim.latency import Constants, ModelShape, constant, hardware, in_one_pass, roofline, weight_only
from specsim.latency.tables import grouped

H100 = hardware("h100-sxm")
EIGHT = ModelShape.named("llama-3.1-8b")


def test_few_bits_as_measured() -> None:
    """The shares of the time of bfloat16 that were printed: .35 at 1 token, .72 at 5, 1.04 at 17."""
    times = {
        name: {int(r["tokens"]): float(r["ms"]) for r in rows}
        for name, rows in grouped("weight_only", "weights").items()
    }
    assert [round(times["int4"][m] / times["bf16"][m], 2) for m in (1, 5, 17)] == [0.35, 0.72, 1.04]
    for name, measured in times.items():
        model = weight_only(name, 0.1, overhead=0.05)
        for m, ms in measured.items():
            assert model.target(m, 1, 0).value == pytest.approx(ms / measured[1])
        assert model.target(3, 1, 0).value == pytest.approx((2 * measured[2] + measured[5]) / (3 * measured[1]))
        assert model.cycle(4).value == pytest.approx(0.4 + measured[5] / measured[1] + 0.05)
        assert model.target(5, 1, 0).error is None  # one run
    assert weight_only("int4", 0).draft(1, 0).value == 0
    best = [plan(weight_only(name, 0.1), 0.8)[0] for name in ("bf16", "int4")]  # as docs/results/planning.md says
    assert [(one.gamma, round(one.speedup.value, 2)) for one in best] == [(4, 2.29), (1, 1.58)]


def test_few_bits_bend_the_curve_of_a_device() -> None:
    """What is read shrinks, what is multiplied does not: where reading decides a step, t(m) bends a ratio earlier."""
    wide, narrow = (roofline(EIGHT, EIGHT, H100, weight_bytes=w) for w in (2, 0.5))
    assert narrow.target(1, 1, 0).value < 0.4 * wide.target(1, 1, 0).value
    bends = []
    for model in (wide, narrow):
        step = model.target(1, 1, 0).value
        bends.append(next(m for m in range(1, 1024) if model.target(m, 1, 0).value > 1.25 * step))
    assert 3 < bends[0] / bends[1] < 4.5
    # Only the target's weights are narrow where the draft's are said to be others.
    mixed = roofline(EIGHT, EIGHT, H100, weight_bytes=0.5, draft_weight_bytes=2)
    assert mixed.draft(1, 0).value == wide.draft(1, 0).value
    assert mixed.target(3, 1, 0).value == narrow.target(3, 1, 0).value
    assert narrow.draft(1, 0).value == narrow.target(1, 1, 0).value
    assert wide.cycle_error is not None
    assert mixed.cycle_error is None


def test_experts_take_a_fixed_time_of_their_own() -> None:
    """In every pass, plain steps too: the larger it is the less a token more costs."""
    moe = ModelShape.named("qwen3-30b-a3b")
    free = roofline(moe, EIGHT, H100)
    fixed = roofline(moe, EIGHT, H100, constants=Constants(experts_s=5e-3 / moe.moe_layers))
    for m, b in ((1, 1), (5, 1), (5, 64)):
        assert fixed.target(m, b, 1024).value - free.target(m, b, 1024).value == pytest.approx(5e-3)
    assert fixed.draft(1, 0).value == free.draft(1, 0).value  # a dense draft has none
    assert roofline(EIGHT, EIGHT, H100, constants=Constants(experts_s=1.0)).target(1, 1, 0).value < 1
    ratio = [model.target(5, 1, 0).value / model.target(1, 1, 0).value for model in (free, fixed)]
    assert ratio[1] < ratio[0]


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"^weights 'int3' were not measured; known: bf16, int8, int4$"):
        weight_only("int3", 0.1)
    with pytest.raises(ValueError, match=r"^batch is 8; passes over int4 weights were timed for one sequence$"):
        weight_only("int4", 0.1).target(1, 8, 0)
    with pytest.raises(ValueError, match=r"^target at tokens = 18 was not measured: its range is 1\.\.17$"):
        weight_only("int4", 0.1).cycle(17)
    with pytest.raises(ValueError, match=r"^cost_ratio is -1; it must lie in \[0, inf\)$"):
        weight_only("int4", -1)
    with pytest.raises(ValueError, match=r"^draft_weight_bytes is 0; it must lie in \(0, inf\)$"):
        roofline(EIGHT, EIGHT, H100, draft_weight_bytes=0)
    with pytest.raises(ValueError, match=r"^constants\.experts_s is -1; it must lie in \[0, inf\)$"):
        roofline(EIGHT, EIGHT, H100, constants=Constants(experts_s=-1))
    with pytest.raises(ValueError, match=r"^prepared\(3\) is 1\.5; it must lie in \[0, 1\]$"):
        constant(0.1)._replace(prepared=lambda gamma: 1.5).cycle(3)
    with pytest.raises(TypeError, match="latency"):
        in_one_pass(0.1)  # type: ignore[arg-type]
