"""Statements of the literature with their verdicts, from the record or computed anew."""

from __future__ import annotations

import difflib
import importlib
import json
import pkgutil
import re
from importlib.resources import files
from typing import Any, NamedTuple

from specsim.claims import statements
from specsim.claims.statements._verdict import UNDER

RECORD = "statements.json"
HEAD = ("claim", "source", "what is stated", "verdict", "because")


class SettledClaim(NamedTuple):
    """One claim with its verdict, as it stands in the record.

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
    """The names of all claims, sorted."""
    return sorted(m.name for m in pkgutil.iter_modules(statements.__path__) if not m.name.startswith("_"))


def check_name(name: str) -> None:
    """Raise ValueError, with the nearest name, unless this is a claim's name."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; `specsim claims` lists them"
        raise ValueError(f"no claim {name!r:.60}{hint}")


def settle(name: str) -> SettledClaim:
    """Compute a claim's verdict anew.

    Raises ValueError if there is no claim of that name, or it needs a record that is not here.
    """
    check_name(name)
    module = importlib.import_module(f"{statements.__name__}.{name}")
    verdict, because, numbers = module.settle()
    return SettledClaim(module.SOURCE, module.STATEMENT, verdict, because, numbers)


def recorded() -> dict[str, SettledClaim]:
    """The claims of the record, by name."""
    text = (files("specsim.claims") / RECORD).read_text(encoding="utf-8")
    return {name: SettledClaim(**fields) for name, fields in json.loads(text)["claims"].items()}


def condition(claim: SettledClaim) -> str:
    """Return the condition of a claim that holds under one: the first sentence of its reason.

    >>> condition(recorded()["renewal_formula"])
    'acceptances that do not depend on the text; where they do, the mean acceptance does not give the mean length.'
    """
    return re.split(r"(?<=\.) (?=[A-Z])", claim.because, maxsplit=1)[0]


def in_full(name: str, claim: SettledClaim) -> list[list[str]]:
    """Return the rows of a table of one claim: its name, source, statement, verdict, reason and numbers."""
    table = [["claim", name], ["source", claim.source], ["stated", claim.statement], ["verdict", claim.verdict]]
    reason = claim.because
    if claim.verdict == UNDER:
        table.append(["condition", condition(claim)])
        reason = reason.removeprefix(condition(claim)).strip()
    if reason:
        table.append(["because", reason])
    return [*table, *([key, value] for key, value in claim.numbers.items())]


def rows(claims: dict[str, SettledClaim], whole: bool) -> list[list[Any]]:
    """The table of claims, its head first; unless `whole`, for a terminal: with conditions, without reasons."""
    table = [list(HEAD)] if whole else [["claim", "verdict", "what is stated"]]
    for name, claim in claims.items():
        source = claim.source.replace(", ", "\n")
        if not whole:
            stated = claim.statement
            if claim.verdict == UNDER:
                stated += f"\nCondition: {condition(claim)}"
            table.append([f"{name}\n{source}", claim.verdict, stated])
            continue
        numbers = "; ".join(f"{key}: {value}" for key, value in claim.numbers.items())
        because = f"{claim.because} ({numbers})" if numbers else claim.because
        table.append([name, source, claim.statement, claim.verdict, because])
    return table
