"""An old name or an old order gets one line that says what to write today."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import specsim
from specsim import testing, trees
from specsim.testing import cases, sampler
from specsim.verify.step import rejection

pytestmark = pytest.mark.fast

SCHEME = [
    specsim.acceptance_rate, specsim.output_law, specsim.optimal_acceptance, specsim.optimum, specsim.guarantee,
    specsim.verify_step, specsim.simulate, specsim.conditional_tau, specsim.stationary_tau, specsim.block_chain,
    specsim.best_draft_temperature, specsim.optimal_coupling, specsim.expected_kept, trees.draw_tree,
    trees.enumerate_trees, sampler.sampler_law, cases.drafted_tuples,
]  # fmt: skip
PARENTS = [
    (specsim.simulate, "tree"),
    (specsim.conditional_tau, "tree"),
    (specsim.stationary_tau, "tree"),
    (specsim.block_chain, "tree"),
    (specsim.expected_kept, "shape"),
]


@pytest.mark.parametrize("function", SCHEME, ids=lambda f: f.__name__)
def test_sampling_is_now_scheme(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=rf"^{function.__name__}: sampling is now scheme$"):
        function([0.5, 0.5], [0.5, 0.5], sampling="iid")
    names = inspect.signature(function).parameters
    assert "scheme" in names or function is specsim.stationary_tau, "the new name is one that it takes"


@pytest.mark.parametrize(("function", "old"), PARENTS, ids=lambda f: getattr(f, "__name__", f))
def test_a_trees_shape_is_now_parents(function: Callable[..., Any], old: str) -> None:
    with pytest.raises(TypeError, match=rf"^{function.__name__}: {old} is now parents$"):
        function([0.5, 0.5], [0.5, 0.5], rule="traversal", **{old: [-1]})


def test_the_rule_no_longer_comes_first() -> None:
    wanted = r"^expected_kept takes its rule by name: expected_kept\(target, draft, \*, rule, scheme, step, parents\)$"
    with pytest.raises(TypeError, match=wanted):
        specsim.expected_kept("traversal", [0.5, 0.5], [0.5, 0.5], [-1])  # type: ignore[call-arg, misc]


def test_real_says_warping() -> None:
    pytest.importorskip("torch")
    real = pytest.importorskip("real")
    with pytest.raises(AttributeError, match=r"^real\.Sampling is now real\.Warping$"):
        _ = real.Sampling
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        _ = real.Other
    for method in (real.Pair.generate, real.Pair.score):
        with pytest.raises(TypeError, match=rf"^{method.__name__}: sampling is now warping, a real\.Warping$"):
            method(None, "text", sampling=real.Warping())


def test_the_checks_of_a_rule_are_run_by_check_rule() -> None:
    """`conform` is the harness for other people's verifiers, and its command."""
    with pytest.raises(TypeError, match=r"^specsim\.testing\.conform is now specsim\.testing\.check_rule$"):
        testing.conform(rejection, "step")
    assert "conform" not in testing.__all__
    assert "check_rule" in testing.__all__


def test_laws_or_models() -> None:
    p, q = [1 / 3, 2 / 3], [2 / 3, 1 / 3]
    models = (lambda text: p), (lambda text: q)
    for law, model in (
        (specsim.expected_tokens(p, q, gamma=2), specsim.expected_tokens(*models, gamma=2)),
        (
            specsim.expected_kept(p, q, rule="traversal", parents=[-1, 0]),
            specsim.expected_kept(*models, rule="traversal", parents=[-1, 0]),
        ),
        (trees.speed_of_light(p, nodes=3), trees.speed_of_light(models[0], nodes=3)),
    ):
        assert float(law) == pytest.approx(float(model))
    for function, more in (
        (specsim.expected_tokens, {"gamma": 1}),
        (specsim.expected_kept, {"rule": "traversal", "parents": [-1]}),
        (specsim.path_optimum, {"num_paths": 1, "gamma": 1}),
    ):
        with pytest.raises(TypeError, match=r"^target and draft must both be models"):
            function(p, models[1], **more)
