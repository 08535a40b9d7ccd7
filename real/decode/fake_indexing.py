"""x[...] and x[...] = v on fake tensors, by calls of aten.

On a build of torch without CUDA the C++ of both asks for a driver, even for fake tensors, which only pretend to be on a
device. Here they become the calls that they would have made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

aten = torch.ops.aten
# Other functions that ask for a driver.
_ALSO = {
    Tensor.__invert__: aten.bitwise_not.default,
    Tensor.copy_: aten.copy_.default,
    Tensor.nonzero: aten.nonzero.default,
    torch.nonzero: aten.nonzero.default,
}
# Receives a call, and why a capture would refuse it.
Say = Callable[[str, str], None]


def indexing(say: Say) -> TorchFunctionMode:
    """A mode in which fake tensors can be indexed; it reports data that is copied to the device to `say`."""

    class Indexing(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func is Tensor.__getitem__:
                view, index = _applied(args[0], args[1], say)
                return aten.index.Tensor(view, index) if index else view
            if func is Tensor.__setitem__:
                return _set(args[0], args[1], args[2], say)
            if func in _ALSO:
                return _ALSO[func](*args, **kwargs)
            # Numbers that go to the host, and data that goes to the device.
            if func in (Tensor.tolist, Tensor.numpy, Tensor.__array__):
                say(f"Tensor.{func.__name__}", "waits for the device: its numbers go to the host")
            made = func in (torch.tensor, torch.as_tensor, torch.asarray) and not isinstance(args[0], Tensor)
            if made and torch.device(kwargs.get("device") or "cpu").type == "cuda":
                say(f"torch.{func.__name__}", "copies between host and device")
            return func(*args, **kwargs)

    return Indexing()


def _set(x: Tensor, key: Any, value: Any, say: Say) -> None:
    """Carry out x[key] = value."""
    view, index = _applied(x, key, say)
    if not isinstance(value, Tensor):
        value = torch.full((), value, dtype=view.dtype, device=view.device)
    if index:
        aten.index_put_.default(view, index, value)
    else:
        aten.copy_.default(view, value)


def _applied(x: Tensor, key: Any, say: Say) -> tuple[Tensor, list[Tensor | None]]:
    """The view that the slices, numbers and new axes of a key make, and the indices that are left to gather from it."""
    # Each part of the key takes one axis of x, but None, numbers and masks.
    view, axis, index = x, 0, dict[int, Tensor]()
    for k in _whole(x, key):
        if k is None:
            view = aten.unsqueeze.default(view, axis)
            axis += 1
        elif isinstance(k, (int, np.integer)) and not isinstance(k, bool):
            view = aten.select.int(view, axis, int(k))
        elif isinstance(k, slice):
            if (k.start, k.stop, k.step) != (None, None, None):
                stop = sys.maxsize if k.stop is None else k.stop
                view = aten.slice.Tensor(view, axis, k.start or 0, stop, k.step or 1)
            axis += 1
        else:
            where = torch.as_tensor(k)
            if where.ndim == 0 and where.dtype != torch.bool and where.device.type == "cuda":
                say("aten.item", "waits for the device: an index of no dimensions is read as a number")
            index[axis] = where
            axis += where.ndim if where.dtype == torch.bool else 1
    return view, [index.get(i) for i in range(max(index) + 1)] if index else []


def _whole(x: Tensor, key: Any) -> list[Any]:
    """The parts of a key, with ... written out as slices."""
    if isinstance(key, list) and not any(k is None or isinstance(k, (slice, Tensor)) or k is Ellipsis for k in key):
        key = (torch.tensor(key),)
    key = key if isinstance(key, tuple) else (key,)
    masks = [k.ndim for k in key if isinstance(k, Tensor) and k.dtype == torch.bool]
    used = sum(masks) + sum(k is not None and k is not Ellipsis for k in key) - len(masks)
    parts: list[Any] = []
    for k in key:
        parts += [slice(None)] * (x.ndim - used) if k is Ellipsis else [k]
    return parts
