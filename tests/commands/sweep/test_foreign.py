"""Parquet files that no sweep wrote, or that are damaged: one line names them, and nothing is overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.studies import PLAN, study_file, threads

pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")
pytest.importorskip("duckdb", reason="duckdb (extra `sweep`) is not installed")

import pyarrow as arrow
from pyarrow import parquet

from specsim.commands.sweep import pools, run
from specsim.commands.sweep.options import Sweep

Change = Callable[[Any], Any]
DAMAGED = "is damaged, and its rows cannot be"
MARKED, COLUMNS, KEYS = "is no Parquet file of specsim sweep", "its columns are others", "rows without a key, or two"


def keyed(values: Change) -> Change:
    """The table with another column of keys, and what the file says of itself."""
    return lambda good: good.set_column(0, "key", values(good.column(0))).replace_schema_metadata(good.schema.metadata)


def said(text: bytes) -> Change:
    """The table with another text about itself."""
    return lambda good: good.replace_schema_metadata(dict.fromkeys(good.schema.metadata, text))


TABLES: dict[str, tuple[Change, str]] = {
    "another table": (lambda good: arrow.table({"a": [1, 2]}), MARKED),
    "no columns": (lambda good: arrow.table({}), MARKED),
    "no metadata": (lambda good: good.replace_schema_metadata(None), MARKED),
    "metadata that is cut": (said(b"{"), MARKED),
    "metadata that is a list": (said(b"[1]"), MARKED),
    "metadata that is null": (said(b"null"), MARKED),
    "metadata that is no text": (said(b"\xff\xfe"), MARKED),
    "a newer form": (said(b'{"schema": "specsim-sweep/9", "kind": "plan", "version": "9"}'), MARKED),
    "numbers for keys": (keyed(lambda keys: arrow.array(range(len(keys)))), COLUMNS),
    "keys in a dictionary": (keyed(lambda keys: keys.dictionary_encode()), COLUMNS),
    "keys of another width": (keyed(lambda keys: keys.cast(arrow.large_string())), COLUMNS),
    "nested keys": (keyed(lambda keys: arrow.array([{"x": 1}] * len(keys))), COLUMNS),
    "lists of keys": (keyed(lambda keys: arrow.array([["x"]] * len(keys))), COLUMNS),
    "null keys": (keyed(lambda keys: arrow.array([None] * len(keys), arrow.string())), KEYS),
    "one key for all": (keyed(lambda keys: arrow.array([keys[0].as_py()] * len(keys))), KEYS),
    "every row twice": (lambda good: arrow.concat_tables([good, good]), KEYS),
    "a column more": (lambda good: good.append_column("more", arrow.array(range(len(good)))), COLUMNS),
    "a column less": (lambda good: good.drop_columns(["tau"]), COLUMNS),
    "columns in another order": (lambda good: good.select(good.column_names[::-1]), COLUMNS),
    "another name": (
        lambda good: good.rename_columns(["KEY", *good.column_names[1:]]).replace_schema_metadata(good.schema.metadata),
        COLUMNS,
    ),
}


def flipped(good: bytes, place: int) -> bytes:
    """Return the file with one bit changed."""
    return good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]


BYTES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "text": (lambda good: b"hello", MARKED),
    "nothing": (lambda good: b"", MARKED),
    "half of it": (lambda good: good[: len(good) // 2], MARKED),
    "without its end": (lambda good: good[:-4], MARKED),
    "a head of zeros": (lambda good: b"PAR1" + bytes(20), MARKED),
    "marks alone": (lambda good: b"PAR1PAR1", MARKED),
    "a picture": (lambda good: b"\x89PNG\r\n\x1a\n" + bytes(100), MARKED),
    "gzip": (lambda good: b"\x1f\x8b" + bytes(50), MARKED),
    "rows that are damaged": (lambda good: good[:4] + b"\xff" * 116 + good[120:], DAMAGED),
    "a byte in the first page": (lambda good: flipped(good, 200), DAMAGED),
    "a byte in another page": (lambda good: flipped(good, len(good) // 3), DAMAGED),
}


@pytest.fixture
def swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished study and its file; no process is started."""
    monkeypatch.setattr(pools, "processes", lambda count: threads(count)())
    run.run(Sweep(study_file(tmp_path, PLAN), tmp_path / "rows.parquet"))
    return tmp_path / "rows.parquet"


def refused(out: Path, words: str) -> None:
    """A run on the file ends in one line and changes nothing."""
    before = out.read_bytes()
    with pytest.raises(ValueError, match=r"rows\.parquet") as error:
        run.run(Sweep(out.parent / "study.toml", out))
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert out.read_bytes() == before


@pytest.mark.parametrize("case", TABLES)
def test_another_table_stays(case: str, swept: Path) -> None:
    change, words = TABLES[case]
    parquet.write_table(change(parquet.read_table(swept)), swept)
    refused(swept, words)


@pytest.mark.parametrize("case", BYTES)
def test_bytes_that_are_no_table_stay(case: str, swept: Path) -> None:
    change, words = BYTES[case]
    swept.write_bytes(change(swept.read_bytes()))
    refused(swept, words)
