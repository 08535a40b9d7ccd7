"""How long a sweep takes, against points and against workers: `python tests/bench/bench_sweep.py [--out FOLDER]`.

Studies of kind plan (models on a device, a new point each row) on processes, from the start of the command's work to
the merged file; and on a local Dask cluster. Target: 100,000 points in under 60 s on two processes. Writes sweep.json,
and sweep.png (log-log), beside this file.
"""

from __future__ import annotations

import json
import tempfile
import time
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
LARGE = 100_000
ROUNDS = 3
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
    return min(seconds(size, opened) for _ in range(ROUNDS))


def draw(record: dict[str, Any], path: Path) -> None:
    """Time against points and against workers, both axes logarithmic."""
    made, (left, right) = pictures.figure(9, 3.6, 2)
    for axis, by, name in ((left, "points", "points, two processes"), (right, "workers", f"workers, {LARGE:,} points")):
        for kind, series in record[by].items():
            axis.loglog(*zip(*series, strict=True), "o-", markersize=4, label=kind)
        axis.set_xlabel(name)
        axis.set_ylabel("seconds")
        axis.legend(fontsize=7)
    left.axhline(60, color="grey", linewidth=0.8)
    write_bytes(path, pictures.as_png(made))


def main(out: Annotated[Path, typer.Option(help="Folder of sweep.json and sweep.png.")] = HERE) -> None:
    processes = [(size, best(size, partial(pools.processes, 2))) for size in SIZES]
    cluster = [(size, best(size, partial(pools.cluster, "local:2"))) for size in SIZES]
    record: dict[str, Any] = {
        "machine": machine().split(", median")[0],
        "rounds": ROUNDS,
        "points": {"processes": processes, "local Dask cluster": cluster},
        "workers": {"processes": [(n, best(LARGE, partial(pools.processes, n))) for n in WORKERS]},
    }
    write_json(out / "sweep.json", record)
    draw(record, out / "sweep.png")
    print(json.dumps(record, indent=1))
    took = dict(processes)[LARGE]
    print(f"{LARGE:,} points on two processes: {took:.1f} s ({'under' if took < 60 else 'NOT under'} 60 s)")


if __name__ == "__main__":
    typer.run(main)
