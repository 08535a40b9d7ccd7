"""Hashes of what a number was made with: the package, files of one's own, a rule with what it imports."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from specsim.base import recording
from specsim.base.modules import imported_names, made_of, origins
from specsim.base.recording import is_own

PACKAGE = Path(__file__).resolve().parents[1]
# Files of at most so many bytes are hashed by their content; larger ones, such as weights, by their
# size and time of change.
MOST_BYTES = 1 << 26


@lru_cache
def package() -> str:
    """Return the hash of all files of this package and of the code of `real`.

    Any of them may bear on a number, and a list of those that do could be wrong.
    """
    digest = hashlib.sha256()
    for path in (*sorted(PACKAGE.rglob("*")), *sorted(PACKAGE.with_name("real").rglob("*.py"))):
        if path.suffix == ".pyc" or not path.is_file():
            continue
        digest.update(str(path.relative_to(PACKAGE.parent)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def of_module(module: ModuleType) -> str:
    """Return the hash of the user's files that a rule depends on; "" for a rule without a file.

    Installed files do not count. Files that are opened or run only later are in `read_late`.
    """
    digest = hashlib.sha256()
    files = files_of(module)
    for name, content in sorted((path.name, of_path(path)) for path in files):
        digest.update(f"{name}\0{content}\0".encode())
    return digest.hexdigest() if files else ""


def files_of(module: ModuleType) -> list[Path]:
    """Return the user's files that a module was made of when it was loaded, its own first, and their imports."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not is_own(file):
        return []
    return own_files([Path(file), *made_of(module)])


def own_files(paths: Iterable[Path]) -> list[Path]:
    """Return the user's files among these, and those that they import, also inside functions."""
    files: dict[Path, None] = {}
    waiting = list(paths)[::-1]
    while waiting:
        path = waiting.pop().resolve()
        if path in files or not path.is_file() or not is_own(str(path)):
            continue
        files[path] = None
        if path.suffix == ".py":
            for name in imported_names(path):
                waiting += origins(name, path)
    return list(files)


def read_late(modules: Iterable[ModuleType]) -> dict[str, str]:
    """Return the hashes of files that these modules depend on and have come to read or run since they were loaded."""
    late: dict[str, str] = {}
    for module in modules:
        # A file that one module has read late, another may have read early.
        early = files_of(module)
        late |= {str(path): of_path(path) for path in own_files(recording.used_by(early)) if path not in early}
    return late


def unknown_of(modules: Iterable[ModuleType]) -> str:
    """Return in words what no hash of these modules' files covers; "" if nothing of that kind was seen."""
    unhashed = recording.unhashed_by(path for module in modules for path in files_of(module))
    if not unhashed:
        return ""
    return f"a rule depends on {' and '.join(unhashed)}: if these change, nothing is made anew"


def changed(files: Mapping[str, str]) -> list[str]:
    """Return the names of files whose hashes are others now, or which are gone."""
    paths = {Path(name): digest for name, digest in files.items()}
    return [path.name for path, digest in paths.items() if not path.is_file() or of_path(path) != digest]


def of_path(path: Path) -> str:
    """Return the hash of a file, or of every file of a folder; of large files only size and time count."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if not file.is_file():
            continue
        digest.update(str(file.relative_to(path)).encode() + b"\0")
        state = file.stat()
        if state.st_size <= MOST_BYTES:
            digest.update(file.read_bytes())
        else:
            digest.update(f"{state.st_size} bytes of {state.st_mtime_ns}".encode())
    return digest.hexdigest()
