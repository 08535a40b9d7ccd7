"""How a result is shown: one line in Python, an HTML table in a notebook, and a table of pandas.

The three functions take any frozen record. A record inside it gives a column for each of its fields, as in
`speedup.low`; so does a dictionary.
"""

from __future__ import annotations

import html
import importlib
import numbers
from typing import Any


def columns(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name; fields of records and dictionaries inside it have dotted names.

    >>> from specsim.speed.prediction import Estimate
    >>> columns({"speedup": Estimate(2.0, None, None), "unit": "s"})
    {'speedup.value': 2.0, 'speedup.low': None, 'speedup.high': None, 'unit': 's'}
    """
    found: dict[str, Any] = {}
    for name, value in _fields(record).items():
        if hasattr(value, "_asdict") or isinstance(value, dict):
            found |= {f"{name}.{inner}": item for inner, item in columns(value).items()}
        else:
            found[name] = value
    return found


def as_plain(value: Any) -> Any:
    """Return a value as JSON takes it: records as dictionaries, rows as lists, numbers of NumPy as Python's.

    >>> from specsim.speed.prediction import Estimate
    >>> as_plain((Estimate(2.0, None, None), 3))
    [{'value': 2.0, 'low': None, 'high': None}, 3]
    """
    if hasattr(value, "_asdict"):
        return {key: as_plain(item) for key, item in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def one_line(record: Any) -> str:
    """Return the name of a record's type and its short fields, numbers with four digits.

    >>> from specsim.testing.statistics import LawTest
    >>> LawTest(1 / 3, 0.5, 0.75, 1000)
    LawTest(distance=0.3333, threshold=0.5, detectable=0.75, samples=1000)
    """
    shown = {name: repr(value) if isinstance(value, str) else _short(value) for name, value in _fields(record).items()}
    parts = [f"{name}={text}" for name, text in shown.items() if text]
    return f"{type(record).__name__}({', '.join(parts)})"


def html_table(record: Any) -> str:
    """Return a record as an HTML table with a row for each field, as notebooks show it."""
    rows = [
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(_short(value) or str(value))}</td></tr>"
        for name, value in columns(record).items()
    ]
    return f"<table><caption>{type(record).__name__}</caption>{''.join(rows)}</table>"


def frame(record: Any) -> Any:
    """Return a record as a pandas DataFrame of one row; ImportError, in one line, without pandas."""
    try:
        pandas = importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame([columns(record)])


def _fields(record: Any) -> dict[str, Any]:
    return dict(record) if isinstance(record, dict) else dict(record._asdict())


def _short(value: Any) -> str:
    """Return a value in a few characters, "" for one that takes more: a tuple of words, an array."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return f"{float(value):.4g}"
    # A number with its interval.
    if getattr(value, "_fields", None) == ("value", "low", "high"):
        if value.low is None or value.high is None:
            return _short(value.value)
        return f"{_short(value.value)} [{_short(value.low)}, {_short(value.high)}]"
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, item in value.items() if (text := _short(item)))
    return ""
