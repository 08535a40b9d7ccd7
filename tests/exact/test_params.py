"""A rule's own parameters reach every public function, the checks and the commands; so does one's own rule."""

import json
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import specsim
from specsim import discover
from specsim.checks import check_rule
from specsim.cli import app
from specsim.discover import with_params
from specsim.verify.lookup import chain_rule
from specsim.verify.params import parsed_params
from specsim.verify.step import kseq, rejection, typical

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
WIDE = {"epsilon": 1.0, "delta": 0.7}  # keeps the first token alone
OWN = Path(rejection.__file__)


def rate(epsilon: float, delta: float) -> float:
    plan = typical.prepare(P, Q, 1, epsilon, delta)
    return float(typical.acceptance(plan))


def test_acceptance_and_output_law() -> None:
    found = specsim.acceptance_rate(P, Q, rule="typical", params=WIDE)
    assert found == rate(**WIDE)
    assert found != specsim.acceptance_rate(P, Q, rule="typical")
    law = specsim.output_law(P, Q, rule="typical", params=WIDE)
    bound = with_params(typical, WIDE)
    assert abs(law - P).sum() / 2 == pytest.approx(bound.bias(bound.prepare(P, Q)))


def test_verdict() -> None:
    all_kept, half = (specsim.guarantee("typical", params=p) for p in ({"epsilon": 1e-9}, {"epsilon": 1, "delta": 9}))
    assert all_kept.bias != half.bias


def test_samplers_and_loops() -> None:
    u = np.array([0.0])
    kept = [specsim.verify_step(P, Q, [2], u, rule="typical", params=p).hit for p in (None, WIDE)]
    assert [bool(k) for k in kept] == [True, False]
    exact = [specsim.block_chain(P, Q, rule="typical", gamma=1, params=p).tau[0] for p in (None, WIDE)]
    assert exact == pytest.approx([1 + rate(0.09, 0.3), 1 + rate(**WIDE)])
    trace = specsim.simulate(P, Q, rule="typical", gamma=1, params=WIDE, blocks=40_000)
    low, high = trace.tau_interval(0.9999)
    assert low < exact[1] < high < exact[0]
    assert json.loads(trace.settings)["params"] == {"epsilon": "1.0", "delta": "0.7"}


def test_a_checkpoint_of_other_parameters_is_refused(tmp_path: Path) -> None:
    run: dict[str, Any] = {"rule": "typical", "gamma": 1, "blocks": 1024, "checkpoint": tmp_path / "run.npz"}
    specsim.simulate(P, Q, params=WIDE, **run)
    with pytest.raises(ValueError, match="params is"):
        specsim.simulate(P, Q, params={"epsilon": 0.5}, **run)


def test_defaults_change_nothing() -> None:
    spelt = {"epsilon": 0.09, "delta": 0.3}
    assert specsim.acceptance_rate(P, Q, rule="typical", params=spelt) == specsim.acceptance_rate(P, Q, rule="typical")
    assert with_params(rejection, {}) is rejection
    assert with_params(rejection, None) is rejection


@pytest.mark.parametrize(
    ("rule", "params"), [("optimal", {"grid": 0.25}), ("importance", {"live": 2}), ("kseq", {"rho": 2})]
)
def test_lossless_rules_stay_so(rule: str, params: dict[str, Any]) -> None:
    assert specsim.guarantee(rule, num_drafts=2, params=params).lossless
    p, q = ([Fraction(w, 12) for w in row] for row in ((6, 4, 2), (1, 4, 7)))
    law = specsim.output_law(p, q, rule=rule, num_drafts=2, params=params)
    assert [Fraction(x) for x in law] == p


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: specsim.acceptance_rate(P, Q, rule="typical", params={"eps": 1}),
            "^rule 'typical' has no parameter 'eps'; known: epsilon, delta$",
        ),
        (lambda: specsim.guarantee("block", params={"x": 1}), "^rule 'block' has no parameter 'x'; known: none$"),
        (lambda: specsim.acceptance_rate(P, Q, rule="kseq", params={"rho": 1}, num_drafts=2), r"^rho\[0\] is 1"),
        (lambda: kseq.prepare(P, Q, 2, float("nan")), r"^rho\[0\] is nan"),
        (lambda: kseq.prepare(np.array([1.0, 0]), np.array([0, 1.0]), 2, 0.5), r"^rho\[0\] is 0.5"),
        (lambda: parsed_params(typical, ["epsilon"]), "^param 'epsilon' must be name=value$"),
        (lambda: parsed_params(typical, ["epsilon=1", "epsilon=1"]), "^param 'epsilon' is given twice$"),
        (lambda: parsed_params(typical, ["delta=x"]), "^param 'delta=x': 'x' is no number$"),
        (lambda: discover.find("step", "nowhere.py"), "^rule file nowhere.py does not exist$"),
        (lambda: discover.find("chain", rejection), "^rule 'rejection' is a step rule, not a chain rule$"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match=r"^params must be a mapping"):
        specsim.acceptance_rate(P, Q, params=[1])  # type: ignore[arg-type]


