"""The optimal rule against one np.argsort of the same ratios, in one run: `python tests/bench/bench_optimal.py`.

One thread, calls alternating, medians. The goals: prepare at most 4 sorts (aim: 2), one verify with its plan at most
5 % of one. They are meant for rows without zeros: where top-p leaves a tenth of a row, argsort has hardly anything to
sort, while prepare still takes about as long.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import itertools
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from specsim import optimal_acceptance
from specsim.verify.step import optimal

Array = Any
SIZES, DRAFTS, ROUNDS, DRAWS = (32_000, 152_000), (2, 8), 25, 200


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
        if kind == "top-p 0.95":  # zeros, hence ties of the ratio
            p, q = (np.where(w >= np.sort(w)[np.cumsum(np.sort(w)).searchsorted(0.05 * w.sum())], w, 0) for w in (p, q))
    return p / p.sum(), q / q.sum()


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, numpy {np.__version__}, one thread, median of {ROUNDS}\n")
    header = f"{'laws':<16}{'V':>8}{'K':>4}{'argsort(p/q) ms':>17}{'prepare ms':>12}{'ratio':>7}"
    header += f"{'verify ms':>11}{'share':>8}{'acceptance - optimum':>22}"
    print(header, "-" * len(header), sep="\n")
    for kind, vocab, k in itertools.product(("dirichlet(0.1)", "softmax", "top-p 0.95"), SIZES, DRAFTS):
        p, q = laws(kind, vocab)
        ratio = np.where(q > 0, p / np.where(q > 0, q, 1), np.inf)
        plan = optimal.prepare(p, q, k)
        rng = np.random.default_rng(k)
        x, u = rng.choice(vocab, (DRAWS, k), p=q), rng.random((DRAWS, optimal.uniforms(k)))

        def verify(plan: optimal.Plan = plan, x: Array = x, u: Array = u) -> None:
            for drafts, uniforms in zip(x, u, strict=True):
                optimal.verify(plan, drafts, uniforms)

        sort, ours, draws = medians(
            lambda ratio=ratio: np.argsort(ratio),
            lambda p=p, q=q, k=k: optimal.prepare(p, q, k),
            verify,
            rounds=ROUNDS,
        )
        difference = float(optimal.acceptance(plan) - optimal_acceptance(p, q, num_drafts=k))
        print(
            f"{kind:<16}{vocab:>8}{k:>4}{sort:>17.2f}{ours:>12.2f}{ours / sort:>7.2f}"
            f"{draws / DRAWS:>11.4f}{draws / DRAWS / sort:>8.2%}{difference:>22.1e}"
        )


if __name__ == "__main__":
    main()
