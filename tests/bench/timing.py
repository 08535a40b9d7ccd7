"""What the benchmarks of bounds and rules share: one thread, calls that alternate, laws of full vocabularies.

Import before NumPy: the number of threads is read when NumPy is loaded.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from specsim.base.provenance import processor

Array = Any
SIZES, DRAFTS, ROUNDS = (32_000, 152_000), (2, 8), 25
KINDS = ("dirichlet(0.1)", "softmax")


def medians(*functions: Callable[[], Any], rounds: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Milliseconds of each function, called in turn, after one warm-up."""
    times: list[list[float]] = [[] for _ in functions]
    for round_ in range(rounds + 1):
        for k, function in enumerate(functions):
            start = clock()
            function()
            if round_:
                times[k].append(1e3 * (clock() - start))
    return [statistics.median(t) for t in times]


def laws(kind: str, vocab: int) -> tuple[Array, Array]:
    """A target and a draft law over the vocabulary."""
    rng = np.random.default_rng(vocab)
    if kind == "dirichlet(0.1)":
        p, q = rng.dirichlet(np.full(vocab, 0.1), 2)
    else:  # softmax of correlated normal logits: what two language models give
        logits = rng.standard_normal(vocab) * 3
        p, q = (np.exp(logits + 0.5 * rng.standard_normal(vocab)) for _ in range(2))
        if kind == "top-p 0.95":  # zeros, hence ties of the ratio
            p, q = (np.where(w >= np.sort(w)[np.cumsum(np.sort(w)).searchsorted(0.05 * w.sum())], w, 0) for w in (p, q))
    return p / p.sum(), q / q.sum()


def machine() -> str:
    """First line of a report."""
    return f"{processor()}, numpy {np.__version__}, one thread, median of {ROUNDS}"
