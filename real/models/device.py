"""Devices, number formats and weights in few bits by name."""

from __future__ import annotations

import torch

from specsim.base import check

WEIGHTS = ("int8", "int4")


def parse_device(name: str) -> str:
    """A torch device that this machine has."""
    try:
        torch.zeros(1, device=name).item()  # a device without values, such as meta, is none to run on
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return name


def parse_dtype(name: str) -> torch.dtype:
    """A float type by name."""
    known = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if name not in known:
        raise ValueError(f"dtype {name!r} is unknown; known: {', '.join(known)}")
    return known[name]


def parse_weights(name: str) -> str | None:
    """What the projections of a target are rounded to; None for "", as they are."""
    if not isinstance(name, str) or (name and name not in WEIGHTS):
        raise ValueError(f"weights {check.shown(name)} is unknown; known: {', '.join(WEIGHTS)}")
    return name or None
