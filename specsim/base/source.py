"""Hashes of what a number was made with: the package, files of one's own, a rule with what it imports."""

from __future__ import annotations

import hashlib
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from specsim.base.modules import imported_names, origins

PACKAGE = Path(__file__).resolve().parents[1]
# Bytes of a file up to which its content is hashed; of a larger one, as weights are, size and time of change.
MOST_BYTES = 1 << 26


@lru_cache
def package() -> str:
    """All files of this package and the code of `real`: any may bear on a number, a list of some could be wrong."""
    digest = hashlib.sha256()
    for path in (*sorted(PACKAGE.rglob("*")), *sorted(PACKAGE.with_name("real").rglob("*.py"))):
        if path.suffix == ".pyc" or not path.is_file():
            continue
        digest.update(str(path.relative_to(PACKAGE.parent)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def of_module(module: ModuleType) -> str:
    """The file of a rule of one's own, with those that it imports and no distribution installed; "" without a file."""
    files: dict[Path, None] = {}
    open_ = [Path(file)] if (file := getattr(module, "__file__", None)) else []
    while open_:
        path = open_.pop().resolve()
        if path in files or not path.is_file() or not _is_own(path):
            continue
        files[path] = None
        for name in imported_names(path):
            open_ += origins(name, path)
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest() if files else ""


def of_path(path: Path) -> str:
    """A file, or every file of a folder."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if not file.is_file():
            continue
        digest.update(str(file.relative_to(path)).encode() + b"\0")
        told = file.stat()
        if told.st_size <= MOST_BYTES:
            digest.update(file.read_bytes())
        else:
            digest.update(f"{told.st_size} bytes of {told.st_mtime_ns}".encode())
    return digest.hexdigest()


def _is_own(path: Path) -> bool:
    """Whether no distribution installed a file, nor Python; a rule of the package is hashed with it."""
    libraries = (Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
    installed = any(part in ("site-packages", "dist-packages") for part in path.parts)
    return not installed and PACKAGE not in path.parents and not any(one in path.parents for one in libraries)
