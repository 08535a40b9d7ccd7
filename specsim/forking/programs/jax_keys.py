"""The stand-in for a key of `jax.random`, and the functions of JAX that take one while a script runs.

Each key gives numbers once, so that they are independent of all others. A key that is used twice is
refused: how its numbers depend on each other is decided by JAX's bits, which no script follows. So
is a key that is handed to a transformation (jit, vmap, scan).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from specsim.forking.programs.library_arrays import in_library
from specsim.forking.programs.races import Exponentials
from specsim.forking.programs.script import NEGLIGIBLE, Script
from specsim.forking.programs.standins import LOW, StandIn, numbers
from specsim.forking.programs.uniforms import Uniforms
from specsim.types import Array

LIBRARY = "jax"
# What JAX asks of an argument before it traces a function.
TRACED = ("dtype", "aval", "weak_type")
# Functions of numbers that a program may call as `jax.numpy.NAME` on a stand-in; the other
# arguments are numbers.
FOLLOWED = ("log", "exp", "negative", "argmax", "searchsorted")
TRANSFORMED = "a key that is handed to jax.jit, vmap, scan or another transformation"
# A function of JAX.
Function = Callable[..., Any]
# What a key is used for.
DRAWN, SPLIT = "drawn", "split"


class Keys:
    """An array of keys, each known by its way: number of its root key, then index in each split."""

    def __init__(self, script: Script, ways: Array, generator: Callable[[Script], Any]) -> None:
        self._script, self._ways = script, ways
        # Makes the stand-in for a generator of NumPy's.
        self._generator = generator

    @classmethod
    def fresh(cls, script: Script, generator: Callable[[Script], Any]) -> Keys:
        """Return a new root key, independent of all keys before."""
        script.roots += 1
        return cls(script, _objects([(script.roots,)], ()), generator)

    shape = property(lambda self: self._ways.shape)
    ndim = property(lambda self: self._ways.ndim)
    size = property(lambda self: self._ways.size)

    def __len__(self) -> int:
        return len(self._ways)

    def __iter__(self) -> Iterator[Keys]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Keys:
        ways = self._ways[index]
        # A single way is a tuple: wrap it in an array of no axis.
        if not isinstance(ways, np.ndarray):
            ways = _objects([ways], ())
        return Keys(self._script, ways, self._generator)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in TRACED:
            self._script.refuse(TRANSFORMED)
        self._script.refuse(f"attribute {name} of a key")

    def as_generator(self) -> Any:
        """Return the stand-in for a generator of NumPy's, with numbers of its own."""
        return self._generator(self._script)

    def split(self, num: Any = 2) -> Keys:
        """jax.random.split"""
        shape = tuple(num) if isinstance(num, tuple | list) else (int(num),)
        way = self._use(SPLIT)
        return Keys(self._script, _objects([(*way, i) for i in range(int(np.prod(shape)))], shape), self._generator)

    def fold_in(self, data: Any) -> Keys:
        """jax.random.fold_in, whose keys are those of `split`"""
        return Keys(self._script, _objects([(*self._use(SPLIT), int(data))], ()), self._generator)

    def uniform(self, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, **more: Any) -> Any:
        """jax.random.uniform on [0, maxval); a negligible `minval` counts as 0"""
        self._draw("uniform", dtype, more)
        if np.ndim(minval) or np.ndim(maxval) or not 0 <= minval <= NEGLIGIBLE or not maxval > 0:
            self._script.refuse(f"jax.random.uniform on [{minval}, {maxval})")
        made = Uniforms.fresh(self._script, _shape(shape), LIBRARY)
        return made if maxval == 1 else made * maxval

    def exponential(self, shape: Any = (), dtype: Any = None, **more: Any) -> Any:
        """jax.random.exponential"""
        self._draw("exponential", dtype, more)
        return Exponentials.fresh(self._script, _shape(shape), LIBRARY)

    def gumbel(self, shape: Any = (), dtype: Any = None, **more: Any) -> Any:
        """jax.random.gumbel: the negative logarithm of an exponential"""
        more.pop("mode", None)
        return -self.exponential(shape, dtype, **more).log()

    def categorical(self, logits: Any, axis: int = -1, shape: Any = None, **more: Any) -> Any:
        """jax.random.categorical: a draw for every row of logits"""
        more.pop("mode", None)
        self._draw("categorical", None, more)
        rows = np.moveaxis(numbers(self._script, logits), axis, -1)
        batch = rows.shape[:-1] if shape is None else _shape(shape)
        rows = np.broadcast_to(rows, (*batch, rows.shape[-1]))
        top = rows.max(axis=-1, keepdims=True)
        top[np.isneginf(top)] = 0.0
        weights = np.exp(rows - top)
        # Where all weights are 0, the draw is the first token, as argmax's of equal numbers.
        weights[..., 0] = np.where(weights.any(axis=-1), weights[..., 0], 1.0)
        return self._choices(weights)

    def bernoulli(self, p: Any = 0.5, shape: Any = None, **more: Any) -> Any:
        """jax.random.bernoulli"""
        more.pop("mode", None)
        self._draw("bernoulli", None, more)
        chance = numbers(self._script, p).clip(0, 1)
        chance = chance if shape is None else np.broadcast_to(chance, _shape(shape))
        return self._choices(np.stack([1 - chance, chance], axis=-1)) > 0

    def choice(self, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0, **more: Any) -> Any:
        """jax.random.choice of the entries of one array, or of 0..a-1"""
        more.pop("mode", None)
        self._draw("choice", None, more)
        entries = np.arange(int(a)) if np.ndim(a) == 0 else np.asarray(a)
        if entries.ndim != 1 or axis != 0 or not (replace or shape in ((), (1,))):
            self._script.refuse("jax.random.choice without replacement, or from an array of more than one axis")
        weights = np.ones(len(entries)) if p is None else numbers(self._script, p)
        return in_library(entries, LIBRARY)[self._choices(np.broadcast_to(weights, (*_shape(shape), len(entries))))]

    def _choices(self, weights: Array) -> Any:
        """Return a draw from every row of weights."""
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any(axis=-1).all()):
            self._script.refuse("a draw from weights that are not finite, non-negative and positive somewhere")
        drawn = np.zeros(weights.shape[:-1], dtype=np.int64)
        for index in np.ndindex(*drawn.shape):
            drawn[index] = self._script.choose(weights[index].tolist())
        return in_library(drawn, LIBRARY)

    def _draw(self, name: str, dtype: Any, more: dict[str, Any]) -> None:
        """Note that the key gives its numbers; refuse options and types that are not followed."""
        if more:
            self._script.refuse(f"jax.random.{name} with {', '.join(more)}")
        if dtype is not None and np.dtype(dtype).name in LOW:
            self._script.refuse(f"jax.random.{name} of {np.dtype(dtype).name}")
        self._use(DRAWN)

    def _use(self, how: str) -> Any:
        """Return the way to this key, and note its use; refuse a second use.

        A key may be split again, since that gives the same keys.
        """
        if self._ways.ndim:
            self._script.refuse("an array of keys in the place of a key")
        way = self._ways[()]
        earlier = self._script.keys.get(way)
        is_split_again = earlier == how == SPLIT
        if earlier is not None and not is_split_again:
            self._script.refuse("a key that is used twice")
        self._script.keys[way] = how
        return way


