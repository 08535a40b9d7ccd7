"""A step rule of one draft at every position of the real decode loop: predicted, measured, with its parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import real
import real.cli
from real.decode.blocks import Score, predict_blocks
from real.decode.warping import Warping
from real.studies.compare import measure, rules_report
from real.studies.compare.settings import Settings
from specsim.verify.lookup import chain_rule
from specsim.verify.stepwise import Stepwise

GREEDY = Warping(temperature=0.0)


@pytest.fixture(scope="module")
def pair() -> real.Pair:
    return real.load(real.TINY / "target", real.TINY / "draft")


@pytest.mark.parametrize("told", [{"rule": "typical", "params": {"epsilon": 0.2}}, {"rule": "kseq"}])
def test_greedy_text_stays_the_same(pair: real.Pair, told: dict[str, Any]) -> None:
    prompt = "def main():\n"
    plain: Any = pair.generate(prompt, gamma=0, warping=GREEDY, max_tokens=12)
    found: Any = pair.generate(prompt, gamma=3, warping=GREEDY, max_tokens=12, **told)
    assert found.tokens == plain.tokens
    assert len(found.blocks) < 12


def test_a_step_rule_of_a_tree_takes_parameters(pair: real.Pair) -> None:
    told: dict[str, Any] = {"parents": [-1, -1, 0], "rule": "tokenwise", "scheme": "iid", "max_tokens": 16, "seed": 1}
    texts: list[Any] = [
        pair.generate("import os\n", step="kseq", step_params=params, **told) for params in (None, {"rho": 2})
    ]
    assert [len(text.tokens) for text in texts] == [16, 16]
    assert texts[0].tokens != texts[1].tokens or texts[0].blocks != texts[1].blocks
    with pytest.raises(ValueError, match=r"^rule 'kseq' has no parameter 'grid'; known: rho$"):
        pair.generate("import os\n", step="kseq", step_params={"grid": 2}, **told)
    with pytest.raises(ValueError, match=r"^step_params is for trees: give parents"):
        pair.generate("import os\n", step_params={"rho": 2})


def test_both_are_predicted_and_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejection at every position is tokenwise verification; naive keeps one by chance; a race less often."""
    monkeypatch.setattr(measure, "copy_bandwidth", lambda device: 1e9)
    monkeypatch.setattr(rules_report, "write_plot", lambda path, record: None)
    out = tmp_path / "rules.json"
    rules = "tokenwise,rejection,naive,race"
    words = f"compare tiny --rule {rules} --gamma 2 --count 2 --max-tokens 4 --widen 0 --out {out} --json"
    ended = CliRunner().invoke(real.cli.app, words.split())
    assert ended.exit_code == 0, ended.output
    runs = {run["rule"]: run for run in json.loads(ended.stdout)["runs"]}
    one, same, naive, race = (runs[name]["pairs"][0] for name in ("tokenwise", "rejection", "naive", "race"))
    assert same["tau"]["predicted"] == pytest.approx(one["tau"]["predicted"], rel=1e-5)
    assert runs["rejection"]["acceptance"]["mean"]["predicted"] == pytest.approx(
        runs["tokenwise"]["acceptance"]["mean"]["predicted"], rel=1e-5
    )
    assert naive["tau"]["predicted"] < race["tau"]["predicted"] < one["tau"]["predicted"]
    assert 1 <= naive["tau"]["measured"] <= 3


def test_settings_share_out_parameters() -> None:
    settings = Settings(rules=("tokenwise", "typical"), warping=GREEDY, params=("epsilon=0.25",))
    (step,) = settings.step_rules
    assert settings.verifier("typical") is settings.verifier("typical") is step
    p = np.array([[0.3, 0.7]])
    assert step.step.prepare(p, p).typical.tolist() == [[True, True]]
    wide = Settings(rules=("typical",), warping=GREEDY, params=("epsilon=1", "delta=0.7")).step_rules[0]
    assert wide.step.prepare(p, p).typical.tolist() == [[False, True]]
    assert not isinstance(settings.verifier("tokenwise"), Stepwise)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--rule typical", "rule 'typical' is not lossless at temperature 1: "),
        ("--param epsilon=1", "param 'epsilon=1' is a parameter of none of the rules tokenwise"),
        ("--rule typical --temperature 0 --param eps=1", "param 'eps=1' is a parameter of none of the rules typical"),
        ("--rule typical --temperature 0 --param epsilon", "param 'epsilon' must be name=value"),
        ("--rule typical --temperature 0 --param epsilon=2", "epsilon is 2.0; it must lie in (0, 1]"),
        ("--tree 2,1 --param rho=2", "param 'rho=2' is for rules of chains: those of trees run as they are"),
    ],
)
def test_what_is_refused_before_any_work(words: str, message: str, tmp_path: Path) -> None:
    ended = CliRunner().invoke(real.cli.app, ["compare", "tiny", *words.split(), "--out", str(tmp_path / "x.json")])
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1), ended.output
    assert message in ended.stderr


def test_a_score_without_whole_rows_says_so() -> None:
    found = Score(np.array([0.5]), np.array([0.5]), np.array([1.0]))
    with pytest.raises(ValueError, match=r"^rule 'naive' is a step rule: its tau needs whole rows"):
        found.tau(1, "naive")
    assert predict_blocks(found, 1, chain_rule("tokenwise")).tau == 1
