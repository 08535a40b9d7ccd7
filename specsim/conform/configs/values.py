"""Check the values of fields that do not change the law: nonsense in them is refused or left open, never lossless."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from specsim.conform.configs.record import Field, number, whole


class Kinds(NamedTuple):
    """The kinds that the values of an engine's fields must have."""

    # Whole numbers, each with the least that it may be.
    wholes: Mapping[str, int]
    numbers: frozenset[str]
    # Names and paths.
    texts: frozenset[str]


def check_values(content: Mapping[str, Any], kinds: Kinds, place: str) -> None:
    """Raise ValueError for a field that is not of its kind; absent and null ones pass."""
    for name, low in kinds.wholes.items():
        whole(content, name, low, place, low)
    for name in sorted(kinds.numbers):
        number(content, name, 0.0, place)
    for name in sorted(kinds.texts):
        value = content.get(name)
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{place}: {name} must be text, a path or a name, got {value!r:.60}")


def check_lists_of_numbers(content: Mapping[str, Any], name: str, place: str) -> None:
    """Raise ValueError if a field is neither absent nor null nor a list of numbers."""
    values = content.get(name)
    if values is None:
        return
    if not isinstance(values, list):
        raise ValueError(f"{place}: {name} must be a list of numbers, got {values!r:.60}")
    for i, value in enumerate(values):
        entry = f"{name}[{i}]"
        if value is None:
            raise ValueError(f"{place}: {entry} must be a number, got None")
        number({entry: value}, entry, 0.0, place)


def unknown_word(content: Mapping[str, Any], name: str, known: Collection[str], what: str) -> list[Field]:
    """Return a field as unknown if its value is none of the known words, with the near one; [] if it is absent."""
    value = content.get(name)
    if value is None or (isinstance(value, str) and value in known):
        return []
    near_words = get_close_matches(str(value), sorted(known), 1) or get_close_matches(
        str(value).lower(), sorted(known), 1
    )
    suggestion = f" (did you mean {near_words[0]}?)" if near_words else ""
    reason = f"{what} is not known here{suggestion}; known: {', '.join(known)}"
    return [Field(name, value, "unknown", reason)]
