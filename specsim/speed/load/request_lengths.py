"""Lengths of prompts and answers: a number, a mean with a standard deviation, or a file of lengths."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.types import Array

# Different lengths that a spread is represented by, of equal weight.
POINTS = 41
MOST_BYTES = 16 << 20
_NUMBER = r"(\d+(?:\.\d+)?)"
_SPREAD = re.compile(rf"^{_NUMBER}\s*(?:±|\+-|\+/-)\s*{_NUMBER}$")
# Standard deviations beyond this many means are no spread that so few lengths can show.
_WIDEST = 3


class LengthLaw(NamedTuple):
    """Lengths in tokens, increasing, with their weights, which sum to 1; and where they come from, in words."""

    values: Array
    weights: Array
    words: str

    @property
    def mean(self) -> float:
        """The mean length."""
        return float(self.values @ self.weights)

    def draw(self, u: Array) -> Array:
        """Return lengths for uniforms."""
        cdf = np.cumsum(self.weights)
        return self.values[np.minimum(np.searchsorted(cdf, u * cdf[-1], side="right"), len(cdf) - 1)]


class Lengths(NamedTuple):
    """Lengths of prompts and of answers, independent of each other."""

    prompts: LengthLaw
    outputs: LengthLaw


def length_law(text: str, name: str, most: int) -> LengthLaw:
    """Return the law of lengths that an option names: 256, 256±80 (lognormal), or a file with one length per line.

    Raises
    ------
    ValueError
        Neither a number nor such a spread nor a file; a length below 1 or above `most`.

    Examples
    --------
    >>> length_law("256", "output_tokens", 4096).mean
    256.0
    >>> spread = length_law("256±80", "output_tokens", 4096)
    >>> round(spread.mean), len(spread.values)
    (256, 41)
    """
    written = text.strip()
    digits = written.lower().removesuffix("k")
    if digits.isdecimal() and len(digits) < 16:
        number = _checked(int(digits) * (1 if digits == written else 1024), name, most)
        return LengthLaw(np.array([number]), np.ones(1), f"{number} token{'s' if number > 1 else ''}")
    match = _SPREAD.match(written)
    if match:
        mean, deviation = map(float, match.groups())
        return _lognormal(mean, deviation, name, most)
    path = Path(written)
    if not path.is_file():
        raise ValueError(
            f"{name} is {written[:40]!r}: write a number, a mean with a standard deviation (256±80 or 256+-80), or a "
            "file with one length per line"
        )
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} is larger than {MOST_BYTES >> 20} MiB; give a sample of the lengths")
    return _of_lines(path, name, most)


def _of_lines(path: Path, name: str, most: int) -> LengthLaw:
    """Return the lengths of a file, each as often as it is there."""
    lengths = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        word = line.strip().rstrip(",")
        if not word or (number == 1 and not word.isdecimal() and word.isidentifier()):
            continue  # an empty line, or a heading
        if not word.isdecimal() or len(word) > 15:
            raise ValueError(f"{path}, line {number}: {word[:40]!r} is no length; write one whole number per line")
        lengths.append(_checked(int(word), f"{name}: {path}, line {number}", most))
    if not lengths:
        raise ValueError(f"{path} has no lengths: write one whole number per line")
    values, counts = np.unique(lengths, return_counts=True)
    return LengthLaw(values, counts / counts.sum(), f"the {len(lengths)} lengths of {path.name}")


def _lognormal(mean: float, deviation: float, name: str, most: int) -> LengthLaw:
    """Return lengths of equal weight at the quantiles of a lognormal law with this mean and standard deviation."""
    from scipy.special import ndtri

    _checked(round(mean), name, most)
    if deviation > _WIDEST * mean:
        raise ValueError(
            f"{name} has a standard deviation of {deviation:g}; it may be {_WIDEST} times the mean at most"
        )
    if deviation == 0:
        return LengthLaw(np.array([round(mean)]), np.ones(1), f"{round(mean)} tokens")
    variance = math.log1p((deviation / mean) ** 2)
    levels = (np.arange(POINTS) + 0.5) / POINTS
    values = mean * np.exp(math.sqrt(variance) * ndtri(levels) - variance / 2)
    values = np.clip(np.rint(values * mean / values.mean()), 1, most).astype(int)
    words = f"{mean:g} tokens in the mean, with a standard deviation of {deviation:g} (lognormal)"
    return LengthLaw(values, np.full(POINTS, 1 / POINTS), words)


def _checked(value: int, name: str, most: int) -> int:
    length = check.integer(value, name, 1)
    if length > most:
        raise ValueError(f"{name} is {length}; it must be at most {most}")
    return length
