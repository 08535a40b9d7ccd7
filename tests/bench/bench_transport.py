"""The transport program against one sort, and how both scale, in one run: `python tests/bench/bench_transport.py`.

One thread. Prints the largest vocabulary that each solver finishes in a time budget, and rows per second of a batch;
writes every number to scaling.json, and times against V and n to scaling.png, beside this file. Needs the extras
`solve`, `plot`, `real` (torch) and `bench` (POT). A solver runs in a process of its own, which the budget or the memory
limit ends; all get tuples merged to sets, which POT would not do by itself.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import json
import math
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from specsim import acceptance_rate, optimal_acceptance, optimal_coupling
from specsim.base.provenance import processor
from specsim.bounds import transport
from specsim.verify.step import optimal

Array = Any
HERE = Path(__file__).parent
NAMES = {"V": "vocabulary V", "n": "drafts n"}
LP = {"LP, HiGHS simplex": "HIGHS", "LP, Clarabel interior point": "CLARABEL"}
POT = "POT network simplex"
VOCABULARIES, COUNTS = [1000 * 2**i for i in range(9)], [1, 2, 4, 8, 16, 32]
FIXED_V, FIXED_N, LP_V = 32_000, 2, 10  # what is held while the other varies
ROWS, PLAIN_ROWS, PLAIN_V = 64, 2, 2000


def laws(vocab: int, rows: tuple[int, ...] = ()) -> tuple[Array, Array]:
    """Softmax of correlated normal logits: what two language models give."""
    rng = np.random.default_rng(vocab)
    logits = 3 * rng.standard_normal((*rows, vocab))
    p, q = (np.exp(logits + 0.5 * rng.standard_normal((*rows, vocab))) for _ in range(2))
    return p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)


def seconds(function: Callable[[], Any], rounds: int = 5) -> float:
    """Median time of a call, after a warm-up; a slow call is not repeated."""
    times: list[float] = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
        if sum(times) > 5:
            break
    return statistics.median(times[1:] or times)


def network_simplex(p: Array, q: Array, num_drafts: int) -> float:
    """Optimal transport from sets of drafts to tokens at cost 1 for a token outside the set, by POT."""
    import ot

    sets, mass = transport._merged(*transport._tuples_of_scheme(q, len(p), num_drafts, "iid"), len(p))
    cost = np.ones((len(sets), len(p) + 1))
    np.put_along_axis(cost, sets, 0, axis=-1)  # the last column takes what fills up a set
    loss, log = ot.emd2(mass / mass.sum(), p, np.ascontiguousarray(cost[:, :-1]), numItermax=10**9, log=True)
    if log["warning"] is not None:
        raise RuntimeError(log["warning"])
    return 1 - float(loss)


def solve(name: str, p: Array, q: Array, num_drafts: int) -> float:
    return (
        network_simplex(p, q, num_drafts)
        if name == POT
        else optimal_coupling(p, q, num_drafts=num_drafts, solver=LP[name]).value
    )


def child(name: str, vocab: int, num_drafts: int, memory: int, answer: Connection) -> None:
    """Solve once to load what is loaded on use, say so, then solve and say how long it took."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    solve(name, *laws(4), num_drafts)
    p, q = laws(vocab)
    answer.send(None)
    start = time.perf_counter()
    value = solve(name, p, q, num_drafts)
    answer.send((time.perf_counter() - start, value))


