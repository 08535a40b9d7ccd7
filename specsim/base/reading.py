"""Read files of other people within limits: size checked first, text by its byte order mark, strict JSON."""

from __future__ import annotations

import codecs
import errno
import json
import os
import select
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Most bytes of a file that people write: counts, hazards, the record of a comparison, a text.
MOST_BYTES = 1 << 28
POSIX = os.name == "posix"
# Bytes read at a time.
CHUNK = 1 << 20
# Milliseconds that a named pipe may be without anybody who writes to it.
PIPE_WAIT = 2000
# Byte order marks and the encoding of each. The mark of UTF-32 begins with that of UTF-16, so it
# comes first.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# How files that are packed begin, what they are, and what unpacks them.
PACKED = (
    (b"\x1f\x8b", "gzip", "gunzip"),
    (b"BZh", "bzip2", "bunzip2"),
    (b"\xfd7zXZ", "xz", "unxz"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"PK\x03\x04", "zip", "unzip"),
)
# How files of other kinds begin, and what they are.
BINARY = (
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "a database of SQLite"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"%PDF", "a PDF document"),
)


def read_bytes(path: Path, most: int) -> bytes:
    """Return the bytes of a file; ValueError, before it is read, if they are more than `most`.

    A pipe is read up to the limit. A device other than a terminal is refused, for it may have no
    end.
    """
    data = b"".join(_chunks(path, most))
    if len(data) > most:
        raise ValueError(f"{path.name} has more than {most} bytes, the most that are read")
    return data


def read_text(path: Path, most: int) -> str:
    """Return the text of a file: UTF-8, or UTF-16 and UTF-32 with a byte order mark, as PowerShell writes it."""
    data = read_bytes(path, most)
    for start, kind, command in PACKED:
        if data.startswith(start):
            raise ValueError(f"{path.name} is packed by {kind}; unpack it first ({command}), and give the text")
    for start, kind in BINARY:
        if data.startswith(start):
            raise ValueError(f"{path.name} is {kind}, and text is read here; save what is asked for as text")
    mark, encoding = next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        kind = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}.get(encoding, "UTF-32")
        place = f"byte {error.start + len(mark)}"
        raise ValueError(f"{path.name} is not {kind} text ({place}); save it as UTF-8 text") from None
    # Every second byte of Latin text in UTF-16 is 0.
    if not mark and text.count("\0") > len(text) / 4:
        raise ValueError(f"{path.name} looks like UTF-16 without a byte order mark; save it as UTF-8 text")
    return text


def read_lines(path: Path, most: int) -> Iterator[str]:
    """Yield the lines of a file of any size, none of which may have more than `most` bytes."""
    rest, number = b"", 0
    for chunk in _chunks(path, None):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            yield _line(path, line, number, most)
        if len(rest) > most:
            raise ValueError(f"{path.name}, line {number + 1} has more than {most} bytes, the most that are read")
    if rest:
        yield _line(path, rest, number + 1, most)


def parsed_json(text: str | bytes, place: str) -> Any:
    """Return the value of a JSON text; ValueError in one line if it is no JSON or too deep."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, place))
    except RecursionError:
        raise ValueError(f"{place} is nested too deep; expected JSON of a few levels") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{place} is no JSON: {error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{place} is no JSON: it is not UTF-8 text") from None
    except ValueError as error:
        # Python limits the digits of a number.
        if str(error).startswith("Exceeds the limit"):
            raise ValueError(f"{place} is no JSON: it has a number of more than 4,300 digits") from None
        raise


def read_json(path: Path, most: int, place: str) -> Any:
    """Return the value of a JSON file of at most `most` bytes; errors call it `place`."""
    return parsed_json(read_text(path, most), place)


def check_whole_numbers(value: Any, place: str) -> None:
    """Raise ValueError, with the place, for an entry that is no whole number >= 0; JSON's true is none."""
    for i, entry in enumerate(value if isinstance(value, list) else [value]):
        is_number = isinstance(entry, (int, float)) and not isinstance(entry, bool)
        if not is_number or entry < 0 or (isinstance(entry, float) and not entry.is_integer()):
            where = f"{place}[{i}]" if isinstance(value, list) else place
            raise ValueError(f"{where} is {json.dumps(entry)[:40]}; give a whole number of at least 0")


