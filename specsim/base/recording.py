"""Files that a user's code reads and runs, recorded while it does so: imports by computed names, exec, opened data.

An audit hook of Python sees every open, exec and load of a library. The file whose code asked for it
is the *owner*: the nearest frame that is neither Python's, nor installed, nor specsim's. An
installed package reads for itself while it is imported, and for its caller in every other call.
Not seen: files that compiled code opens by itself, environment variables, and what other processes
and servers answer; of the last two it is recorded that they are asked.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parents[1]
# Adapters are code of the judged subject, although they lie in the package.
ADAPTERS = PACKAGE / "conform" / "adapters"
# Folders of the system, and parts of paths that are caches: what is in them changes with the
# machine.
SYSTEM = tuple(Path(folder) for folder in ("/proc", "/sys", "/dev", "/etc", "/run"))
CACHES = frozenset({"__pycache__", ".cache", ".triton", ".nv"})
# Events that ask another process or a server -> words on what its code then depends on, which no
# file holds.
OTHERS = {
    "subprocess.Popen": "answers of another process",
    "os.system": "answers of another process",
    "os.posix_spawn": "answers of another process",
    "os.fork": "answers of another process",
    "os.forkpty": "answers of another process",
    "socket.connect": "answers of a server",
}
# Owner -> files that its code ran or read, in order (the values mean nothing).
_USED: dict[str, dict[str, None]] = {}
# Owner -> words on what its code depends on and no hash of files covers, in order.
_UNHASHED: dict[str, dict[str, None]] = {}
# A list that has one entry once the hook is installed.
_STARTED: list[bool] = []


class Mark(NamedTuple):
    """What was recorded before: pairs of owners and what they used; and the owners that were on the stack."""

    known: frozenset[tuple[str, str]]
    callers: frozenset[str]


def start() -> None:
    """Begin to record; a hook stays until the process ends, and processes that are forked inherit it."""
    if not _STARTED:
        _STARTED.append(True)
        # Python reads a file of its own for it: not inside of the hook.
        libraries()
        sys.addaudithook(_hear)


def used_by(files: Iterable[str | Path]) -> list[Path]:
    """Return the files that these, and those that they ran, have run or read so far."""
    used, waiting = dict[str, None](), [*map(resolved, map(str, files))]
    while waiting:
        for file in list(_USED.get(waiting.pop(), ())):
            if file not in used:
                used[file] = None
                waiting.append(file)
    return [Path(file) for file in used]


def unhashed_by(files: Iterable[str | Path]) -> list[str]:
    """Return what code of these files depends on and no hash of files covers, in words, each once."""
    owners = map(resolved, map(str, files))
    return list(dict.fromkeys(words for owner in owners for words in list(_UNHASHED.get(owner, ()))))


def note_unhashed(file: str | Path, words: Iterable[str]) -> None:
    """Record what code of a file depends on and no hash of files covers."""
    _UNHASHED.setdefault(resolved(str(file)), {}).update(dict.fromkeys(words))


def mark() -> Mark:
    """Return what `used_since` leaves out: all until now, and later what the callers of this function do."""
    return Mark(frozenset(_pairs(_USED) + _pairs(_UNHASHED)), frozenset(_owners(sys._getframe(1))))


def used_since(before: Mark) -> tuple[list[Path], list[str]]:
    """Return the files that were used since, and in words what no hash of them covers, each once."""
    files, unhashed = _since(before, _USED), _since(before, _UNHASHED)
    return [Path(file) for file in files], unhashed


@contextmanager
def imports_named() -> Iterator[None]:
    """Record every module that is asked for by its name: one that is in sys.modules runs no code again."""
    # Python's two ways to import; both are put back at the end.
    by_statement, by_function = builtins.__import__, importlib.import_module

    def imported(name: str, *more: Any, **named: Any) -> Any:
        """Import as the statement does, and record the file."""
        module = by_statement(name, *more, **named)
        _note(sys.modules.get(name, module))
        return module

    def import_module(name: str, package: str | None = None) -> Any:
        """Import as `importlib.import_module` does, and record the file."""
        module = by_function(name, package)
        _note(module)
        return module

    builtins.__import__, importlib.import_module = imported, import_module
    try:
        yield
    finally:
        builtins.__import__, importlib.import_module = by_statement, by_function


@lru_cache(maxsize=1 << 14)
def is_own(file: str) -> bool:
    """Return whether code of a file is the user's: neither Python's, nor installed, nor specsim's."""
    if not file or file.startswith("<"):
        return False
    path = Path(file).resolve()
    if _is_installed(path) or any(library in path.parents for library in libraries()):
        return False
    return PACKAGE not in path.parents or ADAPTERS in path.parents


