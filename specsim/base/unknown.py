"""The error for a name that is not among the known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches


def unknown(argument: str, name: object, known: Iterable[str], heading: str = "known") -> ValueError:
    """Return an error with the argument, the value, a near name if any, and all known names.

    Examples
    --------
    >>> unknown("backend", "x", ["numpy", "jax"])
    ValueError("backend 'x' is unknown; known: numpy, jax")
    """
    return unknown_of_kinds(argument, name, {heading: known})


def unknown_of_kinds(argument: str, name: object, kinds: Mapping[str, Iterable[str]]) -> ValueError:
    """Return the error of `unknown` for names of several kinds; `kinds` is heading -> names.

    Examples
    --------
    >>> unknown_of_kinds("rule", "rejecton", {"step rules": ["rejection"], "chain rules": ["block"]})
    ValueError("rule 'rejecton' is unknown; did you mean 'rejection'? step rules: rejection; chain rules: block")
    """
    lists = {heading: list(names) for heading, names in kinds.items()}
    near_names = get_close_matches(str(name), [other for names in lists.values() for other in names], 1)
    suggestion = f"did you mean {near_names[0]!r}? " if near_names else ""
    known_names = "; ".join(f"{heading}: {', '.join(names) or 'none'}" for heading, names in lists.items())
    shown = f"{name!r:.60}"
    return ValueError(f"{argument} {shown} is unknown; {suggestion}{known_names}")


# Names beside numbers in a file, for those who read it.
FOR_READERS = ("source", "note")


def check_names(names: Iterable[str], known: Sequence[str], source: str, kind: str) -> None:
    """Raise ValueError for a column, field or tensor that is not read: its numbers would count for nothing."""
    for name in names:
        if name not in known and name not in FOR_READERS:
            error = unknown(f"{source}: {kind}", name, [*known, *FOR_READERS])
            if "share" in name.lower() or "coverage" in name.lower():
                raise ValueError(f"{error}; the share of the steps that had a draft is given by --drafted-share")
            raise error
