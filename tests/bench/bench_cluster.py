"""A study on a cluster of 1 to 8 workers, with a worker that dies, and of a million cells: `bench_cluster.py --record`.

The cluster is simulated: Dask's scheduler and workers are processes of this machine, started as on any other. A cell is
a row of kind `acceptance` whose rule waits for 50 ms, as a cell that computes so long on a core of its own would; so
eight workers on two cores show what scheduler, transport and gathering cost, and not that two cores are shared.
Efficiency is the seconds of all cells, one after the other, over workers times seconds. Bytes are those of the loopback
device, both directions of which are one; it needs Linux, and nothing else that talks over it. The million cells are of
kind `plan`, on two processes, with the most memory of the process that hands them out. What a cell of each kind takes
is the median of some calls, by one core. Some ten minutes.
"""

from __future__ import annotations

from timing import machine  # isort: skip (sets the number of threads)

import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from bench_sweep import STUDY as PLANS

from specsim.base.files import write_json
from specsim.commands.sweep import pools, run, work
from specsim.commands.sweep.study import key, parsed, point, points, read

RECORD = Path(__file__).with_name("cluster.json")
WORKERS = (1, 2, 4, 8)
CELL, CELLS, MILLION = 0.05, 1600, 1_000_000
# A cell of each kind: what it is called, and the study whose first point it is.
LAWS = 'target = "zipf:32000:1.1"\ndraft = "zipf:32000:1"'
KINDS = {
    "`plan`, a pair of models": PLANS.format(count=1),
    "`acceptance`, 32,000 tokens, 4 drafts": f'kind = "acceptance"\n[grid]\nrule = "optimal"\nnum_drafts = 4\n{LAWS}',
    "`block`, 4 tokens, gamma 4": 'kind = "block"\n[grid]\nrule = "block"\ngamma = 4\n'
    'target = "law:.4,.3,.2,.1"\ndraft = "law:.1,.2,.3,.4"',
    "`simulate`, 100,000 blocks of 1,000 tokens": 'kind = "simulate"\n[grid]\nrule = "block"\ngamma = 4\n'
    'blocks = 100000\ntarget = "zipf:1000:1.1"\ndraft = "zipf:1000:1"',
}
CALLS = 5
# A worker dies when so large a part of the cells is done.
DIES_AT = 0.5
RULE = """
import time
from specsim.verify.step import rejection
from specsim.verify.step.rejection import acceptance, transition, uniforms, verify

DRAFTS, EXACT, THEOREM, PAPER = "iid", True, None, None


def prepare(p, q, num_drafts):
    time.sleep({seconds})
    return rejection.prepare(p, q, num_drafts)
"""
STUDY = """
kind = "acceptance"
[grid]
rule = "{rule}"
target = "zipf:20:1"
draft = [{drafts}]
"""


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Yield the address of a scheduler and its workers, each the leader of a group of processes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")
        place = ["--scheduler-file", str(file)]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        command = [sys.executable, "-m", "dask"]
        scheduler = subprocess.Popen([*command, "scheduler", "--port", "0", "--no-dashboard", *place], **quiet)
        while not file.exists():
            time.sleep(0.1)
        options = ["--nthreads", "1", "--no-dashboard", "--local-directory", folder]
        started = [subprocess.Popen([*command, "worker", *place, *options], **quiet) for _ in range(workers)]
        try:
            yield _address(file, workers), started
        finally:
            for process in (*started, scheduler):
                _kill(process)


def _address(file: Path, workers: int) -> str:
    """Return the scheduler's address, once it has so many workers."""
    from distributed import Client

    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=60)
        return str(client.scheduler.address)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a group of processes, as a machine that goes off would."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def moved() -> int:
    """Return the bytes that the loopback device has carried."""
    lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
    return next(int(line.split(":")[1].split()[0]) for line in lines if line.strip().startswith("lo:"))


