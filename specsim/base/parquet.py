"""Parquet files of sweeps: what a file says of itself, and its rows. Needs pyarrow (extra `sweep`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specsim.base import extras
from specsim.base.reading import parsed_json

SCHEMA = "specsim-sweep/1"
MARK = b"specsim"  # key of the file's metadata


def marked(path: Path) -> dict[str, Any]:
    """What a file says of itself: its schema, kind of study, version, and whether it is complete.

    ValueError, in one line, if it cannot be read or is no file of a sweep.
    """
    with extras.needed(f"reading {path.name}"):
        from pyarrow import ArrowException, parquet
    try:
        with path.open("rb") as file:
            said = parsed_json((parquet.read_schema(file).metadata or {})[MARK], "the metadata")
        if said["schema"] == SCHEMA and all(isinstance(said[name], str) for name in ("kind", "version")):
            return dict(said)
    except (ArrowException, KeyError, ValueError, TypeError, RecursionError):
        pass
    except OSError as error:
        if error.errno is not None:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    raise ValueError(f"{path} is no Parquet file of specsim sweep ({SCHEMA} in its metadata)") from None


def table(path: Path, columns: list[str] | None = None) -> Any:
    """The rows of a file, as a table of pyarrow.

    Read on this thread alone, from memory: a thread that Arrow is still starting aborts a process that
    ends just then (Arrow's issues 34314 and 39862).
    """
    with extras.needed(f"reading {path.name}"):
        from pyarrow import ArrowException, BufferReader, parquet
    try:
        # Its pages carry checksums: bytes that were changed would else be read as other numbers, without a word.
        file = parquet.ParquetFile(BufferReader(path.read_bytes()), page_checksum_verification=True)
        return file.read(columns, use_threads=False)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is damaged, and its rows cannot be read: {str(error).splitlines()[0]}") from None
