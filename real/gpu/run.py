"""Run parts one after another, and print how each ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import typer
from transformers.utils.logging import disable_progress_bar

from real.gpu.book import Part, run_part
from real.gpu.device import described, free, pin_attention
from real.gpu.parts import pair, parity, rules, shapes, smollm2, trees


def run(names: list[str], device: torch.device, folder: Path, tiny: bool, ends: float) -> list[dict[str, Any]]:
    """Run parts one after another until `ends` on the monotonic clock, and return their records.

    After KeyboardInterrupt, which is raised, the finished rows are in the records on disk.
    """
    disable_progress_bar()
    # One thread is steadiest on a shared processor.
    torch.set_num_threads(1)
    if device.type == "cuda":
        pin_attention()
    return list(_run(names, device, folder, tiny, ends))


def part_of(name: str, device: torch.device, folder: Path, tiny: bool) -> Part:
    """Return the part of this name."""
    make: dict[str, Callable[..., Part]] = {
        "parity": parity.part, "shapes": shapes.part, "pair": partial(pair.part, folder=folder), "rules": rules.part,
        "trees": trees.part, "smollm2": smollm2.part,
    }  # fmt: skip
    return make[name](device, tiny=tiny)


def _run(names: list[str], device: torch.device, folder: Path, tiny: bool, ends: float) -> Iterator[dict[str, Any]]:
    """Run parts one after another and yield their records, until the time is spent or the device is lost.

    A process cannot use a device again that it has lost.
    """
    say = partial(typer.echo, err=True)
    for name in names:
        command = f"python -m real.gpu {name} --device {device.type}{' --tiny' if tiny else ''}"

        # A part that cannot run here is skipped.
        part = part_of(name, device, folder, tiny)
        if part.skipped is not None:
            say(f"{name}: skipped: {part.skipped}")
            yield {"schema": f"specsim-gpu-{name}/1", "complete": False, "skipped": part.skipped, "rows": []}
            continue

        # Measure its rows, and plot them. Without matplotlib the run goes on.
        seconds_left = ends - time.monotonic()
        provenance = described(device, command=command, tiny=tiny)
        record = run_part(part, folder, provenance, device, budget=seconds_left, say=say)
        try:
            if part.plot and any("speedup" in row for row in record["rows"]):
                part.plot(folder / f"{name}.png", record)
        except ImportError:
            say(f"{name}: no plot (install the extra `plot`)")
        yield record

        # Go on, or end. The next part needs the memory of this part's models.
        if record["stopped"] == "device lost":
            say(f"{name}: the device is lost; run the command again to carry on")
            return
        if record["stopped"] == "budget":
            say(f"{name}: the minutes are spent; run the command again to carry on")
            return
        del part
        free(device)