@lru_cache
def libraries() -> tuple[Path, ...]:
    """Return the folders of the standard library."""
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))


def resolved(file: str) -> str:
    """Return the one name by which a file is recorded, links followed."""
    return os.path.realpath(file)


def _is_installed(path: Path) -> bool:
    """Return whether a file is in a folder of installed packages."""
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _hear(event: str, args: tuple[Any, ...], is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
    """Record an event of Python: a file that is opened to be read, run, or loaded as a library."""
    # Names of this module are gone when Python ends.
    if is_ending():
        return
    # Python's table of audit events lists the arguments of each: exec (code), open (path, mode,
    # flags), import (module, file name, sys.path and more), dlopen (name), connect (database).
    if event == "exec":
        code = args[0]
        _record(getattr(code, "co_filename", None), is_code=True)
    elif event == "open":
        path, mode, flags = args[:3]
        if _reads(mode, flags):
            _record(path, is_code=False)
    elif event == "import":
        file = args[1]
        _record(file, is_code=True)
    elif event in ("ctypes.dlopen", "sqlite3.connect"):
        name = args[0]
        _record(name, is_code=event == "ctypes.dlopen")
    elif event in OTHERS:
        for owner in _current_owners():
            note_unhashed(owner, [OTHERS[event]])


def _reads(mode: Any, flags: Any) -> bool:
    """Return whether a file is opened to be read, by its mode, or by the flags of `os.open`."""
    if isinstance(mode, str):
        return "r" in mode or "+" in mode
    return isinstance(flags, int) and flags & (os.O_WRONLY | os.O_CREAT) == 0


def _record(file: Any, *, is_code: bool) -> None:
    """Record that the code which is running now uses a file."""
    if isinstance(file, bytes):
        file = os.fsdecode(file)
    if not isinstance(file, str | os.PathLike) or not (path := os.fspath(file)) or str(path).startswith("<"):
        return
    for owner in _current_owners():
        used = resolved(_source(str(path)))
        if used != owner and (is_code or not _is_of_machine(Path(used))):
            _USED.setdefault(owner, {})[used] = None


def _source(path: str) -> str:
    """Return the path of the source of a file of cached bytecode; of any other file the path as it is."""
    if path.endswith(".pyc"):
        try:
            return importlib.util.source_from_cache(path)
        except ValueError:
            # Bytecode outside a cache has no source: the file itself is what runs.
            return path
    return path


def _is_of_machine(path: Path) -> bool:
    """Return whether a file is of the system, or of a cache."""
    return not CACHES.isdisjoint(path.parts) or any(folder in path.parents for folder in SYSTEM)


def _current_owners() -> list[str]:
    """Return the owners of what happens now, files of the user's code; none while an installed package is imported.

    There is one, by the stack of this thread. The stack of a pool's thread does not show which code
    waits for its result: any thread that runs the user's code may be waiting, so the files of all
    of them are returned. To hash one file too many is safe.
    """
    owner = next(_owners(sys._getframe(1)), None)
    if owner is None and threading.current_thread() is not threading.main_thread():
        waiting = (next(_owners(frame), None) for frame in sys._current_frames().values())
        return list(dict.fromkeys(file for file in waiting if file is not None))
    return [] if owner is None else [owner]


def _owners(frame: FrameType | None) -> Iterator[str]:
    """Yield the files of the user's code on a stack, the innermost first, up to an import of an installed package."""
    while frame is not None:
        # Code compiled from a string has no file: it belongs to the file whose global names it
        # uses.
        for file in (frame.f_code.co_filename, frame.f_globals.get("__file__")):
            if isinstance(file, str) and is_own(file):
                yield resolved(file)
                break
        if frame.f_code.co_name == "<module>" and _is_installed(Path(frame.f_code.co_filename)):
            return
        frame = frame.f_back


def _since(before: Mark, table: dict[str, dict[str, None]]) -> list[str]:
    """Return the entries of a table that are newer than a mark and not of its callers, each once."""
    return list(
        dict.fromkeys(
            entry
            for owner, entry in _pairs(table)
            if (owner, entry) not in before.known and owner not in before.callers
        )
    )


def _pairs(table: dict[str, dict[str, None]]) -> list[tuple[str, str]]:
    """Return the pairs (owner, entry) of a table: each owner with each file, or words, recorded for it."""
    return [(owner, entry) for owner, entries in list(table.items()) for entry in list(entries)]


def _note(module: Any) -> None:
    """Record the file of a module that the code which is running now asked for."""
    file = getattr(module, "__file__", None)
    if isinstance(file, str) and is_own(file):
        _record(file, is_code=True)
