"""Metadata and tensor table of a GGUF file, read without its weights; every count is checked against the file's size.

The format is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MAGIC = b"GGUF"
VERSIONS = (2, 3)
# NumPy types of the format's types of values, by their number; 8 is text, 9 an array.
NUMBERS = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?", 10: "<u8", 11: "<i8", 12: "<f8"
}  # fmt: skip
TEXT, ARRAY = 8, 9
# Types of tensors by their number: name, weights of a block, bytes of a block.
TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 20: ("IQ4_NL", 32, 18),
    23: ("IQ4_XS", 256, 136), 30: ("BF16", 1, 2), 39: ("MXFP4", 32, 17),
}  # fmt: skip
# The most texts of one array, which no vocabulary exceeds, and the most dimensions of a tensor.
MOST_TEXTS = 2_000_000
MOST_DIMENSIONS = 4
# The most characters of a name: the format allows 64.
MOST_NAME = 128


class GgufTensor(NamedTuple):
    """A tensor of the file: its shape, with the longest stride first, its type, first byte and number of bytes."""

    shape: tuple[int, ...]
    type_name: str
    start: int
    size: int


class GgufHeader(NamedTuple):
    """Metadata and tensors of a GGUF file, without its weights."""

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, GgufTensor]


def is_gguf(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is named as a GGUF file.

    >>> is_gguf("SmolLM2-135M-Instruct.Q4_1.gguf"), is_gguf("smollm2")
    (True, False)
    """
    return os.fspath(path).endswith(".gguf")


def read_header(path: str | os.PathLike[str]) -> GgufHeader:
    """Return metadata and tensors of a GGUF file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    GgufHeader
        Texts as str, numbers as int, float or bool, arrays as lists of texts or NumPy arrays.

    Raises
    ------
    ValueError
        The file is missing, is no GGUF file, has another version, is truncated, or contradicts itself.
    """
    where = Path(path)
    try:
        with where.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _header(where, data)
    except OSError as error:
        raise ValueError(f"{where} cannot be read: {error.strerror}") from None
    except ValueError as error:
        # An empty file cannot be mapped.
        reason = "it is empty" if "empty file" in str(error) else str(error)
        raise ValueError(f"{where} is no usable GGUF file: {reason}") from None


class _Reader:
    """A position in the file, in bytes, that moves on with each value that is read.

    Methods take `what`, words for errors that say what is read.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at = data, 0

    def take(self, size: int, what: str) -> bytes:
        """Return the next `size` bytes; ValueError where the file ends before."""
        if size > len(self.data) - self.at:
            raise ValueError(f"it ends inside {what} (byte {len(self.data)}); it is truncated or damaged")
        taken = self.data[self.at : self.at + size]
        self.at += size
        return taken

    def integer(self, what: str, form: str = "<Q") -> int:
        """Return the next whole number, in a form of `struct`: 8 bytes by default."""
        (number,) = struct.unpack(form, self.take(struct.calcsize(form), what))
        return int(number)

    def text(self, what: str) -> str:
        """Return the next text, which is preceded by its length."""
        try:
            return self.take(self.integer(what), what).decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{what} is not UTF-8; the file is damaged") from None

    def name(self, what: str) -> str:
        """Return the next text if it can be a name; ValueError otherwise, since errors show names."""
        text = self.text(what)
        if len(text) > MOST_NAME or not text.isprintable():
            raise ValueError(f"{what} is {text!r:.40}, no name; the file is damaged")
        return text

    def value(self, what: str) -> Any:
        """Return the next value of the metadata, which is preceded by its type."""
        kind = self.integer(what, "<I")
        return self._array(what) if kind == ARRAY else self._scalar(kind, what)

    def _scalar(self, kind: int, what: str) -> Any:
        """Return the next text or number of this type."""
        if kind == TEXT:
            return self.text(what)
        if kind not in NUMBERS:
            raise ValueError(f"{what} has the unknown type {kind}")
        dtype = np.dtype(NUMBERS[kind])
        (number,) = np.frombuffer(self.take(dtype.itemsize, what), dtype).tolist()
        return number

    def _array(self, what: str) -> Any:
        """Return the next array, a list of texts or an array of numbers."""
        kind, count = self.integer(what, "<I"), self.integer(what)
        if kind == TEXT:
            if count > MOST_TEXTS:
                raise ValueError(f"{what} has {count} texts, more than {MOST_TEXTS}; the file is damaged")
            return [self.text(f"{what}[{i}]") for i in range(count)]
        if kind not in NUMBERS:
            raise ValueError(f"{what} is an array of the unknown type {kind}")
        dtype = np.dtype(NUMBERS[kind])
        return np.frombuffer(self.take(count * dtype.itemsize, what), dtype)


def _header(path: Path, data: mmap.mmap) -> GgufHeader:
    """Return the header of a file that is mapped into memory."""
    reader = _Reader(data)

    # Magic word, version and counts.
    magic = reader.take(4, "its first word")
    if magic != MAGIC:
        raise ValueError(f"it begins with {magic!r}, not with {MAGIC!r}")
    version = reader.integer("its version", "<I")
    if version not in VERSIONS:
        raise ValueError(f"it has version {version}; versions 2 and 3, little-endian, are read")
    tensor_count, pair_count = reader.integer("its counts"), reader.integer("its counts")

    # Metadata.
    metadata: dict[str, Any] = {}
    for i in range(pair_count):
        name = reader.name(f"name {i} of its metadata")
        metadata[name] = reader.value(name)

    # The table of tensors; offsets count from the first aligned byte behind it.
    entries = dict(_entry(reader, i) for i in range(tensor_count))
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"general.alignment is {alignment!r}, no positive whole number")
    weights_start = math.ceil(reader.at / alignment) * alignment
    tensors = {name: tensor._replace(start=weights_start + tensor.start) for name, tensor in entries.items()}

    # All of them lie within the file.
    for name, tensor in tensors.items():
        if tensor.start + tensor.size > len(data):
            raise ValueError(f"it ends inside tensor {name} (byte {len(data)}); it is truncated or damaged")
    return GgufHeader(path, metadata, tensors)


def _entry(reader: _Reader, i: int) -> tuple[str, GgufTensor]:
    """Return name and tensor of the table's next entry; its start counts from the first tensor."""
    # Name, and the shape, which the file has from the shortest stride to the longest.
    name = reader.name(f"name of tensor {i}")
    dimensions = reader.integer(name, "<I")
    if dimensions > MOST_DIMENSIONS:
        raise ValueError(f"tensor {name} has {dimensions} dimensions; the file is damaged")
    sizes = [reader.integer(name) for _ in range(dimensions)]
    shape = tuple(reversed(sizes))

    # Type and start; a tensor is stored in blocks of weights, each within one row.
    kind, start = reader.integer(name, "<I"), reader.integer(name)
    if kind not in TYPES:
        raise ValueError(f"tensor {name} has the unknown type {kind}")
    type_name, block, block_bytes = TYPES[kind]
    if shape and shape[-1] % block:
        raise ValueError(f"tensor {name} has rows of {shape[-1]} weights, no multiple of {block} as {type_name} has")
    num_blocks = math.prod(shape) // block
    return name, GgufTensor(shape, type_name, start, num_blocks * block_bytes)
