"""The CSV of every command of both programs: plain numbers with every digit, the same as in the JSON beside it.

Commands are found by listing; one that offers --csv and is not tried here fails.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from helpers.listed_commands import OPTIONS, PROGRAMS
from helpers.log_files import lines
from helpers.studies import study_file, threads
from typer.testing import CliRunner

pytest.importorskip("torch", reason="torch (extra `real`) is not installed")

import real
from real.papers.lab import drafters, records
from real.papers.models import train
from real.studies import runner
from specsim.commands.plan import rates
from specsim.report.forms import Number, csv_table

RESULTS = Path(real.__file__).parent / "results"
PAIR = "--target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm"
LAWS = "--target law:1/3,2/3 --draft law:2/3,1/3"
# A number, and what a person reads in its place: units, percent, intervals, thousands by commas.
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$")
LOOKS_LIKE_ONE = re.compile(r"[-+~<>≤≥±≈(\[ ]*\.?\d")
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?$")


class Case(NamedTuple):
    """Words of a call; columns that are quotients of numbers of the JSON, and columns whose words begin with digits."""

    words: str
    quotients: tuple[str, ...] = ()
    wordy: tuple[str, ...] = ()


CASES = {
    "specsim rules": Case(""),
    "specsim check": Case("iid --family draft"),
    "specsim conform": Case("--counts counts.jsonl"),
    "specsim conform, list": Case("--list"),
    "specsim plan": Case("0.8 --cost-ratio 0.05 --batch 1,8"),
    "specsim plan, off": Case("0.1 --cost-ratio 0.5"),
    "specsim plan, seconds": Case(f"0.7 {PAIR} --batch 1,512 --context 1k", ("draft, steps", "verify, steps")),
    "specsim plan, trees": Case("--ranks 0.7,0.12 --cost-ratio 0.05 --nodes 4 --max-gamma 3"),
    "specsim plan, rates": Case(f"0.7 {PAIR} --max-gamma 2 --output-tokens 32 --rate 2,40"),
    "specsim plan, loop": Case(f"0.7 {PAIR} --gamma 2 --prompt-tokens 64 --output-tokens 16 --concurrency 1,4"),
    "specsim log": Case("on.log"),
    "specsim log, requests": Case("first.jsonl"),
    "specsim log, against": Case("first.jsonl --against second.jsonl"),
    "specsim diagnose": Case("runs.csv", wordy=("what would mend it",)),
    "specsim diagnose, two": Case("first.csv second.csv"),
    "specsim validate": Case(""),
    "specsim claims": Case(""),
    "specsim simulate": Case(f"{LAWS} --gamma 2 --blocks 100 --sequences 10", ("of blocks",)),
    "specsim sweep": Case(
        "study.toml --out rows.parquet --workers 1 --show 'select gamma, max(speedup) from rows group by all'"
    ),
    "specsim-real compare": Case("--out bundled.json"),
    "specsim-real compare, rules": Case("--rule tokenwise,block --out block.json"),
    "specsim-real compare, trees": Case("--tree 2,1 --out compare-trees.json"),
    "specsim-real forced": Case("--out forced.json"),
    "specsim-real drafts": Case("--out drafts.json"),
    "specsim-real trees": Case("--out trees.json", wordy=("shape", "shapes_tried")),
    "specsim-real table": Case("widened.json"),
    "specsim-real systems": Case("sjd nfd"),
    "specsim-real taxonomy": Case(""),
    "specsim-real train-pair": Case("--out somewhere"),
    "specsim-real train-images": Case("toy"),
    "specsim-real train-drafters": Case("toy"),
}
COUNTS = '{"p": [0.5], "q": [0.5], "kept": 1}\n' * 8
ENGINE = "eval time = 1020.0 ms / 51 tokens\ndraft acceptance = 0.6 ( 30 accepted / 60 generated)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with logs, a study and the recorded studies; nothing is measured, decoded or trained."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("counts.jsonl", COUNTS), ("on.log", ENGINE), *logs()):
        Path(name).write_text(text)
    study_file(tmp_path)
    for path in RESULTS.glob("*.json"):
        Path(path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(runner, "earlier_record", lambda out, schema, what, force: json.loads(out.read_text()))
    monkeypatch.setattr(records, "opened", lambda out, name, *told, force: (system(name), ""))
    monkeypatch.setattr("specsim.commands.sweep.pools.processes", lambda count: threads()())
    # Three commands that train: the one model of each is there at once.
    made = {"name": "toy", "parameters": 1234567, "bytes": 9, "seconds": 1234.5678}
    monkeypatch.setattr("real.train.pair.train_pair", lambda *told, **more: {"measured": {"kl": 0.123456789}})
    maker = SimpleNamespace(RECIPES={"toy": {}})
    monkeypatch.setattr(train, "makers", lambda: {"toy": maker})
    monkeypatch.setattr(train, "_trained_row", lambda *told: made | {"held_out": 0.123456789, "unit": "nats"})
    monkeypatch.setattr(drafters, "makers", lambda: {"toy": maker})
    monkeypatch.setattr(drafters, "_trained_row", lambda *told: made | {"kept": [0.987654321, 0.5, 0.25, 0.125]})
    # A tenth of a simulation for each line of the table of rates.
    monkeypatch.setattr(rates, "REQUESTS", 100)
    return tmp_path


def logs() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of the logs that are read."""
    runs = (Path(__file__).parents[1] / "helpers" / "runs.csv").read_text()
    yield "runs.csv", runs
    head, *rows = runs.splitlines()
    for name in ("first.csv", "second.csv"):
        yield name, "\n".join([head, *(row for row in rows if row.startswith("on"))])
    # Answers in which each question has other drafts accepted.
    for name, more in (("first.jsonl", 0), ("second.jsonl", 1)):
        accepted = [[n + more for n in row] for row in ([1, 3, 2], [4, 4, 1, 1], [2, 2], [1, 1, 1, 2])]
        yield name, lines(*(answer(i, row) for i, row in enumerate(accepted)))


