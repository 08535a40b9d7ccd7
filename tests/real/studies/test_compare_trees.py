"""Trees beside chains: what is recorded and shown, what is predicted and what is not."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import real.cli
from real.decode import loop
from real.decode.blocks import Score, predict_blocks
from real.decode.tree_plan import TreeVerifier
from real.studies.compare import tree_measure, tree_report, tree_sentences, tree_shapes
from real.studies.compare.tree_settings import TreeSettings
from real.studies.compare.tree_shapes import Text, call_samples, chain_entry, parse_tree, predicted, shaped, tree_entry
from real.studies.records import markdown
from specsim import renewal
from specsim.lengths import lifted_texts, traversal_texts, tree_texts
from specsim.trees import sequoia_tree
from specsim.verify.chain import block

SMALL = ("--count", "3", "--max-tokens", "8", "--widen", "0")
TREES = ("--tree", "2,1", "--tree", "sequoia:4", "--scheme", "without_replacement", "--rule", "tokenwise,traversal")


def run(out: Path, *arguments: str) -> Any:
    return CliRunner().invoke(real.cli.app, ["compare", "tiny", *SMALL, *arguments, "--out", str(out)])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, Path]:
    out = tmp_path_factory.mktemp("trees") / "trees.json"
    result = run(out, *TREES, "--chains", "2,4")
    assert result.exit_code == 0, result.output
    return json.loads(out.read_text()), result.stdout, out


def test_record_table_and_plot(recorded: tuple[dict[str, Any], str, Path]) -> None:
    record, shown, out = recorded
    assert (record["schema"], record["complete"]) == ("specsim-compare-trees/1", True)
    assert "turns" not in record
    rows = record["rows"]
    assert [(row["name"], row["rule"]) for row in rows] == [
        ("chain of 2", "block"),
        ("chain of 4", "block"),
        *((name, rule) for name in ("2,1", "sequoia:4") for rule in ("tokenwise", "traversal")),
    ]
    for row in rows:
        tau = row["tau"]
        assert row["nodes"] == len(row["parents"])
        assert row["pass"]["tokens"] == row["nodes"] + 1
        assert row["pass"]["plain_steps"] > 0
        assert tau["interval"][0] <= tau["measured"] <= tau["interval"][1]
        assert tau["measured"] == pytest.approx(row["target_calls"]["tokens"] / row["target_calls"]["measured"])
        assert 1 <= tau["predicted"] <= row["levels"] + 1
        assert tau["difference_interval"][0] < tau["measured"] - tau["predicted"] < tau["difference_interval"][1]
        assert row["speedup"]["predicted"] > 0
    assert rows[2]["parents"] == [-1, -1, 0, 1]
    best = record["fastest"]
    assert rows[best["tree"]]["tree"]
    assert not rows[best["chain"]]["tree"]
    speeds = [rows[best[kind]]["speedup"]["measured"] for kind in ("tree", "chain")]
    assert best["measured"] == pytest.approx(speeds[0] / speeds[1])
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    words = " ".join(shown.split())
    for said in ("est chain", "t(3) =", "in 16 other texts", "an assumption, not measured here"):
        assert said in words
    text = markdown(record, "trees.png")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert "| 2,1 | `traversal` | 4 | 2 | " in text


def test_a_shape_is_suggested_by_ranks_and_times() -> None:
    """Free draft steps and flat passes ask for the largest tree; passes that cost as many steps as tokens for none."""

    def record(verify: list[float], draft: float) -> dict[str, Any]:
        rows = [
            {
                "levels": 2,
                "pass": {"tokens": m, "plain_steps": t},
                "costs": {"draft_s": [0, 2 * draft], "sample_s": [0, 0], "verify_s": [1, t], "rule_s": [0, 0]}
                | {"host_s": [0, 0], "cycle_s": [1, t]},
            }
            for m, t in zip((3, 5, 9), verify, strict=True)
        ]
        return {"rows": rows, "shape_ranks": [0.6, 0.2]}

    for verify, draft, said in (
        ([1.0, 1.0, 1.0], 0.0, "walk would be 8 nodes,"),
        ([1.0, 1.0, 9.0], 0.0, "walk would be 4 nodes,"),
        ([3.0, 5.0, 9.0], 0.0, "walk would be no tree, at 1.00 times"),
        ([1.0, 1.0, 1.0], 0.9, "walk would be no tree, at 1.00 times"),
    ):
        assert said in str(tree_sentences.suggested(record(verify, draft)))
    assert tree_sentences.suggested(record([1, 1, 1], 0) | {"shape_ranks": None, "acceptance": {"ranks": None}}) is None


def test_a_rule_without_a_law_given_the_text_is_not_predicted(tmp_path: Path) -> None:
    """Never a number of another rule in its place."""
    out = tmp_path / "trees.json"
    result = run(out, "--tree", "2,1", "--rule", "tokenwise,target_only,lifted", "--chains", "1")
    assert result.exit_code == 0, result.output
    *known, only = json.loads(out.read_text())["rows"]
    only, known[2] = known[2], only
    assert min(row["tau"]["predicted"] for row in known) > 1
    tau, speed = only["tau"], only["speedup"]
    assert [tau["predicted"], tau["predicted_interval"], tau["difference_interval"], speed["predicted"]] == [None] * 4
    assert tau["measured"] > 1
    words = " ".join(result.stdout.split())
    assert "of 3 differences" in words
    assert "Of target_only no law given the text is known: not predicted." in words
    assert "| 2,1 | `target_only` | 4 | 2 | not predicted |" in markdown(json.loads(out.read_text()), "trees.png")


def test_a_finished_record_is_shown_again(recorded: tuple[dict[str, Any], str, Path]) -> None:
    out = recorded[2]
    again = run(out, *TREES, "--chains", "2,4", "--wide")
    assert again.exit_code == 0, again.output
    assert "holds this study" in again.output
    assert "target pass" in again.output
    other = run(out, *TREES, "--chains", "2,3")
    assert other.exit_code == 2
    assert "holds another study (chains is [2, 4], here [2, 3])" in other.output


def test_shapes_are_chosen_on_other_texts(monkeypatch: Any) -> None:
    """The prompts after those that are reported; and from their acceptance follows the shape."""
    asked: list[Any] = []

    def scored(pair: Any, prompt: Any, settings: Any, i: int, stream: int, most: int) -> Text:
        asked.append((i, stream))
        ranks = np.full((1, 5, 3), [0.5, 0.3, 0.1])
        return Text(Score(*np.ones((3, 5))), False, ranks)

    monkeypatch.setattr(tree_measure, "scored", scored)
    settings = TreeSettings(("sequoia:6",), "without_replacement")
    pair = type("Pair", (), {"target": type("Model", (), {"vocab_size": 9})})
    found = tree_measure.shape_ranks(pair, [[1], [2]], settings, 7, lambda stage: None)  # type: ignore[arg-type]
    assert asked == [(7, tree_measure.SHAPE), (8, tree_measure.SHAPE)]
    assert found == pytest.approx([0.5, 0.3, 0.1])
    entry = settings.entries(found)[-1]
    assert list(entry.parents) == sequoia_tree(found, nodes=6).parents.tolist()
    assert settings.gammas == (1, 2, 3, 4, 6)


def text(seed: int = 0) -> tuple[Text, Any]:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(6), (2, 40))
    y = np.array([rng.choice(6, p=row) for row in p])
    at = np.arange(40), y
    ranks = tree_texts.acceptance_by_rank(p, q, y, 3, scheme="without_replacement")
    return Text(Score(p[at], q[at], np.minimum(p, q).sum(-1)), False, ranks), (p, q, y)


def test_predictions_are_those_of_the_rule() -> None:
    """Chains as ever; walks by ranks; a tree of one path as the chain that its rule is there; of others nothing."""
    one, (p, q, y) = text()
    scheme, chain = "without_replacement", chain_entry(3, "block")
    wanted = predict_blocks(one.score, 3, block).blocks
    path = tree_entry(0, parse_tree("1,1,1"), "traversal", scheme, [-1, 0, 1])
    for entry in (chain, path):
        found = predicted(entry, one)
        assert found is not None
        assert (found[0].blocks, found[1]) == (wanted, [wanted])
    walk = tree_entry(0, parse_tree("3,1"), "tokenwise", scheme, shaped(parse_tree("3,1"), scheme))
    found = predicted(walk, one)
    rows = tree_texts.text_survival_tree(p, q, y, walk.parents, scheme=scheme).survival
    assert found is not None
    assert found[0].blocks == pytest.approx(float(renewal(rows).blocks))
    assert len(found[1]) == tree_texts.SAMPLES
    parents = (-1, -1, 0, 1)
    known = one._replace(calls={parents: call_samples(scheme, p, q, y, parents, 0)})
    wanted = float(renewal(traversal_texts.text_survival_traversal(p, q, y, parents).survival).blocks)
    for rule in ("traversal", "lifted"):
        found = predicted(tree_entry(0, parse_tree("2,1"), rule, scheme, parents), known)
        assert found is not None
        assert found[0].blocks == pytest.approx(wanted)
    known = one._replace(calls={parents: call_samples("iid", p, q, y, parents, 0)})
    found = predicted(tree_entry(0, parse_tree("2,1"), "lifted", "iid", parents), known)
    assert found is not None
    samples = lifted_texts.lifted_samples(p, q, y, parents).mean(axis=0)
    assert found[0].blocks == pytest.approx(float(renewal(traversal_texts.fitted(samples)).blocks))
    for rule, other in (("target_only", scheme), ("traversal", "iid"), ("lifted", "greedy")):
        assert predicted(tree_entry(0, parse_tree("2,1"), rule, other, parents), known) is None
    chosen = TreeVerifier("tokenwise", [-1, 0], "deterministic")
    assert tree_shapes.is_walk(chosen)
    assert not tree_shapes.is_walk(TreeVerifier("tokenwise", [-1, -1], "greedy"))


def test_a_step_that_is_not_the_schemes_own_is_not_predicted() -> None:
    """A walk with another step rule has another law: no number of the usual one stands for it."""
    assert tree_shapes.is_walk(TreeVerifier("tokenwise", [-1, -1], "iid"))
    assert tree_shapes.is_walk(TreeVerifier("tokenwise", [-1, -1], "iid", "recursive"))
    assert not tree_shapes.is_walk(TreeVerifier("tokenwise", [-1, -1], "iid", "optimal"))


def test_a_miss_is_named(recorded: tuple[dict[str, Any], str, Path]) -> None:
    rows = copy.deepcopy(recorded[0]["rows"])
    for row in rows:
        row["tau"]["difference_interval"] = [-0.1, 0.1]
    assert tree_report.missed(rows) == []
    rows[2]["tau"]["difference_interval"] = [0.1, 0.2]
    assert tree_report.missed(rows) == ["2,1, tokenwise"]
    assert "5 of 6 differences" in tree_report.verdict(rows)
    assert "all but 2,1, tokenwise" in tree_report.verdict(rows)


@pytest.mark.slow
def test_a_decoder_that_keeps_nothing_is_seen_to_miss(tmp_path: Path, monkeypatch: Any) -> None:
    """Another rule behind a walk: its prediction stays as it was, and the verdict names it."""
    arguments = ("--count", "10", "--max-tokens", "12", "--chains", "2", "--tree", "2,1")
    honest = run(tmp_path / "honest.json", *arguments)
    assert honest.exit_code == 0, honest.output
    decode = loop.decode

    def planted(*args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("rule"), TreeVerifier):
            draft = kwargs | {"gamma": 0, "rule": block}
            return decode(args[0], None, *args[2:], **draft)
        return decode(*args, **kwargs)

    monkeypatch.setattr(tree_measure, "decode", planted)
    missing = run(tmp_path / "missing.json", *arguments)
    assert missing.exit_code == 0, missing.output
    both = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("honest", "missing")]
    assert tree_report.missed(both[0]["rows"]) == []
    assert tree_report.missed(both[1]["rows"]) == ["2,1, tokenwise"]
    assert "all but 2,1, tokenwise" in tree_report.verdict(both[1]["rows"])
    assert [row["tau"]["predicted"] for row in both[0]["rows"]] == [row["tau"]["predicted"] for row in both[1]["rows"]]


def test_interrupted_run_keeps_finished_prompts_and_goes_on(tmp_path: Path, monkeypatch: Any) -> None:
    out, decode, runs = tmp_path / "trees.json", loop.decode, list[int]()
    arguments = ("--tree", "2", "--chains", "1")

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        runs.append(kwargs["gamma"])
        if len(runs) == 3 + 3 + 2:  # three texts, one prompt with plain decoding, a chain and a tree, the second begun
            raise KeyboardInterrupt
        return decode(*args, **kwargs)

    monkeypatch.setattr(tree_measure, "decode", interrupted)
    result = run(out, *arguments)
    assert result.exit_code == 130, result.output
    record = json.loads(out.read_text())
    assert (record["complete"], record["failed"], len(record["turns"])) == (False, "interrupted", 1)
    assert {row["target_calls"]["tokens"] for row in record["rows"]} == {8}
    monkeypatch.setattr(tree_measure, "decode", decode)
    assert run(out, *arguments).exit_code == 0
    record = json.loads(out.read_text())
    assert record["complete"]
    assert {row["target_calls"]["tokens"] for row in record["rows"]} == {24}
