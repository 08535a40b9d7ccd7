"""How long planning takes on one core: `python tests/bench/bench_plan.py`.

A plan for a 70B/1B pair (target: under 2 s, the import included) and a sweep of 100,000 points (under 5 s).
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time

from timing import machine  # isort: skip (sets the number of threads)

import specsim
from specsim import latency

ONE = """
import specsim
times = specsim.roofline("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", tensor_parallel=4)
print(specsim.plan(times, 0.8, batches=[1, 8, 64], contexts=[1024, 32768])[0].gamma)
"""


def sweep() -> int:
    """Predictions over acceptance, length, draft cost, batch and context."""
    count = 0
    batches, contexts = (1, 8, 64, 256, 512), (0, 1024, 8192, 32768, 65536)
    for cost in (0.02, 0.05, 0.1, 0.2, 0.3):
        device = specsim.roofline("llama-3.1-8b", "llama-3.2-1b", "h200-sxm", overhead_s=cost / 1e3)
        models = latency.constant(cost), device
        points = itertools.product(models, range(1, 11), range(1, 41), batches, contexts)
        for model, gamma, alpha, batch, context in points:
            specsim.predict(model, alpha / 41, gamma=gamma, batch=batch, context=context)
            count += 1
    return count


def main() -> None:
    print(machine().split(", median")[0])
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", ONE], check=True, capture_output=True)
    print(f"a plan for 6 points of batch and context, import included: {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    count = sweep()
    print(f"a sweep of {count:,} points: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