def answer(number: int, accepted: list[int]) -> dict[str, Any]:
    """Return one line of Spec-Bench's answers."""
    turn = {"index": 0, "turns": ["x"], "new_tokens": [sum(accepted)], "wall_time": [1.0], "accept_lengths": accepted}
    return {"question_id": number, "choices": [turn]}


def system(name: str) -> dict[str, Any]:
    """Return the shipped record of a system."""
    held: dict[str, Any] = json.loads((RESULTS / "systems" / f"{name}.json").read_text())
    return held


def run(name: str, form: str) -> str:
    """Return what a case prints in a form."""
    program, command = name.partition(",")[0].split()
    ended = CliRunner().invoke(PROGRAMS[program], [command, *shlex.split(CASES[name].words), form])
    assert ended.exit_code in (0, 1, 2), ended.output
    assert ended.stdout, ended.output
    return str(ended.stdout)


def numbers(value: Any) -> Iterator[float]:
    """Yield every number of a JSON value, how long its lists are, and what text holds that is one number."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list):
        yield len(value)
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float) or (isinstance(value, str) and NUMBER.match(value)):
        yield float(value)


def flaws(table: list[list[str]], case: Case, known: set[float]) -> list[str]:
    """Return what is wrong in a table of CSV: a cell that is decorated, or a number that the JSON does not have."""
    head, *rows = table
    columns = {name: [row[i] for row in rows] for i, name in enumerate(head) if name not in case.wordy}
    return [flaw for name, cells in columns.items() for flaw in _flaws(name, cells, name in case.quotients, known)]


def _flaws(name: str, cells: list[str], is_quotient: bool, known: set[float]) -> Iterator[str]:
    is_number = [bool(NUMBER.match(cell)) for cell in cells]
    # The rows of a table may be numbered, from 0 or 1 on.
    filled = [cell for cell in cells if cell]
    if filled in ([str(i + first) for i in range(len(filled))] for first in (0, 1)):
        return
    for cell, number in zip(cells, is_number, strict=True):
        parts = [part for part in re.split(r"[ ,^x]+", cell) if part]
        is_list = len(parts) > 1 and all(map(NUMBER.match, parts)) and not THOUSANDS.match(cell)
        if number:
            value = float(cell)
            scaled = {value, value / 1e3} & known or any(1e3 * one == value for one in known)
            if not scaled and not (is_quotient and any(value == a / b for a in known for b in known if b)):
                yield f"{name}: {cell} is not in the JSON"
        elif cell and not is_list and (any(is_number) or LOOKS_LIKE_ONE.match(cell)):
            yield f"{name}: {cell!r} is no number"


def tables(text: str) -> list[list[list[str]]]:
    rows = csv.reader(text.splitlines())
    return [list(group) for filled, group in itertools.groupby(rows, key=bool) if filled]


def test_every_command_with_csv_is_tried() -> None:
    offered = {name for name, options in OPTIONS.items() if "--csv" in options}
    assert {name.partition(",")[0] for name in CASES} == offered


@pytest.mark.parametrize("name", CASES)
def test_csv_has_the_numbers_of_json(name: str, folder: Path) -> None:
    known = set(numbers(json.loads(run(name, "--json"))))
    printed = tables(run(name, "--csv"))
    assert printed
    assert [flaw for table in printed for flaw in flaws(table, CASES[name], known)] == []


@pytest.mark.parametrize(
    "cell", ["50 %", "2.1 [2.0, 2.2]", "1,234", "0.5 ± 0.1", "2.10", "2.5x", "12 ms", "off", "[1, 2]", "0.4 .. 0.6"]
)
def test_what_a_person_reads_is_refused(cell: str) -> None:
    """A check that passes everything says nothing."""
    known = {2.1, 1.5, 1234.0, 0.5}
    assert flaws([["x"], ["1.5"], ["0.5"], [cell]], Case(""), known - {2.1}) != []
    assert flaws([["x"], ["1.5"], ["0.5"], [""]], Case(""), known) == []


def test_a_column_without_any_number_stays() -> None:
    """A rate that plain decoding cannot serve has no times; the columns once went with the last number."""
    assert csv_table([["rate", "mean"], ["1", Number("never", None)]]) == "rate,mean\n1,"


def test_a_bound_has_its_interval_in_columns_of_its_own(folder: Path) -> None:
    """Three numbers once stood in one cell."""
    head, *rows = tables(run("specsim-real trees", "--csv"))[0]
    at = head.index("bound")
    assert head[at : at + 3] == ["bound", "bound.low", "bound.high"]
    bounds = [list(map(float, row[at : at + 3])) for row in rows if row[at]]
    assert all(low <= value <= high for value, low, high in bounds)
