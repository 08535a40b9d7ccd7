"""Options of `specsim-real compare --tree`: step rules and distinct siblings, captures, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import real.cli
from real.decode import graphs, loop
from real.decode.blocks import Score
from real.decode.tree_plan import TreeVerifier
from real.studies.compare import measure, tree_measure, tree_shapes
from real.studies.compare.tree_settings import TreeSettings
from real.studies.compare.tree_shapes import Text, call_samples, parse_tree, predicted, shaped, tree_entry
from specsim.lengths import lifted_texts, tree_texts

SMALL = ("--count", "3", "--max-tokens", "8", "--widen", "0")


def run(out: Path, *arguments: str) -> Any:
    return CliRunner().invoke(real.cli.app, ["compare", "tiny", *SMALL, *arguments, "--out", str(out)])


def text(seed: int = 0) -> tuple[Text, Any]:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(6), (2, 40))
    y = np.array([rng.choice(6, p=row) for row in p])
    at = np.arange(40), y
    ranks = tree_texts.acceptance_by_rank(p, q, y, 3, scheme="without_replacement")
    return Text(Score(p[at], q[at], np.minimum(p, q).sum(-1)), False, ranks), (p, q, y)


@pytest.mark.slow
def test_a_step_rule_that_is_named_runs_and_is_predicted(tmp_path: Path) -> None:
    """Lifted, i.i.d. siblings: other step rules have laws of their own, and these are the ones that are recorded."""
    found = {}
    for step in ("", "optimal", "kseq"):
        out = tmp_path / f"step-{step}.json"
        more = ("--step", step) if step else ()
        result = run(out, "--tree", "3", "--rule", "lifted", "--chains", "1", "--max-tokens", "12", *more)
        assert result.exit_code == 0, result.output
        record = json.loads(out.read_text())
        assert record["provenance"].get("step", "") == step
        assert (f"Tree rules run the step rule {step!r}." in " ".join(result.stdout.split())) == bool(step)
        found[step] = {how: record["rows"][-1]["tau"][how] for how in ("predicted", "measured")}
    assert found[""] == found["optimal"]
    assert found["kseq"]["predicted"] not in (None, found["optimal"]["predicted"])


def test_a_step_rule_that_is_named_reaches_rule_and_prediction() -> None:
    settings = TreeSettings(("2",), rules=("lifted",), step="recursive")
    (entry,) = [entry for entry in settings.entries() if entry.is_tree]
    assert (entry.verifier.step, entry.verifier.told) == ("recursive", {"step": "recursive"})
    parents, (p, q, y) = (-1, -1, 0), text()[1]
    for step in ("optimal", "recursive"):
        found = call_samples("iid", p, q, y, parents, 0, step)
        assert np.array_equal(found, lifted_texts.lifted_samples(p, q, y, parents, step=step))
        assert np.array_equal(found, call_samples("iid", p, q, y, parents, 0)) == (step == "optimal")


def test_other_steps_have_no_prediction_but_their_own() -> None:
    """Not the usual one's: without replacement only that is known, and on one path a chain rule for that alone."""
    for scheme, step, known in (
        ("without_replacement", "recursive_wor", True),
        ("iid", "kseq", True),
        ("iid", None, True),
    ):
        assert tree_shapes.has_calls(TreeVerifier("lifted", [-1, -1], scheme, step)) == known
    one, _ = text()
    path = [
        tree_entry(0, parse_tree("1,1"), "tokenwise", "iid", [-1, 0], step) for step in (None, "recursive", "naive")
    ]
    assert [predicted(entry, one) is not None for entry in path] == [True, True, False]


@pytest.mark.slow
def test_distinct_siblings_are_drawn_as_often_as_is_said(tmp_path: Path) -> None:
    out = tmp_path / "trees.json"
    arguments = ("--tree", "3", "--scheme", "distinct", "--rule", "lifted", "--draws", "2", "--chains", "1")
    result = run(out, *arguments)
    assert result.exit_code == 0, result.output
    assert "A node draws until 2 different siblings are expected" in " ".join(result.stdout.split())
    record = json.loads(out.read_text())
    row = record["rows"][-1]
    assert (record["provenance"]["draws"], row["nodes"], row["tau"]["predicted"]) == (2, 3, None)
    assert row["tau"]["measured"] > 1


def test_the_number_of_draws_follows_from_the_siblings_expected() -> None:
    law = tree_entry(0, parse_tree("3,3"), "lifted", "distinct", shaped(parse_tree("3,3"), "distinct"), None, 2)
    counted = law.verifier.draws(np.array([[0.5, 0.3, 0.2], [1, 0, 0]]))
    assert (counted.limit, counted.least.tolist()) == (3, [2, 3])
    assert law == tree_entry(0, parse_tree("3,3"), "lifted", "distinct", law.parents, None, 2)


@pytest.mark.parametrize(
    ("module", "arguments", "lines"),
    [(measure, ("--gamma", "1,2"), 2), (tree_measure, ("--tree", "2,1", "--chains", "2"), 2)],
)
def test_a_comparison_captures_each_line_once(
    module: ModuleType, arguments: tuple[str, ...], lines: int, tmp_path: Path, monkeypatch: Any
) -> None:
    """In fixed shapes, as on a GPU: not for every prompt anew, and plain decoding once more where texts are written."""
    found: list[Any] = []
    honest = graphs.captured

    def capturing(function: Any, *more: Any) -> Any:
        found.append(function)
        return honest(function, *more)

    def fixed(target: Any, draft: Any, prompt: list[int], *, uniforms: Any, **options: Any) -> loop.Decoded:
        return loop.decode_batch(target, draft, [prompt], uniforms=[uniforms], fixed=True, **options)[0]

    monkeypatch.setattr(graphs, "captured", capturing)
    monkeypatch.setattr(graphs, "_ROUND", 512)  # prompts of every length
    monkeypatch.setattr(module, "decode", fixed)
    result = run(tmp_path / "record.json", *arguments, "--count", "2", "--max-tokens", "4")
    assert result.exit_code == 0, result.output
    assert len(found) == 1 + 1 + lines
