"""Claims of the literature: found by listing their folder, kept as a record, computed anew when asked."""

from __future__ import annotations

import difflib
import importlib
import json
import pkgutil
from importlib.resources import files
from typing import Any, NamedTuple

from specsim.claims import statements

RECORD = "statements.json"
HEAD = ("claim", "source", "what is stated", "verdict", "because")


class Kept(NamedTuple):
    """One claim with its verdict, as the record keeps it.

    Examples
    --------
    >>> found = recorded()["recursive_optimal"]
    >>> found.verdict, found.numbers["recursive rejection"], found.numbers["optimum"]
    ('refuted', '7/9', '8/9')
    """

    source: str
    statement: str
    verdict: str
    because: str
    numbers: dict[str, str]


def names() -> list[str]:
    """Of all claims, sorted."""
    return sorted(m.name for m in pkgutil.iter_modules(statements.__path__) if not m.name.startswith("_"))


def check_name(name: str) -> None:
    """ValueError, with the nearest name, unless it is a claim's."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; `specsim claims` lists them"
        raise ValueError(f"no claim {name!r:.60}{hint}")


def settle(name: str) -> Kept:
    """The claim computed anew; ValueError if there is none of that name, or its record is not here."""
    check_name(name)
    module = importlib.import_module(f"{statements.__name__}.{name}")
    verdict, because, numbers = module.settle()
    return Kept(module.SOURCE, module.STATEMENT, verdict, because, numbers)


def recorded() -> dict[str, Kept]:
    """What the record holds, by name."""
    text = (files("specsim.claims") / RECORD).read_text(encoding="utf-8")
    return {name: Kept(**found) for name, found in json.loads(text)["claims"].items()}


def rows(found: dict[str, Kept], whole: bool) -> list[list[Any]]:
    """A table, its head first; not whole: without the reason, for a terminal."""
    table = [list(HEAD)] if whole else [["claim", "verdict", "what is stated"]]
    for name, one in found.items():
        numbers = "; ".join(f"{key}: {value}" for key, value in one.numbers.items())
        because = f"{one.because} ({numbers})" if numbers else one.because
        source = one.source.replace(", ", "\n")
        line = [name, source, one.statement, one.verdict, because]
        table.append(line if whole else [f"{name}\n{source}", one.verdict, one.statement])
    return table
