"""The parameters of a step rule inside a tree rule reach whatever the tree rule reaches."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import specsim
from specsim import discover
from specsim.checks import TREE_CHECKS, check_rule
from specsim.checks.findings import with_step
from specsim.checks.tree import strongly_lossless
from specsim.cli import app
from specsim.simulation import conditional_tau
from specsim.trees import draw_tree, uniforms
from specsim.verify.step import kseq
from specsim.verify.tree import lifted, tokenwise

P, Q = (np.array([Fraction(n, 12) for n in row]) for row in ((6, 4, 2), (1, 4, 7)))
FLOATS = P.astype(float), Q.astype(float)
STAR: dict[str, Any] = {"rule": "tokenwise", "parents": (-1, -1), "scheme": "iid"}
RHO: dict[str, Any] = {"step": "kseq", "step_params": {"rho": 2}}
LOSSY = Path(__file__).parents[1] / "mutants" / "step" / "kseq_rho_below_root.py"


def test_one_level_of_a_tree_is_the_step_rule() -> None:
    """By the closed form of the step rule with the same parameters, in rationals."""
    wanted = specsim.acceptance_rate(P, Q, rule="kseq", num_drafts=2, params=RHO["step_params"])
    assert specsim.expected_kept(P, Q, **STAR, **RHO) == wanted
    assert specsim.expected_kept(P, Q, **STAR, step="kseq") != wanted
    assert specsim.expected_kept(P, Q, **STAR, step="kseq", step_params={}) != wanted


def test_a_path_of_a_step_rule_of_one_draft() -> None:
    params = {"epsilon": 1.0, "delta": 0.7}
    kept = specsim.acceptance_rate(*FLOATS, rule="typical", params=params)
    path: dict[str, Any] = STAR | {"parents": (-1, 0), "step": "typical"}
    assert specsim.expected_kept(*FLOATS, **path, step_params=params) == pytest.approx(kept + kept**2)
    assert specsim.expected_kept(*FLOATS, **path) != pytest.approx(kept + kept**2)


def test_the_sampler_takes_them() -> None:
    u = np.random.default_rng(0).random((400, uniforms((-1, -1), "iid") + 4))
    tree = draw_tree(lambda text: FLOATS[1], (-1, -1), u[:, :2], scheme="iid").tree
    rows = [np.broadcast_to(w, (400, 3, 3)) for w in FLOATS]
    found, plain = (
        specsim.verify_tree(rows[0], rows[1], tree, u[:, 2:], step="kseq", step_params=params)
        for params in (RHO["step_params"], None)
    )
    steps = specsim.verify_step(*FLOATS, tree.tokens, u[:, 2:5], rule="kseq", params=RHO["step_params"])
    emitted = np.where(found.node > 0, np.take_along_axis(tree.tokens, found.node[:, None] - 1, -1)[:, 0], found.token)
    assert (emitted == steps.token).all()
    assert (found.node != plain.node).any()


def test_verdicts() -> None:
    assert specsim.guarantee("lifted", scheme="iid", step="optimal", step_params={"grid": 0.25}).lossless
    assert specsim.guarantee("tokenwise", family="tree", scheme="iid", **RHO).lossless
    assert not specsim.guarantee("tokenwise", family="tree", scheme="iid", step=LOSSY).lossless


def test_loops_and_their_exact_values() -> None:
    run: dict[str, Any] = STAR | RHO
    wanted = 1 + specsim.expected_kept(P, Q, **STAR, **RHO)
    assert specsim.block_chain(P, Q, **run).tau[0] == wanted
    trace = specsim.simulate(*FLOATS, **run, blocks=20_000)
    low, high = trace.tau_interval(0.9999)
    assert low < wanted < high
    assert low > 1 + specsim.expected_kept(P, Q, **STAR, step="kseq") or high < 1 + specsim.expected_kept(
        P, Q, **STAR, step="kseq"
    )
    settings = json.loads(trace.settings)
    assert (settings["step"], settings["step_params"]) == ("kseq", {"rho": "2"})
    found = conditional_tau(*FLOATS, **run, blocks=2000, level=0.9999)
    assert found.low < wanted < found.high


def test_a_checkpoint_of_other_parameters_is_refused(tmp_path: Path) -> None:
    run: dict[str, Any] = STAR | {"step": "kseq", "blocks": 1024, "checkpoint": tmp_path / "run.npz"}
    specsim.simulate(*FLOATS, **run)
    with pytest.raises(ValueError, match="step_params is None in one and"):
        specsim.simulate(*FLOATS, **run, step_params={"rho": 2})


def call(function: Callable[..., object], **told: Any) -> Callable[..., object]:
    return lambda **more: function(**told, **more)


TAKE = {
    "expected_kept": call(specsim.expected_kept, target=P, draft=Q, parents=(-1,)),
    "simulate": call(specsim.simulate, target=FLOATS[0], draft=FLOATS[1], parents=(-1,), blocks=1),
    "block_chain": call(specsim.block_chain, target=P, draft=Q, parents=(-1,)),
    "guarantee": call(specsim.guarantee, family="tree"),
    "check_rule": lambda rule, **more: check_rule(discover.find("tree", rule), "tree", **more),
}
BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"rule": "tokenwise", "step": "kseq", "step_params": {"grid": 1}},
        "^rule 'kseq' has no parameter 'grid'; known: rho$",
    ),
    (
        {"rule": "tokenwise", "step_params": {"rho": 2}},
        r"^step_params=\{'rho': 2\} are a step rule's: name it, by step$",
    ),
    ({"rule": "traversal", "step": "kseq", "step_params": {"rho": 2}}, "^rule 'traversal' asks for no step rule"),
    ({"rule": "tokenwise", "step": "block"}, "^rule 'block' is a chain rule, not a step rule"),
    ({"rule": "tokenwise", "step": "nonsense", "step_params": {"rho": 2}}, "^rule 'nonsense' is unknown; step rules: "),
]


@pytest.mark.parametrize("name", TAKE)
@pytest.mark.parametrize(("told", "message"), BAD)
def test_bad_input(name: str, told: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TAKE[name](**told)


@pytest.mark.parametrize("name", TAKE)
def test_what_is_no_mapping(name: str) -> None:
    with pytest.raises(TypeError, match=r"^step_params must be a mapping from names to values, got \[1\]$"):
        TAKE[name](rule="tokenwise", step="kseq", step_params=[1])


def test_no_step_rule_for_rules_that_run_none() -> None:
    with pytest.raises(ValueError, match=r"^step_params=\{'rho': 2\} is for tree rules; chain rule 'block' runs none$"):
        specsim.simulate(*FLOATS, rule="block", gamma=1, blocks=1, step_params={"rho": 2})
    with pytest.raises(ValueError, match=r"^step rule 'kseq' asks for no step rule, got step_params=\{'rho': 2\}$"):
        specsim.guarantee("kseq", step_params={"rho": 2})
    with pytest.raises(ValueError, match=r"^step rule 'kseq' asks for no step rule, got step='kseq'$"):
        check_rule(kseq, "step", step="kseq")


@pytest.mark.parametrize("rule", [tokenwise, lifted], ids=lambda rule: rule.__name__)
def test_checks_run_on_the_step_rule_that_is_told(rule: Any) -> None:
    """With its parameters bound, on the schemes that it verifies; a step rule that is wrong is found."""
    own = with_step(rule, "tree", "kseq", {"rho": 3})
    assert set(own.CHILDREN) == {"iid", "paths"}
    assert discover.find("step", discover.facts(own).steps["iid"]).prepare(P, Q, 2).raised.tolist() == (3 * Q).tolist()
    TREE_CHECKS["contract"](own)
    strongly_lossless(own, nodes=2)
    with pytest.raises(AssertionError, match="has probability"):
        strongly_lossless(with_step(rule, "tree", LOSSY), nodes=2)


def test_a_lossy_step_rule_has_nothing_to_be_held_to() -> None:
    with pytest.raises(ValueError, match=r"^step 'greedy' is lossy, and a tree rule states no bias to hold it to"):
        check_rule(tokenwise, "tree", step="greedy")


@pytest.mark.slow
@pytest.mark.parametrize("rule", [tokenwise, lifted], ids=lambda rule: rule.__name__)
def test_all_checks_pass(rule: Any) -> None:
    assert not [f for f in check_rule(rule, "tree", step="kseq", step_params={"rho": 4}) if f.failed]


def test_the_commands_take_them() -> None:
    models = ["--target", "law:1/2,1/3,1/6", "--draft", "law:1/12,1/3,7/12", "--rule", "tokenwise", "--tree", "2"]
    words = ["simulate", *models, "--blocks", "1024", "--json"]
    done = CliRunner().invoke(app, [*words, "--step", "kseq", "--step-param", "rho=2"])
    assert done.exit_code == 0, done.output
    wanted = 1 + specsim.expected_kept(P, Q, **STAR, **RHO)
    assert json.loads(done.stdout)["tau_exact"] == pytest.approx(float(wanted))
    for told in (words, ["check", "lifted"]):
        for more, message in (
            (["--step-param", "rho=2"], "error: --step-param rho=2 is a step rule's: name it, by --step"),
            (["--step", "kseq", "--step-param", "rho"], "error: step_param 'rho' must be name=value"),
            (["--step", "kseq", "--step-param", "grid=2"], "error: rule 'kseq' has no parameter 'grid'; known: rho"),
        ):
            failed = CliRunner().invoke(app, [*told, *more])
            assert (failed.exit_code, failed.stderr) == (2, f"{message}\n")
