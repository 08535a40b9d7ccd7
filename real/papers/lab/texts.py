"""Texts that the bundled target wrote: 2 x 256 x 256 tokens that are shipped, and more that are written once a machine.

The shipped ones continue the bundled prompts, twice each, at T = 1 and at T = 0.6; they are split by prompt. What is
learned from is written after pieces of their calibration part, so that no validation or test prompt is ever seen.
Temperature alone shapes their law, and an end token ends none of them.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from real import TINY
from real.papers.lab import writing as on
from real.papers.lab.contract import Lab
from specsim.base.unknown import unknown
from specsim.types import Array

DATA = Path(__file__).parent / "data"
TEMPERATURES = (1.0, 0.6)
PROMPTS, EACH, LENGTH = 128, 2, 256
SPLIT = ("calibration", "validation", "test", "test")  # of every four prompts
PIECE = 24  # tokens of a calibration text that open a text to learn from
MORE, LONGER = 640, 320  # texts to learn from, and tokens of each: 204,800
TOGETHER = 64  # texts in one batch, and in one file of the cache
REMEDY = "`python -m real.papers.lab.texts` writes them anew"
Part = Literal["calibration", "validation", "test"]


class Texts(NamedTuple):
    """Texts and the prompts that they continue; those with one `group` continue the same prompt."""

    prompts: list[list[int]]
    tokens: Array  # (n, length) int64
    part: Array  # (n,) "calibration", "validation" or "test"
    group: Array  # (n,) the prompt's number

    def of(self, part: Part, count: int | None = None) -> Texts:
        """Those of one part, or its first `count`; ValueError for a part that nobody defined."""
        if part not in get_args(Part):
            raise unknown("part", part, get_args(Part), "parts")
        which = np.flatnonzero(self.part == part)[:count]
        return Texts([self.prompts[i] for i in which], self.tokens[which], self.part[which], self.group[which])


def path_of(temperature: float) -> Path:
    """Where the shipped texts of a temperature are."""
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
        256 texts of 256 tokens: 64 of calibration, 64 of validation, 128 of test. Text i continues prompt i % 128.

    Raises
    ------
    ValueError
        Another temperature; texts that are not there, that are broken, or that another target wrote.

    Examples
    --------
    >>> texts(0.6).tokens.shape
    (256, 256)
    """
    held = on.read(path_of(temperature), recipe(temperature), REMEDY)
    prompts = [row.tolist() for row in np.split(held["prompts"], np.cumsum(held["lengths"])[:-1])]
    group = np.arange(PROMPTS * EACH) % PROMPTS
    return Texts(prompts * EACH, held["tokens"], np.array(SPLIT)[group % len(SPLIT)], group)


def make(temperature: float) -> None:
    """Write the shipped texts of a temperature."""
    made_by = recipe(temperature)
    told = json.loads((TINY / "prompts.json").read_text(encoding="utf-8"))["prompts"]
    prompts = [list(on.pair().tokenizer(one)["input_ids"]) for one in told]
    tokens = np.concatenate(
        [
            on.written(prompts[i : i + TOGETHER], LENGTH, temperature, made_by["seed"], turn * PROMPTS + i)
            for turn in range(EACH)
            for i in range(0, PROMPTS, TOGETHER)
        ]
    )
    flat, lengths = np.concatenate([np.array(prompt) for prompt in prompts]), np.array([len(p) for p in prompts])
    on.keep(path_of(temperature), made_by, tokens=tokens, prompts=flat, lengths=lengths)


def training_texts(lab: Lab, temperature: float = 1.0) -> Texts:
    """Texts to learn from: 640 of 320 tokens, after pieces of the calibration part.

    They are written in batches, each kept in the cache folder of this platform as soon as it has ended: the next call
    carries on where one was cut off, and another target, seed or size has files of its own.

    Parameters
    ----------
    lab : Lab
        Of its share of the texts; in a trial they are shorter, too.
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
    rows = texts(temperature).of("calibration").tokens
    pieces = rows[:, : LENGTH // PIECE * PIECE].reshape(-1, PIECE)
    length = max(16, round(LONGER * min(1.0, 4 * lab.share)))
    made_by = recipe(temperature) | {"shipped": _digest(rows), "length": length}
    made, count = [], lab.texts(MORE)
    for first in range(0, count, TOGETHER):
        opened = [piece.tolist() for piece in pieces[first : min(first + TOGETHER, count)]]
        lab.said(f"texts to learn from, {first + len(opened)} of {count}")
        made.append(_batch(opened, first, made_by))
    group = np.arange(count)
    return Texts(
        [piece.tolist() for piece in pieces[:count]], np.concatenate(made), np.full(count, "calibration"), group
    )


def _batch(opened: list[list[int]], first: int, made_by: dict[str, Any]) -> Array:
    """One batch of them, read or written."""
    own = made_by | {"first": first, "count": len(opened)}
    path = on.cache() / f"texts-{_digest(json.dumps(own, sort_keys=True).encode())}.safetensors"
    try:
        return on.read(path, own, "")["tokens"]
    except ValueError:  # not there, or cut short by a full disk: it is written anew
        tokens = on.written(opened, own["length"], own["temperature"], own["seed"], PROMPTS * EACH + first)
        on.keep(path, own, tokens=tokens)
        return tokens


def _digest(data: Any) -> str:
    return hashlib.sha256(data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    for each in TEMPERATURES:
        make(each)