# Start of the lines that carry a value in a stream of events.
EVENT = "data:"


def is_stream(text: str) -> bool:
    """Return whether a text is a stream of server-sent events."""
    return text.lstrip()[:200].startswith((EVENT, "event:"))


def json_values(text: str, place: str) -> list[Any]:
    """Return the values of a JSON list, or of JSON lines, one value each; a single value is a list of one.

    Lines of a stream of events (`data: {...}`, as `curl` shows an answer that is streamed) are JSON
    lines, too.
    """
    if is_stream(text):
        events = [line.strip() for line in text.splitlines()]
        bodies = [event[len(EVENT) :].strip() for event in events if event.startswith(EVENT)]
        return [parsed_json(body, place) for body in bodies if body != "[DONE]"]
    try:
        value = parsed_json(text, place)
    except ValueError as error:
        # JSON lines are no JSON as a whole: read each by itself. The error of a single line stands.
        lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
        if "is no JSON" not in str(error) or len(lines) < 2:
            raise
        return [parsed_json(line, f"{place}, line {i}") for i, line in lines]
    return value if isinstance(value, list) else [value]


def _object(pairs: list[tuple[str, Any]], place: str) -> dict[str, Any]:
    """Return the entries of a JSON object as a dictionary; ValueError if a key stands twice."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{place} has the key {repeated[:40]!r} twice; leave out what is not to be read")
    return entries


def _line(path: Path, line: bytes, number: int, most: int) -> str:
    """Return the text of one line; ValueError if it is too long or no UTF-8."""
    if len(line) > most:
        raise ValueError(f"{path.name}, line {number} has {len(line)} bytes, more than the {most} that are read")
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path.name}, line {number} is not UTF-8 text; save the file as UTF-8 text") from None


def _chunks(path: Path, most: int | None) -> Iterator[bytes]:
    """Yield a file piece by piece, until its end or the first piece beyond `most` bytes."""
    # Refuse what is no file: a folder, or a device that may have no end.
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    # Without O_NONBLOCK, opening a pipe would wait for somebody who writes to it.
    handle = os.open(path, os.O_RDONLY | (os.O_NONBLOCK if POSIX else 0))
    with os.fdopen(handle, "rb", buffering=0) as file:
        state = os.fstat(handle)
        if stat.S_ISBLK(state.st_mode) or (stat.S_ISCHR(state.st_mode) and not _may_end(handle)):
            raise ValueError(f"{path} is a device, which may have no end; expected a file")
        if most is not None and stat.S_ISREG(state.st_mode) and state.st_size > most:
            raise ValueError(f"{path.name} has {state.st_size} bytes; {most} at most are read")
        if stat.S_ISFIFO(state.st_mode) and POSIX:
            yield _first_byte(handle, path)
            os.set_blocking(handle, True)
        # Read the file, beyond the limit by one piece at most: the caller sees that it was
        # exceeded.
        size = 0
        while (chunk := file.read(CHUNK)) and (most is None or size <= most):
            size += len(chunk)
            yield chunk


def _may_end(handle: int) -> bool:
    """Return whether a character device is a terminal, or the one that is always empty."""
    return os.isatty(handle) or os.path.samestat(os.fstat(handle), os.stat(os.devnull))


def _first_byte(handle: int, path: Path) -> bytes:
    """Wait for a writer of a pipe, and return the bytes read meanwhile; ValueError if none comes.

    A read of an empty pipe raises BlockingIOError if there is a writer, and returns b"" if there is
    none.
    """
    try:
        start = os.read(handle, 1)
    except BlockingIOError:
        return b""
    poll = select.poll()
    poll.register(handle, select.POLLIN | select.POLLHUP)
    if not start and not poll.poll(PIPE_WAIT):
        raise ValueError(f"{path} is a pipe that nobody writes to; expected a file")
    return start
