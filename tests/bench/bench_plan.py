"""How long planning takes on one core: `python tests/bench/bench_plan.py > tests/bench/plan.txt`.

The command for a 70B/1B pair, from start to end (target: under 2 s), and a sweep of 100,000 points (under 5 s).
"""

from __future__ import annotations

import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from timing import machine  # isort: skip (sets the number of threads)

import numpy as np

import specsim

ROUNDS = 5
COMMAND = shlex.split(
    "-m specsim plan 0.8 --target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm --tp 4 "
    "--batch 1,8,64 --context 1k,32k"
)
CONTEXTS = (0, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)


def sweep() -> int:
    """Points (alpha, gamma, c, batch, context); the model is made anew, so nothing is remembered."""
    times = specsim.roofline("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", tensor_parallel=4)
    return specsim.sweep(
        times,
        np.linspace(0.05, 0.95, 20),
        gammas=range(1, 11),
        cost_ratios=np.linspace(0.01, 0.3, 10),
        batches=(1, 8, 64, 256, 512),
        contexts=CONTEXTS,
    ).size


def seconds(run: Callable[[], object]) -> str:
    """Median and slowest."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return f"{statistics.median(times):.3f} s, at most {max(times):.3f} s"


def start(*code: str) -> None:
    said = subprocess.run([sys.executable, *code], check=True, capture_output=True).stdout
    assert said, f"{code} prints nothing: it did no work"


def main() -> None:
    print(f"{machine().split(', median')[0]}, median of {ROUNDS}")
    print(f"`specsim plan` for a 70B/1B pair at 6 points of batch and context: {seconds(lambda: start(*COMMAND))}")
    print(f"of which starting Python and importing specsim: {seconds(lambda: start('-c', 'import specsim.cli'))}")
    print(f"a sweep of {sweep():,} points (alpha, gamma, c, batch, context): {seconds(sweep)}")


if __name__ == "__main__":
    main()
