"""The optimum and its rule against one sort and one pass, in one run: `python tests/bench/table_sort.py > sort.txt`.

Processor time of one thread, since other programs may run; calls take turns, medians. Every figure is a ratio to two
references of the same run: one np.argsort(p/q) and one pass np.minimum(p, q).sum(). Once as NumPy sorts on this
processor, and once in a process of its own without the sort's vector instructions: the goals, in argsorts, are smaller
there, for the same code then stands beside a slower sort. Beside them stand page faults of a call: memory that is new
to the process costs more than most passes, and how much of it is new is the allocator's doing.
"""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

from timing import DRAFTS, KINDS, ROUNDS, SIZES, laws, machine, medians  # isort: skip (sets the number of threads)

import numpy as np
import torch

from specsim import optimal_acceptance
from specsim.verify.step import optimal

Array = Any
GRID, DRAWS, BATCH = 0.01, 100, 64
PLAIN = "NPY_DISABLE_CPU_FEATURES"
ALLOCATOR = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
CALLS = 20  # over which page faults are counted
BEFORE = """before, recorded where argsort took 1.4 and 8.5 ms (bounds.txt, optimal.txt): acceptance 1.11-1.59
argsorts; prepare 2.11-3.06, of cut rows 8.4-10.1; in bins 0.37-0.84, of cut rows 2.6-4.0; verify 56-77
microseconds; 64 x 32,000: 443 rows/s in one call, 500 in a loop, torch 222. The code before this table,
beside the present one on this machine, 15 rounds: acceptance 1.6-2.2 argsorts at V = 32,000 and 1.2 at
152,000; prepare 3.2-4.6, of cut rows 25 and 32; in bins 1.4 and 0.8, of cut rows 9.4-10.5; verify 55-78
microseconds"""

NOTES = """goals, in argsorts: where NumPy sorts with vector instructions, acceptance 0.55 at V = 32,000 and 0.4 at
152,000, prepare 3 and 2.5, in bins 0.8; where not, 0.35, 1.6, 0.35. In passes, of cut rows: acceptance 3, prepare 6.
verify 40 microseconds; batches: a call never slower than a loop, memory 3 rows. What bounds short rows: two
np.bincount, 2 ns a token each, are a third of acceptance at V = 32,000; some 60 calls of NumPy, microseconds each, are
most of the rest; both laws are checked by the sums of their bins. In bins and on cut rows it is the sums of what is
left over, one np.cumsum of the whole row: 3 passes. Tried: radix sorts of 16 bits (np.argsort, stable: about 2.5 ms at
V = 152,000, and two of them slower than one argsort); bins from float32 ratios (as fast as from float64, and less
exact); 16 and 64 bins an octave instead of 32, a first bin at 2^-24 (alike), pieces of 2^12 to 2^15 tokens (2^14 was
best, by a tenth). Of float32 rows the pieces of float64 alone are 4 rows at V = 32,000. Tried: NumPy's bins on torch's
memory by two threads, 0.3 to 0.6 of NumPy's rate, since np.bincount keeps the interpreter to itself."""


def faults(call: Callable[[], Any]) -> float:
    """Page faults of a call that read nothing from a disk."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        call()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / CALLS


def found() -> str:
    """Vector instructions that NumPy has chosen its sorts by."""
    kinds = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # type: ignore[call-arg,index]
    return " ".join(kinds) or "none"


def calls(p: Array, q: Array, k: int) -> list[Callable[[], Any]]:
    """What is timed on a pair."""
    return [
        partial(optimal_acceptance, p, q, num_drafts=k),
        partial(optimal.prepare, p, q, k),
        partial(optimal.prepare, p, q, k, grid=GRID),
    ]


def rows() -> None:
    """One row: dense, and cut by top-p; there also what it costs beyond the tokens that have mass."""
    header = f"{'laws':<15}{'V':>7}{'K':>3}{'argsort ms':>12}{'pass ms':>9}"
    header += (
        f"{'acceptance':>12}{'prepare':>9}{'in bins':>9}{'verify us':>11}{'acceptance':>12}{'prepare':>9}"
        f"{'acceptance':>13}{'prepare':>9}{'in bins':>9}"
    )
    words = ("------- in argsorts -------", "-- page faults --", "---- in passes, beyond tokens with mass ----")
    print(f"{'':46}{words[0]}{'':15}{words[1]}   {words[2]}")
    print(header, "-" * len(header), sep="\n")
    for kind, vocab, k in itertools.product((*KINDS, "top-p 0.95"), SIZES, DRAFTS):
        p, q = laws(kind, vocab)
        ratio = np.where(q > 0, p / np.where(q > 0, q, 1), np.inf)
        plan, rng = optimal.prepare(p, q, k), np.random.default_rng(k)
        x, u = rng.choice(vocab, (DRAWS, k), p=q), rng.random((DRAWS, optimal.uniforms(k)))

        def verify(plan: optimal.Plan = plan, x: Array = x, u: Array = u) -> None:
            for drafts, uniforms in zip(x, u, strict=True):
                optimal.verify(plan, drafts, uniforms)

        some = (p > 0) | (q > 0)
        fewer = calls(p[some], q[some], k) if kind.startswith("top") else []
        references = [partial(np.argsort, ratio), lambda p=p, q=q: np.minimum(p, q).sum()]
        sort, once, *times = medians(
            *references, *calls(p, q, k), verify, *fewer, rounds=ROUNDS, clock=time.process_time
        )
        line = f"{kind:<15}{vocab:>7}{k:>3}{sort:>12.2f}{once:>9.3f}" + "".join(
            f"{t / sort:>{n}.2f}" for t, n in zip(times[:3], (12, 9, 9), strict=True)
        )
        line += f"{1e3 * times[3] / DRAWS:>11.1f}"
        line += "".join(f"{faults(call):>{n}.0f}" for call, n in zip(calls(p, q, k), (12, 9), strict=False))
        beyond = zip(times[:3], times[4:], (13, 9, 9), strict=True) if fewer else ()
        print(line + "".join(f"{(t - less) / once:>{n}.1f}" for t, less, n in beyond))


def batches() -> None:
    """Rows a second of processor time, in one call and in a loop, and the call's memory beyond its input."""
    header = f"{'batch':<22}{'K':>3}{'one call':>14}{'loop':>10}{'call / loop':>13}{'memory, rows':>14}"
    print("\nacceptance, rows a second", header, "-" * len(header), sep="\n")
    for vocab, kind in itertools.product(SIZES, (np.float64, np.float32)):
        batch(f"{BATCH} x {vocab} {np.dtype(kind).name}", *equal_rows(vocab, kind), 4, rounds=3)
    p, q = np.random.default_rng(0).dirichlet(np.ones(50), (2, 4096))
    batch("4096 x 50, top-k", p, q, 4, rounds=5, loop=False)