def attempt(name: str, vocab: int, num_drafts: int, budget: float, memory: int) -> tuple[float, float] | str:
    """(seconds, value), or why there is none."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=child, args=(name, vocab, num_drafts, memory, theirs))
    process.start()
    theirs.close()
    try:
        ours.recv()
        if not ours.poll(budget):
            return f"over {budget:g} s"
        return ours.recv()  # type: ignore[no-any-return]
    except EOFError:  # the process is gone: out of memory, or an error that it has printed
        return f"failed: {memory >> 30} GB are too little, or the error above"
    finally:
        process.kill()
        process.join()


def growing(name: str, num_drafts: int, budget: float, memory: int) -> Iterator[tuple[int, float, float]]:
    """(V, seconds, value) at sizes that grow by the square root of 2, until one is not done."""
    for step in range(100):
        vocab = round(32 * 2 ** (step / 2))
        found = attempt(name, vocab, num_drafts, budget, memory)
        if isinstance(found, str):
            print(f"{name}: V = {vocab} {found}", flush=True)
            return
        yield vocab, *found


def largest(budget: float, memory: int) -> dict[str, list[tuple[int, float]]]:
    """Prints the table of largest vocabularies; returns the times of all sizes."""
    series, rows = {}, []
    for name in (*LP, POT):
        done = list(growing(name, FIXED_N, budget, memory))
        series[name] = [(vocab, taken) for vocab, taken, _ in done]
        vocab, taken, value = done[-1]
        p, q = laws(vocab)
        ours = seconds(partial(optimal_acceptance, p, q, num_drafts=FIXED_N))
        difference = abs(value - float(optimal_acceptance(p, q, num_drafts=FIXED_N)))
        rows.append(f"{name:<32}{vocab:>8}{taken:>11.2f}{1e3 * ours:>11.3f}{taken / ours:>12.0f}{difference:>13.1e}")
    p, q = laws(VOCABULARIES[-1])
    ours = seconds(partial(optimal_acceptance, p, q, num_drafts=FIXED_N))
    title = f"largest V in {budget:g} s, n = {FIXED_N}"
    header = f"{title:<32}{'V':>8}{'theirs s':>11}{'ours ms':>11}{'ratio':>12}{'difference':>13}"
    print("", header, "-" * len(header), *rows, sep="\n")
    print(f"{'optimal_acceptance':<32}{VOCABULARIES[-1]:>8}{'':>11}{1e3 * ours:>11.3f}", flush=True)
    return series


def scaling(against_v: dict[str, list[tuple[int, float]]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Times against V (n fixed) and against n (V fixed)."""
    by_v: dict[str, list[tuple[int, float]]] = {name: [] for name in ("optimal_acceptance", "prepare", "verify")}
    by_n: dict[str, list[tuple[int, float]]] = {name: [] for name in by_v}
    sizes = [(by_v, v, v, FIXED_N) for v in VOCABULARIES] + [(by_n, n, FIXED_V, n) for n in COUNTS]
    for series, x, vocab, n in sizes:
        p, q = laws(vocab)
        plan, rng = optimal.prepare(p, q, n), np.random.default_rng(n)
        drafts, u = rng.choice(vocab, n, p=q), rng.random(optimal.uniforms(n))
        many = partial(repeat, partial(optimal.verify, plan, drafts, u), 200)
        series["optimal_acceptance"].append((x, seconds(partial(optimal_acceptance, p, q, num_drafts=n))))
        series["prepare"].append((x, seconds(partial(optimal.prepare, p, q, n))))
        series["verify"].append((x, seconds(many) / 200))
    p, q = laws(LP_V)
    counts = [n for n in range(1, 33) if LP_V**n <= transport.MAX_TUPLES]
    lp = [(n, seconds(partial(optimal_coupling, p, q, num_drafts=n), 1)) for n in counts]
    return {"V": by_v | against_v, "n": {**by_n, f"LP, HiGHS simplex, V = {LP_V}": lp}}


