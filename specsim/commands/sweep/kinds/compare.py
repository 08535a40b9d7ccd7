"""Predicted beside measured on two language models: each row is a run of `specsim-real compare`, one at a time."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specsim import discover
from specsim.base import limits
from specsim.base.modules import own_rule
from specsim.commands.sweep.inputs import Input, one_of, real, text, whole

# Most tokens of a text.
TOKENS = 1 << 17


def _rule(name: str) -> None:
    """Refuse a name that no chain or step rule has."""
    if own_rule(name) is None and name not in (*discover.names("chain"), *discover.names("step")):
        raise ValueError("no chain or step rule is called so; see `specsim rules`")


INPUTS: dict[str, Input] = {
    # Folders or hub ids; without a draft the name of a pair.
    "target": text(default="tiny", names_files=True),
    "draft": text(default="", names_files=True),
    "gamma": whole(1, limits.MAX_GAMMA),
    "rule": text(_rule, "tokenwise", names_files=True),
    "count": whole(1, limits.MAX_COUNT, 5),
    "max_tokens": whole(1, TOKENS, 64),
    "widen": whole(0, 1 << 20, None),
    "temperature": real("[0, inf)", 1.0),
    "top_k": whole(0, limits.MAX_COUNT, 0),
    "top_p": real("(0, 1]", 1.0),
    "dtype": one_of("float32", "float64", "bfloat16", "float16", default="float32"),
    "device": text(default="cpu"),
    "seed": whole(0, 2**63 - 1, 0),
}
OUTPUTS = {
    "tau_predicted": "double",
    "tau_measured": "double",
    "tau_low": "double",
    "tau_high": "double",
    "speedup_predicted": "double",
    "speedup_measured": "double",
    "speedup_low": "double",
    "speedup_high": "double",
}
CHUNK, MOST, TIMED = 1, limits.MAX_RUNS, True


def check(axes: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise ValueError for a draft without a target."""
    if "draft" in axes and "target" not in axes:
        raise ValueError("draft is given without target: give both, or name a pair as target: tiny or smollm2")


def row(point: Mapping[str, Any]) -> dict[str, Any]:
    """Run the command and return the numbers of its record; ValueError for a point that it refuses."""
    # Its options.
    pair = [point[name] for name in ("target", "draft") if point[name]]
    rest = {name: value for name, value in point.items() if name not in ("target", "draft") and value is not None}
    words = [word for name, value in rest.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    # Its record, or its error by status and last line.
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "compare.json")
        command = [sys.executable, "-m", "real", "compare", *words, "--out", str(out), "--json", "--", *pair]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        last_line = "".join(ended.stderr.strip().splitlines()[-1:]).removeprefix("error: ")
        if "install the extra" in last_line:
            raise ImportError(last_line)
        if ended.returncode == 2:
            raise ValueError(last_line)
        if ended.returncode:
            raise ChildProcessError(f"specsim-real compare ended with status {ended.returncode}: {last_line}")
        pair_record = json.loads(out.read_text(encoding="utf-8"))["pairs"][0]
    numbers: dict[str, Any] = {}
    for name in ("tau", "speedup"):
        low, high = pair_record[name]["interval"] or [None, None]
        numbers |= {
            f"{name}_predicted": pair_record[name]["predicted"],
            f"{name}_measured": pair_record[name]["measured"],
            f"{name}_low": low,
            f"{name}_high": high,
        }
    return numbers
