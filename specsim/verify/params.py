"""Read parameters of rules, and of modules of other families, from words of a command line."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any

from specsim import discover
from specsim.discover import Rule


def parsed_params(rule: ModuleType, words: Sequence[str], argument: str = "param") -> dict[str, Any]:
    """Parameters from words like epsilon=0.2, in the annotated type: str, int, float, else Fraction."""
    known, params = discover.parameters(rule), {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"{argument} {word!r} must be name=value")
        if name in params:
            raise ValueError(f"{argument} {name!r} is given twice")
        params[name] = _converted(value, str(known[name].annotation) if name in known else "", f"{argument} {word!r}")
    # This refuses names that the rule does not have.
    discover.with_params(rule, params)
    return params


def _converted(value: str, annotation: str, where: str) -> Any:
    """Return the value in the annotated type; ValueError, which names `where`, if it is not of that type."""
    if annotation.startswith(("Literal", "str")):
        return value
    is_integer = annotation.startswith("int")
    try:
        number = int(value) if is_integer else Fraction(value)
        return float(number) if annotation.startswith("float") else number
    except (ValueError, ZeroDivisionError, OverflowError):
        kind = "integer" if is_integer else "number"
        raise ValueError(f"{where}: {value!r} is no {kind}") from None


def parsed_step_params(step: Rule | None, words: Sequence[str]) -> dict[str, Any] | None:
    """Parameters of the step rule that a tree rule uses, as `parsed_params` reads them; None for no words."""
    if not words:
        return None
    if step is None:
        raise ValueError(f"--step-param {words[0]} is a step rule's: name it, by --step")
    return parsed_params(discover.find("step", step), words, "step_param")
