"""Coins at their ends: a program is run with one uniform that is exactly 0, or the largest number below 1.

A generator gives either once in 2^24 (float32) or 2^53 calls, so no law shows what a program does
there: `u * q <= p` keeps a draft that the target excludes at u = 0, and a cumulative sum that
rounds below 1 falls off its end at 1 - ulp. While a program runs, the uniforms of NumPy, Python,
torch and JAX (but for what is compiled) are real numbers of their own type, of which one is at an
end. Draws from a law (choice, multinomial, exponentials) are the library's own.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from specsim.conform.evidence import _jax_ends
from specsim.conform.evidence._counter import Counter, End
from specsim.forking.programs import shared_generators
from specsim.types import Array

# Uniforms of each type are multiples of 2^-bits.
BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
# The two ends, in words.
WORDS = ("0", "1 - ulp")
# Functions of `numpy.random` that make uniforms.
NUMPY = ("random", "random_sample", "ranf", "sample", "rand", "uniform")


class Uniforms(np.random.Generator):
    """A NumPy generator whose uniforms are counted, and one of which is at an end."""

    def __init__(self, seed: int, counter: Counter, dtype: str) -> None:
        super().__init__(np.random.PCG64(seed))
        self.counter, self.dtype = counter, dtype

    def fill(self, values: Array, bits: int) -> Array:
        """Return uniforms of so many bits, in float64, with the end in its place."""
        flat = np.floor(values.reshape(-1) * 2.0**bits) / 2.0**bits
        place = self.counter.next(flat.size)
        if place is not None:
            flat[place] = self.counter.value(bits)
        return flat.reshape(values.shape)

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return uniforms on [0, 1); of the type of the coins where none is named."""
        name = np.dtype(dtype).name if dtype is not None else self.dtype
        made = self.fill(np.asarray(super().random(size)), BITS.get(name, 53))
        if dtype is not None:
            made = made.astype(dtype)
        if out is not None:
            out[...] = made
            return out
        return made if size is not None else float(made)

    random_sample = ranf = sample = random

    def rand(self, *shape: int) -> Any:
        """Return `random`'s numbers: NumPy's old spelling."""
        return self.random(shape or None)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Return uniforms between two numbers."""
        return low + (high - low) * self.random(size)


class Run:
    """One program, run with one uniform at an end; `global_uniforms` are those that it calls without a generator."""

    def __init__(self, uniforms: Uniforms, global_uniforms: Uniforms, counter: Counter) -> None:
        self.uniforms, self.global_uniforms, self.counter = uniforms, global_uniforms, counter
        self.states = self._now()

    def __call__(self, program: Callable[[Any], Any], end: End | None, *, again: bool = False) -> tuple[Any, int]:
        """Return what a program gives, and how many uniforms it asked for.

        With `again`, all other random numbers are those of the run before.
        """
        if again:
            shared, self.uniforms.bit_generator.state, self.global_uniforms.bit_generator.state = self.states
            shared_generators.restore(shared)
        self.states = self._now()
        self.counter.start(end)
        return program(self.uniforms), self.counter.count

    def _now(self) -> tuple[Any, Any, Any]:
        """Return the states of all generators."""
        return shared_generators.states(), self.uniforms.bit_generator.state, self.global_uniforms.bit_generator.state


def highest(bits: int) -> float:
    """Return the largest uniform of so many bits.

    >>> highest(24) == float(np.nextafter(np.float32(1), np.float32(0)))
    True
    """
    return 1 - 2.0**-bits


@contextlib.contextmanager
def trial(seed: int, dtype: str = "float64") -> Iterator[Run]:
    """Open run(program, end), which returns the answer of program(random) and its number of uniforms.

    The program may call torch, NumPy and `random` besides. `dtype` is the type of coins that are
    passed as an argument.

    Examples
    --------
    >>> with trial(0) as run:
    ...     run(lambda random: random.random(2).tolist()[1], End(1, upper=False))
    (0.0, 2)
    """
    counter, before = Counter(), shared_generators.states()
    uniforms = Uniforms(seed, counter, dtype)
    # Uniforms that a program calls without the generator are of NumPy's type.
    global_uniforms = Uniforms(0, counter, "float64")
    shared_generators.seed(seed)
    try:
        with _replaced(counter, global_uniforms), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            yield Run(uniforms, global_uniforms, counter)
    finally:
        shared_generators.restore(before)


@contextlib.contextmanager
def _replaced(counter: Counter, uniforms: Uniforms) -> Iterator[None]:
    """Count the uniforms of NumPy, Python and torch, and of new generators, while the context is open."""
    # Functions of NumPy, Python and JAX, with their replacements.
    names = [(np.random, name, getattr(uniforms, name)) for name in NUMPY]
    names += [(random, name, getattr(uniforms, name)) for name in ("random", "uniform")]
    default_rng = np.random.default_rng
    names.append((np.random, "default_rng", lambda seed=None: uniforms if seed is None else default_rng(seed)))
    names += _jax_ends.replacements(counter)
    before = [(module, name, getattr(module, name)) for module, name, _ in names]
    # torch asks its modes; a compiled function would not.
    with contextlib.ExitStack() as stack:
        if "torch" in sys.modules:
            from specsim.conform.evidence._torch_ends import Mode

            stack.enter_context(Mode(counter))
        if "torch._dynamo" in sys.modules:
            stack.enter_context(sys.modules["torch"].compiler.set_stance("force_eager"))
        for module, name, value in names:
            setattr(module, name, value)
        try:
            yield
        finally:
            for module, name, value in before:
                setattr(module, name, value)
