"""Results are written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def check_writable(path: Path) -> Path:
    """The path, if a file can be written there; ValueError otherwise, before any work is done."""
    if path.is_dir():
        raise ValueError(f"output {path} is a directory; give a file name")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}."):
            return path
    except OSError as error:
        raise ValueError(f"output {path} cannot be written: {error.strerror}") from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write to a temporary name beside the file, then rename."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)  # mkstemp makes private files; results are as readable as any other
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically; NaN and infinity are refused, as JSON has none."""
    write_bytes(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())
