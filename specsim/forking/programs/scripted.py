"""Scripted randomness: the exact law of an unmodified program, run once for every path of its random decisions.

While it runs, torch's, NumPy's and Python's random numbers are stand-ins, and so are JAX's keys. A
uniform may be scaled by a non-negative number, taken the logarithm of, and compared with numbers:
each comparison splits its interval. A categorical draw forks over its weights, and so does the
argmax of weights over exponentials. Any other use of a stand-in is refused.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from specsim.forking.paths import NotReproducible
from specsim.forking.programs import jax_keys, own_generators, shared_generators
from specsim.forking.programs.generator import Generator
from specsim.forking.programs.script import Exact, NotScriptable, Path, Script, TooLong
from specsim.forking.programs.script import law as followed
from specsim.forking.programs.script import replay as again
from specsim.forking.programs.standins import StandIn
from specsim.forking.programs.uniforms import Uniforms

__all__ = ["Exact", "Generator", "NotReproducible", "NotScriptable", "Path", "TooLong", "Uniforms", "law", "replay"]

_NUMPY = """random random_sample rand uniform choice exponential standard_exponential multinomial gumbel binomial
 randint"""
NUMPY = tuple(_NUMPY.split())
PYTHON = ("random", "uniform", "choice", "choices", "randint", "randrange")
# A seed that no program uses: if the program seeds a generator itself, the generator's state shows
# it.
SCRAMBLED = 0x5E9A2C17
# Most paths of one law.
MOST = 20_000
# Types of the functions of `numpy.random` and `random`.
_METHODS = (type(np.random.rand), type(random.random), type(random.choice))
# Functions that make generators, by library.
MAKERS = {"numpy": ("default_rng", "Generator", "RandomState"), "python": ("Random", "SystemRandom")}


def law(
    program: Callable[[Generator], Any],
    *,
    most: int = MOST,
    deadline: float = math.inf,
    replays: int = 0,
    keep: bool = False,
    generators: Sequence[Any] = (),
) -> Exact:
    """Return the exact law of program(random), which may also call torch, NumPy and `random`.

    The first path is run `replays` times more than the others, and must end alike; `keep` returns
    the paths. `generators` are those that the program keeps for itself, which must not be drawn
    from. Raises NotScriptable, NotReproducible, or TooLong: more than `most` paths, or later than
    `deadline` (of clock.now). What the program raises is raised.

    Examples
    --------
    >>> law(lambda random: int(random.random() < 0.25) + int(random.choice(2, p=[0.5, 0.5]))).law
    {1: 0.5, 2: 0.125, 0: 0.375}
    """
    with _script(generators) as script:
        return followed(partial(_run, program), script, most=most, deadline=deadline, replays=replays, keep=keep)


def replay(program: Callable[[Generator], Any], paths: Iterable[Path], *, deadline: float = math.inf) -> int:
    """Return how many paths of a program were run again by the deadline; NotReproducible where one ends otherwise."""
    with _script() as script:
        return again(partial(_run, program), script, paths, deadline)


@contextlib.contextmanager
def _script(generators: Sequence[Any] = ()) -> Iterator[Script]:
    """Put a script in the place of all generators, and restore them; refuse if one was drawn from.

    A generator's state changes with each draw: states before and after are compared, those of the
    shared generators, and the marks of the program's own.
    """
    script, before = Script(), shared_generators.states()
    shared_generators.seed(SCRAMBLED)
    mark, marks = shared_generators.states(), own_generators.marks(generators)
    try:
        with _replaced(script):
            yield script
        if not shared_generators.alike(mark, shared_generators.states()):
            script.refuse("random numbers from a generator that was there before")
        if marks != own_generators.marks(generators):
            raise NotReproducible(own_generators.DRAWN)
    finally:
        script.closed = True
        shared_generators.restore(before)


def _run(program: Callable[[Generator], Any], script: Script) -> Any:
    """Return the result of one run of the program; torch's functions ask the script if torch is imported."""
    if "torch" not in sys.modules:
        return program(Generator(script))
    from specsim.forking.programs.torch_mode import Mode

    with Mode(script):
        return program(Generator(script))


@contextlib.contextmanager
def _replaced(script: Script) -> Iterator[None]:
    """Replace the functions of NumPy, Python and JAX that make random numbers by the script's."""
    with contextlib.ExitStack() as stack:
        # A compiled function would not ask torch's mode.
        if "torch._dynamo" in sys.modules:
            stack.enter_context(sys.modules["torch"].compiler.set_stance("force_eager"))
        stack.callback(_replace, _replace([*_replacements(script), *jax_keys.replacements(script)]))
        yield


def _replacements(script: Script) -> Iterator[tuple[Any, str, Any]]:
    """Yield (module, name, stand-in) for every function of the modules that makes random numbers."""
    # Functions that make generators, functions that draw, and functions that no stand-in follows.
    for library, module, known in (("numpy", np.random, NUMPY), ("python", random, PYTHON)):
        generator = Generator(script, library)
        for name in MAKERS[library]:
            yield module, name, _Maker(script, generator)
        for name in dir(module):
            draws = name[0].islower() and isinstance(getattr(module, name), _METHODS)
            if not draws or name in MAKERS[library]:
                continue
            refused = _Refused(script, f"{module.__name__}.{name}")
            yield module, name, getattr(generator, name) if name in known else refused

    # A mode of torch is not asked about `from_numpy`.
    if (torch := sys.modules.get("torch")) is not None:
        from_numpy = torch.from_numpy
        yield torch, "from_numpy", lambda value: value.as_tensor() if isinstance(value, StandIn) else from_numpy(value)

    # The system's random numbers, which `secrets` and new generators are made of, too.
    for module, name in ((os, "urandom"), (random, "_urandom")):
        yield module, name, _Refused(script, "the system's random numbers")


class _Maker:
    """Makes the scripted generator; a call with a seed is refused: its numbers may be the same every time."""

    def __init__(self, script: Script, generator: Generator) -> None:
        self.script, self.generator = script, generator

    def __call__(self, *seed: Any, **named: Any) -> Generator:
        if any(value is not None for value in (*seed, *named.values())):
            self.script.refuse("a generator with a seed of its own")
        return self.generator


class _Refused:
    """A function that no script can follow: a call refuses the program."""

    def __init__(self, script: Script, name: str) -> None:
        self.script, self.name = script, name

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.script.refuse(self.name)


def _replace(replacements: list[tuple[Any, str, Any]]) -> list[tuple[Any, str, Any]]:
    """Put each replacement in its place; return what was there before."""
    before = [(module, name, getattr(module, name)) for module, name, _ in replacements]
    for module, name, value in replacements:
        setattr(module, name, value)
    return before
