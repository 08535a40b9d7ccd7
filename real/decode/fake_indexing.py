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
    """Return a mode in which fake tensors can be indexed; it reports data that is copied to the device to `say`."""

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
    """Apply the slices, numbers and new axes of a key; return the view, and the tensors left to index it with.

    The list has a tensor or None for each axis of the view, up to the last tensor; it is empty
    without one. So x[2, :, i] is x[2] with the list [None, i].
    """
    # `axis` is the one of the view that the next part of the key stands for.
    view, axis, tensors = x, 0, dict[int, Tensor]()
    for part in _whole(x, key):
        if part is None:
            view = aten.unsqueeze.default(view, axis)
            axis += 1
        # A number takes its axis out of the view, so that the next part has the same place.
        elif isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            view = aten.select.int(view, axis, int(part))
        elif isinstance(part, slice):
            if (part.start, part.stop, part.step) != (None, None, None):
                stop = sys.maxsize if part.stop is None else part.stop
                view = aten.slice.Tensor(view, axis, part.start or 0, stop, part.step or 1)
            axis += 1
        # A tensor of numbers stands for one axis, a mask for as many as it has itself.
        else:
            tensor = torch.as_tensor(part)
            is_mask = tensor.dtype == torch.bool
            if tensor.ndim == 0 and not is_mask and tensor.device.type == "cuda":
                say("aten.item", "waits for the device: an index of no dimensions is read as a number")
            tensors[axis] = tensor
            axis += tensor.ndim if is_mask else 1
    if not tensors:
        return view, []
    return view, [tensors.get(i) for i in range(max(tensors) + 1)]


def _whole(x: Tensor, key: Any) -> list[Any]:
    """Return the parts of a key as a list, in which slices of whole axes stand for `...`."""
    # A list of numbers is a tensor of them.
    if isinstance(key, list) and not any(k is None or isinstance(k, (slice, Tensor)) or k is Ellipsis for k in key):
        key = (torch.tensor(key),)
    key = key if isinstance(key, tuple) else (key,)
    # Axes of x that the other parts stand for: none for None, for a mask its own, else one.
    masks = [part.ndim for part in key if isinstance(part, Tensor) and part.dtype == torch.bool]
    num_parts = sum(part is not None and part is not Ellipsis for part in key)
    used = sum(masks) + num_parts - len(masks)
    parts: list[Any] = []
    for part in key:
        parts += [slice(None)] * (x.ndim - used) if part is Ellipsis else [part]
    return parts
