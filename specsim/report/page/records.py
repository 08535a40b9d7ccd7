"""Records that a page shows: those of `specsim-real`, what `specsim plan` and `simulate` print, files of `sweep`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from specsim.base import parquet

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
MOST_BYTES = 1 << 26
T = TypeVar("T")


class Record(NamedTuple):
    """A record: its name (the file's), its kind, and what it holds; of a sweep, its rows."""

    name: str
    kind: str
    held: Any
    version: str = ""  # of the package that made it, of a sweep


def read(path: Path) -> Record:
    """The record of a file; ValueError, in one line with what was expected, if it is none."""
    if path.suffix.lower() == ".parquet":
        said = parquet.marked(path)
        return Record(path.stem, f"sweep {said['kind']}", parquet.table(path).to_pylist(), said["version"])
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
        found = (
            f"its schema is {held['schema']!r:.60}" if isinstance(held, dict) and "schema" in held else "it has none"
        )
        raise ValueError(f"{path} is no record that a page shows ({found}); expected {EXPECTED}")
    return Record(path.stem, kind, held)


def made_by(record: Record) -> tuple[str, str, str, str]:
    """(command, machine, date, versions) of a record, in words; "" where it does not say."""
    held = _dict(record.held)
    told = held.get("provenance")
    if isinstance(told, dict):
        machine, versions = (_dict(told.get(name)) for name in ("machine", "versions"))
        where = ", ".join([*_pairs(machine), *_pairs({"device": told.get("device"), "threads": told.get("threads")})])
        return str(told.get("command", "")), where, str(told.get("date", ""))[:10], ", ".join(_pairs(versions))
    if record.kind.startswith("sweep"):
        refused = sum(isinstance(one, dict) and one.get("refused") is not None for one in record.held)
        return f"{record.kind}: {len(record.held)} rows, {refused} refused", "", "", f"specsim {record.version}"
    return "", "", "", ""


def _dict(held: Any) -> dict[str, Any]:
    """Return the named fields of a record, if it has names."""
    return held if isinstance(held, dict) else {}


def _pairs(held: Any) -> list[str]:
    """Names and values in words, without those that are not given."""
    return [f"{name} {value}" for name, value in held.items() if value not in (None, "", [], {})]


def _kind(held: Any) -> str | None:
    if not isinstance(held, dict):
        return None
    schema = held.get("schema")
    return SCHEMAS.get(schema) if isinstance(schema, str) else None


def rows_of(records: Iterable[Record], read_one: Callable[[Record], Iterable[T]]) -> list[T]:
    """What a function reads in all records; ValueError that names the record which is not as it says it is."""
    found: list[T] = []
    for record in records:
        try:
            found += list(read_one(record))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, ZeroDivisionError) as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise ValueError(f"{record.name} is not as a record of kind {record.kind} should be ({what:.80})") from None
    return found
