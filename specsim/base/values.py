"""The front door for single values: one number, one record; and how a value is written in a message."""

from __future__ import annotations

import math
from numbers import Rational, Real
from typing import Any, TypeVar

import numpy as np
from array_api_compat import is_array_api_obj

from specsim.base import limits
from specsim.types import Array

Kind = TypeVar("Kind")


def integer(value: Any, name: str, minimum: int, most: int = limits.MAX_INTEGER) -> int:
    """A Python int from `minimum` to `most`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {shown(value)}")
    if value > most:
        raise ValueError(f"{name} is {shown(value)}; the largest that is sensible is {most}")
    return int(value)


def scalar(value: Any, name: str, allowed: str) -> Any:
    """One number inside an interval written as in mathematics, "(0, 1]"; rationals stay exact, others become float."""
    if is_array_api_obj(value) and value.shape == ():
        value = (unmasked(value, name) if isinstance(value, np.ndarray) else value).item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be one number, got {shown(value)}")
    try:
        value = value if isinstance(value, Rational) and math.isfinite(float(value)) else float(value)
    except OverflowError:
        raise ValueError(f"{name} is {shown(value)}, which is beyond the range of floats") from None
    low, high = (float(end) for end in allowed[1:-1].split(","))
    above = value > low if allowed[0] == "(" else value >= low
    below = value < high if allowed[-1] == ")" else value <= high
    if not (above and below):
        raise ValueError(f"{name} is {value}; it must lie in {allowed}")
    return value


def record(value: Any, name: str, kind: type[Kind]) -> Kind:
    """A record of the kind that is asked for."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {shown(value)}")
    return value


def shown(value: Any) -> str:
    """How a value is written in a message: on one line, and not at any length."""
    if isinstance(value, (np.str_, np.bytes_)):  # an entry of an array of texts: to the user a text
        value = value.item()
    huge = isinstance(value, int) and abs(value) > 1 << 99  # Python refuses to write thousands of digits
    text = f"an integer of {value.bit_length()} bits" if huge else repr(value)
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def unmasked(value: Array, name: str) -> Array:
    """A NumPy array without a mask; TypeError where an entry is masked."""
    if type(value) is np.ndarray or not isinstance(value, np.ma.MaskedArray):  # numpy.ma takes time to import
        return value
    mask = np.ma.getmaskarray(value)
    if mask.any():
        raise TypeError(f"{name}{first_bad(mask, mask)[0]} is masked; give a number there (numpy.ma.filled)")
    return value.data


def first_bad(w: Array, bad: Array) -> tuple[str, Any]:
    """Index (as text) and value of the first entry where bad."""
    bad = np.asarray(bad.cpu() if hasattr(bad, "cpu") else bad)
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    entry = w[where] if where else w
    entry = entry.item() if hasattr(entry, "item") else entry
    return ("".join(f"[{i}]" for i in where), entry)
