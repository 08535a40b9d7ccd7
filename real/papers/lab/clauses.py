"""Statements of a system's paper, each judged by numbers of the system's record: `systems.toml`, read and computed."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, NamedTuple

from real.papers.lab.contract import Record
from real.papers.lab.report import shown
from real.studies.intervals import Estimate
from specsim.base.unknown import unknown

FILE = Path(__file__).parent / "data" / "systems.toml"
NAMED = re.compile(r"\{([^{}|]+)(?:\|([^{}]+))?\}")
TEMPERATURE = re.compile(r"\bT = (\d+(?:\.\d+)?)")
Outcome = Literal["shows", "does not show", "not here", "cannot tell", "not tested", "not recorded"]


class Clause(NamedTuple):
    """One statement of a paper, with what a record says of it."""

    says: str
    paper: str  # the paper's number and unit
    ours: str  # in the same unit
    how: str  # measured, predicted, emulated or exact; "" without a number
    temperature: str
    verdict: Outcome
    decides: bool  # the test that was fixed before the run asks for it


def sections() -> dict[str, dict[str, Any]]:
    """Return the sections of `systems.toml` by the name of the system."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def clauses(section: dict[str, Any], record: Record | None) -> list[Clause]:
    """Return the statements of a section, judged by a record; without one all are "not recorded"."""
    return [_clause(one, record) for one in section["clause"]]


def _clause(one: dict[str, Any], record: Record | None) -> Clause:
    temperature = one.get("temperature") or temperatures(one["ours"])
    decides = "tests" in one and not one.get("aside", False)
    if record is None:
        return Clause(one["says"], one["paper"], one["ours"], "", temperature, "not recorded", decides)
    names = [match[1] for match in NAMED.finditer(one["ours"])]
    how = one.get("how", part_of(record, names[0]) if names else "")
    verdict = verdict_on(one["tests"], record) if "tests" in one else "not tested"
    ours = fill(one["ours"], record)
    if verdict == "does not show":
        effect, words = visible(one, record)
        verdict = "cannot tell" if effect > one.get("effect", math.inf) else verdict
        ours += words
    return Clause(one["says"], one["paper"], ours, how, temperature, verdict, decides)


def visible(one: dict[str, Any], record: Record) -> tuple[float, str]:
    """Return the smallest effect that a statement which does not show could have seen, and words on it.

    It is half the interval of the first number that does not lie where it should. A statement may name the paper's
    `effect` in the same unit: if that is smaller, nothing can be told.
    """
    for name, sign, *bound in one["tests"]:
        found = number(record, name)
        half = float(f"{(found.high - found.low) / 2:.2g}")
        if half > 0 and _outcome(found, sign, *_bound(bound, record)) == "does not show":
            form = next((match[2] or "" for match in NAMED.finditer(one["ours"]) if match[1] == name), "").lstrip("+")
            words = _formatted(Estimate(half, half, half), {"1+x": "%", "gain%": "%"}.get(form, form))
            return half, f"; an effect of {words} would show"
    return 0.0, ""


def temperatures(ours: str) -> str:
    """Return the temperatures that the numbers of a statement name, as "1 and 0.6"; "1" if none is named."""
    named = [at for match in NAMED.finditer(ours) for at in TEMPERATURE.findall(match[1])]
    return " and ".join(dict.fromkeys(named)) or "1"


def verdict_on(tests: list[list[Any]], record: Record) -> Outcome:
    """Return "shows" if all intervals lie where they should, "not here" if one lies beyond the bound as a whole."""
    outcomes = [_outcome(number(record, name), sign, *_bound(bound, record)) for name, sign, *bound in tests]
    if all(outcome == "shows" for outcome in outcomes):
        return "shows"
    return "not here" if "not here" in outcomes else "does not show"


def _bound(bound: list[Any], record: Record) -> list[float]:
    """A bound may be the name of a number."""
    return [number(record, one).value if isinstance(one, str) else one for one in bound]


def _outcome(found: Estimate, sign: str, bound: float = 0.0) -> Outcome:
    value, low, high = found
    if sign in ("inside", "outside"):  # the interval is that of samples of the target's own law
        return "shows" if (low <= value <= high) == (sign == "inside") else "not here"
    holds = {">": low > bound, ">=": low >= bound, "<": high < bound, "<=": high <= bound}
    if sign not in holds:
        raise unknown("sign", sign, [*holds, "inside", "outside"])
    if holds[sign]:
        return "shows"
    fails = high < bound if sign.startswith(">") else low > bound
    return "not here" if fails else "does not show"


def part_of(record: Record, name: str) -> str:
    """Return the part of a record that holds a number: exact, measured or predicted."""
    for part, values in record._asdict().items():
        if name in values:
            return part
    known = [known for values in record for known in values]
    raise unknown("number", name, known)


def number(record: Record, name: str) -> Estimate:
    """Return a number of a record; an exact one has no width."""
    value = getattr(record, part_of(record, name))[name]
    return value if isinstance(value, Estimate) else Estimate(value, value, value)


def fill(text: str, record: Record) -> str:
    """Return a text in which every {NAME} and {NAME|FORMAT} is the number of a record.

    Formats: `x` (times), `1+x` (a gain, as times), `%`, `+%` and `gain%` (times, as a gain) in percent, `points` and
    `+points` (percentage points), `n` (a count), `value` and `high` (without the interval).
    """
    return NAMED.sub(lambda match: _formatted(number(record, match[1]), match[2] or ""), text)


def _formatted(found: Estimate, form: str) -> str:
    if form == "n":
        return f"{found.value:,.0f}"
    if form in ("value", "high"):
        return f"{getattr(found, form):.3g}"
    shift = {"1+x": 1.0, "gain%": -1.0}.get(form, 0.0)
    scale = 100.0 if form.endswith(("%", "points")) else 1.0
    unit = {"x": "x", "1+x": "x", "": ""}.get(form, " points" if form.endswith("points") else " %")
    value, low, high = ((one + shift) * scale for one in found)
    digits, space, interval = shown(Estimate(value, low, high)).partition(" ")
    digits = digits.lstrip("-") if float(digits) == 0 else digits  # no minus where rounding leaves zero
    sign = "+" if form.startswith(("+", "gain")) and value > 0 else ""
    return f"{sign}{digits}{unit}{space}{interval}"
