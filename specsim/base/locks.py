"""One run at a time writes a file: a lock beside it, which ends with the process that holds it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
# Windows has none; there runs are merged by their keys alone.
except ImportError:
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; ValueError, in one line, where another run has it."""
    if fcntl is None:
        yield
        return
    lock = path.with_name(f".{path.name}.lock")
    file = _opened(lock, path)
    if file is None:
        yield
        return
    try:
        yield
    finally:
        # Remove the lock before letting it go: another run that opens it then sees that it is gone.
        with suppress(OSError):
            lock.unlink()
        file.close()


def _opened(lock: Path, path: Path) -> IO[Any] | None:
    """Return the lock's file, opened and held; None if the file system has no locks.

    ValueError if another run holds the lock of the file `path`.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = lock.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read(32).strip() or "unknown"
            file.close()
            raise ValueError(
                f"output {path} is being written by another run (process {holder}): wait until it ends, or give another"
            ) from None
        # Some file systems have no locks.
        except OSError:
            file.close()
            return None
        # The lock counts if its file is still there: the last holder may just have removed the
        # file.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                file.truncate(0)
                file.write(str(os.getpid()))
                file.flush()
                return file
        file.close()
