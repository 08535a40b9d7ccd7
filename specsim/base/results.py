"""How a result is shown: one line in Python, an HTML table in a notebook, and a table of pandas.

`result` gives a frozen record these three. A record inside a record gives a column for each of its
fields, as in `speedup.low`; so does a dictionary.
"""

from __future__ import annotations

import html
import importlib
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from specsim.base import extras

Record = TypeVar("Record")

# Most numbers of an array that one line shows.
_MOST_NUMBERS = 8
# Most characters of a field that one line shows; the answer may have more.
_MOST_CHARACTERS = 60


def result(*answer: str, rows: Callable[[Any], Sequence[Any]] | None = None) -> Callable[[type[Record]], type[Record]]:
    """Return a class decorator that gives a record `__repr__`, `_repr_html_` and `to_pandas`.

    `answer` names the fields or properties that stand first and are never left out. `rows` returns
    the rows of the record's table, each a record or a dictionary; without it the record itself is
    the one row.

    >>> from typing import NamedTuple
    >>> @result("speedup")
    ... class Best(NamedTuple):
    ...     gamma: int
    ...     speedup: float
    ...     curve: list
    >>> Best(3, 4 / 3, [1.0, 1.25, 1.3, 4 / 3])
    Best(speedup=1.333, gamma=3, curve=[1, 1.25, 1.3, 1.333])
    """

    def decorate(record_type: type[Record]) -> type[Record]:
        """Give the three methods to a record's type, and return it."""

        def __repr__(self: Any) -> str:
            return one_line(self, answer)

        def _repr_html_(self: Any) -> str:
            return html_table(self, answer, None if rows is None else rows(self))

        def to_pandas(self: Any) -> Any:
            """Return a pandas DataFrame with every digit; parts of a field have dotted names, as `speedup.low`.

            Returns
            -------
            pandas.DataFrame
                A row for the record, or for each of its rows.

            Raises
            ------
            ImportError
                pandas is not installed.
            """
            return frame([self] if rows is None else rows(self))

        for method in (__repr__, _repr_html_, to_pandas):
            method.__qualname__ = f"{record_type.__qualname__}.{method.__name__}"
            method.__module__ = record_type.__module__
            setattr(record_type, method.__name__, method)
        return record_type

    return decorate


def columns(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name; fields of records and dictionaries inside it have dotted names.

    >>> from specsim.speed.prediction import Estimate
    >>> columns({"speedup": Estimate(2.0, None, None), "unit": "s"})
    {'speedup.value': 2.0, 'speedup.low': None, 'speedup.high': None, 'unit': 's'}
    """
    by_name: dict[str, Any] = {}
    for name, value in _fields(record).items():
        if hasattr(value, "_asdict") or isinstance(value, dict):
            by_name |= {f"{name}.{inner}": item for inner, item in columns(value).items()}
        else:
            by_name[name] = value
    return by_name


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


def one_line(record: Any, answer: Sequence[str] = ()) -> str:
    """Return the name of a record's type, its answer and its short fields; numbers have four digits.

    >>> from specsim.testing.statistics import LawTest
    >>> LawTest(1 / 3, 0.5, 0.75, 1000)
    LawTest(passed=True, distance=0.3333, threshold=0.5, detectable=0.75, samples=1000)
    """
    parts = [f"{name}={_answer(getattr(record, name))}" for name in answer]
    others = {name: value for name, value in _fields(record).items() if name not in answer}
    # A field without a value, and one that takes more than a few words, is left out.
    shown = {name: _quoted(value) for name, value in others.items() if value is not None and not _is_empty(value)}
    parts += [f"{name}={text}" for name, text in shown.items() if 0 < len(text) <= _MOST_CHARACTERS]
    return f"{type(record).__name__}({', '.join(parts)})"


def html_table(record: Any, answer: Sequence[str] = (), rows: Sequence[Any] | None = None) -> str:
    """Return a record as an HTML table, as notebooks show it: a row for each field, or one for each of `rows`."""
    caption = f"<caption>{html.escape(type(record).__name__)}</caption>"
    if rows is not None:
        return f"<table>{caption}{_html_rows([columns(row) for row in rows])}</table>"
    first = {name: getattr(record, name) for name in answer}
    cells = columns(first | {name: value for name, value in _fields(record).items() if name not in first})
    body = "".join(f"<tr><th>{html.escape(name)}</th><td>{_cell(value)}</td></tr>" for name, value in cells.items())
    return f"<table>{caption}{body}</table>"


def frame(rows: Sequence[Any]) -> Any:
    """Return records as a pandas DataFrame of one row each; ImportError, in one line, without pandas."""
    with extras.needed("to_pandas"):
        pandas = importlib.import_module("pandas")
    return pandas.DataFrame([columns(row) for row in rows])


def _html_rows(rows: list[dict[str, Any]]) -> str:
    """Return the rows of an HTML table: a head with all names, and a line for each dictionary."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    lines = ["".join(f"<td>{_cell(row.get(name))}</td>" for name in names) for row in rows]
    return f"<tr>{head}</tr>" + "".join(f"<tr>{line}</tr>" for line in lines)


def _cell(value: Any) -> str:
    """Return a value as the text of a cell, whole where it has no short form."""
    return html.escape(_short(value) or str(value))


def _fields(record: Any) -> dict[str, Any]:
    """Return the fields of a dictionary, a named tuple or a dataclass by name."""
    if isinstance(record, dict):
        return dict(record)
    if hasattr(record, "_asdict"):
        return dict(record._asdict())
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _is_empty(value: Any) -> bool:
    """Return whether a value is a row or a dictionary without entries."""
    return isinstance(value, tuple | list | dict) and len(value) == 0


def _answer(value: Any) -> str:
    """Return a field of the answer in one line; a long row is cut, with its length at the end."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields") and len(value) > _MOST_NUMBERS:
        return f"{_short(value[:_MOST_NUMBERS]).removesuffix(']')}, ... {len(value)} in all]"
    shape = getattr(value, "shape", None)
    return _quoted(value) or ("..." if shape is None else f"array of shape {tuple(shape)}")


def _quoted(value: Any) -> str:
    """Return a value in a few characters as `_short` does; a text stands in quotes."""
    return repr(value) if isinstance(value, str) else _short(value)


def _short(value: Any) -> str:
    """Return a value in a few characters; "" for many words, a large array or another record."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    # A fraction stays exact.
    if isinstance(value, numbers.Rational):
        return str(value)
    if isinstance(value, numbers.Real):
        return f"{float(value):.4g}"
    # A number with its interval.
    if getattr(value, "_fields", None) == ("value", "low", "high"):
        if value.low is None or value.high is None:
            return _short(value.value)
        return f"{_short(value.value)} [{_short(value.low)}, {_short(value.high)}]"
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, item in value.items() if (text := _short(item)))
    return _short_array(value)


def _short_array(value: Any) -> str:
    """Return a number of an array library, or a short row, as text; "" for anything else."""
    shape = getattr(value, "shape", None)
    if shape == ():
        item = value.item() if hasattr(value, "item") else None
        return _short(item) if isinstance(item, numbers.Number) else ""
    is_row = isinstance(value, list | tuple) and not hasattr(value, "_fields")
    if not (is_row or (shape is not None and len(shape) == 1)) or len(value) > _MOST_NUMBERS:
        return ""
    texts = [_quoted(item) if isinstance(item, str) else _short(item) for item in value]
    return f"[{', '.join(texts)}]" if all(texts) else ""
