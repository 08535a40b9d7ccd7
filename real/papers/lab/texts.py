"""Texts of the bundled target: 2 x 256 x 256 shipped tokens, and more, written once a machine.

The shipped ones continue the bundled prompts, twice each, at T = 1 and at T = 0.6; they are split
by prompt. Texts to learn from are written after pieces of their calibration part, so that no
validation or test prompt is ever seen. Temperature alone shapes their law, and an end token ends
none of them.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from real import TINY
from real.models.names import TINY_PAIR
from real.papers.lab import writing as on
from real.papers.lab.contract import Lab
from specsim.base.unknown import unknown
from specsim.types import Array

DATA = Path(__file__).parent / "data"
TEMPERATURES = (1.0, 0.6)
# Shipped texts: prompts, texts of each, and tokens of a text.
PROMPTS, EACH, LENGTH = 128, 2, 256
# Parts of every four prompts.
SPLIT = ("calibration", "validation", "test", "test")
# Tokens of a calibration text that open a text to learn from.
PIECE = 24
# Texts to learn from, and tokens of each: 204,800 together.
MORE, LONGER = 640, 320
# Texts in one batch, and in one file of the cache.
TOGETHER = 64
REMEDY = "`python -m real.papers.lab.texts` writes them anew"
Part = Literal["calibration", "validation", "test"]


class Texts(NamedTuple):
    """Texts and the prompts that they continue; those with one `group` continue the same prompt."""

    prompts: list[list[int]]
    # Shape (n, length), int64; -1 after the end of a text that has ended earlier.
    tokens: Array
    # "calibration", "validation" or "test", (n,).
    part: Array
    # The prompt's number, (n,).
    group: Array
    # Name of the pair whose target wrote them.
    pair: str = TINY_PAIR

    @property
    def lengths(self) -> Array:
        """Tokens (n,) of each text."""
        return (self.tokens >= 0).sum(axis=1)

    @property
    def rows(self) -> list[list[int]]:
        """The tokens of each text as a list."""
        return [row[:length].tolist() for row, length in zip(self.tokens, self.lengths, strict=True)]

    def of(self, part: Part, count: int | None = None) -> Texts:
        """Return the texts of one part, or its first `count`; ValueError for an unknown part."""
        if part not in get_args(Part):
            raise unknown("part", part, get_args(Part), "parts")
        which = np.flatnonzero(self.part == part)[:count]
        prompts = [self.prompts[i] for i in which]
        return Texts(prompts, self.tokens[which], self.part[which], self.group[which], self.pair)


def path_of(temperature: float) -> Path:
    """The path of a temperature's shipped texts."""
    return DATA / f"texts-{temperature}.safetensors"


def recipe(temperature: float) -> dict[str, Any]:
    """All that decides the shipped texts of a temperature; ValueError for one that has none."""
    if temperature not in TEMPERATURES:
        raise ValueError(f"temperature must be one of {', '.join(map(str, TEMPERATURES))}, got {temperature}")
    return {
        "target": on.target_digest(),
        "prompts": hashlib.sha256((TINY / "prompts.json").read_bytes()).hexdigest()[:16],
        "temperature": temperature,
        "sizes": [PROMPTS, EACH, LENGTH],
        "seed": round(10 * temperature),
        "dtype": "float32",
    }


@lru_cache(maxsize=2)
def texts(temperature: float) -> Texts:
    """The shipped texts of a temperature.

    Parameters
    ----------
    temperature : float
        1.0 or 0.6.

    Returns
    -------
    Texts
        256 texts of 256 tokens: 64 of calibration, 64 of validation, 128 of test. Text i continues
        prompt i % 128.

    Raises
    ------
    ValueError
        Another temperature; texts that are not there, that are broken, or that another target
        wrote.

    Examples
    --------
    >>> texts(0.6).tokens.shape
    (256, 256)
    """
    # Prompts are stored one after the other.
    arrays = on.read(path_of(temperature), recipe(temperature), REMEDY)
    ends = np.cumsum(arrays["lengths"])[:-1]
    prompts = [row.tolist() for row in np.split(arrays["prompts"], ends)]
    group = np.arange(PROMPTS * EACH) % PROMPTS
    return Texts(prompts * EACH, arrays["tokens"], np.array(SPLIT)[group % len(SPLIT)], group)


def make(temperature: float) -> None:
    """Write the shipped texts of a temperature."""
    made_by = recipe(temperature)
    prompt_texts = json.loads((TINY / "prompts.json").read_text(encoding="utf-8"))["prompts"]
    prompts = [list(on.pair().tokenizer(text)["input_ids"]) for text in prompt_texts]
    tokens = np.concatenate(
        [
            on.written(prompts[i : i + TOGETHER], LENGTH, temperature, made_by["seed"], turn * PROMPTS + i)
            for turn in range(EACH)
            for i in range(0, PROMPTS, TOGETHER)
        ]
    )
    flat = np.concatenate([np.array(prompt) for prompt in prompts])
    lengths = np.array([len(prompt) for prompt in prompts])
    on.keep(path_of(temperature), made_by, tokens=tokens, prompts=flat, lengths=lengths)


def training_texts(lab: Lab, temperature: float = 1.0) -> Texts:
    """Texts to learn from: 640 of 320 tokens, after pieces of the calibration part.

    They are written in batches, each saved in the cache folder of this platform as soon as it has
    ended: the next call carries on where one was cut off, and another target, seed or size has
    files of its own.

    Parameters
    ----------
    lab : Lab
        Its share is the share of the texts; in a trial they are shorter, too.
    temperature : float
        1.0 or 0.6.

    Returns
    -------
    Texts
        All of part "calibration"; `group` counts the pieces.

    Raises
    ------
    ValueError
        As `texts`.
    """
    # Pieces of the calibration texts, and all that decides the texts after them.
    rows = texts(temperature).of("calibration").tokens
    pieces = rows[:, : LENGTH // PIECE * PIECE].reshape(-1, PIECE)
    length = max(16, round(LONGER * min(1.0, 4 * lab.share)))
    made_by = recipe(temperature) | {"shipped": _digest(rows), "length": length}

    # Batches, each read or written.
    batches, count = [], lab.texts(MORE)
    for first in range(0, count, TOGETHER):
        opened = [piece.tolist() for piece in pieces[first : min(first + TOGETHER, count)]]
        lab.said(f"texts to learn from, {first + len(opened)} of {count}")
        batches.append(_batch(opened, first, made_by))
    prompts = [piece.tolist() for piece in pieces[:count]]
    part, group = np.full(count, "calibration"), np.arange(count)
    return Texts(prompts, np.concatenate(batches), part, group)


def _batch(opened: list[list[int]], first: int, made_by: dict[str, Any]) -> Array:
    """One batch of texts to learn from, read from the cache or else written."""
    batch_recipe = made_by | {"first": first, "count": len(opened)}
    name = _digest(json.dumps(batch_recipe, sort_keys=True).encode())
    path = on.cache() / f"texts-{name}.safetensors"
    try:
        return on.read(path, batch_recipe, "")["tokens"]
    # The file is not there, or was cut short by a full disk: it is written anew.
    except ValueError:
        tokens = on.written(
            opened,
            made_by["length"],
            made_by["temperature"],
            made_by["seed"],
            PROMPTS * EACH + first,
        )
        on.keep(path, batch_recipe, tokens=tokens)
        return tokens


def _digest(data: Any) -> str:
    """A short hash of bytes or of an array."""
    raw = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
    return hashlib.sha256(raw).hexdigest()[:16]


if __name__ == "__main__":
    for shipped_temperature in TEMPERATURES:
        make(shipped_temperature)
