"""Cost shapes by the options of `specsim plan`: each is the library's arithmetic, and what does not fit is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.planning import SMALL, as_json, run, texts
from safetensors.numpy import save_file

import specsim
from specsim.latency import Constants, ModelShape, constant, in_one_pass, roofline, weight_only
from specsim.latency.weights import Weights
from specsim.speed.ssd import cached_drafts

SMALLS = ("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
MOE = "--target qwen3-30b-a3b --draft llama-3.2-1b --hardware h100-sxm --overhead 0"


def curve(words: str) -> list[float]:
    return [one["value"] for one in as_json(words)["curve"]]


def ours(times: specsim.LatencyModel, longest: int = 16) -> list[float]:
    return [specsim.predict(times, 0.8, gamma=g, context=1024).speedup.value for g in range(longest + 1)]


def test_a_block_in_one_pass() -> None:
    assert curve("0.8 --cost-ratio 0.1 --one-pass") == pytest.approx(ours(in_one_pass(constant(0.1))))
    assert curve(f"0.8 {SMALL} --one-pass") == pytest.approx(ours(in_one_pass(roofline(*SMALLS))))
    tree = as_json("--ranks 0.7,0.12 --cost-ratio 0.3 --one-pass --nodes 8 --max-gamma 4")["trees"][0]
    shape = specsim.fastest_shapes(in_one_pass(constant(0.3)), [0.7, 0.12], nodes=8, depth=4).tree
    assert tree["speedup"]["value"] == pytest.approx(float(shape.speedup))


def test_drafts_beside_the_pass() -> None:
    assert curve("0.8 --cost-ratio 0.1 --cache-hits 0.9") == pytest.approx(ours(cached_drafts(constant(0.1), 0.8, 0.9)))
    found = curve("0.8 --cost-ratio 0.1 --cache-hits 0.9,0.8,0.5")
    assert found == pytest.approx(ours(cached_drafts(constant(0.1), 0.8, [0.9, 0.8, 0.5])))
    both = as_json("0.8 --cost-ratio 0.1 --cache-hits 0.75 --one-pass")
    assert both["points"][0]["draft"] == pytest.approx(0.025)
    assert both["asked"]["cache_hits"] == [0.75]


def test_weights_in_few_bits() -> None:
    timed = weight_only("int4", 0.1)
    assert curve("0.8 --cost-ratio 0.1 --weights int4") == pytest.approx(ours(timed))
    # As engines store them: the head in 16 bits, a scale and a zero point for 128 weights of 4 bits.
    for weights, bits in (("int4", 4.15625), ("int8", 8.0)):
        device = roofline(*SMALLS, weight_bytes=Weights(weights, bits, 16.0), draft_weight_bytes=2)
        assert curve(f"0.8 {SMALL} --weights {weights}") == pytest.approx(ours(device))
    shown = as_json(f"0.8 {SMALL} --weights int4")
    said = "weights of the target are stored in int4 (4.16 bits, head 16), of the draft in bf16 (16 bits); they are "
    assert f"{said}unpacked in no time, and multiplied in bf16" in shown["assumptions"]
    # What fits is counted in the bits that are kept: 70 GB of weights in bf16 are 35 in 8 bits.
    words = "0.8 --target qwen3-32b --draft qwen3-0.6b --hardware l40s --overhead 0"
    assert any("does not fit" in said for said in as_json(words)["notes"])
    assert not any("does not fit" in said for said in as_json(f"{words} --weights int8")["notes"])


def test_experts_with_a_fixed_time() -> None:
    moe = ModelShape.named("qwen3-30b-a3b")
    fixed = Constants(experts_s=6e-3 / moe.moe_layers)
    times = roofline(moe, "llama-3.2-1b", "h100-sxm", constants=fixed)
    assert curve(f"0.8 {MOE} --experts-overhead 6") == pytest.approx(ours(times))
    assert max(curve(f"0.8 {MOE} --experts-overhead 6")) > max(curve(f"0.8 {MOE}"))


def test_rows_under_a_mask(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    held = texts(rng, [40, 30])
    mask = rng.random(held["p"].shape) < 0.6
    mask[np.arange(70), held["tokens"]] = True  # the text obeys its grammar
    mask[:, 1] |= held["q"][:, 1] > 0
    path = tmp_path / "masked.safetensors"
    rows = {name: held[name] for name in ("p", "q")}
    save_file(rows | {"mask": mask}, path)
    for words, seen in (("", True), ("--unmasked-draft", False)):
        found = as_json(f"--rows {path} --cost-ratio 0.05 {words}")
        alpha = float(np.mean(specsim.masked_acceptance(held["p"], held["q"], mask, masked_draft=seen)))
        assert found["points"][0]["speedup"]["value"] == pytest.approx(
            specsim.optimal_gamma(alpha, cost_ratio=0.05, max_gamma=16).speedup
        )
        assert ("which the draft does not see" in found["assumptions"][0]) is not seen
    save_file(rows | {"mask": mask.astype(np.uint8), "tokens": held["tokens"], "lengths": held["lengths"]}, path)
    hazards = as_json(f"--rows {path} --cost-ratio 0.05 --max-gamma 3")
    p, q = (specsim.masked_law(held[name], mask) for name in ("p", "q"))
    from specsim.lengths.acceptance_record import from_rows

    kept = from_rows(p, q, held["tokens"], held["lengths"].tolist())
    tau = specsim.predict(constant(0.05), kept, gamma=3).tau.value
    assert hazards["curve"][3]["value"] == pytest.approx(tau / 1.15)


BAD = [
    (
        "0.8 --cost-ratio 0.1 --weights int3",
        "with --cost-ratio: int8, int4",
    ),
    ("0.8 --cost-ratio 0.1 --weights int4 --batch 8", "--weights with --cost-ratio was timed for one sequence"),
    ("0.8 --cost-ratio 0.1 --weights int4 --verify-cost 1,1.1", "both say what passes cost; give one of them"),
    ("0.8 --cost-ratio 0.1 --cache-hits 1.1", "cache_hits[0] is 1.1; it must lie in [0, 1]"),
    ("0.8 --cost-ratio 0.1 --cache-hits 0.9,x", "cache_hits[1] is 'x', not a number"),
    ("--ranks 0.7,0.1 --cost-ratio 0.1 --cache-hits 0.9", "only chains of such drafts are planned, no trees"),
    ("0.8 --cost-ratio 0.1 --experts-overhead 5", "--experts-overhead is of models on a device"),
    (f"0.8 {SMALL} --experts-overhead 5", "--experts-overhead is 5 ms, but Llama-3.1-8B has no experts"),
    (f"0.8 {MOE} --experts-overhead -5", "experts_overhead is -5.0; it must lie in [0, inf)"),
    ("0.8 --cost-ratio 0.1 --unmasked-draft", "--unmasked-draft is about the mask of --rows; leave it out"),
    (
        "0.8 --target llama-3.1-8b --draft ngram --drafted-share 0.5 --hardware h100-sxm --one-pass",
        "leave out --one-pass and --cache-hits",
    ),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_ends_with_one_line(words: str, message: str) -> None:
    said = run(words, code=2)
    assert said.startswith("error: ")
    assert message in said
    assert said.count("\n") == 1


def test_bad_masks_end_with_one_line(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    p, q = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    for held, words, message in (
        (
            {"mask": np.array([[True, True], [False, True]])},
            "",
            "mask[1] allows no token that m.safetensors: p[1] gives",
        ),
        ({"mask": np.zeros((2, 2), bool)}, "", "mask[0] allows no token"),
        ({"mask": np.ones((2, 3), bool)}, "", "m.safetensors: mask has shape (2, 3) for rows of shape (2, 2)"),
        ({}, "--unmasked-draft", "m.safetensors has no tensor mask"),
    ):
        save_file({"p": p, "q": q, **held}, path)
        said = run(f"--rows {path} --cost-ratio 0.1 {words}", code=2)
        assert message in said
        assert said.count("\n") == 1
