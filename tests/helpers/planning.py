"""Helpers of the tests of `specsim plan`: pairs, their times, a log, and the command."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import specsim
from specsim.cli import app

PAIR = "--target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm --tp 4 --overhead 0"
SMALL = "--target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --overhead 0"
TIMES = specsim.roofline("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", tensor_parallel=4)
COUNTS = [210, 190, 150, 130, 320]


def run(words: str, code: int = 0) -> str:
    """Run the command in this process; return its output, or its errors if it is to fail."""
    outcome = CliRunner().invoke(app, ["plan", *shlex.split(words)])
    assert outcome.exit_code == code, outcome.output
    return outcome.stdout if code == 0 else outcome.stderr


def as_json(words: str) -> dict[str, Any]:
    """Return what --json prints without the date, so that two answers are equal."""
    answer = json.loads(run(f"{words} --json"))
    del answer["provenance"]["date"]
    return answer


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as CSV; return the path."""
    text = io.StringIO()
    table = csv.DictWriter(text, rows[0])
    table.writeheader()
    table.writerows(rows)
    path.write_text(text.getvalue())
    return path


def texts(rng: np.random.Generator, lengths: list[int]) -> dict[str, np.ndarray]:
    """Return laws of texts whose draft is good and poor by turns, and tokens drawn from the target."""
    n = sum(lengths)
    p = rng.dirichlet(np.full(4, 0.5), n)
    poor = (np.arange(n) // 12 % 2)[:, None]
    q = np.where(poor, p[:, ::-1], 0.95 * p + 0.05 / 4)
    tokens = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return {"p": p, "q": q, "tokens": tokens, "lengths": np.array(lengths)}


LOG = specsim.estimate_hazards(range(5), 4, counts=COUNTS)