def timed(text: str, opened: Any, out: Path) -> tuple[float, int]:
    """Run a study; return seconds from the reading to the merged file, and rows."""
    path = out.with_suffix(".toml")
    path.write_text(text, encoding="utf-8")
    start = time.perf_counter()
    study = read(path, trust=True)
    order = [key(study.kind, one) for one in points(study)]
    found = run.made(study, out, order, range(len(order)), opened)
    return time.perf_counter() - start, found.size


def waiting(folder: Path, cells: int, seconds: float) -> str:
    """Return a study of cells that wait, and write its rule."""
    rule = folder / "wait.py"
    rule.write_text(RULE.format(seconds=seconds), encoding="utf-8")
    return STUDY.format(rule=rule.as_posix(), drafts=", ".join(f'"dirichlet:20:1:{seed}"' for seed in range(cells)))


def scaled(folder: Path, cells: int, seconds: float) -> list[dict[str, Any]]:
    """Return seconds, efficiency and bytes for each number of workers."""
    text, found = waiting(folder, cells, seconds), []
    for count in WORKERS:
        with cluster(count) as (address, _):
            before = moved()
            took, rows = timed(text, partial(pools.cluster, address), folder / f"{count}.parquet")
            assert rows == cells
            share = cells * seconds / (count * took)
            found.append({"workers": count, "seconds": took, "efficiency": share, "bytes": moved() - before})
    return found


def killed(folder: Path, cells: int, seconds: float, workers: int) -> dict[str, Any]:
    """Return what a run costs of whose workers one is killed half-way, and whether its file is that of a whole run."""
    text, out = waiting(folder, cells, seconds), folder / "killed.parquet"
    with cluster(workers) as (address, started):
        timer = threading.Timer(DIES_AT * cells * seconds / workers, partial(_kill, started[0]))
        timer.start()
        took, rows = timed(text, partial(pools.cluster, address), out)
        timer.join()
        assert started[0].poll() is not None
    same = out.read_bytes() == (folder / f"{workers}.parquet").read_bytes()
    return {"workers": workers, "seconds": took, "rows": rows, "same_file": same}


def cells() -> dict[str, float]:
    """Return the seconds of a cell of each kind."""
    return {words: _cell(text) for words, text in KINDS.items()}


def _cell(text: str) -> float:
    """Return the median of the seconds of a study's first point, after one call."""
    study, took = parsed(tomllib.loads(text), ""), []
    for _ in range(CALLS + 1):
        start = time.process_time()
        (output,) = work.computed(study.kind.name, [point(study, 0)])
        took.append(time.process_time() - start)
        assert output["refused"] is None, output
    return statistics.median(took[1:])


def million(folder: Path, cells: int) -> dict[str, Any]:
    """Return what a study of many short cells takes: seconds, memory of the process that hands them out, and bytes."""
    out = folder / "million.parquet"
    took, rows = timed(PLANS.format(count=cells // 100), partial(pools.processes, 2), out)
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"cells": rows, "seconds": took, "memory": memory, "file": out.stat().st_size}


def measured(waits: int, seconds: float, many: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return the record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workers = scaled(folder, waits, seconds)
        tell(f"workers: {workers}")
        death = killed(folder, waits, seconds, 4)
        tell(f"killed: {death}")
        made = {"machine": machine().split(", median")[0], "cores": os.cpu_count(), "cells": waits, "cell_s": seconds}
        return {**made, "scaling": workers, "killed": death, "million": million(folder, many), "cell": cells()}


def main(
    record: Annotated[bool, typer.Option(help="Write cluster.json.")] = False,
    waits: Annotated[int, typer.Option(help="Cells that wait.")] = CELLS,
    many: Annotated[int, typer.Option(help="Cells of the large study, in hundreds.")] = MILLION,
) -> None:
    made = measured(waits, CELL, many, typer.echo)
    typer.echo(made)
    if record:
        write_json(RECORD, made)
        typer.echo("written: cluster.json; python docs/refresh.py takes it to the page")


if __name__ == "__main__":
    typer.run(main)
