"""Defaults of fields that a config.json leaves out, as the code of its model_type has them: `config_defaults.csv`."""

from __future__ import annotations

from functools import cache
from typing import Any

from specsim.latency.configs.experts import BESIDE, NUMBER, PER_TOKEN
from specsim.latency.tables import grouped

# Names of one number: where one of them is present, the defaults of the others do not count.
_ALIKE = (
    NUMBER,
    PER_TOKEN,
    BESIDE,
    ("num_key_value_heads", "num_kv_heads", "num_query_groups"),
    ("head_dim", "attention_head_dim"),
)


def defaults_of(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the defaults of fields that a config of this model_type leaves out; null is a value of its own.

    Sizes that every file has are none of them: a file without is refused.

    Examples
    --------
    >>> defaults_of("mistral", {"sliding_window": None})
    {'num_key_value_heads': 8}
    """
    present = set(values)
    for names in _ALIKE:
        if present & set(names):
            present.update(names)
    return {name: value for name, value in _defaults(kind).items() if name not in present}


@cache
def _defaults(kind: str) -> dict[str, Any]:
    """Return all defaults of a model_type, by field."""
    return {row["field"]: _value(row["value"]) for row in grouped("config_defaults", "model_type").get(kind, [])}


def _value(text: str) -> int | bool | str:
    """Return the value that a cell of the table holds."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdecimal() else text
