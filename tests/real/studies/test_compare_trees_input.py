"""Trees that `specsim-real compare` refuses, with status 2 before any forward, and those that it can be asked for."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers.forwards import forbid, refusal
from typer.testing import CliRunner

import real.cli
from real.decode.tree_plan import TreeVerifier
from real.studies.compare.tree_shapes import parse_tree, shaped
from specsim import discover


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tree", ""], "tree '' is no tree: give children by level, as 2,1,1,1, or sequoia:NODES, as sequoia:8"),
        (["--tree", "two"], "tree 'two' is no tree: give children by level"),
        (["--tree", "2,0"], "tree '2,0': level 2 has 0 children; give 1 to 4096 nodes"),
        (["--tree", "1000,1000,1000"], "tree '1000,1000,1000': it has 1001001000 nodes; give 1 to 4096 nodes"),
        (["--tree", "sequoia:0"], "tree 'sequoia:0': it has 0 nodes; give 1 to 4096 nodes"),
        (["--tree", "sequoia:"], "tree 'sequoia:' is no tree"),
        (["--tree", "2", "--tree", "2"], "trees '2, 2': give at least one, and none twice"),
        (["--tree", "2,1", "--gamma", "4"], "gamma '4' is for chains alone: with --tree give --chains"),
        (["--tree", "2,1", "--calibrate", "4"], "calibrate '4' is for chains alone"),
        (["--scheme", "iid"], "scheme 'iid' is for trees: give --tree, too"),
        (["--chains", "4"], "chains '4' is for trees: give --tree, too"),
        (["--tree", "2,1", "--chains", "0"], "chains must be at least 1, got 0"),
        (
            ["--tree", "2,1", "--rule", "block"],
            "rule 'block' verifies chains; rules of trees: lifted, multipath_block,",
        ),
        (["--tree", "2,1", "--rule", "nonsense"], "rule 'nonsense' is unknown; tree rules: lifted, multipath_block,"),
        (
            ["--tree", "2,1", "--rule", "multipath_block", "--scheme", "iid"],
            "rule 'multipath_block' verifies trees of scheme paths, not 'iid' (drawn by another law: not lossless)",
        ),
        (["--tree", "2,2", "--scheme", "paths"], "tree '2,2': paths branch at the root alone, as 2,1,1"),
        (
            ["--tree", "sequoia:4", "--scheme", "paths"],
            "acceptance by rank, which shapes it, is known for siblings drawn",
        ),
        (["--tree", "2", "--scheme", "distinct", "--rule", "lifted"], "scheme 'distinct' needs draws"),
        (["--tree", "2", "--draws", "2"], "draws is for scheme 'distinct', not 'iid': as many siblings as places"),
        (["--tree", "2", "--scheme", "distinct", "--rule", "lifted", "--draws", "two"], "draws 'two' is no whole"),
        (["--tree", "2", "--scheme", "distinct", "--rule", "lifted", "--draws", "0"], "draws must be at least 1, got"),
        (
            ["--tree", "2,1", "--scheme", "distinct", "--rule", "lifted", "--draws", "3"],
            "draws is 3, but a node of tree 2,1 has 2 places for siblings at most",
        ),
        (
            ["--tree", "3,2", "--scheme", "distinct", "--rule", "lifted", "--draws", "2"],
            "draws has a limit of 3 where the shape has 2 siblings",
        ),
        (["--draws", "2"], "draws '2' is for trees: give --tree, too"),
        (["--step", "optimal"], "step 'optimal' is for trees: give --tree, too"),
        (
            ["--tree", "2", "--step", "optimal", "--rule", "lifted,multipath_block", "--scheme", "paths"],
            "rule 'multipath_block' asks for no step rule, got step='optimal'",
        ),
        (["--tree", "2", "--step", "nonsense"], "rule 'nonsense' is unknown; step rules: "),
        (["--tree", "2", "--step", "block"], "rule 'block' is a chain rule, not a step rule"),
        (["--tree", "2", "--step", "recursive_wor"], "expects drafts drawn 'without_replacement', not 'iid'"),
        (["--tree", "2", "--step", "rejection"], "rule 'rejection' verifies one draft, got num_drafts=2"),
        (
            ["--tree", "sequoia:4", "--step", "rejection"],
            "rule 'rejection' verifies one draft, got num_drafts=2",
        ),
        (["--tree", "2", "--scheme", "beam"], "scheme 'beam' has no shape before it is drawn"),
        (["--tree", "sequoia:600"], "tree sequoia:600 needs passes over 601 tokens; the models have a context of 512"),
        (["--tree", "2", "--max-tokens", "100000"], "the target has a context of"),
        (["--tree", "2", "--repetition-penalty", "1.1"], "repetition_penalty is 1.1; with trees it must be 1"),
        (["--tree", "2", "--top-k", "3", "--scheme", "without_replacement", "--tree", "4"], "3 tokens can be drawn"),
    ],
)
def test_bad_input_ends_with_status_2_before_any_forward(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    forbid(monkeypatch.setattr)
    result = CliRunner().invoke(real.cli.app, ["compare", "tiny", "--widen", "0", *arguments])
    assert message in refusal(result)
    assert not list(tmp_path.iterdir())


def test_every_scheme_of_a_rule_has_a_shape() -> None:
    """Whatever a tree rule verifies and the command draws, a tree can be asked for."""
    for name, rule in discover.rules("tree").items():
        assert isinstance(rule, ModuleType)
        for scheme in discover.facts(rule).schemes:
            if scheme not in ("beam", "distinct"):
                verifier = TreeVerifier(name, shaped(parse_tree("2,1", scheme), scheme), scheme)
                assert (verifier.depth, len(verifier.parents)) == (2, 4)
