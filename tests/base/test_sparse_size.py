"""Sparse rows of real size: a batch of them never becomes dense."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import specsim
from specsim import top_k_law
from specsim.types import Law


def big(rows: int, vocab: int, k: int, axis: tuple[int, ...] = ()) -> tuple[Law, Law]:
    """Rows that share about half of their tokens."""
    rng = np.random.default_rng(9)
    stretch = vocab // (2 * k)
    laws = []
    for _ in range(2):
        ids = np.arange(0, 2 * k * stretch, 2 * stretch) + stretch * rng.integers(0, 2, (rows, *axis, k))
        laws.append(top_k_law(ids, specsim.normalize(rng.gamma(0.5, size=ids.shape) + 1e-9), vocab))
    return laws[0], laws[1]


def peak(call: Callable[[], Any]) -> tuple[float, float]:
    """(seconds, MB allocated at most) of a call."""
    tracemalloc.start()
    start = time.perf_counter()
    call()
    seconds, (_, most) = time.perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, most / 1e6


def test_a_batch_of_real_size_needs_no_dense_rows() -> None:
    """4096 rows x 152,000 tokens, k = 50: dense rows would be 5,000 MB each. Memory is counted; time only printed."""
    rows, vocab, k = 4096, 152_000, 50
    p, q = big(rows, vocab, k)
    x, u = q.ids[:, :4], np.random.default_rng(0).random((rows, 10))
    calls: dict[str, Callable[[], Any]] = {
        "verify_step optimal": lambda: specsim.verify_step(p, q, x, u, rule="optimal"),
        "verify_step recursive": lambda: specsim.verify_step(p, q, x, u[:, :5], rule="recursive"),
        "acceptance_rate": lambda: specsim.acceptance_rate(p, q, rule="kseq", num_drafts=4),
        "optimal_acceptance": lambda: specsim.optimal_acceptance(p, q, num_drafts=4),
        "optimum": lambda: specsim.optimum(p, q, num_drafts=4),
        "total_variation": lambda: specsim.total_variation(p, q),
    }
    block, drafted = big(rows // 8, vocab, k, (5,)), big(rows // 8, vocab, k, (4,))[1]
    chain = specsim.verify_chain, block[0], drafted, drafted.ids[..., 0], u[: rows // 8, :5]
    calls["verify_chain"] = lambda: chain[0](*chain[1:])
    for name, call in calls.items():
        seconds, megabytes = peak(call)
        print(f"{name}: {seconds:.2f} s, {megabytes:.0f} MB")
        assert megabytes < 300, f"{name} allocates {megabytes:.0f} MB"  # 4096 x 100 float64 are 3.3 MB
