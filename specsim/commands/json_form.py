"""The JSON that commands print: an object whose first field, `schema`, names the command and the version of its fields.

A number with its interval is always {"value": ..., "low": ..., "high": ...}; low and high are null where they are not
known. The version grows when a field changes its name or meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from specsim.base.provenance import command_line, provenance


def json_answer(command: str, fields: Mapping[str, Any], *, indent: int | None = 1, version: int = 1) -> str:
    """Return the JSON of a command's answer.

    >>> json_answer("specsim/rules", {"rules": []}, indent=None)
    '{"schema": "specsim/rules/1", "rules": []}'
    """
    return json.dumps({"schema": f"{command}/{version}", **fields}, indent=indent, allow_nan=False)


def one_or_many(command: str, answers: list[dict[str, Any]], name: str) -> str:
    """Return the JSON of the only answer, or of several under a name."""
    return json_answer(command, answers[0] if len(answers) == 1 else {name: answers}, indent=None)


def made_here() -> dict[str, Any]:
    """Return the field `provenance` of an answer of this run: date, machine, versions and command."""
    return {"provenance": provenance(command=command_line("specsim"))}


def interval(value: float | None, low: float | None, high: float | None) -> dict[str, float | None]:
    """Return a number and its interval as JSON has them everywhere."""
    return {"value": value, "low": low, "high": high}
