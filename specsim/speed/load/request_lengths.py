"""Lengths of prompts and answers: a number, a mean with a standard deviation, or a file of lengths."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.types import Array

# Number of lengths, of equal weight, that stand for a lognormal law.
POINTS = 41
# Largest file of lengths that is read, in bytes.
MOST_BYTES = 16 << 20
_NUMBER = r"(\d+(?:\.\d+)?)"
_SPREAD = re.compile(rf"^{_NUMBER}\s*(?:±|\+-|\+/-)\s*{_NUMBER}$")
# Largest standard deviation in multiples of the mean: POINTS lengths cannot show the long tail of a wider law.
_WIDEST = 3


class LengthLaw(NamedTuple):
    """Lengths in tokens, increasing, with their weights, which sum to 1; and where they come from, in words."""

    values: Array
    weights: Array
    words: str

    @property
    def mean(self) -> float:
        """Return the mean length."""
        return float(self.values @ self.weights)

    def draw(self, u: Array) -> Array:
        """Return one length for each uniform, by the inverse of the distribution function."""
        cdf = np.cumsum(self.weights)
        return self.values[np.minimum(np.searchsorted(cdf, u * cdf[-1], side="right"), len(cdf) - 1)]


class Lengths(NamedTuple):
    """Lengths of prompts and of answers, independent of each other.

    prompts: None where the times of cycles have the reading of prompts in them.
    """

    prompts: LengthLaw | None
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
    # A whole number, in multiples of 1024 with a k behind it.
    written = text.strip()
    digits = written.lower().removesuffix("k")
    if digits.isdecimal() and len(digits) < 16:
        number = _checked(int(digits) * (1 if digits == written else 1024), name, most)
        return LengthLaw(np.array([number]), np.ones(1), f"{number} token{'s' if number > 1 else ''}")
    # A mean with a standard deviation.
    match = _SPREAD.match(written)
    if match:
        mean, deviation = map(float, match.groups())
        return _lognormal(mean, deviation, name, most)
    # A file of lengths.
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
    """Return the law of the lengths in a file, each weighted by how often it occurs."""
    lengths = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        # Skip empty lines and a heading.
        word = line.strip().rstrip(",")
        is_heading = number == 1 and not word.isdecimal() and word.isidentifier()
        if not word or is_heading:
            continue
        if not word.isdecimal() or len(word) > 15:
            raise ValueError(f"{path}, line {number}: {word[:40]!r} is no length; write one whole number per line")
        lengths.append(_checked(int(word), f"{name}: {path}, line {number}", most))
    if not lengths:
        raise ValueError(f"{path} has no lengths: write one whole number per line")
    values, counts = np.unique(lengths, return_counts=True)
    return LengthLaw(values, counts / counts.sum(), f"the {len(lengths)} lengths of {path.name}")


def _lognormal(mean: float, deviation: float, name: str, most: int) -> LengthLaw:
    r"""Return lengths of equal weight at the quantiles of a lognormal law with this mean and standard deviation.

    With mean m and standard deviation s the logarithm of a length is normal:

    .. math:: \sigma^2 = \log(1 + s^2 / m^2), \qquad \mu = \log m - \sigma^2 / 2
    """
    from scipy.special import ndtri

    _checked(round(mean), name, most)
    if deviation > _WIDEST * mean:
        raise ValueError(
            f"{name} has a standard deviation of {deviation:g}; it may be {_WIDEST} times the mean at most"
        )
    if deviation == 0:
        return LengthLaw(np.array([round(mean)]), np.ones(1), f"{round(mean)} tokens")
    # The quantiles at the middle of POINTS equal parts of [0, 1].
    variance = math.log1p((deviation / mean) ** 2)
    levels = (np.arange(POINTS) + 0.5) / POINTS
    quantiles = mean * np.exp(math.sqrt(variance) * ndtri(levels) - variance / 2)
    # So few points miss the tail and have a smaller mean: scale them back to it, then round to whole tokens.
    values = np.clip(np.rint(quantiles * mean / quantiles.mean()), 1, most).astype(int)
    words = f"{mean:g} tokens in the mean, with a standard deviation of {deviation:g} (lognormal)"
    return LengthLaw(values, np.full(POINTS, 1 / POINTS), words)


def _checked(value: int, name: str, most: int) -> int:
    """Return a length; ValueError if it is below 1 or above `most`."""
    length = check.integer(value, name, 1)
    if length > most:
        raise ValueError(f"{name} is {length}; it must be at most {most}")
    return length
