"""Hashes of what a number was made with: the package, files of one's own, a rule with what it imports."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import ModuleType

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
    open_ = [module]
    while open_:
        one = open_.pop()
        path = getattr(one, "__file__", None)
        if path is None or Path(path).resolve() in files or not _is_own(Path(path).resolve()):
            continue
        files[Path(path).resolve()] = None
        for value in vars(one).values():
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(name, str) and isinstance(sys.modules.get(name), ModuleType):
                open_.append(sys.modules[name])
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + (file.read_bytes() if file.is_file() else b"") + b"\0")
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
