"""Parquet files of sweeps: their metadata and their rows. Needs pyarrow (extra `sweep`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specsim.base import extras
from specsim.base.reading import parsed_json

SCHEMA = "specsim-sweep/1"
# Key of a sweep in the metadata of the file.
MARK = b"specsim"


def marked(path: Path) -> dict[str, Any]:
    """Return the metadata of a file: its schema, kind of study, version, and whether it is complete.

    ValueError, in one line, if it cannot be read or is no file of a sweep.
    """
    with extras.needed(f"reading {path.name}"):
        from pyarrow import ArrowException, parquet
    try:
        with path.open("rb") as file:
            metadata = parsed_json((parquet.read_schema(file).metadata or {})[MARK], "the metadata")
        has_texts = all(isinstance(metadata[name], str) for name in ("kind", "version"))
        if metadata["schema"] == SCHEMA and has_texts:
            return dict(metadata)
    except (ArrowException, KeyError, ValueError, TypeError, RecursionError):
        pass
    except OSError as error:
        if error.errno is not None:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    raise ValueError(f"{path} is no Parquet file of specsim sweep ({SCHEMA} in its metadata)") from None


def table(path: Path, columns: list[str] | None = None) -> Any:
    """Return the rows of a file as a table of pyarrow.

    Read on this thread alone, from memory: a thread that Arrow is still starting aborts a process
    that ends just then (Arrow's issues 34314 and 39862).
    """
    with extras.needed(f"reading {path.name}"):
        from pyarrow import ArrowException, BufferReader, parquet
    try:
        # Pages carry checksums; without this check, damaged bytes would be read as other numbers.
        file = parquet.ParquetFile(BufferReader(path.read_bytes()), page_checksum_verification=True)
        return file.read(columns, use_threads=False)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is damaged, and its rows cannot be read: {str(error).splitlines()[0]}") from None
