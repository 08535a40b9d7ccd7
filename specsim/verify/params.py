"""Parameters of rules, and of modules of other families, from words as a command is given them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any

from specsim import discover
from specsim.discover import Rule


def parsed_params(rule: ModuleType, words: Sequence[str], argument: str = "param") -> dict[str, Any]:
    """Parameters from words like epsilon=0.2, as the rule annotates them: int, float, or else an exact Fraction."""
    known, params = discover.parameters(rule), {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"{argument} {word!r} must be name=value")
        if name in params:
            raise ValueError(f"{argument} {name!r} is given twice")
        kind = str(known[name].annotation) if name in known else ""
        convert = str if kind.startswith(("Literal", "str")) else int if kind.startswith("int") else Fraction
        try:
            number = convert(value)
            params[name] = float(number) if kind.startswith("float") else number
        except (ValueError, ZeroDivisionError, OverflowError):
            what = "integer" if convert is int else "number"
            raise ValueError(f"{argument} {word!r}: {value!r} is no {what}") from None
    discover.with_params(rule, params)  # refuses names that it does not have
    return params


def parsed_step_params(step: Rule | None, words: Sequence[str]) -> dict[str, Any] | None:
    """The same of the step rule that a tree rule is told; None for no words."""
    if not words:
        return None
    if step is None:
        raise ValueError(f"--step-param {words[0]} is a step rule's: name it, by --step")
    return parsed_params(discover.find("step", step), words, "step_param")
