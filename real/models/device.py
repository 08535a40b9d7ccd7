"""Devices and number formats of torch by name."""

from __future__ import annotations

import torch

from real.models.names import check_dtype
from specsim.base.unknown import unknown

# Devices that an error names; cuda:1 is the second of a kind.
KINDS = ("cpu", "cuda", "cuda:1", "mps", "xpu")


def parse_device(name: str) -> str:
    """Return the name of a torch device; ValueError if this machine does not have it."""
    try:
        # A device without values, such as meta, cannot run a model.
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        # For a name that it does not know, torch lists the devices of all of its builds.
        if "Expected one of" in str(error):
            raise unknown("device", name, KINDS) from None
        raise ValueError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return name


def parse_dtype(name: str) -> torch.dtype:
    """Return the float type of this name; ValueError for any other name."""
    dtype: torch.dtype = getattr(torch, check_dtype(name))
    return dtype
