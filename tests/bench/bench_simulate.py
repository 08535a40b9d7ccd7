"""The simulator, on NumPy and JAX, against a plain Python loop: `python tests/bench/bench_simulate.py`.

Blocks per second, one thread; the three take turns, medians. The loop keeps its laws as lists of floats and draws with
`random`; JAX is compiled before.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import importlib.util
import platform
import random
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

from specsim import Automaton, markov, simulate

ROUNDS, GAMMA, SEQUENCES = 5, 4, 1024


def plain_loop(target: Automaton, draft: Automaton, blocks: int) -> float:
    """Tokens per block of tokenwise verification, one text, one token at a time."""
    p_rows, q_rows = target.rows.tolist(), draft.rows.tolist()
    vocab, state, tokens = range(len(p_rows[0])), 0, 0
    for _ in range(blocks):
        drafts, contexts = [], [state]
        for _ in range(GAMMA):
            drafts.append(random.choices(vocab, q_rows[contexts[-1]])[0])
            contexts.append(drafts[-1])
        for context, x in zip(contexts, drafts, strict=False):
            tokens += 1
            p, q = p_rows[context], q_rows[context]
            if random.random() * q[x] >= p[x]:
                state = random.choices(vocab, [max(a - b, 0.0) for a, b in zip(p, q, strict=True)])[0]
                break
        else:
            tokens += 1
            state = random.choices(vocab, p_rows[contexts[-1]])[0]
    return tokens / blocks


def rates(vocab: int) -> dict[str, float]:
    """Blocks per second of each, on random models of one token of context."""
    target, draft = (markov(table) for table in np.random.default_rng(vocab).dirichlet(np.ones(vocab), (2, vocab)))
    size = {"loop": 5_000, "numpy": 50_000, "jax": 200_000}

    def run(backend: str) -> Callable[[int], object]:
        return lambda blocks: simulate(
            target, draft, rule="tokenwise", gamma=GAMMA, blocks=blocks, sequences=SEQUENCES, backend=backend
        )

    runs: dict[str, Callable[[int], object]] = {"loop": lambda blocks: plain_loop(target, draft, blocks)}
    runs |= {name: run(name) for name in ("numpy", "jax") if name == "numpy" or importlib.util.find_spec("jax")}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(ROUNDS + 1):
        for name, function in runs.items():
            start = time.perf_counter()
            function(size[name])
            if round_:
                times[name].append(size[name] / (time.perf_counter() - start))
    return {name: statistics.median(t) for name, t in times.items()}


if __name__ == "__main__":
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "jax"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {versions}, one thread, median of {ROUNDS}\n")
    for vocab in (4, 32, 256):
        found = rates(vocab)
        against = "  ".join(f"{name} {rate:,.0f}/s ({rate / found['loop']:.1f}x)" for name, rate in found.items())
        print(f"V={vocab:4d}  gamma={GAMMA}  blocks per second: {against}")
