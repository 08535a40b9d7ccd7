"""The record of a configuration, field by field, and the verdict that follows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

Effect = Literal["lossy", "unknown", "note"]
Outcome = Literal["lossless", "lossy", "undecided"]
NO_RULE = "no rule of specsim does what the reason above says"
# Larger numbers of tokens are nobody's, and floats do not hold all of them.
MOST_TOKENS = 2**53


class Field(NamedTuple):
    """A field that bears on the verdict."""

    name: str
    value: Any
    # "lossy": it changes the law of the output. "unknown": not known here, so nothing is promised.
    # "note": it does not change the law, but a reader would ask.
    effect: Effect
    reason: str


class Law(NamedTuple):
    """The rule of specsim that is what the fields switch on, for the price."""

    rule: str
    params: Mapping[str, Any]
    # The draft's likeliest token, or a draw from its law.
    draft: Literal["greedy", "sampled"]
    # What the output is compared with: the target's law, or its likeliest token.
    against: Literal["sampling", "greedy"]
    # Siblings, the draft's likeliest tokens, for a rule of trees.
    children: int = 1


class Config(NamedTuple):
    """An engine's speculative configuration."""

    engine: str
    fields: tuple[Field, ...]
    law: Law | None = None
    # Why a lossy one has no law, and so no price.
    unpriced: str = NO_RULE

    @property
    def outcome(self) -> Outcome:
        """Lossy by any field that is; else undecided by any that is not known; else lossless."""
        effects = {field.effect for field in self.fields}
        if "lossy" in effects:
            return "lossy"
        return "undecided" if "unknown" in effects else "lossless"


def unknown_fields(names: Mapping[str, Any], known: frozenset[str], engine: str) -> list[Field]:
    """Return the fields whose names the engine's file here does not know."""
    found = []
    for name, value in names.items():
        if name not in known:
            near_names = get_close_matches(name, sorted(known), 1, 0.8)
            suggestion = f" (did you mean {near_names[0]}?)" if near_names else ""
            reason = (
                f"no field of {engine} that is known here{suggestion}: whether it changes the output is not decided"
            )
            found.append(Field(name, value, "unknown", reason))
    return found


def number(content: Mapping[str, Any], name: str, default: float, place: str) -> float:
    """Return a field as a finite number, `default` where it is absent or null; ValueError for anything else."""
    value = content.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{place}: {name} must be a number, got {value!r:.60}")
    # Integers of hundreds of digits are no floats.
    try:
        is_finite = math.isfinite(value)
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise ValueError(f"{place}: {name} must be a finite number, got {value!r:.60}")
    return float(value)


def whole(content: Mapping[str, Any], name: str, default: int, place: str, low: int) -> int:
    """Return a field as a whole number of at least `low`, `default` where it is absent or null; else ValueError."""
    value = number(content, name, default, place)
    if value > MOST_TOKENS:
        raise ValueError(f"{place}: {name} must be at most {MOST_TOKENS}, got {content[name]!r:.60}")
    if content.get(name) is not None and (value < low or value != int(value)):
        raise ValueError(f"{place}: {name} must be a whole number of at least {low}, got {content[name]!r:.60}")
    return int(value)


def flag(content: Mapping[str, Any], name: str, default: bool, place: str) -> bool:
    """Return a field as true or false, `default` where it is absent or null; ValueError for anything else."""
    value = content.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise ValueError(f"{place}: {name} must be true or false, got {value!r:.60}")
    return value
