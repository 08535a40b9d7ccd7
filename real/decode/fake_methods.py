"""Methods of tensors that need a device, on fake tensors, which only pretend to be on one.

`int(x)`, `x.cuda()` and their like start CUDA before any call of aten, so that a watch on aten does not see them; on a
machine without a GPU they end in an error of torch. Here each is named, as a wait or a copy; a move to the device where
a tensor lies already is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_NUMBERS = {"__int__", "__float__", "__complex__", "__index__", "__bool__", "item", "tolist", "numpy"}
_WORDS = {"__repr__", "__str__", "__format__"}
_MOVES = {"cuda", "cpu", "to"}
WAITS, COPIES = "waits for the device", "copies between host and device"


def method_guard(torch: Any, say: Callable[[str, str], None]) -> Any:
    """A mode that reports the methods above: `say` receives the call and the reason."""
    from torch.overrides import TorchFunctionMode

    class Methods(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = getattr(func, "__name__", "")
            tensor = args[0] if args and isinstance(args[0], torch.Tensor) else None
            if tensor is None or name not in _NUMBERS | _WORDS | _MOVES:
                return func(*args, **kwargs)
            # Words and moves are carried out without the device.
            on_device = tensor.device.type == "cuda"
            if on_device and name in _WORDS:
                say(f"Tensor.{name}", WAITS)
            if on_device and name in ("cuda", "to"):
                args, kwargs = _without_cuda(torch, name, args, kwargs)
                if name == "cuda" or (len(args) == 1 and not kwargs):
                    return tensor
            # Numbers need it: torch's error says so.
            try:
                return func(*args, **kwargs)
            except (RuntimeError, AssertionError) as error:
                if "cuda" in str(error).lower():
                    say(f"Tensor.{name}", COPIES if name in _MOVES else WAITS)
                raise

    return Methods()


def _without_cuda(torch: Any, name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Return the arguments of a move without the device on which the tensor is already."""

    def is_cuda(value: Any) -> bool:
        """Return whether an argument names a GPU."""
        return isinstance(value, (str, torch.device)) and torch.device(value).type == "cuda"

    other_keywords = {key: value for key, value in kwargs.items() if not (key == "device" and is_cuda(value))}
    return tuple(value for value in args if not is_cuda(value)), other_keywords


@contextmanager
def synchronising(torch: Any, say: Callable[[str, str], None]) -> Iterator[None]:
    """Report calls of `torch.cuda.synchronize` instead of making them."""
    honest = torch.cuda.synchronize
    torch.cuda.synchronize = lambda device=None: say("torch.cuda.synchronize", WAITS)
    try:
        yield
    finally:
        torch.cuda.synchronize = honest
