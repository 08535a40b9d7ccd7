"""`specsim plan --one-pass` by the law of its drafts: rows with a law for each position of a block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from specsim.cli import app
from specsim.lengths.one_pass_rows import from_one_pass_rows

safetensors = pytest.importorskip("safetensors.numpy")
TOKENS = np.array([0, 1, 1, 0, 0, 1])


def written(path: Path, q: Any, **others: Any) -> str:
    """A file of rows of a fair coin with these laws of the drafts, as a word of the command."""
    tensors = {"p": np.full((6, 2), 0.5), "q": np.asarray(q, dtype=np.float64), "tokens": TOKENS} | others
    safetensors.save_file({k: np.ascontiguousarray(v) for k, v in tensors.items() if v is not None}, path)
    return f"--rows {path}"


def plan(words: str) -> Any:
    return CliRunner().invoke(app, f"plan {words} --cost-ratio 0.1 --json".split())


def test_the_law_of_each_position_is_used(tmp_path: Path) -> None:
    """The first draft is always kept; the second is 0 for certain, so it is kept where the text has a 0."""
    q = np.array([[[0.5, 0.5], [1.0, 0.0]]] * 6)
    rows = written(tmp_path / "rows.safetensors", q)
    found = json.loads(plan(f"{rows} --one-pass").stdout)
    laws = from_one_pass_rows(np.full((6, 2), 0.5), q, TOKENS, [6], source="rows.safetensors")
    tokens = [1.1 * speedup["value"] for speedup in found["curve"][1:]]
    assert tokens == pytest.approx([laws.tau(g).value for g in (1, 2)])
    assert "do not see each other" in " ".join(found["assumptions"])


def test_costs_and_rows_of_two_kinds_of_drafters_are_refused(tmp_path: Path) -> None:
    q = np.full((6, 2, 2), 0.5)
    blocks = written(tmp_path / "blocks.safetensors", q)
    assert "add --one-pass" in plan(blocks).output
    for tokens in (TOKENS, None):
        seen = written(tmp_path / "seen.safetensors", q[:, 0], tokens=tokens)
        assert "give q of shape (n, gamma, V)" in plan(f"{seen} --one-pass").output
        assert plan(seen).exit_code == 0


def test_rows_that_do_not_fit_are_named(tmp_path: Path) -> None:
    for others, q, words in (
        ({"tokens": None}, np.full((6, 2, 2), 0.5), "rows.safetensors has no tensor tokens (n); q, with a law"),
        ({"p": None}, np.full((6, 2, 2), 0.5), "rows.safetensors has no tensor p (n, V); q, with a law"),
        ({"p": None, "tokens": None}, np.full((6, 2, 2), 0.5), "has no tensor p (n, V) and tokens (n); q"),
        ({}, np.full((5, 2, 2), 0.5), "they must be (n, V) and (n, gamma, V)"),
        ({"mask": np.ones((6, 2), dtype=bool)}, np.full((6, 2, 2), 0.5), "mask"),
        ({"lengths": np.array([4, 4])}, np.full((6, 2, 2), 0.5), "they differ"),
    ):
        rows = written(tmp_path / "rows.safetensors", q, **others)
        result = plan(f"{rows} --one-pass")
        assert result.exit_code != 0
        assert words in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ("0.8", "one ALPHA for all positions can overstate long ones"),
        ("--ranks 0.7,0.12,0.05", "one list of --ranks for all positions can overstate long ones"),
    ],
)
def test_one_acceptance_for_a_whole_block_is_noted(given: str, note: str) -> None:
    with_note, without = (json.loads(plan(f"{given} {word}").stdout)["notes"] for word in ("--one-pass", ""))
    assert any(note in words for words in with_note)
    assert not any("for all positions" in words for words in without)


@pytest.mark.parametrize(("word", "steps"), [("", "a level is drafted in one step"), ("--one-pass", "in that pass")])
def test_a_tree_is_drafted_as_its_block_is(word: str, steps: str) -> None:
    """One pass makes all levels; without it each takes a step."""
    assumptions = json.loads(plan(f"--ranks 0.7,0.12,0.05 {word}").stdout)["assumptions"]
    (of_trees,) = [words for words in assumptions if words.startswith("trees have")]
    assert of_trees.endswith(steps)


def test_help_has_the_shapes_and_the_drafters_of_one_pass() -> None:
    words = " ".join(CliRunner().invoke(app, ["plan", "--help"], env={"COLUMNS": "200"}).output.split())
    assert "With --one-pass: p (n, V), q (n, gamma, V) and tokens" in words
    assert "(DFlash, PARD, P-EAGLE, Medusa)" in words


@pytest.mark.parametrize(
    ("draft", "way"),
    [
        *((name, "its pass over a target step, and --one-pass") for name in ("medusa", "DFlash", "pard", "p-eagle")),
        ("hydra", "its draft step over a target step"),
    ],
)
def test_a_drafter_without_a_shape_is_planned_as_it_drafts(draft: str, way: str) -> None:
    words = f"plan 0.7 --target llama-3.1-8b --hardware h100-sxm --draft {draft}"
    assert f"plan it by --cost-ratio, {way}" in " ".join(CliRunner().invoke(app, words.split()).output.split())
