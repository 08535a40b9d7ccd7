"""Projections in few bits: near what they were, the same in every pass, and refused where the kernels would fail."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from helpers.small_models import wrapped

import real
from real.decode.warp import Warping
from real.load_pair import load
from real.models.loading import load_hf
from real.models.model import LanguageModel, from_hf, full_logits, quantised
from real.models.quantised import Quantised, quantise
from real.models.shapes import Shape, random_model
from real.models.weights import plain
from real.models.widen import widen
from real.pair import Pair
from real.train.states import identity

KINDS = ("int8", "int4")
MOST = {"int8": 0.02, "int4": 0.2}  # mean total variation of the bundled target's laws to those in float32
START, NEAR = "def main():", 0.05  # near: what the roundings of a block may move a logit by
PROMPT = "def main():\n    return"


@cache
def pair(kind: str | None = None, dtype: torch.dtype = torch.float32) -> Pair:
    return load(real.TINY / "target", real.TINY / "draft", weights=kind, dtype=dtype)


def laws(model: LanguageModel) -> torch.Tensor:
    ids = torch.tensor(pair().tokenizer(PROMPT * 3)["input_ids"])
    return full_logits(model, ids).float().softmax(-1)


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().sum(-1).mean() / 2)


def shortfall(model: LanguageModel, new: list[int]) -> float:
    """The most by which a token of a text lies below the top, when it is read in single steps."""
    ids, cache, most = list(pair().tokenizer(START)["input_ids"]), model.cache(), 0.0
    cache.forward(torch.tensor([ids[:-1]]), 0)
    for before, token in zip([ids[-1], *new], new, strict=False):
        row = cache.forward(torch.tensor([[before]]), 1)[0, 0]
        most = max(most, float(row.max() - row[token]))
    return most


def matrix(rows: int = 48, columns: int = 96) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(0))


def steps(found: Quantised) -> torch.Tensor:
    """The distance of neighbouring values of each entry."""
    rows = found.scales.float()
    return rows[:, None] if rows.ndim == 1 else rows[..., 0].T.repeat_interleave(32, 1)


def offsets(found: Quantised) -> torch.Tensor:
    """What is added to the codes of each entry, times their steps."""
    rows = found.scales.float()
    return rows.new_zeros(()) if rows.ndim == 1 else rows[..., 1].T.repeat_interleave(32, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e4])
def test_every_number_is_within_half_a_step_of_its_own(kind: str, size: float) -> None:
    weight = matrix() * size
    found = quantise(weight, kind)
    codes = (found.dense() - offsets(found)) / steps(found)
    torch.testing.assert_close(codes, codes.round(), rtol=1e-5, atol=1e-5)
    # An extreme may lie beyond the last code: scales are rounded, too.
    off = (codes - (weight - offsets(found)) / steps(found)).abs()
    assert off.max() <= 0.5 + 0.004 * float(codes.abs().max())
    assert off.mean() < 0.26
    assert codes.abs().max() == (127 if kind == "int8" else 8)
    bits = (found.nbytes - found.scales.nbytes) * 8 / weight.numel()
    assert bits == int(kind[3:])


@pytest.mark.parametrize("kind", KINDS)
def test_the_extremes_of_a_row_and_zeros_are_kept(kind: str) -> None:
    weight = torch.zeros(16, 64)
    weight[3, 0], weight[4, 40], weight[5, 33], weight[5, 34] = 2.0, -4.0, 0.5, -0.25
    weight[6] = torch.linspace(1.0, 2.0, 64)
    weight[6, 50], weight[6, 51] = 0.0, -0.4
    found = quantise(weight, kind)
    dense = found.dense()
    assert (steps(found) != 0).all(), "codes were divided by them"
    assert torch.equal(dense == 0, weight == 0)
    torch.testing.assert_close(dense[:6], weight[:6], rtol=0.15 if kind == "int4" else 0.01, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_product_is_that_of_the_matrix_whatever_stands_beside_it(kind: str) -> None:
    found, x = quantise(matrix(), kind), matrix(12, 96).view(3, 4, 96)
    whole = found.product(x)
    assert (whole.shape, whole.dtype) == ((3, 4, 48), torch.float32)
    expected = x.bfloat16().float() @ found.dense().T
    torch.testing.assert_close(whole, expected, rtol=0.004, atol=0.002)
    for i in range(3):
        for j in range(4):
            assert torch.equal(found.product(x[i : i + 1, j : j + 1]), whole[i : i + 1, j : j + 1])
    assert found.product(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_laws_are_near_those_in_float32_and_others(kind: str, dtype: torch.dtype) -> None:
    own = laws(pair(kind, dtype).target)
    assert 0.001 < distance(own, laws(pair().target)) < MOST[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_speculation_writes_the_quantised_targets_own_text(kind: str) -> None:
    """Greedily: the token of plain decoding, up to a near tie, and every token is what a single step has on top."""
    own = pair(kind)
    plain_, fast = (own.generate(START, gamma=g, max_tokens=32, warping=Warping(0)) for g in (0, 4))
    assert fast.tokens == plain_.tokens
    assert any(block.accepted for block in fast.blocks)
    assert shortfall(own.target, fast.tokens) < NEAR
    if kind == "int4":  # int8 is so near that a short text is often the same
        assert shortfall(pair().target, fast.tokens) > NEAR


def test_without_weights_nothing_is_rounded_and_the_draft_never_is() -> None:
    both = [pair(kind) for kind in (None, *KINDS)]
    for one in both:
        assert one.draft.weights is not None
        assert not any(isinstance(w, Quantised) for layer in one.draft.weights.layers for w in layer)
    told = load_hf(real.TINY / "target").state_dict()["model.layers.0.mlp.down_proj.weight"]
    assert both[0].target.weights is not None
    assert torch.equal(plain(both[0].target.weights.layers[0].down), told)
    assert [len({identity(one.target) for one in both}), len({identity(one.draft) for one in both})] == [3, 1]


def small(kind: str | None = None, dtype: torch.dtype = torch.float32) -> LanguageModel:
    model = random_model(Shape(2, 64, 96, heads=2, kv_heads=1, vocab=40, context=64), dtype=dtype, device="cpu")
    return model if kind is None else quantised(model, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_quantised_model_is_another_near_the_first(kind: str) -> None:
    rows = [full_logits(model, torch.arange(12)).softmax(-1) for model in (small(), small(kind))]
    assert 1e-4 < distance(*rows) < {"int8": 0.02, "int4": 0.2}[kind]
    assert len({identity(model) for model in (small(), *map(small, KINDS))}) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_of_a_pass_are_those_of_the_codes_the_scales_and_the_head(kind: str) -> None:
    whole, found = small(), small(kind)
    assert found.weights is not None
    layers = [w for layer in found.weights.layers for w in layer if isinstance(w, Quantised)]
    numbers = sum(len(plain(w)) * w.columns for w in layers)
    scales = sum(len(plain(w)) * (2 if kind == "int8" else w.columns // 32 * 4) for w in layers)
    assert len(layers) == 4 * len(found.weights.layers)
    assert whole.weight_bytes - found.weight_bytes == 4 * numbers - numbers * int(kind[3:]) // 8 - scales


def test_a_widened_target_keeps_its_function_when_both_are_rounded() -> None:
    """Padding is zeros in every row that is read, so that a row's scale and codes stay what they were."""
    wide = from_hf(widen(load_hf(real.TINY / "target"), 8_000_000, dtype=torch.float32))
    for kind in KINDS:
        assert distance(laws(quantised(wide, kind)), laws(pair(kind).target)) < 0.02


def test_what_cannot_be_rounded_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^weights 'int3' is unknown; known: int8, int4$"):
        load("nowhere", "nowhere", weights="int3")
    with pytest.raises(ValueError, match=r"^weights [^\n]* is unknown; known: int8, int4$"):
        load("nowhere", "nowhere", weights=torch.ones(2, 2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^weights int8: x has 33 columns, and the kernel takes multiples of 32$"):
        quantise(matrix(16, 33), "int8", "x")
    with pytest.raises(ValueError, match=r"^weights int4: x has 17 rows, and the kernel takes multiples of 16$"):
        quantise(matrix(17, 32), "int4", "x")
    assert quantise(matrix(17, 32), "int8").dense().shape == (17, 32)
    with pytest.raises(ValueError, match=r"^weights int4: qkv of layer 0 has 16 columns, and"):
        quantised(wrapped("llama", True, torch.float32), "int4")
    with pytest.raises(ValueError, match=r"^weights int8: only a model on the fast path can be quantised$"):
        quantised(wrapped("gpt2", True, torch.float32), "int8")
    with pytest.raises(
        ValueError, match=r"^weights int8 are for float32 and bfloat16 on a CPU, got float64 on cpu: leave"
    ):
        quantised(wrapped("llama", True), "int8")
