"""How an answer was made stands in the JSON that `plan` and `simulate` print: date, machine, versions, command."""

from __future__ import annotations

import datetime
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import timing
from typer.testing import CliRunner

import specsim
from specsim.base.provenance import command_line, provenance
from specsim.cli import app

MODELS = "--target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm"


def test_a_provenance_has_date_machine_versions_and_settings() -> None:
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    made = provenance(("numpy", "no-such-package"), seed=3)
    assert before <= datetime.datetime.fromisoformat(made["date"]) <= datetime.datetime.now(datetime.UTC)
    assert made["machine"]["cores"] == os.cpu_count()
    assert made["machine"]["processor"]
    assert made["versions"]["numpy"] == np.__version__
    assert made["versions"]["specsim-llm"] == specsim.__version__
    assert made["versions"]["no-such-package"] == "not installed"
    assert made["seed"] == 3


def test_benchmarks_name_the_processor_as_records_do() -> None:
    """`platform.processor()` is x86_64, which says nothing about times."""
    scripts = sorted((Path(__file__).parents[1] / "bench").glob("*.py"))
    assert [path.name for path in scripts if re.search(r"platform\.(processor|machine)\(", path.read_text())] == []
    assert timing.machine().startswith(f"{provenance()['machine']['processor']}, numpy {np.__version__}, one thread")


@pytest.mark.parametrize(
    "line",
    [
        "plan 0.8 --cost-ratio 0.05 --json",
        f"plan 0.8 {MODELS} --rate 1 --json",
        "simulate --target law:1/3,2/3 --draft law:2/3,1/3 --gamma 2 --blocks 100 --sequences 10 --json",
    ],
    ids=["plan", "plan --rate", "simulate"],
)
def test_printed_json_says_how_it_was_made(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/a/path/to/specsim", *line.split()])
    made = json.loads(CliRunner().invoke(app, line.split()).stdout)["provenance"]
    assert made["command"] == f"specsim {line}"
    assert made.keys() == {"date", "machine", "versions", "command"}


def test_a_command_can_be_pasted_into_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["specsim-real", "compare", "my models/target"])
    assert command_line("specsim-real") == "specsim-real compare 'my models/target'"
