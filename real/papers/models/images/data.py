"""scikit-learn's digits: 1,797 images of 8x8 pixels, which its wheel holds.

Nothing is downloaded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from specsim.base.extras import needed

# Grey levels; the data have 17, and the brightest two are one here.
LEVELS = 16
PIXELS = 64
SIDE = 8
CLASSES = 10
# Images that are held out: the last ones.
HELD_OUT = 200


class Digits(NamedTuple):
    """Images in an order that was drawn once: the last `HELD_OUT` are never trained on.

    Parameters
    ----------
    images : Tensor, shape (1797, 64), int64
        Grey levels from 0 to 15, rows of eight pixels one after the other.
    labels : Tensor, shape (1797,), int64
        The digits, from 0 to 9.
    """

    images: Tensor
    labels: Tensor

    def learned(self) -> Digits:
        """The images that models are trained on."""
        return Digits(self.images[:-HELD_OUT], self.labels[:-HELD_OUT])

    def held_out(self) -> Digits:
        """The images that no model has seen."""
        return Digits(self.images[-HELD_OUT:], self.labels[-HELD_OUT:])


@lru_cache(maxsize=1)
def digits() -> Digits:
    """All of the images; ImportError that names the extra if scikit-learn is not installed."""
    with needed("reading the digits"):
        from sklearn.datasets import load_digits
    data = load_digits()
    images = np.minimum(data.data, LEVELS - 1).astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    return Digits(torch.from_numpy(images[order]), torch.from_numpy(data.target[order].astype(np.int64)))
