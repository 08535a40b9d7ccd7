"""The bundled pair, texts that its target writes, and files of them with the hash of their recipe."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import safetensors.numpy
from safetensors import SafetensorError

from real import TINY
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.load_pair import load
from real.models.shipped import fingerprint
from real.pair import Pair
from specsim.base.files import write_bytes
from specsim.types import Array


@lru_cache(maxsize=2)
def pair(widen_to: int | None = None) -> Pair:
    """The bundled pair; with `widen_to` its target at the cost of so many parameters (cost emulation)."""
    return load(TINY / "target", TINY / "draft", widen_to=widen_to)


@lru_cache(maxsize=8)
def target_digest(folder: Path = TINY / "target") -> str:
    """Sixteen hexadecimal digits of a model's weights and tokenizer, the bundled target's by default."""
    files = ("config.json", "model.safetensors", "tokenizer.json")
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in files)).hexdigest()[:16]


def written(prompts: Sequence[list[int]], length: int, temperature: float, seed: int, first: int = 0) -> Array:
    """Texts (n, length) of the bundled target after these prompts, in one batch.

    An end token ends none of them. Text i has the uniforms of key `first` + i, so that it is the
    same in any batch, but for near ties.
    """
    decoded = decode_batch(
        pair().target,
        None,
        prompts,
        max_tokens=length,
        gamma=0,
        uniforms=[keyed(seed, first + i) for i in range(len(prompts))],
        warping=Warping(temperature),
    )
    return np.array([text.tokens for text in decoded])


def cache() -> Path:
    """The folder of texts that a machine writes once for all runs."""
    return platformdirs.user_cache_path("specsim")


def keep(path: Path, made_by: dict[str, Any], **arrays: Array) -> None:
    """Write tokens as 16-bit numbers with the hash of their recipe.

    A write that fails leaves no file behind.
    """
    held = {name: np.ascontiguousarray(values, dtype=np.uint16) for name, values in arrays.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, safetensors.numpy.save({**held, "recipe": _code(made_by)}))


def read(path: Path, made_by: dict[str, Any], remedy: str) -> dict[str, Array]:
    """The tokens of a file, int64.

    Parameters
    ----------
    path : Path
        The file.
    made_by : dict
        The recipe that has to have made it: weights of the writer, prompts, seed, temperature,
        sizes.
    remedy : str
        Remedy that the error names.

    Returns
    -------
    dict of str to array
        The arrays of `keep`.

    Raises
    ------
    ValueError
        The file is missing or broken, or another recipe made it.
    """
    if not path.is_file():
        raise ValueError(f"texts {path.name} are not there: {remedy}")
    try:
        held = safetensors.numpy.load(path.read_bytes())
    except SafetensorError:
        raise ValueError(f"texts {path.name} cannot be read, the file is broken: {remedy}") from None
    code = held.pop("recipe", _code({})).tobytes().decode()
    if code != fingerprint(made_by):
        raise ValueError(f"texts {path.name} were written by recipe {code}, not {fingerprint(made_by)}: {remedy}")
    return {name: values.astype(np.int64) for name, values in held.items()}


def _code(made_by: dict[str, Any]) -> Array:
    """The hash of a recipe as an array of bytes, which a file can hold."""
    return np.frombuffer(fingerprint(made_by).encode(), dtype=np.uint8)
