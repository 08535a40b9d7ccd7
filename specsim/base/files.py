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
    """Return the path if a file can be written there; ValueError otherwise, before any work is done.

    Folders that are missing are made when the file is written. With `ending`, as ".png", a file
    must have it; a device or a pipe, as /dev/null, need not.
    """
    if path == STANDARD_OUTPUT:
        return path
    # A file name, or a device or a pipe, which is written through.
    target = _link_target(path)
    if target.is_dir():
        raise ValueError(f"output {path} is a directory; give a file name")
    if _is_written_through(path):
        if not os.access(path, os.W_OK):
            raise ValueError(f"output {path} cannot be written: Permission denied")
        return path
    if ending and path.suffix.lower() != ending:
        raise ValueError(f"output {path} must end in {ending}")
    # A file that may not be written: a rename would replace it all the same.
    if target.exists() and not os.access(target, os.W_OK):
        raise ValueError(f"output {path} cannot be written: Permission denied")
    # A folder in which files can be made, or the nearest one above it that exists.
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

    A link is followed. A device or a pipe is written through: a rename would put a file in its
    place.
    """
    try:
        if path == STANDARD_OUTPUT:
            # Opening it by its name would cut off what a file that is appended to holds.
            with open(1, "wb", closefd=False) as output:
                output.write(data)
        elif _is_written_through(path):
            with open(path, "wb") as file:
                file.write(data)
        else:
            _replace(_link_target(path), data)
    # On a full disk the error would not name the path.
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _replace(path: Path, data: bytes) -> None:
    """Write the data to a new file in the same folder, and rename it to the path."""
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
    """Return JSON as files hold it and commands print it; NaN and infinity are refused."""
    return json.dumps(value, indent=1, allow_nan=False)


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically."""
    write_bytes(path, (json_text(value) + "\n").encode())


def _is_written_through(path: Path) -> bool:
    """True if a path names a device, a pipe, or an open file of a process, as /dev/stdout does."""
    try:
        is_regular = stat.S_ISREG(path.stat().st_mode)
    # The file is missing, or a link leads to nothing yet.
    except OSError:
        return False
    in_proc = os.path.realpath(path.parent).startswith("/proc/")
    in_dev = path.is_symlink() and path.parent == Path("/dev")
    return not is_regular or in_proc or in_dev


def _link_target(path: Path) -> Path:
    """Return the file that a link leads to, through every link on the way."""
    try:
        path.stat()
    except FileNotFoundError:
        pass
    # Links in a circle, a name too long, a file where a folder should be.
    except OSError as error:
        raise ValueError(f"output {path} cannot be written: {error.strerror}") from None
    return Path(os.path.realpath(path))


def _mode(path: Path) -> int:
    """Return the mode of the file; for a new one the usual mode, not mkstemp's private one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
