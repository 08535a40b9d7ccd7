"""Devices and number formats of torch by name."""

from __future__ import annotations

import torch

from real.models.names import check_dtype


def parse_device(name: str) -> str:
    """A torch device that this machine has."""
    try:
        torch.zeros(1, device=name).item()  # a device without values, such as meta, is none to run on
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return name


def parse_dtype(name: str) -> torch.dtype:
    """A float type by name."""
    found: torch.dtype = getattr(torch, check_dtype(name))
    return found
