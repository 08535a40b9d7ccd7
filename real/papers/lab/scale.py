"""The scale of a record: parameters of its models, vocabulary, temperature and device."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from real import TINY
from real.papers.lab.records import Held, stored


def cell(section: dict[str, Any], temperature: str, held: Held | None) -> str:
    """Return parameters, temperature and device for a cell; "" without a record."""
    if held is None:
        return ""
    sizes = ", ".join(f"{label} {_size(weights, held)}" for label, weights in section["models"].items())
    scale = f"{sizes} parameters{_vocabulary(held)}"
    return f"{scale}; T\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{temperature}; {_device(held)}{_trial(held)}"


def _vocabulary(held: Held) -> str:
    """The vocabulary of the pair that a record names."""
    size = held.get("scale")
    return f", vocabulary of {size['vocabulary']:,}" if size else ""


def _device(held: Held) -> str:
    what = held["provenance"]
    return f"{what['machine']['processor']}, {what['threads']} thread{'s' if what['threads'] > 1 else ''}"


def sentence(section: dict[str, Any], held: Held | None) -> str:
    """Return the same as a sentence, with the time of the run."""
    if held is None:
        return ""
    models = section["models"].items()
    sizes = " and ".join(f"a {label} of {_size(weights, held)} parameters" for label, weights in models)
    run = f"The run took {_duration(held['seconds'])} on {_device(held)}{_trial(held)}."
    return f"Scale: {sizes}{_vocabulary(held)}, at T = 1 unless a row says otherwise. {run}"


def _trial(held: Held) -> str:
    """Return words on the share of the texts, if the record is that of a trial."""
    share = held["provenance"]["share"]
    return f"; a trial on {share:g} of the texts" if share < 1 else ""


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _size(weights: str, held: Held) -> str:
    """How many parameters a model has, in millions or thousands.

    It is a model of the pair that the record names, a number of the record, or shipped weights.
    """
    kind, _, model = weights.rpartition("/")
    size, numbers = held.get("scale"), held["found"]["exact"]
    if kind == "pair" and size:
        count = size[model]
    else:
        count = int(numbers[weights]) if weights in numbers else parameters(weights)
    return f"{count / 1e6:.1f} M" if count >= 950_000 else f"{count / 1e3:.0f} k"


def parameters(weights: str) -> int:
    """Return how many numbers a file of shipped weights holds, by its header."""
    if weights.startswith("pair/"):
        path = TINY / weights.removeprefix("pair/") / "model.safetensors"
    else:
        store, name = stored(weights)
        path = store.path_of(name)
    with Path(path).open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    # Tokens of a head and scales are no parameters; a matrix with a scale has four weights in three bytes.
    count = 0
    for name, tensor in header.items():
        if name not in ("__metadata__", "tokens") and not name.endswith(".scale"):
            size = math.prod(tensor["shape"])
            count += size * 4 // 3 if f"{name}.scale" in header else size
    return count
