"""`guarantee` of chain and tree rules that run in floats only: the same verdicts, and no bias is lost in rounding."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import discover, guarantee
from specsim.types import Array


def in_logs(family: str, name: str, power: float = 1.0) -> ModuleType:
    """A rule of the project that takes p to a power by way of logarithms, which Fractions have not."""
    rule = discover.find(family, name)

    def prepare(p: Array, *more: Any, **params: Any) -> Any:
        with np.errstate(divide="ignore"):
            w = np.exp(power * np.log(p))
        return rule.prepare(w / w.sum(axis=-1, keepdims=True), *more, **params)

    own = ModuleType(f"{name}_in_logs")
    vars(own).update(vars(rule), prepare=prepare, EXACT=False)
    return own


RULES = [("chain", "tokenwise"), ("chain", "block"), ("tree", "tokenwise"), ("tree", "traversal")]


@pytest.mark.parametrize(("family", "name"), RULES)
def test_a_lossless_rule_in_floats(family: str, name: str) -> None:
    found = guarantee(in_logs(family, name))
    assert found.lossless
    assert "in float64 above 1e-12" in found.reason


@pytest.mark.parametrize(("family", "name"), RULES)
@pytest.mark.parametrize(("power", "least"), [(0.5, 1e-2), (1 - 1e-9, 1e-11)])
def test_a_lossy_rule_in_floats(family: str, name: str, power: float, least: float) -> None:
    found = guarantee(in_logs(family, name, power))
    assert not found.lossless
    assert least < found.bias
    assert "in float64" in found.reason
