"""Stand-ins that a program holds for random numbers: uniforms fork at comparisons, races at argmax.

A uniform may be scaled by non-negative numbers, taken the logarithm of and shifted there, reshaped,
indexed, and compared with numbers. An array of exponentials may divide weights, of which the argmax
is taken: index i has probability weight i over their sum. Other uses are refused.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np

from specsim.forking.programs import operators
from specsim.forking.programs.library_arrays import in_library
from specsim.forking.programs.script import NotScriptable, Script
from specsim.types import Array

# Types of so few bits that rounding a uniform to them changes its law.
LOW = ("float16", "bfloat16", "half")


def is_tensor(value: Any) -> bool:
    """Return whether a value is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def numbers(script: Script, value: Any) -> Array:
    """Return plain numbers as float64; refuse anything that holds a stand-in."""
    if isinstance(value, StandIn):
        script.refuse("two random numbers in one operation")
    if is_tensor(value):
        return value.detach().cpu().double().numpy()
    array = np.asarray(value)
    if array.dtype == object:
        if any(isinstance(entry, StandIn) for entry in array.ravel()):
            script.refuse("two random numbers in one operation")
        return array.astype(np.float64)
    return array.astype(np.float64)


class StandIn:
    """An array of cells, each a number of the script, seen through factors; of the shape of the program's array."""

    # Which function of the numbers the array holds; 0: the numbers.
    _form = 0

    def __init__(self, script: Script, cells: Array, factor: Array, library: str) -> None:
        self._script, self._cells, self._factor, self._library = script, cells, factor, library
        script.held = True

    def _with(self, cells: Array, factor: Array, library: str = "") -> Self:
        """Return an array of the same form with these cells and factors."""
        array = type(self)(self._script, cells, factor, library or self._library)
        array._form = self._form
        return array

    def _shaped(self, change: Callable[..., Array]) -> Any:
        """Return the array with its cells and factors reshaped, indexed or copied alike."""
        return self._with(np.asarray(change(self._cells)), np.asarray(change(self._factor)))

    def _refuse(self, what: str) -> NoReturn:
        """Refuse the program, and say what it did with which random numbers."""
        self._script.refuse(f"{type(self).__name__.lower().strip('_')}: {what}")

    # Methods and attributes that a program may ask of any array.
    shape = property(lambda self: self._cells.shape)
    ndim = property(lambda self: self._cells.ndim)
    T = property(lambda self: self._shaped(np.transpose))

    @property
    def dtype(self) -> Any:
        return sys.modules["torch"].float32 if self._library == "torch" else np.dtype(np.float64)

    @property
    def device(self) -> Any:
        return sys.modules["torch"].device("cpu") if self._library == "torch" else "cpu"

    @property
    def is_cuda(self) -> bool:
        return False

    def dim(self) -> int:
        return int(self._cells.ndim)

    def numel(self) -> int:
        return int(self._cells.size)

    def size(self, axis: int | None = None) -> Any:
        return self._cells.shape if axis is None else self._cells.shape[axis]

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        parts = tuple(_plain(part) for part in index) if isinstance(index, tuple) else _plain(index)
        if isinstance(index, StandIn):
            self._refuse("used as an index")
        return self._shaped(operator.itemgetter(parts))

    def reshape(self, *shape: Any) -> Any:
        # A view as another type would be of its bits.
        if not all(isinstance(size, int | np.integer) for size in _sizes(shape)):
            self._refuse(f"reshaped to {shape}")
        return self._shaped(lambda w: w.reshape(*_sizes(shape)))

    view = reshape

    def flatten(self, *ends: Any) -> Any:
        if ends not in ((), (0,), (0, -1), ("C",)):
            self._refuse(f"flattened with {ends}")
        return self._shaped(np.ravel)

    ravel = flatten

    def squeeze(self, axis: int | None = None, dim: int | None = None) -> Any:
        where = axis if dim is None else dim
        if where is not None and self._cells.shape[where] != 1:
            return self
        return self._shaped(lambda w: np.squeeze(w, where))

    def unsqueeze(self, dim: int) -> Any:
        return self._shaped(lambda w: np.expand_dims(w, dim))

    def expand(self, *shape: Any) -> Any:
        sizes = _sizes(shape)
        pad = (1,) * (len(sizes) - self.ndim) + self._cells.shape
        wanted = tuple(old if new == -1 else new for new, old in zip(sizes, pad, strict=True))
        return self._shaped(lambda w: np.broadcast_to(w, wanted))

    def transpose(self, *axes: Any) -> Any:
        swap = len(axes) == 2 and self._library == "torch"
        return self._shaped(lambda w: np.swapaxes(w, *axes) if swap else np.transpose(w, *axes))

    def gather(self, dim: int, index: Any) -> Any:
        places = np.asarray(index)
        part = [slice(None) if axis == dim % self.ndim else slice(n) for axis, n in enumerate(places.shape)]
        return self._shaped(lambda w: np.take_along_axis(w[tuple(part)], places, dim))

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:
        return tuple(self._shaped(partial(np.take, indices=i, axis=dim)) for i in range(self._cells.shape[dim]))

    def to(self, *args: Any, **kwargs: Any) -> Any:
        # A conversion to few bits changes the law; one to integers takes whole parts.
        for value in (*args, *kwargs.values()):
            if any(str(value).endswith(name) for name in LOW):
                self._refuse(f"rounded to {value}")
            if str(value).startswith(("torch.int", "torch.bool", "torch.long", "torch.uint")) or value in (int, bool):
                return in_library(self._whole(), self._library)
        return self

    astype = type = to

    def long(self) -> Any:
        """Return whole numbers, as torch spells the conversion."""
        return in_library(self._whole(), self._library)

    def _whole(self) -> Array:
        """Return whole numbers; only uniforms have them."""
        self._refuse("rounded to integers")

    def cpu(self, *_: Any, **__: Any) -> Any:
        return self

    detach = contiguous = float = double = cuda = cpu

    def clone(self, *_: Any, **__: Any) -> Any:
        return self._shaped(np.copy)

    copy = clone

    def numpy(self) -> Any:
        return self._with(self._cells, self._factor, "numpy")

    def as_tensor(self) -> Any:
        return self._with(self._cells, self._factor, "torch")

    def item(self, *index: Any) -> Any:
        entry = self[index] if index else self
        if entry._cells.size != 1:
            raise ValueError("item() of an array of more than one random number")
        return self._with(entry._cells.reshape(()), entry._factor.reshape(()), "python")

    def tolist(self) -> Any:
        return self.item() if self.ndim == 0 else [row.tolist() for row in self]

    # Everything else is refused.
    def __getattr__(self, name: str) -> Any:
        # torch's `int`: a method of that name would hide Python's in this class.
        if name == "int":
            return self.long
        # Copying asks for attributes before __init__; JAX then asks the stand-in.
        if name in ("_script", "__jax_array__"):
            raise AttributeError(name)
        # An entry of an array of objects: operations on the array come here entry by entry.
        if self._library == "python" and name.startswith("__array_") and self._cells.ndim == 0:
            raise AttributeError(name)
        self._refuse(f"attribute {name}")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Refuse a call outside the mode of `scripted`, as in a thread of the program's own."""
        stand_in = next((argument for argument in args if isinstance(argument, StandIn)), None)
        raise NotScriptable("torch called from elsewhere") if stand_in is None else _refused(stand_in, function)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc.__name__ == "floor" and method == "__call__" and not kwargs:
            return self.floor()
        name = operators.UFUNCS.get(ufunc.__name__)
        if method != "__call__" or kwargs or name is None:
            self._refuse(f"numpy.{ufunc.__name__}")
        return apply(self._script, name, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ == "searchsorted" and hasattr(type(self), "_place") and not isinstance(args[0], StandIn):
            return self._place(args[0], kwargs.get("side", "left") == "right")
        if function.__name__ in ("argmax", "argmin") and args[0] is self:
            return getattr(self, function.__name__)(*args[1:], **kwargs)
        if function.__name__ in JOINS:
            return joined(self._script, function.__name__, *args, **kwargs)
        self._refuse(f"numpy.{function.__name__}")


def _refused(stand_in: StandIn, function: Any) -> BaseException:
    """Return the error of a call that no script sees, and note it in the script."""
    script, name = stand_in._script, getattr(function, "__name__", function)
    script.refused = script.refused or f"{name} called from elsewhere"
    return NotScriptable(script.refused)


# Functions that join arrays, along a new axis or one that they have, by their names in NumPy or
# torch.
JOINS: dict[str, Callable[..., Array]] = {
    "stack": np.stack, "concatenate": np.concatenate, "cat": np.concatenate, "concat": np.concatenate
}  # fmt: skip


def joined(script: Script, name: str, parts: Sequence[Any], axis: int = 0, **more: Any) -> Any:
    """Return stand-ins of one form as one array, as `numpy.stack` and `torch.cat` make it."""
    along = more.pop("dim", axis)
    kinds = {(type(part), part._form) if isinstance(part, StandIn) else None for part in parts}
    if len(kinds) > 1 or None in kinds or more:
        script.refuse(f"{name} of random numbers and others")
    cells, factors = ([getattr(part, field) for part in parts] for field in ("_cells", "_factor"))
    return parts[0]._with(JOINS[name](cells, along), JOINS[name](factors, along))


def tensor(script: Script, value: Any) -> Any:
    """Return a stand-in, or lists of them, as torch's."""
    if isinstance(value, list | tuple):
        return joined(script, "stack", [tensor(script, part) for part in value])
    if not isinstance(value, StandIn):
        script.refuse("random numbers and others in one tensor")
    return value.as_tensor()


def _plain(part: Any) -> Any:
    """Return an index of a torch tensor as NumPy's."""
    return part.detach().cpu().numpy() if is_tensor(part) else part


def _sizes(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the sizes of a shape, which may be passed as one tuple."""
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape


def apply(script: Script, name: str, inputs: tuple[Any, ...]) -> Any:
    """Return an operator, by its Python name, of a stand-in and something else, in either order."""
    first, *rest = inputs
    if isinstance(first, StandIn):
        return getattr(first, f"__{name}__")(*rest)
    reflected = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(name, f"r{name}")
    return getattr(rest[0], f"__{reflected}__")(first)


# Python looks these up on the class, where __getattr__ is not asked.
for _name, _words in operators.REFUSED.items():
    setattr(StandIn, f"__{_name}__", operators.refusing(_words))
for _spelling, _name in operators.SPELLINGS.items():
    setattr(StandIn, _spelling, operators.spelt(_name))
