"""How long a sweep takes, against points and against workers: `python tests/bench/bench_sweep.py [--largest N]`.

Studies of kind plan (models on a device, a new point each row) on processes and on a local Dask cluster, from the start
of the command's work to the merged file. The goal: 100,000 points in under 60 s on two processes. Writes sweep.json,
and sweep.png (log-log), beside this file; `python docs/refresh.py` takes them to the page. Some minutes on two
quiet cores; `--largest 1000 --out FOLDER` tries it.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from timing import machine  # isort: skip (sets the number of threads)

import typer

from specsim.base.files import write_bytes, write_json
from specsim.commands.sweep import pools, run
from specsim.commands.sweep.study import key, points, read
from specsim.report import figure as pictures

HERE = Path(__file__).parent
SIZES = (100, 1000, 10_000, 100_000)
WORKERS = (1, 2, 4, 8)
GOAL = 60.0  # seconds, for the most points on two processes
ROUNDS = 3  # of which the best counts; the most points are run once
STUDY = """
kind = "plan"
[grid]
alpha = {{ from = 0.05, to = 0.95, count = {count} }}
gamma = {{ from = 1, to = 10 }}
batch = [1, 8, 64, 256, 512]
context = [1024, 16384]
target = "llama-3.1-70b"
draft = "llama-3.2-1b"
hardware = "h100-sxm"
tp = 4
"""  # 100 points for each acceptance


def seconds(size: int, opened: Any) -> float:
    """One run of so many points, keys and file included; nothing is remembered from another run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "study.toml")
        path.write_text(STUDY.format(count=size // 100), encoding="utf-8")
        start = time.perf_counter()
        study = read(path)
        order = [key(study.kind, one) for one in points(study)]
        found = run.made(study, Path(folder, "rows.parquet"), order, range(len(order)), opened)
        assert (found.new, found.size) == (size, size)
        return time.perf_counter() - start


def best(size: int, opened: Any) -> float:
    """Of some runs; a large one is long enough alone."""
    return min(seconds(size, opened) for _ in range(1 if size == max(SIZES) else ROUNDS))


def measured(sizes: Sequence[int]) -> dict[str, Any]:
    """Seconds by points, on two workers, and by workers, for the most points; in each kind of pool."""
    kinds = {"processes": pools.processes, "local Dask cluster": lambda count: pools.cluster(f"local:{count}")}
    most = max(sizes)
    by_points, by_workers = ({kind: list[tuple[int, float]]() for kind in kinds} for _ in range(2))
    for kind, open_pool in kinds.items():
        for size in sizes:
            by_points[kind].append((size, best(size, partial(open_pool, 2))))
        two = by_points[kind][-1][1]
        by_workers[kind] = [(n, two if n == 2 else best(most, partial(open_pool, n))) for n in WORKERS]
    return judged({"points": by_points, "workers": by_workers})


def judged(record: dict[str, Any]) -> dict[str, Any]:
    """The record with what it says of the goal; held is None where fewer points were run."""
    size, took = record["points"]["processes"][-1]
    return record | {"goal_s": GOAL, "held": took < GOAL if size == max(SIZES) else None}


def draw(record: dict[str, Any], path: Path) -> None:
    """Time against points and against workers, both axes logarithmic."""
    made, (left, right) = pictures.figure(9, 3.6, 2)
    most = record["points"]["processes"][-1][0]
    for axis, by, name in ((left, "points", "points, two workers"), (right, "workers", f"workers, {most:,} points")):
        for kind, series in record[by].items():
            axis.plot(*zip(*series, strict=True), "o-", markersize=4, label=kind)
        axis.set_xlabel(name)
        axis.set_ylabel("seconds")
    left.legend(fontsize=7)
    left.set(xscale="log", yscale="log", title="time by points")
    right.set(ylim=(0, None), title=f"time by workers, on {record['cores']} cores" if "cores" in record else "")
    right.set_xscale("log", base=2)
    right.set_xticks([n for n, _ in record["workers"]["processes"]])
    right.xaxis.set_major_formatter("{x:.0f}")
    right.xaxis.set_minor_formatter("")
    left.axhline(record["goal_s"], color="grey", linewidth=0.8)
    left.annotate("goal", (SIZES[0], record["goal_s"]), xytext=(0, -9), textcoords="offset points", fontsize=7)
    write_bytes(path, pictures.as_png(made))


def main(
    out: Annotated[Path, typer.Option(help="Folder of sweep.json and sweep.png.")] = HERE,
    largest: Annotated[int, typer.Option(help="Most points: fewer to try it, which says nothing of the goal.")] = SIZES[
        -1
    ],
) -> None:
    sizes = [size for size in SIZES if size <= largest]
    if not sizes:
        raise ValueError(f"largest is {largest}; it must be at least {SIZES[0]}")
    record = {"machine": machine().split(", median")[0], "cores": os.cpu_count(), **measured(sizes)}
    write_json(out / "sweep.json", record)
    draw(record, out / "sweep.png")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    typer.run(main)
