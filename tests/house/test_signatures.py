"""Public functions take the same things in the same order, by the same names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import specsim
import specsim.testing
import specsim.trees

ORDER = (
    "rule",
    "num_drafts",
    "num_paths",
    "scheme",
    "step",
    "gamma",
    "nodes",
    "parents",
    "draws",
    "params",
    "step_params",
)
PUBLIC = {
    f"{package.__name__}.{name}": value
    for package in (specsim, specsim.testing, specsim.trees)
    for name in package.__all__
    if inspect.isfunction(value := getattr(package, name))
}
MODELS = (
    "expected_tokens",
    "expected_kept",
    "path_optimum",
    "path_bound",
    "simulate",
    "block_chain",
    "conditional_tau",
)


def out_of_order(function: Callable[..., Any]) -> list[str]:
    """Its keyword-only arguments of ORDER, as they stand, where that is another order."""
    names = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    told = [name for name in names if name in ORDER]
    return [] if told == sorted(told, key=ORDER.index) else told


def test_what_is_named_stands_in_one_order() -> None:
    """The docstrings have the signatures' order: tests/house/test_docs.py asks numpydoc."""
    assert {name: told for name, function in PUBLIC.items() if (told := out_of_order(function))} == {}


def test_generate_has_that_order() -> None:
    pytest.importorskip("torch")
    real = pytest.importorskip("real")
    assert out_of_order(real.Pair.generate) == []


@pytest.mark.parametrize("name", MODELS)
def test_models_come_first_and_the_rest_is_named(name: str) -> None:
    first, second, *rest = inspect.signature(PUBLIC[f"specsim.{name}"]).parameters.values()
    assert (first.name, second.name) == ("target", "draft")
    assert rest
    assert {parameter.kind for parameter in rest} == {inspect.Parameter.KEYWORD_ONLY}


def test_the_most_of_any_tree_takes_a_target_alone() -> None:
    target, nodes, *_ = inspect.signature(specsim.speed_of_light).parameters.values()
    assert (target.name, nodes.name, nodes.kind) == ("target", "nodes", inspect.Parameter.KEYWORD_ONLY)


def test_the_check_of_orders_can_fail() -> None:
    def as_it_was(target: Any, draft: Any, *, rule: str, parents: Any, scheme: str, step: str) -> None: ...

    assert out_of_order(as_it_was) == ["rule", "parents", "scheme", "step"]
    known = {name for function in PUBLIC.values() for name in inspect.signature(function).parameters}
    assert known >= set(ORDER), "every word of the order is one that is used"
