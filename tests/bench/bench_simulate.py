"""The simulator, on NumPy and JAX, against a plain Python loop: `python tests/bench/bench_simulate.py [--record]`.

Tokens per second of rejection at every position (the rules `rejection` and `tokenwise`), with gamma 4, on random
models of one token of context. The loop keeps its laws as NumPy rows and decodes one text: a draft is drawn, tested
against its two rows, and where it fails the next token drawn from the normalised difference of the rows, cut at 0. It
is run with `Generator.choice`, as one would write it, and with cumsum and searchsorted, which is faster. The simulator
uses all cores, setting up its tables included; JAX is compiled before. All take turns; medians. Block verification,
which has to read whole rows, is shown beside.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import cProfile
import io
import platform
import pstats
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from specsim import Automaton, markov, simulate
from specsim.simulation import shards
from specsim.simulation.shards import CORES

ROUNDS, GAMMA, SEQUENCES = 5, 4, 8192
GOAL, RATIO = 2e6, 100  # tokens per second at V = 64; times the loop
Draw = Callable[[np.random.Generator, Any], int]


def choice(rng: np.random.Generator, law: Any) -> int:
    return int(rng.choice(len(law), p=law))


def search(rng: np.random.Generator, law: Any) -> int:
    sums = law.cumsum()
    return int(sums.searchsorted(rng.random() * sums[-1], side="right"))


def plain_loop(target: Automaton, draft: Automaton, draw: Draw, blocks: int) -> tuple[int, float]:
    """(tokens, tau) of one text."""
    rng, state, tokens = np.random.default_rng(0), 0, 0
    for _ in range(blocks):
        drafts, contexts = [], [state]
        for _ in range(GAMMA):
            drafts.append(draw(rng, draft.rows[contexts[-1]]))
            contexts.append(drafts[-1])
        for context, x in zip(contexts, drafts, strict=False):
            tokens += 1
            p, q = target.rows[context], draft.rows[context]
            if rng.random() * q[x] >= p[x]:
                left = np.maximum(p - q, 0)
                state = draw(rng, left / left.sum())
                break
        else:
            tokens += 1
            state = draw(rng, target.rows[contexts[-1]])
    return tokens, tokens / blocks


def simulated(target: Automaton, draft: Automaton, rule: str, backend: str, blocks: int) -> tuple[int, float]:
    trace = simulate(
        target, draft, rule=rule, gamma=GAMMA, blocks=blocks, sequences=min(SEQUENCES, blocks), backend=backend
    )
    return int(trace.lengths.sum()), trace.tau


def measure(vocab: int) -> str:
    """The table of one vocabulary; a run that misses its goal is profiled below."""
    target, draft = (markov(table) for table in np.random.default_rng(vocab).dirichlet(np.ones(vocab), (2, vocab)))
    few = 64 // min(vocab, 256)  # block verification costs as much as it has rows to read
    runs: dict[str, Callable[[], tuple[int, float]]] = {
        "loop, Generator.choice": partial(plain_loop, target, draft, choice, 3_000),
        "loop, cumsum, searchsorted": partial(plain_loop, target, draft, search, 10_000),
        "numpy": partial(simulated, target, draft, "rejection", "numpy", 1_000_000),
        "jax": partial(simulated, target, draft, "rejection", "jax", 3_000_000),
        "numpy, rule block": partial(simulated, target, draft, "block", "numpy", 20_000 + 80_000 * few),
        "jax, rule block": partial(simulated, target, draft, "block", "jax", 40_000 + 360_000 * few),
    }
    rates: dict[str, list[float]] = {name: [] for name in runs}
    taus = {}
    for round_ in range(ROUNDS + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            tokens, taus[name] = run()
            if round_:
                rates[name].append(tokens / (time.perf_counter() - start))
    found = {name: statistics.median(rate) for name, rate in rates.items()}
    slow, tuned = list(found.values())[:2]
    lines = [f"V = {vocab:<24} tokens/s    of the loop  of the tuned      tau"]
    for name, rate in found.items():
        lines.append(f"{name:26} {rate:11,.0f} {rate / slow:10.1f}x {rate / tuned:11.1f}x {taus[name]:9.3f}")
    best = max(("numpy", "jax"), key=found.__getitem__)
    if found[best] < (GOAL if vocab == 64 else 0) or found[best] < RATIO * slow:
        lines.append(profile(runs[best]))
    return "\n".join(lines)


def profile(run: Callable[[], Any]) -> str:
    """What limits it, on one core: threads hide from the profiler."""
    watched, out = cProfile.Profile(), io.StringIO()
    shards.CORES = 1
    watched.runcall(run)
    shards.CORES = CORES
    pstats.Stats(watched, stream=out).strip_dirs().sort_stats("tottime").print_stats(10)
    return out.getvalue().rstrip()


def main(
    record: Annotated[bool, typer.Option(help="Write simulate.txt.")] = False,
) -> None:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "jax"))
    parts = [f"{platform.machine()}, Python {platform.python_version()}, {versions}, {CORES} cores, median of {ROUNDS}"]
    parts += [measure(vocab) for vocab in (64, 1024)]
    print("\n\n".join(parts))
    if record:
        text = "\n\n".join(parts) + "\n"
        Path(__file__).with_name("simulate.txt").write_text(text, encoding="utf-8")
        print("written: simulate.txt; python docs/refresh.py takes it into docs/results")


if __name__ == "__main__":
    typer.run(main)
