"""Calls of a function that a CUDA graph cannot capture, listed on a machine without a GPU.

The function runs on tensors that have shapes and the device "cuda", but no numbers (torch's fake tensors). Every call
below autograd is seen, and named if it waits for the device, copies between host and device, or has a result whose
shape depends on values.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import array_api_compat

from specsim.base import check, extras, held

__all__ = ["Violation", "check_capture", "count_kernels"]
Calls = Callable[[], tuple[Any, ...]]


class Violation(NamedTuple):
    """A call that a capture would refuse, why, and the line that made it.

    call: name of the call of aten, or of the exception that ended the run. where: file and line of the innermost frame
    outside torch and array-api-compat.
    """

    call: str
    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.where}: {self.call} {self.reason}"


def check_capture(function: Callable[..., Any], make_arguments: Calls, warm: bool = True) -> list[Violation]:
    """List what would keep a CUDA graph from capturing a call of a function; needs no GPU.

    Not seen: alignment and dtypes that kernels refuse, libraries that set themselves up in their first call, memory
    pools, and addresses that have changed when a graph is replayed. Numbers are not computed: a branch on one is named,
    not followed.

    Parameters
    ----------
    function : callable
        What would be captured.
    make_arguments : callable
        Makes its arguments, as a tuple; tensors are to be made inside it, of device "cuda".
    warm : bool
        Run once before it is watched, as before a real capture: what is copied once is there then.

    Returns
    -------
    list of Violation
        Each once, in the order found; empty if a graph can hold the call.

    Raises
    ------
    ImportError
        torch is not installed.
    TypeError
        An argument is no callable, or the arguments made are no tuple.
    Exception
        What the function itself raises, unless a violation explains it.

    References
    ----------
    What a capture refuses: the CUDA programming guide on stream capture, and torch's notes on CUDA graphs.

    Examples
    --------
    >>> import torch
    >>> def positive(x):
    ...     return x[x > 0]
    >>> violations = check_capture(positive, lambda: (torch.empty(3, device="cuda"),))
    >>> [(violation.call, violation.reason) for violation in violations]
    [('aten.index', 'has an index of bools: the shape of its result is data')]
    """
    violations, _ = _watched(function, make_arguments, warm)
    return violations


def count_kernels(function: Callable[..., Any], make_arguments: Calls) -> int:
    """Count the kernels that a call of a function launches: calls of aten that are no views.

    Parameters
    ----------
    function, make_arguments : callable
        As for `check_capture`.

    Returns
    -------
    int
        Kernels; a library may fuse some, or split one.

    Raises
    ------
    ValueError
        The call could not be captured (says what stands in the way).
    ImportError, TypeError, Exception
        As for `check_capture`.

    References
    ----------
    As for `check_capture`.

    Examples
    --------
    >>> import torch
    >>> count_kernels(lambda x: (x + 1)[:2] * 2, lambda: (torch.empty(3, device="cuda"),))
    2
    """
    violations, calls = _watched(function, make_arguments, True)
    if violations:
        raise ValueError(f"the call cannot be captured: {violations[0]}")
    return calls.total()


def _watched(function: Callable[..., Any], make_arguments: Calls, warm: bool) -> tuple[list[Violation], Counter[str]]:
    """Run a function on fake tensors; return the violations, and the calls of aten that launch kernels."""
    with extras.needed("check_capture"):
        import torch
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensorMode,
    )

    from real.decode.fake_indexing import indexing
    from real.decode.fake_methods import method_guard, synchronising

    for name, value in (("function", function), ("make_arguments", make_arguments)):
        if not callable(value):
            raise TypeError(f"{name} must be callable, got {check.shown(value)}")
    violations: dict[Violation, None] = {}
    kernels: Counter[str] = Counter()

    def say(call: str, reason: str) -> None:
        """Note a violation, once for each place."""
        violations.setdefault(Violation(call, reason, _line(traceback.extract_stack())))

    # Copies of an earlier call are on another pretended device.
    held.forget()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            with indexing(lambda call, reason: None):
                arguments = make_arguments()
                if not isinstance(arguments, tuple):
                    raise TypeError(f"make_arguments must return a tuple, got {check.shown(arguments)}")
                # An error comes again below, and is explained there.
                if warm:
                    with suppress(Exception):
                        function(*arguments)
            # The call that is watched.
            with _guard(torch, say, kernels), indexing(say), method_guard(torch, say), synchronising(torch, say):
                function(*arguments)
    except Exception as error:
        # A call whose result depends on values ends the run: it is a violation itself.
        asks = isinstance(error, (DataDependentOutputException, DynamicOutputShapeException))
        if not violations and not asks:
            raise
        if not violations:
            where = _line(traceback.extract_tb(error.__traceback__))
            violations[Violation(type(error).__name__, "depends on values", where)] = None
    finally:
        held.forget()
    return list(violations), kernels


def _guard(torch: Any, say: Callable[[str, str], None], kernels: Counter[str]) -> Any:
    """A mode that reports calls of aten that a capture would refuse, and counts the kernels."""
    from torch.utils._python_dispatch import TorchDispatchMode

    aten = torch.ops.aten
    waits = {aten._local_scalar_dense, aten.equal, aten.is_nonzero, aten.item}
    shapes = {aten.nonzero, aten.masked_select, aten._unique2, aten.unique_dim, aten.unique_consecutive}
    shapes |= {aten.bincount, aten.argwhere, aten.repeat_interleave}
    copies, indices = {aten._to_copy, aten.copy_}, {aten.index, aten._unsafe_index, aten.index_put, aten.index_put_}

    class Guard(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            packet, tensors = func.overloadpacket, list(_tensors(torch, [args, kwargs]))
            # Operands of no dimensions are arguments of a kernel, wherever they lie.
            devices = {t.device.type for t in tensors if t.ndim or t.device.type != "cpu"}
            name = f"aten.{packet._qualified_op_name.partition('::')[2]}"
            on_device = "cuda" in devices
            if packet in waits and on_device:
                say(name, "waits for the device")
            elif packet in shapes and on_device and kwargs.get("output_size") is None:
                say(name, "has a result whose shape is data")
            elif packet in copies:
                goal = kwargs.get("device")
                ends = devices | ({torch.device(goal).type} if goal is not None else set())
                if len(ends) > 1:
                    say(name, "copies between host and device")
            elif packet in indices:
                _check_index(torch, name, args[0], [i for i in args[1] if i is not None], say)
            elif len(devices) > 1:
                say(name, "mixes tensors of host and device")
            if on_device and func.namespace == "aten" and not _is_view(func):
                kernels[name] += 1
            return func(*args, **kwargs)

    return Guard()  # type: ignore[no-untyped-call]


def _check_index(torch: Any, name: str, x: Any, indices: list[Any], say: Callable[[str, str], None]) -> None:
    """Report indices whose values decide a shape, or that are on the host."""
    for i in indices:
        if i.dtype in (torch.bool, torch.uint8):
            say(name, "has an index of bools: the shape of its result is data")
        if i.device.type == "cpu" and x.device.type == "cuda":
            say(name, "has an index from the host")


def _is_view(func: Any) -> bool:
    """Return whether a call launches no kernel: its result shares memory with an argument, or is not written yet."""
    name, returns = func._schema.name, func._schema.returns
    if name.startswith(("aten::empty", "aten::new_empty", "aten::lift", "aten::detach", "aten::_unsafe_view")):
        return True
    info = returns[0].alias_info if returns else None
    return info is not None and not info.is_write


def _tensors(torch: Any, value: Any) -> Iterator[Any]:
    """Yield the tensors in nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(torch, list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(torch, each)


def _line(frames: traceback.StackSummary) -> str:
    """Return file and line of the innermost frame that is not in a library."""
    torch_folder = str(Path(sys.modules["torch"].__file__ or "").parent)
    passed = (
        torch_folder,
        str(Path(array_api_compat.__file__).parent),
        __file__,
        __file__.replace("capture", "fake_indexing"),
        __file__.replace("capture", "fake_methods"),
    )
    ours = [f for f in frames if not f.filename.startswith((*passed, "<frozen"))]
    frame = ours[-1] if ours else frames[-1]
    return f"{frame.filename}:{frame.lineno}"
