"""Part `trees` of `python -m real.gpu`, at tiny sizes on a CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from real.decode import graphs, trees_block
from real.gpu import command as gpu
from real.gpu.parts import trees
from real.gpu.table import TABLES


def with_other_uniforms(on: Any, length: int, texts: Any, u: Any) -> Any:
    """A planted fault: a captured cycle of trees that draws with other numbers than it is given."""
    return trees_block.cycle(on, length, texts, 1 - u.clamp(min=1e-9))


def test_trees_that_draw_otherwise_differ_from_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    told = (range(2), 2, torch.device("cpu"), True, trees._case)
    assert trees.parity.same_tokens(*told)["passed"]
    monkeypatch.setattr(graphs, "tree_cycle", with_other_uniforms)
    assert not trees.parity.same_tokens(*told)["passed"]


def test_a_table_of_trees() -> None:
    entry = {
        "parents": [-1, -1, 0], "tau": {"measured": 2.5}, "cycle_s": 2e-3, "tree": True,
        "speedup": {"measured": 1.75, "interval": [1.5, 2.0]},
    }  # fmt: skip
    chain = entry | {"tree": False, "parents": [-1, 0], "speedup": {"measured": 1.25, "interval": [1.0, 1.5]}}
    rows = [
        {"key": "tokens/graphs", "cases": 8, "tokens": 90, "different": [{}], "passed": False},
        {"key": "graphs/2,1, traversal", **entry},
        {"key": "graphs/chain of 2, block", **chain},
        {"key": "pass/4 tokens", "tokens": 4, "plain_steps": 1.25, "chain_plain_steps": 1.2},
    ]
    assert "\n".join(TABLES["trees"](rows)).splitlines() == [
        "tokens/graphs: 90 tokens in 8 cases, 1 differ from the CPU's: **failed**.",
        "",
        "A pass of the target over the m nodes of a tree takes t(m) plain steps (in brackets: over m tokens in a row): "
        "t(4) = 1.25 (1.20).",
        "",
        "Fastest chain: graphs/chain of 2, block (1.25); fastest tree: graphs/2,1, traversal (1.75).",
        "",
        "| cycle, tree, rule | nodes | tokens a target call | cycle, ms | speedup (95 %) |",
        "| --- | --- | --- | --- | --- |",
        "| graphs/2,1, traversal | 3 | 2.500 | 2.00 | 1.75 [1.50, 2.00] |",
        "| graphs/chain of 2, block | 2 | 2.500 | 2.00 | 1.25 [1.00, 1.50] |",
    ]


@pytest.mark.slow
def test_trees_beside_chains(tmp_path: Path) -> None:
    """Both kinds of cycle write texts from the same numbers: the same tau, row by row."""
    arguments = ["trees", "--tiny", "--device", "cpu", "--out", str(tmp_path)]
    assert CliRunner().invoke(gpu.app, arguments).exit_code == 0
    rows = {row["key"]: row for row in json.loads((tmp_path / "trees.json").read_text())["rows"]}
    names = ["chain of 2, block", "2,1, traversal", "sequoia:3, traversal"]
    assert [key for key in rows if "pass" not in key] == [
        "tokens/graphs", "tokens/eager", *(f"{mode}/{name}" for mode in trees.MODES for name in names)
    ]  # fmt: skip
    for name in names:
        one, other = (rows[f"{mode}/{name}"] for mode in trees.MODES)
        assert one["tau"] == other["tau"]
        assert one["speedup"]["measured"] > 0
    assert rows["graphs/2,1, traversal"]["parents"] == [-1, -1, 0, 1]
    for tokens in (2, 5):
        row = rows[f"pass/{tokens} tokens"]
        assert row["plain_steps"] == row["tree_s"] / row["plain_s"]


def test_a_speedup_of_few_prompts_has_no_interval_in_the_table() -> None:
    row = {
        "key": "graphs/chain of 2, block",
        "parents": [-1, 0],
        "tree": False,
        "tau": {"measured": 1.5},
        "cycle_s": 0.002,
    }
    few, many = ({"speedup": {"measured": 1.25, "interval": ends}} for ends in (None, [1.2, 1.3]))
    lines = TABLES["trees"]([{**row, **few}, {**row, **many}])
    assert [line.rsplit("|", 2)[1].strip() for line in lines[-2:]] == ["1.25", "1.25 [1.20, 1.30]"]