def _objects(ways: list[Any], shape: tuple[int, ...]) -> Array:
    """Return objects as an array of this shape."""
    array = np.empty(len(ways), dtype=object)
    array[:] = ways
    return array.reshape(shape)


def _shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of ints."""
    return tuple(int(n) for n in shape) if isinstance(shape, tuple | list) else (int(shape),)


def replacements(script: Script) -> Iterator[tuple[Any, str, Any]]:
    """Yield (module, name, stand-in) for the functions of JAX that may get a stand-in; none before JAX is imported."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "random"):
        return
    for name in dir(jax.random):
        original = getattr(jax.random, name)
        if name[0].islower() and callable(original):
            yield jax.random, name, _wrapped_for_keys(script, name, original)
    for name in FOLLOWED:
        yield jax.numpy, name, _wrapped_for_numbers(script, name, getattr(jax.numpy, name))


def _wrapped_for_keys(script: Script, name: str, original: Function) -> Function:
    """Return the function `name` of `jax.random`; with `Keys` as key it calls their method."""

    @functools.wraps(original)
    def call(*args: Any, **named: Any) -> Any:
        """Call the stand-in's method, or the original function."""
        first = args[0] if args else named.get("key")
        if not isinstance(first, Keys):
            return original(*args, **named)
        method = vars(Keys).get(name)
        if method is None or name.startswith("_") or name in ("fresh", "as_generator"):
            script.refuse(f"jax.random.{name}")
        return method(first, *args[1:], **{key: value for key, value in named.items() if key != "key"})

    return call


def _wrapped_for_numbers(script: Script, name: str, original: Function) -> Function:
    """Return the function `name` of `jax.numpy`; of a stand-in it calls the method."""

    @functools.wraps(original)
    def call(*args: Any, **named: Any) -> Any:
        """Call the stand-in's method, or the original function."""
        if name == "searchsorted" and len(args) > 1 and isinstance(args[1], Uniforms):
            return args[1]._place(args[0], named.get("side", "left") == "right")
        if not args or not isinstance(args[0], StandIn):
            return original(*args, **named)
        if name == "searchsorted":
            script.refuse("jax.numpy.searchsorted among random numbers")
        method = {"negative": "neg"}.get(name, name)
        return getattr(args[0], method)(*args[1:], **named)

    return call
