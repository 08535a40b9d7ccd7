"""optimal_acceptance against one np.argsort of the same ratios, in one run: `python tests/bench/bench_bounds.py`.

One thread, calls alternating, medians. The target is a ratio of at most 1.6 at V = 152,000 and K = 8.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import itertools
import math
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from specsim import optimal_acceptance, optimal_coupling

Array = Any
SIZES, DRAFTS, ROUNDS = (32_000, 152_000), (2, 8), 25


def medians(*functions: Callable[[], Any], rounds: int) -> list[float]:
    """Milliseconds of each function, called in turn, after one warm-up."""
    times: list[list[float]] = [[] for _ in functions]
    for round_ in range(rounds + 1):
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            if round_:
                times[k].append(1e3 * (time.perf_counter() - start))
    return [statistics.median(t) for t in times]


def laws(kind: str, vocab: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(vocab)
    if kind == "dirichlet(0.1)":
        p, q = rng.dirichlet(np.full(vocab, 0.1), 2)
    else:  # softmax of correlated normal logits: what two language models give
        logits = rng.standard_normal(vocab) * 3
        p, q = (np.exp(logits + 0.5 * rng.standard_normal(vocab)) for _ in range(2))
    return p / p.sum(), q / q.sum()


def plain_loop(p: Array, q: Array, num_drafts: int) -> float:
    """The sorting formula, one token at a time."""
    a, b = p.tolist(), q.tolist()
    low = p_mass = q_mass = 0.0
    for i in sorted(range(len(a)), key=lambda i: a[i] / b[i] if b[i] else math.inf):
        p_mass, q_mass = p_mass + a[i], q_mass + b[i]
        low = min(low, p_mass - q_mass**num_drafts)
    return 1 + low


def transport(p: Array, q: Array, num_drafts: int) -> float:
    """The transport program over sets of drafts, by HiGHS."""
    return optimal_coupling(p, q, num_drafts=num_drafts).value


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, numpy {np.__version__}, one thread, median of {ROUNDS}\n")
    header = f"{'laws':<16}{'V':>8}{'K':>4}{'argsort(p/q) ms':>17}{'optimal_acceptance ms':>23}{'ratio':>8}"
    print(header, "-" * len(header), sep="\n")
    for kind, vocab, k in itertools.product(("dirichlet(0.1)", "softmax"), SIZES, DRAFTS):
        p, q = laws(kind, vocab)
        ratio = p / q
        sort, ours = medians(
            lambda ratio=ratio: np.argsort(ratio),
            lambda p=p, q=q, k=k: optimal_acceptance(p, q, num_drafts=k),
            rounds=ROUNDS,
        )
        print(f"{kind:<16}{vocab:>8}{k:>4}{sort:>17.2f}{ours:>23.2f}{ours / sort:>8.2f}")

    header = f"{'against':<32}{'V':>8}{'K':>4}{'theirs ms':>13}{'ours ms':>11}{'difference':>13}{'ratio':>8}"
    print("", header, "-" * len(header), sep="\n")
    others: list[tuple[str, Callable[[Array, Array, int], float], int, int]] = [
        ("plain Python loop", plain_loop, 152_000, 2),
        ("plain Python loop", plain_loop, 152_000, 8),
        ("optimal_coupling, an LP", transport, 150, 2),
        ("optimal_coupling, an LP", transport, 30, 3),
    ]
    for name, other, vocab, k in others:
        p, q = laws("softmax", vocab)
        theirs, ours = medians(
            lambda other=other, p=p, q=q, k=k: other(p, q, k),
            lambda p=p, q=q, k=k: optimal_acceptance(p, q, num_drafts=k),
            rounds=3,
        )
        difference = abs(other(p, q, k) - float(optimal_acceptance(p, q, num_drafts=k)))
        print(f"{name:<32}{vocab:>8}{k:>4}{theirs:>13.2f}{ours:>11.3f}{difference:>13.1e}{ours / theirs:>8.4f}")


if __name__ == "__main__":
    main()
