"""Arrays of the subject's library: arguments are made in it, and returned values are made NumPy's.

A JAX function takes its random numbers from a key, an argument: two calls with one key give the
same. JAX's own setting decides whether laws are float64 and drafts int64 (`jax_enable_x64`), or
float32 and int32.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from specsim.conform.cases import logits
from specsim.conform.subject import Subject
from specsim.forking.programs.scripted import Generator
from specsim.types import Array

# The generator of all keys: rows of a batch draw from it what they draw alone, which is not so of
# all of JAX's.
THREEFRY = "threefry2x32"
# Numbers of 32 bits in one of its keys.
WORDS = 2


def missing(subject: Subject) -> str:
    """Return why a subject's library or device cannot be had here; an empty text if it can."""
    # JAX.
    if subject.arrays == "jax":
        try:
            import jax
        except ImportError:
            return "jax is not installed: install the extra `jax` (specsim-llm[jax])"
        has_cuda = subject.needs_device != "cuda" or jax.default_backend() == "gpu"
        return "" if has_cuda else "it needs a CUDA device"
    # torch, which also says whether there is a CUDA device.
    if subject.arrays == "torch" or subject.needs_device:
        try:
            import torch
        except ImportError:
            return "torch is not installed: install the extra `real` (specsim-llm[real])"
        if subject.needs_device == "cuda" and not torch.cuda.is_available():
            return "it needs a CUDA device"
    return ""


def settled(subject: Subject) -> Subject:
    """Return the subject with the type that its laws will have: JAX has no float64 without `jax_enable_x64`."""
    if subject.arrays != "jax" or subject.dtype != "float64":
        return subject
    import jax

    return subject if jax.config.jax_enable_x64 else subject._replace(dtype="float32")


def is_running(subject: Subject) -> bool:
    """Return whether JAX has started its threads: a process forked from this one would wait for them for ever."""
    bridge: Any = sys.modules.get("jax._src.xla_bridge")
    if subject.arrays != "jax" or bridge is None:
        return False
    return bool(getattr(bridge, "backends_are_initialized", lambda: True)())


def takes_key(subject: Subject) -> bool:
    """Return whether the subject's last argument is a key of `jax.random`."""
    return subject.arrays == "jax" and subject.randomness == "random"


def array(subject: Subject, law: Array) -> Any:
    """Return laws or logits in the subject's library and dtype."""
    numbers = logits(law) if subject.logits else np.array(law, dtype=np.float64)
    if subject.arrays == "torch":
        import torch

        return torch.from_numpy(numbers).to(getattr(torch, subject.dtype))
    if subject.arrays == "jax":
        import jax

        return jax.numpy.asarray(numbers, dtype=subject.dtype)
    return numbers.astype(subject.dtype)


def integers(subject: Subject, tokens: Array) -> Any:
    """Return token ids in the subject's library."""
    return _in_library(subject, np.array(tokens, dtype=np.int64))


def booleans(subject: Subject, mask: Array) -> Any:
    """Return a mask in the subject's library."""
    return _in_library(subject, np.array(mask, dtype=bool))


def _in_library(subject: Subject, values: Array) -> Any:
    """Return an array of NumPy in the subject's library, with its type."""
    if subject.arrays == "torch":
        import torch

        return torch.from_numpy(values)
    if subject.arrays == "jax":
        import jax

        return jax.numpy.asarray(values)
    return values


def key(random: Any) -> Any:
    """Return a key whose bits a generator draws, or a stand-in for it if the generator is one."""
    if isinstance(random, Generator):
        return random.key()
    return keys(random, ())


def keys(random: Any, shape: tuple[int, ...]) -> Any:
    """Return independent keys, whose bits a generator draws."""
    import jax

    words = random.integers(0, 2**32, size=(*shape, WORDS), dtype=np.uint32)
    return jax.random.wrap_key_data(jax.numpy.asarray(words), impl=THREEFRY)


def generator(key: Any) -> Any:
    """Return a NumPy generator seeded by a key's bits, or a stand-in for it if the key is one."""
    if hasattr(key, "as_generator"):
        return key.as_generator()
    import jax

    return np.random.default_rng(np.asarray(jax.random.key_data(key)))


def plain(value: Any) -> Any:
    """Return a torch tensor or a JAX array as a NumPy array, and anything else as it is."""
    if hasattr(value, "detach"):
        tensor = value.detach().cpu()
        return (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    jax = sys.modules.get("jax")
    is_jax_array = jax is not None and isinstance(value, jax.Array)
    return np.asarray(value) if is_jax_array else value