def test_words_become_what_the_rule_annotates() -> None:
    assert parsed_params(typical, ["epsilon=1/4", "delta=0.5"]) == {"epsilon": 0.25, "delta": 0.5}
    assert parsed_params(discover.find("step", "importance"), ["live=3"]) == {"live": 3}
    assert parsed_params(kseq, ["rho=3/2"]) == {"rho": Fraction(3, 2)}


@pytest.mark.slow
def test_checks_pass_with_other_parameters() -> None:
    assert not [f for f in check_rule(typical, "step", params={"epsilon": 0.2, "delta": 0.5}) if f.failed]


def test_the_commands_take_them() -> None:
    run = CliRunner().invoke
    models = ["--target", "law:.5,.3,.2", "--draft", "law:.1,.3,.6", "--rule", "typical", "--gamma", "1", "--json"]
    words = ["--param", "epsilon=1", "--param", "delta=0.7"]
    done = run(app, ["simulate", *models, *words, "--blocks", "1024"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tau_exact"] == pytest.approx(1 + rate(**WIDE))
    for command in (["simulate", *models], ["check", "typical"]):
        failed = run(app, [*command, "--param", "eps=1"])
        assert failed.exit_code == 2
        assert "error: rule 'typical' has no parameter 'eps'; known: epsilon, delta" in failed.output


@pytest.mark.parametrize("own", [OWN, str(OWN), rejection], ids=["path", "name of a path", "module"])
def test_ones_own_rule_stands_wherever_a_name_does(own: Any) -> None:
    assert specsim.acceptance_rate(P, Q, rule=own) == specsim.acceptance_rate(P, Q)
    assert (specsim.output_law(P, Q, rule=own) == specsim.output_law(P, Q, rule="rejection")).all()
    assert specsim.guarantee(own).lossless
    assert int(specsim.verify_step([0.5, 0.5], [0.9, 0.1], [0], [0.7, 0.0], rule=own).token) == 1
    assert specsim.block_chain(P, Q, rule=own, gamma=1).tau[0] == pytest.approx(1.6)
    assert specsim.simulate(P, Q, rule=own, gamma=1, blocks=1024).blocks == 1024
    with pytest.raises(ValueError, match=r"^rule 'rejection' verifies one draft, got num_drafts=2; multi-draft"):
        specsim.acceptance_rate(P, Q, rule=own, num_drafts=2)


def test_ones_own_chain_and_tree_rules() -> None:
    chain, tree = (Path(discover.find(f, n).__file__ or "") for f, n in (("chain", "block"), ("tree", "traversal")))
    assert specsim.expected_tokens(P, Q, gamma=2, rule=chain) == specsim.expected_tokens(P, Q, gamma=2, rule="block")
    assert specsim.guarantee(chain).lossless
    assert callable(chain_rule(chain).survival), "what decode loops of real models run"
    assert specsim.guarantee(tree, scheme="iid").lossless
    u = [0.3, 0.7, 0.1]
    named, own = (specsim.verify_chain([P] * 3, [Q] * 2, [0, 2], u, rule=rule) for rule in ("block", chain))
    assert (int(own.num_accepted), int(own.token)) == (int(named.num_accepted), int(named.token))


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(OWN.read_text())
    first = discover.find("step", path)
    assert discover.find("step", str(path)) is first
    path.write_text(OWN.read_text() + "\nMORE = 1\n")
    os.utime(path, ns=(1, 1))
    assert discover.find("step", path).MORE == 1