def threads() -> None:
    """Elapsed rows a second: NumPy in one call with one thread, and torch's own rows in main memory with two."""
    header = f"{'batch':<22}{'K':>3}{'NumPy, one':>14}{'torch, two':>12}{'torch / NumPy':>15}"
    print("\nacceptance, rows a second by threads, elapsed time", header, "-" * len(header), sep="\n")
    torch.set_num_threads(2)
    for vocab, kind in itertools.product(SIZES, (np.float64, np.float32)):
        p, q = equal_rows(vocab, kind)
        calls = [partial(optimal_acceptance, *rows, num_drafts=4) for rows in ((p, q), map(torch.from_numpy, (p, q)))]
        one, two = (1e3 * BATCH / t for t in medians(*calls, rounds=5))
        print(f"{f'{BATCH} x {vocab} {np.dtype(kind).name}':<22}{4:>3}{one:>14.0f}{two:>12.0f}{two / one:>15.2f}")


def equal_rows(vocab: int, kind: type) -> tuple[Array, Array]:
    """A batch of one pair of laws."""
    p, q = (np.tile(w.astype(kind), (BATCH, 1)) for w in laws("softmax", vocab))
    p, q = (w / w.sum(axis=-1, keepdims=True, dtype=np.float64).astype(kind) for w in (p, q))
    return p, q


def batch(name: str, p: Array, q: Array, k: int, rounds: int, loop: bool = True) -> None:
    def call() -> Array:
        return optimal_acceptance(p, q, num_drafts=k)

    def looped() -> list[Array]:
        return [optimal_acceptance(a, b, num_drafts=k) for a, b in zip(p, q, strict=True)]

    times = medians(call, *([looped] if loop else []), rounds=rounds, clock=time.process_time)
    rates = [1e3 * len(p) / t for t in times]
    line = f"{name:<22}{k:>3}{rates[0]:>14.0f}"
    if loop:
        tracemalloc.start()
        call()
        line += (
            f"{rates[1]:>10.0f}{rates[0] / rates[1]:>13.2f}{tracemalloc.get_traced_memory()[1] / p[0].nbytes:>14.1f}"
        )
        tracemalloc.stop()
    print(line)


def main() -> None:
    print(f"{machine()}, processor time\nvector instructions that NumPy found to sort with: {found()}")
    settings = [f"{name}={os.environ[name]}" for name in ALLOCATOR if name in os.environ]
    print(f"the allocator: {', '.join(settings) or 'as it is set by default'}")
    if PLAIN not in os.environ:
        cores = f"{os.cpu_count()} cores shared with other programs"
        print(f"python tests/bench/table_sort.py > tests/bench/sort.txt; {cores}")
        print(BEFORE + "\n")
    rows()
    if PLAIN in os.environ:
        return
    batches()
    threads()
    sys.stdout.flush()
    print("\nthe same where NumPy sorts without them\n", flush=True)
    subprocess.run([sys.executable, __file__], env={**os.environ, PLAIN: found()}, check=True)
    print("\n" + NOTES)


if __name__ == "__main__":
    main()