def repeat(function: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        function()


def plain_optimum(p: list[float], q: list[float], num_drafts: int) -> float:
    low = p_mass = q_mass = 0.0
    for i in sorted(range(len(p)), key=lambda i: p[i] / q[i] if q[i] else math.inf):
        p_mass, q_mass = p_mass + p[i], q_mass + q[i]
        low = min(low, p_mass - q_mass**num_drafts)
    return 1 + low


def plain_recursive(p: list[float], q: list[float], num_drafts: int) -> float:
    all_rejected = 1.0
    for _ in range(num_drafts):
        kept = sum(min(a, b) for a, b in zip(p, q, strict=True))
        all_rejected *= 1 - kept
        p = [max(a - b, 0.0) / (1 - kept) for a, b in zip(p, q, strict=True)]
    return 1 - all_rejected


def rows_per_second() -> dict[str, dict[str, float]]:
    """Prints the table of a batch, for both functions."""
    import torch

    torch.set_num_threads(1)
    p, q = laws(FIXED_V, (ROWS,))
    tensors = torch.from_numpy(p), torch.from_numpy(q)
    small = [w.tolist() for w in laws(PLAIN_V, (PLAIN_ROWS,))]
    plain = f"pure Python, extrapolated from V = {PLAIN_V}"
    n, found = 4, {}
    functions: list[tuple[str, Callable[..., Any], Callable[..., float]]] = [
        ("optimal_acceptance", partial(optimal_acceptance, num_drafts=n), plain_optimum),
        ("acceptance_rate, recursive", partial(acceptance_rate, rule="recursive", num_drafts=n), plain_recursive),
    ]
    header = f"{f'{ROWS} rows, V = {FIXED_V}, n = {n}':<32}{'':<40}{'rows/s':>12}{'difference':>13}"
    print("", header, "-" * len(header), sep="\n")
    for name, ours, theirs in functions:
        wanted = ours(p, q)
        times = {
            "NumPy, one call": seconds(partial(ours, p, q)) / ROWS,
            "torch on the CPU, one call": seconds(partial(ours, *tensors)) / ROWS,
            "NumPy, a Python loop over rows": seconds(partial(each, ours, p, q)) / ROWS,
            plain: seconds(partial(each, theirs, *small, n)) / PLAIN_ROWS * FIXED_V / PLAIN_V,
        }
        errors = (
            0.0,
            np.abs(ours(*tensors).numpy() - wanted).max(),
            np.abs(each(ours, p, q) - wanted).max(),
            np.abs(each(theirs, *small, n) - ours(*map(np.array, small))).max(),
        )
        found[name] = {how: 1 / t for how, t in times.items()}
        for (how, rate), error in zip(found[name].items(), errors, strict=True):
            print(f"{name:<32}{how:<40}{rate:>12.1f}{error:>13.1e}", flush=True)
    return found


def each(function: Callable[..., Any], p: Any, q: Any, *rest: Any) -> Array:
    return np.array([function(a, b, *rest) for a, b in zip(p, q, strict=True)])


def draw(times: dict[str, dict[str, list[tuple[int, float]]]], machine: str, path: Path) -> None:
    from specsim.report.figure import as_png, figure, legend_beside

    made, axes = figure(12, 4.2, 2)
    axes[1].sharey(axes[0])
    fixed = {"V": f"{FIXED_N} drafts", "n": f"vocabulary {FIXED_V:,}"}
    ours = {"optimal_acceptance": "optimal_acceptance (ours)", "prepare": "rule optimal: prepare (ours)",
            "verify": "rule optimal: verify (ours)"}  # fmt: skip
    for axis, (variable, series) in zip(axes, times.items(), strict=True):
        for name, points in series.items():
            marker, dashes = ("o", "-") if name in ours else ("x", "--")
            axis.loglog(*zip(*points, strict=True), marker=marker, ls=dashes, label=ours.get(name, name))
        axis.set(xlabel=f"{NAMES[variable]} (log scale)", title=fixed[variable])
        axis.grid(alpha=0.3)
        legend_beside(axis)
    axes[0].set_ylabel("seconds per row (log scale)")
    made.suptitle(
        "Time of the exact optimum of several drafts, beside general solvers of the same problem", fontsize=11
    )
    made.supxlabel(machine, fontsize=7, color="0.4")
    path.write_bytes(as_png(made))


def main(
    budget: Annotated[float, typer.Option(min=0.1, help="Seconds that a solver may take at one size.")] = 60,
    memory: Annotated[int, typer.Option(min=1, help="GB of address space that a solver may take.")] = 12,
    out: Annotated[Path, typer.Option(help="Folder of scaling.json and scaling.png.")] = HERE,
) -> None:
    """Print the tables; write the numbers and the plot."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "cvxpy", "highspy", "clarabel", "POT", "torch")
    )
    machine = f"{processor()}, {packages}, one thread"
    print(machine, flush=True)
    series = largest(budget, memory << 30)
    rates = rows_per_second()
    record = {"machine": machine, "budget_s": budget, "memory_gb": memory, "rows_per_second": rates}
    record["seconds"] = times = scaling(series)
    (out / "scaling.json").write_text(json.dumps(record, indent=1) + "\n")
    draw(times, machine, out / "scaling.png")
    print(f"\nwritten: {out / 'scaling.json'}, {out / 'scaling.png'}")


if __name__ == "__main__":
    typer.run(main)
