"""Do the intervals of the main command hold? `python tests/bench/table_seeds.py > seeds.txt`, half an hour.

`specsim-real compare smollm2` with ten seeds: other texts, other random numbers, the same prompts. Tau is counted, and
times do not matter, so that other programs may run.

Fixed before the first run (2026-11-27), over all seeds and lengths:

1. The 95 % interval of measured minus predicted tau contains 0 in 93 to 97 % of the rows. Rows of one seed depend on
   each other, so the share stands beside the interval that whole seeds give it.
2. The predicted tau is off by at most 3 % of the measured one in the median.

The first run missed 1 with 100 %, and the criterion was wrong: these intervals are made to hold at all lengths at once
at 99 %. Added after it, as 3: how often the 95 % intervals of the measured tau contain its mean over the seeds. They
are for other prompts, too, and the seeds have the same ones, so that more than 95 % is right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

SEEDS = range(10)
GOAL_SHARE, GOAL_ERROR = (0.93, 0.97), 0.03
RUNS = Path("runs/seeds")
# Draws of whole seeds for the interval of the share.
DRAWS = 10_000


def recorded(seed: int) -> list[dict[str, Any]]:
    """Return the rows of a seed's record, which is made where it is missing."""
    path = RUNS / f"{seed}.json"
    if not path.exists():
        RUNS.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "real", "compare", "smollm2", "--seed", str(seed), "--timed", "1"]
        subprocess.run([*command, "--out", str(path)], check=True, stdout=subprocess.DEVNULL)
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["pairs"]
    return rows


def main() -> None:
    """Print a line for each seed, then both verdicts."""
    line = "{:>4}" + "{:>34}" * 4
    runs = [recorded(seed) for seed in SEEDS]
    print("measured tau minus predicted [interval for all lengths at once, 99 %]")
    print(line.format("seed", *(f"gamma {row['gamma']}" for row in runs[0])))
    inside, errors, covered = [], [], []
    means = [np.mean([rows[i]["tau"]["measured"] for rows in runs]) for i in range(len(runs[0]))]
    for seed, rows in zip(SEEDS, runs, strict=True):
        taus = [row["tau"] for row in rows]
        spans = [tau["difference_interval"] for tau in taus]
        inside.append([low <= 0 <= high for low, high in spans])
        ends = [tau["interval"] for tau in taus]
        covered += [low <= mean <= high for mean, (low, high) in zip(means, ends, strict=True)]
        errors += [abs(tau["predicted"] / tau["measured"] - 1) for tau in taus]
        cells = [
            f"{tau['measured'] - tau['predicted']:+.3f} [{low:+.3f}, {high:+.3f}]"
            for tau, (low, high) in zip(taus, spans, strict=True)
        ]
        print(line.format(seed, *cells))

    # The share of rows, and its interval over whole seeds.
    share = float(np.mean(inside))
    drawn = np.random.default_rng(0).integers(len(runs), size=(DRAWS, len(runs)))
    low, high = np.quantile(np.mean(inside, axis=1)[drawn].mean(axis=1), [0.025, 0.975])
    met = GOAL_SHARE[0] <= share <= GOAL_SHARE[1]
    print(f"1. contains 0: {share:.1%} of {np.size(inside)} rows [{low:.1%}, {high:.1%}]: {_verdict(met)}")
    error = float(np.median(errors))
    print(f"2. predicted tau: median error {error:.1%}, largest {max(errors):.1%}: {_verdict(error <= GOAL_ERROR)}")
    print(f"3. measured tau: {np.mean(covered):.1%} of {len(covered)} intervals (95 %) contain the mean over seeds")


def _verdict(met: bool) -> str:
    return "met" if met else "not met"


if __name__ == "__main__":
    main()
