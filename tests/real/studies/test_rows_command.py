"""`specsim-real rows` writes what `specsim plan --rows` reads: the same tau as the library's own score of the texts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

from real import TINY, load
from real.cli import app
from real.decode.blocks import predict_along
from real.decode.score import score
from real.decode.warp import Warping
from real.draft import one_pass
from real.models.names import ONE_PASS, TINY_PAIR
from real.named import drafter_named
from specsim import renewal
from specsim.commands.plan.read import read_rows
from specsim.lengths.blocks import text_survival
from specsim.verify.lookup import chain_rule


def run(words: str, code: int = 0) -> Any:
    found = CliRunner().invoke(app, ["rows", *shlex.split(words)])
    assert found.exit_code == code, found.output
    return found


def test_rows_are_what_plan_reads(tmp_path: Path) -> None:
    out = tmp_path / "r.safetensors"
    run(f"--count 3 --max-tokens 12 --temperature 0.8 --out {out}")
    held = load_file(out)
    assert held["p"].shape == held["q"].shape == (held["lengths"].sum(), held["p"].shape[1])
    pair, warping = load(TINY / "target", TINY / "draft"), Warping(0.8)
    prompts = json.loads((TINY / "prompts.json").read_text())["prompts"][:3]
    kept = read_rows(out).acceptance
    found = []
    for prompt, tokens in zip(prompts, np.split(held["tokens"], np.cumsum(held["lengths"])[:-1]), strict=True):
        text = score(pair.target, pair.draft, list(pair.tokenizer(prompt)["input_ids"]), tokens.tolist(), warping)
        found.append(renewal(text_survival(chain_rule("tokenwise").survival, text.ratio, 3)))
    tried = sum(one.tried for one in found)
    assert kept.hazards(3) == pytest.approx(sum(one.hazards * one.tried for one in found) / tried, rel=1e-4)
    assert "(3 texts), by the renewal law" in kept.words
    assert kept.tau(3).error > 0


def test_json_says_what_was_written(tmp_path: Path) -> None:
    out = tmp_path / "r.safetensors"
    found, held = json.loads(run(f"--count 2 --max-tokens 4 --json --out {out}").stdout), load_file(out)
    assert found["lengths"] == held["lengths"].tolist()
    assert (found["out"], found["texts"]) == (str(out), len(held["lengths"]))
    assert (found["tokens"], found["vocab"]) == held["p"].shape


def test_bad_input_ends_with_one_line(tmp_path: Path) -> None:
    for words, message in (
        ("--count 0", "count must be at least 1, got 0"),
        ("--max-tokens 0", "max_tokens must be at least 1, got 0"),
        ("--out /dev/null/r.safetensors", "output /dev/null/r.safetensors cannot be written"),
        ("owner/target", "owner/target needs a draft: give both models, or name a pair"),
        ("--max-tokens 1000000", "GB, above 4.3; lower --count or --max-tokens"),
        ("tiny heads --max-tokens 6000", "take 5.5 GB, above 4.3; lower --count or --max-tokens"),
    ):
        said = run(f"{words} {'' if '--out' in words else f'--out {tmp_path}/r.safetensors'}", code=2).stderr
        (line,) = (line for line in said.splitlines() if not line.startswith("loading "))
        assert line.startswith("error: ")
        assert message in line


def test_rows_of_a_drafter_of_one_pass_have_a_law_for_each_position(tmp_path: Path) -> None:
    """`plan --one-pass` predicts from them what the drafter's own score along the texts does."""
    out = tmp_path / "r.safetensors"
    said = run(f"tiny heads --count 3 --max-tokens 10 --temperature 0.8 --out {out}").stdout
    assert f"specsim plan --rows {out} --one-pass ..." in said
    held, pair = load_file(out), load(TINY / "target", TINY / "draft")
    assert held["q"].shape == (held["lengths"].sum(), 6, pair.target.vocab_size)
    drafter, warping = drafter_named("heads", pair.target, None), Warping(0.8)
    prompts = json.loads((TINY / "prompts.json").read_text())["prompts"][:3]
    predicted = read_rows(out)
    assert predicted.one_pass
    calls, size = 0.0, 0
    for prompt, tokens in zip(prompts, np.split(held["tokens"], np.cumsum(held["lengths"])[:-1]), strict=True):
        ids = list(pair.tokenizer(prompt)["input_ids"])
        laws = drafter.along(pair.target, ids, tokens.tolist(), 3, warping)
        rows = held["q"][size : size + len(tokens)]
        for i in range(3):
            inside = rows[np.arange(len(tokens) - i), i, tokens[i:]]
            np.testing.assert_allclose(inside, laws.q[: len(tokens) - i, i], rtol=1e-4, atol=1e-7)
        calls += predict_along(laws).blocks
        size += len(tokens)
    assert predicted.acceptance.tau(3).value == pytest.approx(size / calls, rel=0.05)


def test_drafters_of_one_pass_are_those_that_are_named() -> None:
    """A penalty, under which a draft depends on those before it, leaves no law for each position."""
    pair = load(TINY / "target", TINY / "draft")
    drafter = drafter_named(ONE_PASS[TINY_PAIR], pair.target, None)
    assert drafter.block_rows is not None
    assert drafter_named("feature", pair.target, None).block_rows is None
    for correction in (0, 4):
        net = one_pass.OnePass(256, inner=8, gated=8, heads=2, head=4, correction=correction)
        assert (one_pass.drafter(net, pair.target).block_rows is None) == (correction > 0)
    with pytest.raises(ValueError, match=r"^repetition_penalty is 1\.2: it makes the law of a draft depend"):
        drafter.block_rows(pair.target, [1], [2, 3], 2, Warping(repetition_penalty=1.2))
