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
from real.decode.score import score
from real.decode.warp import Warping
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
    ):
        said = run(f"{words} {'' if '--out' in words else f'--out {tmp_path}/r.safetensors'}", code=2).stderr
        (line,) = (line for line in said.splitlines() if not line.startswith("loading "))
        assert line.startswith("error: ")
        assert message in line
