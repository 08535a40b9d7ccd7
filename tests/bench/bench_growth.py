"""How a block's time grows with the vocabulary, gamma, the batch and cores.

`python tests/bench/bench_growth.py [--record]`. Microseconds of a block on laws of 16 contexts, tables set up and JAX
compiled before: processor time of one thread, the least of several runs, which other work on the machine disturbs
least; with cores, elapsed time. Block verification looked up in tables, and by whole rows; V = 1,024, gamma 4 and 2,048
texts, but for what varies. Writes growth.json and growth.png beside this file.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import typer
from bench_simulate import by_rows

from specsim import Automaton
from specsim.base.provenance import processor
from specsim.simulation.blocks import ready
from specsim.simulation.decode_loop import loop
from specsim.simulation.rounds import Rounds, on_jax, on_numpy
from specsim.simulation.shards import CORES
from specsim.simulation.toys.pair import Pair, paired
from specsim.verify.chain import block

HERE = Path(__file__).parent
CONTEXTS, VOCAB, GAMMA, TEXTS, RUNS = 16, 1024, 4, 2048, 7
VARIED: dict[str, tuple[int, ...]] = {
    "V": (16, 64, 256, 1024, 4096, 16384, 65536),
    "gamma": (1, 2, 4, 8, 16, 32),
    "texts": (64, 256, 1024, 4096, 16384),
}
ROWS_UP_TO = 4096  # tokens of whole rows: beyond, a batch of them does not fit
BACKENDS: dict[str, Callable[..., Rounds]] = {"numpy": on_numpy, "jax": on_jax}


def pair_of(vocab: int) -> Pair:
    """Random laws in contexts that the last token leads to."""
    rng = np.random.default_rng(vocab)
    step = np.broadcast_to(np.arange(vocab) % CONTEXTS, (CONTEXTS, vocab))
    return paired(*(Automaton(laws, step, 0) for laws in rng.dirichlet(np.ones(vocab), (2, CONTEXTS))))


def runner(rule: ModuleType, backend: str, vocab: int, gamma: int, texts: int) -> tuple[Callable[[], None], int]:
    """Some rounds of a batch, run once before, and how many blocks they are."""
    run = loop(rule, gamma, None, 1, None, vocab=vocab)
    rounds = BACKENDS[backend](ready(run, pair_of(vocab)), run)
    count = max(2, 8192 // texts)
    u = np.random.default_rng(0).random((count, texts, run.uniforms))
    state, _ = rounds(None, u)

    def once() -> None:
        rounds(state, u)

    once()
    return once, count * texts


def microseconds(rule: ModuleType, backend: str, vocab: int, gamma: int, texts: int) -> float:
    once, blocks = runner(rule, backend, vocab, gamma, texts)
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        once()
        found.append(time.process_time() - start)
    return 1e6 * min(found) / blocks


def over_cores(backend: str) -> dict[int, float]:
    """Elapsed microseconds of a block when as many batches run at once."""
    once, blocks = runner(block, backend, VOCAB, GAMMA, TEXTS)
    out = {}
    for cores in range(1, CORES + 1):
        found = []
        with ThreadPoolExecutor(cores) as pool:
            for _ in range(3 * RUNS):
                start = time.perf_counter()
                list(pool.map(lambda _: once(), range(cores)))
                found.append(time.perf_counter() - start)
        out[cores] = 1e6 * min(found) / (cores * blocks)
    return out


def measured() -> dict[str, Any]:
    out: dict[str, Any] = {}
    plain = {"vocab": VOCAB, "gamma": GAMMA, "texts": TEXTS}
    for name, values in VARIED.items():
        for what, rule, backend in (
            ("numpy", block, "numpy"),
            ("jax", block, "jax"),
            ("numpy, by rows", by_rows(block), "numpy"),
        ):
            times = {}
            for value in values:
                own = plain | {"vocab" if name == "V" else name: value}
                if "rows" in what and own["vocab"] * own["texts"] * (own["gamma"] + 1) > ROWS_UP_TO * TEXTS * 5:
                    continue
                times[value] = microseconds(rule, backend, **own)
                print(f"{name} {value:6} {what:16} {times[value]:9.3f}", flush=True)
            out.setdefault(name, {})[what] = times
    out["cores"] = {backend: over_cores(backend) for backend in BACKENDS}
    print(out["cores"])
    return out


def slopes(record: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Exponents: by what power of the last octaves a block's time grows."""
    found: dict[str, dict[str, float]] = {}
    for name in VARIED:
        for what, times in record[name].items():
            (a, s), (b, t) = list(times.items())[-3], list(times.items())[-1]
            found.setdefault(name, {})[what] = float(np.log(t / s) / np.log(b / a))
    return found


def draw(record: dict[str, Any], path: Path) -> None:
    from matplotlib import pyplot

    words = {"V": "tokens of the vocabulary", "gamma": "drafts per block", "texts": "texts at a time"}
    figure, axes = pyplot.subplots(1, len(VARIED), figsize=(11, 3.6), sharey=True, layout="constrained")
    for axis, name in zip(axes, VARIED, strict=True):
        for what, times in record[name].items():
            axis.loglog(list(map(float, times)), list(times.values()), marker="o", label=what)
        axis.set_xlabel(words.get(name, name))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("microseconds of a block")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.savefig(path, dpi=110)


def main(record: Annotated[bool, typer.Option(help="Write growth.json and growth.png.")] = False) -> None:
    found = measured()
    print(json.dumps(slopes(found), indent=1))
    if record:
        what = {"machine": processor(), "numpy": np.__version__, "cores": CORES, "slopes": slopes(found)}
        (HERE / "growth.json").write_text(json.dumps({**what, "microseconds": found}, indent=1) + "\n")
        draw(found, HERE / "growth.png")


if __name__ == "__main__":
    typer.run(main)
