"""Checks of single values, one number or one record, and how a value is written in a message."""

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
    """Return a Python int from `minimum` to `most`; TypeError or ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {shown(value)}")
    if value > most:
        raise ValueError(f"{name} is {shown(value)}; the largest that is sensible is {most}")
    return int(value)


def scalar(value: Any, name: str, allowed: str) -> Any:
    """Return one number inside an interval such as "(0, 1]"; rationals stay exact, others become float."""
    if is_array_api_obj(value) and value.shape == ():
        if isinstance(value, np.ndarray):
            value = unmasked(value, name)
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be one number, got {shown(value)}")
    # Rationals stay exact, as long as they are in the range of floats.
    try:
        value = value if isinstance(value, Rational) and math.isfinite(float(value)) else float(value)
    except OverflowError:
        raise ValueError(f"{name} is {shown(value)}, which is beyond the range of floats") from None
    # A parenthesis leaves the end of the interval out, a bracket has it.
    low, high = (float(end) for end in allowed[1:-1].split(","))
    is_above = value > low if allowed[0] == "(" else value >= low
    is_below = value < high if allowed[-1] == ")" else value <= high
    if not (is_above and is_below):
        raise ValueError(f"{name} is {value}; it must lie in {allowed}")
    return value


def text(value: Any, name: str) -> tuple[Any, ...]:
    """Return a text as a tuple of its tokens; TypeError for None, a string, or what has no order."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} must be a text (a tuple of token ids), got {shown(value)}")
    return tuple(value)


def record(value: Any, name: str, kind: type[Kind]) -> Kind:
    """Return the value if it is a record of that kind; TypeError otherwise."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {shown(value)}")
    return value


def shown(value: Any) -> str:
    """Return a value as a message shows it: on one line of at most 80 characters."""
    # An entry of an array of texts is a text to the user.
    if isinstance(value, (np.str_, np.bytes_)):
        value = value.item()
    # Python refuses to write thousands of digits.
    is_huge = isinstance(value, int) and abs(value) > 1 << 99
    text = f"an integer of {value.bit_length()} bits" if is_huge else repr(value)
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def unmasked(value: Array, name: str) -> Array:
    """Return a NumPy array without a mask; TypeError where an entry is masked."""
    # The type is asked first: numpy.ma takes time to import.
    if type(value) is np.ndarray or not isinstance(value, np.ma.MaskedArray):
        return value
    mask = np.ma.getmaskarray(value)
    if mask.any():
        raise TypeError(f"{name}{first_bad(mask, mask)[0]} is masked; give a number there (numpy.ma.filled)")
    return value.data


def first_bad(w: Array, bad: Array) -> tuple[str, Any]:
    """Return the index (as text, e.g. "[0][2]") and the value of the first entry of w where `bad` is true."""
    bad = np.asarray(bad.cpu() if hasattr(bad, "cpu") else bad)
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    entry = w[where] if where else w
    entry = entry.item() if hasattr(entry, "item") else entry
    return ("".join(f"[{i}]" for i in where), entry)
