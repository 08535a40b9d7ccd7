"""Records that a page shows: of `specsim-real`, `specsim plan`, `specsim simulate` and sweeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from specsim.base import parquet

# The kind of record that each schema names.
SCHEMAS = {
    "specsim-compare/2": "compare",
    "specsim-chains/1": "chains",
    "specsim-compare-trees/1": "compare trees",
    "specsim-forced/1": "forced",
    "specsim-drafts/1": "drafts",
    "specsim-trees/1": "trees",
    "specsim-system/1": "system",
    "specsim/plan/1": "plan",
    "specsim/simulate/1": "simulate",
}
EXPECTED = (
    f"a record of specsim-real (schema {', '.join(SCHEMAS)}), what specsim plan or simulate prints with --json, or a "
    "Parquet file of specsim sweep"
)
# Largest file that is read, in bytes.
MOST_BYTES = 1 << 26
T = TypeVar("T")


class Record(NamedTuple):
    """A record: its name (the file's), its kind, and what it holds.

    `held` are the rows of a sweep, the parsed JSON of any other; `version` is that of the package
    that made a sweep.
    """

    name: str
    kind: str
    held: Any
    version: str = ""


def read(path: Path) -> Record:
    """Return the record of a file; raise ValueError, in one line, if it is none.

    The error says what was expected.
    """
    # A sweep.
    if path.suffix.lower() == ".parquet":
        marks = parquet.marked(path)
        rows = parquet.table(path).to_pylist()
        return Record(path.stem, f"sweep {marks['kind']}", rows, marks["version"])

    # JSON, whose schema says of which kind it is.
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"{path} is larger than {MOST_BYTES} bytes; expected {EXPECTED}")
        held = json.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ValueError(f"{path} is no JSON; expected {EXPECTED}") from None
    kind = _kind(held)
    if kind is None:
        has_schema = isinstance(held, dict) and "schema" in held
        schema = f"its schema is {held['schema']!r:.60}" if has_schema else "it has none"
        raise ValueError(f"{path} is no record that a page shows ({schema}); expected {EXPECTED}")
    return Record(path.stem, kind, held)


def made_by(record: Record) -> tuple[str, str, str, str]:
    """Return (command, machine, date, versions) of a record, in words; "" where it does not say."""
    # Records of specsim-real hold their provenance.
    held = _dict(record.held)
    provenance = held.get("provenance")
    if isinstance(provenance, dict):
        machine, versions = (_dict(provenance.get(name)) for name in ("machine", "versions"))
        device = {name: provenance.get(name) for name in ("device", "threads")}
        where = ", ".join([*_pairs(machine), *_pairs(device)])
        command, date = (str(provenance.get(name, "")) for name in ("command", "date"))
        return command, where, date[:10], ", ".join(_pairs(versions))

    # Sweeps say how many of their rows were refused; other records say nothing.
    if record.kind.startswith("sweep"):
        refused = sum(isinstance(row, dict) and row.get("refused") is not None for row in record.held)
        return f"{record.kind}: {len(record.held)} rows, {refused} refused", "", "", f"specsim {record.version}"
    return "", "", "", ""


def _dict(held: Any) -> dict[str, Any]:
    """Return the named fields of a record, if it has names."""
    return held if isinstance(held, dict) else {}


def _pairs(held: Any) -> list[str]:
    """Return names and values in words, without empty values."""
    return [f"{name} {value}" for name, value in held.items() if value not in (None, "", [], {})]


def _kind(held: Any) -> str | None:
    """Return the kind of record that JSON holds, None if a page shows no such record."""
    if not isinstance(held, dict):
        return None
    schema = held.get("schema")
    return SCHEMAS.get(schema) if isinstance(schema, str) else None


def rows_of(records: Iterable[Record], read_one: Callable[[Record], Iterable[T]]) -> list[T]:
    """Return what a function reads in all records, as one list.

    Raises ValueError that names the record which lacks what its kind should have.
    """
    result: list[T] = []
    for record in records:
        try:
            result += list(read_one(record))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, ZeroDivisionError) as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise ValueError(f"{record.name} is not as a record of kind {record.kind} should be ({what:.80})") from None
    return result
