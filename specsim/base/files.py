"""Results are written whole or not at all; devices, pipes and links stay what they are."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

# What commands write to for the file name `-`.
STANDARD_OUTPUT = Path("/dev/stdout")


def check_writable(path: Path, ending: str = "") -> Path:
    """The path, if a file can be written there; ValueError otherwise, before any work is done.

    Folders that are missing are made when the file is written. With `ending`, as ".png", a file must have it; what is
    no regular file, as /dev/null, need not.
    """
    if path == STANDARD_OUTPUT:
        return path
    target = _followed(path)
    if target.is_dir():
        raise ValueError(f"output {path} is a directory; give a file name")
    if _through(path):
        if not os.access(path, os.W_OK):
            raise ValueError(f"output {path} cannot be written: Permission denied")
        return path
    if ending and path.suffix.lower() != ending:
        raise ValueError(f"output {path} must end in {ending}")
    if target.exists() and not os.access(target, os.W_OK):  # a rename would replace it all the same
        raise ValueError(f"output {path} cannot be written: Permission denied")
    folder = next(parent for parent in target.parents if os.path.lexists(parent))
    if not folder.is_dir():
        raise ValueError(f"output {path} cannot be written: {folder} is not a folder")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".specsim."):
            return path
    except OSError as error:
        raise ValueError(f"output {path} cannot be written: {error.strerror}") from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write to a temporary name beside the file, then rename; an OSError names the path.

    A link is followed, and what is no regular file is written through: a rename would put a file in its place.
    """
    try:
        if path == STANDARD_OUTPUT:
            # Opening it by its name would cut off what a file that is appended to holds.
            with open(1, "wb", closefd=False) as output:
                output.write(data)
        elif _through(path):
            with open(path, "wb") as file:
                file.write(data)
        else:
            _replace(_followed(path), data)
    except OSError as error:  # on a full disk, it would not
        raise OSError(error.errno, error.strerror, str(path)) from None


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".specsim.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def json_text(value: Any) -> str:
    """JSON as files hold it and commands print it; NaN and infinity are refused, as JSON has none."""
    return json.dumps(value, indent=1, allow_nan=False)


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically."""
    write_bytes(path, (json_text(value) + "\n").encode())


def _through(path: Path) -> bool:
    """Whether a path names a device, a pipe, or what a process has open (/dev/stdout, even if that is a file)."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except OSError:  # missing, or a link to nothing yet
        return False
    opened = os.path.realpath(path.parent).startswith("/proc/") or (path.is_symlink() and path.parent == Path("/dev"))
    return not regular or opened


def _followed(path: Path) -> Path:
    """The file that a link leads to, through every link on the way."""
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:  # links in a circle, a name too long, a file where a folder should be
        raise ValueError(f"output {path} cannot be written: {error.strerror}") from None
    return Path(os.path.realpath(path))


def _mode(path: Path) -> int:
    """What the file has already; else that of any new file, not mkstemp's private one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
