"""Scripted randomness: the exact law of an unmodified program, run once for every path of its random decisions.

While it runs, torch's, NumPy's and Python's random numbers are stand-ins, and so are JAX's keys. A uniform may be
scaled by a non-negative number, taken the logarithm of, and compared with numbers: each comparison splits its interval.
A categorical draw forks over its weights, and so does the argmax of weights over exponentials. Any other use of a
stand-in is refused.
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
SCRAMBLED = 0x5E9A2C17  # no program seeds with it: a seed of the program's own shows, whatever was there before
MOST = 20_000  # paths of one law
MAKERS = {"numpy": ("default_rng", "Generator", "RandomState"), "python": ("Random", "SystemRandom")}


def law(
    program: Callable[[Generator], Any],
    *,
    most: int = MOST,
    deadline: float = math.inf,
    replays: int = 0,
    keep: bool = False,
    own: Sequence[Any] = (),
) -> Exact:
    """Exact law of program(random), whatever of torch, NumPy and `random` it calls besides.

    The first path is run `replays` times more than the others, and must end alike; `keep` returns the paths. `own` are
    generators of the program's own, which must not be drawn from. Raises NotScriptable, NotReproducible, or TooLong:
    more than `most` paths, or later than `deadline` (of clock.now). Whatever the program raises is raised.

    Examples
    --------
    >>> law(lambda random: int(random.random() < 0.25) + int(random.choice(2, p=[0.5, 0.5]))).law
    {1: 0.5, 2: 0.125, 0: 0.375}
    """
    with _script(own) as script:
        return followed(partial(_run, program), script, most=most, deadline=deadline, replays=replays, keep=keep)


def replay(program: Callable[[Generator], Any], paths: Iterable[Path], *, deadline: float = math.inf) -> int:
    """Return how many paths of a program were run again by the deadline; NotReproducible where one ends otherwise."""
    with _script() as script:
        return again(partial(_run, program), script, paths, deadline)


@contextlib.contextmanager
def _script(own: Sequence[Any] = ()) -> Iterator[Script]:
    """A script in the place of all generators, which are put back; at the end none of them may have been drawn from."""
    script, before = Script(), shared_generators.states()
    shared_generators.seed(SCRAMBLED)
    mark, marks = shared_generators.states(), own_generators.marks(own)
    try:
        with _replaced(script):
            yield script
        if not shared_generators.alike(mark, shared_generators.states()):
            script.refuse("random numbers from a generator that was there before")
        if marks != own_generators.marks(own):
            raise NotReproducible(own_generators.DRAWN)
    finally:
        script.closed = True
        shared_generators.restore(before)


def _run(program: Callable[[Generator], Any], script: Script) -> Any:
    if "torch" not in sys.modules:
        return program(Generator(script))
    from specsim.forking.programs.torch_mode import Mode

    with Mode(script):
        return program(Generator(script))


@contextlib.contextmanager
def _replaced(script: Script) -> Iterator[None]:
    """The functions of NumPy and Python that make random numbers are the script's."""
    with contextlib.ExitStack() as stack:
        if "torch._dynamo" in sys.modules:  # a compiled function would not ask the mode
            stack.enter_context(sys.modules["torch"].compiler.set_stance("force_eager"))
        stack.callback(_replace, _replace([*_replacements(script), *jax_keys.replacements(script)]))
        yield


def _replacements(script: Script) -> Iterator[tuple[Any, str, Any]]:
    """(module, name, stand-in) for every function of the modules that makes random numbers."""
    for library, module, known in (("numpy", np.random, NUMPY), ("python", random, PYTHON)):
        own = Generator(script, library)
        for name in MAKERS[library]:
            yield module, name, _Maker(script, own)
        for name in dir(module):
            if name[0].islower() and name not in MAKERS[library] and isinstance(getattr(module, name), _METHODS):
                yield (
                    module,
                    name,
                    getattr(own, name) if name in known else _Refused(script, f"{module.__name__}.{name}"),
                )

    if (torch := sys.modules.get("torch")) is not None:  # no mode of torch's is asked about it
        made = torch.from_numpy
        yield torch, "from_numpy", lambda value: value.as_tensor() if isinstance(value, StandIn) else made(value)
    for module, name in ((os, "urandom"), (random, "_urandom")):  # also what makes `secrets` and new generators
        yield module, name, _Refused(script, "the system's random numbers")


_METHODS = (type(np.random.rand), type(random.random), type(random.choice))


class _Maker:
    """Makes a generator; one with a seed of its own is not followed: its numbers may be the same every time."""

    def __init__(self, script: Script, own: Generator) -> None:
        self.script, self.own = script, own

    def __call__(self, *seed: Any, **named: Any) -> Generator:
        if any(one is not None for one in (*seed, *named.values())):
            self.script.refuse("a generator with a seed of its own")
        return self.own


class _Refused:
    def __init__(self, script: Script, name: str) -> None:
        self.script, self.name = script, name

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.script.refuse(self.name)


def _replace(given: list[tuple[Any, str, Any]]) -> list[tuple[Any, str, Any]]:
    """Put each in its place; returns what was there."""
    before = [(module, name, getattr(module, name)) for module, name, _ in given]
    for module, name, value in given:
        setattr(module, name, value)
    return before
