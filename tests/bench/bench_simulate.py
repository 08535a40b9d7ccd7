"""The simulator, on NumPy and JAX, against a plain Python loop: `python tests/bench/bench_simulate.py [--record]`.

Tokens per second of rejection at every position (the rules `rejection` and `tokenwise`), with gamma 4, on random
models of one token of context. The loop keeps its laws as NumPy rows and decodes one text: a draft is drawn, tested
against its two rows, and where it fails the next token drawn from the normalised difference of the rows, cut at 0. It
is run with `Generator.choice`, as one would write it, and with cumsum and searchsorted, which is faster. The simulator
uses all cores, setting up its tables included; JAX is compiled before. All take turns; medians. Block verification is
shown beside, looked up in tables of residuals as well, and as it was before, by whole rows; so are greedy block
verification, and traversal verification of a tree of six nodes drawn without replacement. All is run again in a process
that is kept to one core, whose ratios the goals are of. Of 2,048 contexts only what tables serve is run.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import cProfile
import io
import platform
import pstats
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import typer

from specsim import Automaton, markov, simulate
from specsim.base.provenance import processor
from specsim.discover import Rule
from specsim.simulation import shards
from specsim.simulation.shards import CORES
from specsim.verify.chain import block
from specsim.verify.tree import traversal

ROUNDS, GAMMA, SEQUENCES = 3, 4, 8192
TREE = (-1, -1, 0, 0, 1, 2)
LARGE = 1024  # contexts, from which rows take too long
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


def by_rows(rule: ModuleType) -> ModuleType:
    """The rule without a word on what it looks up."""
    plain = ModuleType(f"{rule.__name__}, by rows")
    plain.__dict__.update({k: v for k, v in vars(rule).items() if k not in ("scales", "keeps", "left_over")})
    return plain


def simulated(
    target: Automaton, draft: Automaton, rule: Rule, backend: str, blocks: int, parents: Sequence[int] | None = None
) -> tuple[int, float]:
    many, gamma = min(SEQUENCES, blocks), GAMMA if parents is None else None
    trace = simulate(
        target, draft, rule=rule, gamma=gamma, parents=parents, blocks=blocks, sequences=many, backend=backend
    )
    return int(trace.lengths.sum()), trace.tau


def measure(vocab: int) -> str:
    """The table of one vocabulary; a run that misses its goal is profiled below."""
    target, draft = (markov(table) for table in np.random.default_rng(vocab).dirichlet(np.ones(vocab), (2, vocab)))
    few = 64 // min(vocab, 256)  # by rows it costs as much as it has rows to read
    runs: dict[str, Callable[[], tuple[int, float]]] = {
        "loop, Generator.choice": partial(plain_loop, target, draft, choice, 3_000),
        "loop, cumsum, searchsorted": partial(plain_loop, target, draft, search, 10_000),
        "numpy": partial(simulated, target, draft, "rejection", "numpy", 1_000_000),
        "jax": partial(simulated, target, draft, "rejection", "jax", 3_000_000),
        "numpy, rule block": partial(simulated, target, draft, "block", "numpy", 2_000_000),
        "jax, rule block": partial(simulated, target, draft, "block", "jax", 3_000_000),
        "numpy, block by rows": partial(simulated, target, draft, by_rows(block), "numpy", 20_000 + 80_000 * few),
        "jax, block by rows": partial(simulated, target, draft, by_rows(block), "jax", 40_000 + 160_000 * few),
        "numpy, greedy_block": partial(simulated, target, draft, "greedy_block", "numpy", 500_000),
        "jax, greedy_block": partial(simulated, target, draft, "greedy_block", "jax", 500_000),
        "numpy, traversal": partial(simulated, target, draft, "traversal", "numpy", 300_000, TREE),
        "numpy, traversal by rows": partial(simulated, target, draft, by_rows(traversal), "numpy", 10_000, TREE),
    }
    if vocab > LARGE:
        runs = {name: run for name, run in runs.items() if "by rows" not in name and "traversal" not in name}
    rates: dict[str, list[float]] = {name: [] for name in runs}
    taus = {}
    for round_ in range(ROUNDS + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            tokens, taus[name] = run()
            if round_:
                rates[name].append(tokens / (time.perf_counter() - start))
    found = {name: statistics.median(each) for name, each in rates.items()}
    slow, tuned = list(found.values())[:2]
    cores = ", one core" if CORES == 1 else ""
    lines = [f"{f'V = {vocab}{cores}':28} tokens/s    of the loop  of the tuned       tau"]
    for name, rate in found.items():
        ratios = f"{rate / slow:10.1f}x {rate / tuned:11.1f}x"
        lines.append(f"{name:26} {rate:11,.0f} {ratios} {taus[name]:9.3f}")
    best = max(("numpy", "jax"), key=found.__getitem__)
    missed = found[best] < (GOAL if vocab == 64 else 0) or found[best] < RATIO * slow
    if missed and not cores:
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
    parts = [f"{processor()}, Python {platform.python_version()}, {versions}, {CORES} cores, median of {ROUNDS}"]
    tables = [measure(vocab) for vocab in (64, 1024, 2048)]
    # The process of one core, which inherits it, prints its tables alone.
    if CORES == 1:
        print("\n\n".join(tables))
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    again = subprocess.run([sys.executable, __file__], check=True, capture_output=True, text=True)
    os.sched_setaffinity(0, cores)
    parts += [*tables, again.stdout.rstrip()]
    print("\n\n".join(parts))
    if record:
        text = "\n\n".join(parts) + "\n"
        Path(__file__).with_name("simulate.txt").write_text(text, encoding="utf-8")
        print("written: simulate.txt; python docs/refresh.py takes it into docs/results")


if __name__ == "__main__":
    typer.run(main)
