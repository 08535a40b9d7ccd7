"""Every command that prints a table prints it as CSV and LaTeX, too, with the same cells, one form at a time."""

from __future__ import annotations

import csv
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.listed_commands import OPTIONS
from typer.testing import CliRunner

import specsim
import specsim.cli
from specsim.report.forms import blocks_of, csv_table, escaped, latex_table, page, plain_rows
from specsim.report.tables import rules_rows

# Commands that write files and print their names: they have no table.
WITHOUT_TABLE = {"specsim report", "specsim-real rows"}
SHOWN = {
    "plan": "plan 0.8 --cost-ratio 0.05 --batch 1,8",
    "plan, trees": "plan --ranks 0.7,0.12 --cost-ratio 0.05 --nodes 4 --max-gamma 3",
    "log": "log on.log",
    "diagnose": "diagnose runs.csv",
    "simulate": "simulate --target law:1/3,2/3 --draft law:2/3,1/3 --gamma 2 --blocks 100 --sequences 10",
    "conform": "conform --list",
    "conform, log": "conform --counts counts.jsonl",
    "claims": "claims",
    "validate": "validate",
}
FILES = {
    "runs.csv": (Path(__file__).parents[1] / "helpers" / "runs.csv").read_text(),
    "on.log": "eval time = 1020.0 ms / 51 tokens\ndraft acceptance = 0.6 ( 30 accepted / 60 generated)\n",
    "counts.jsonl": '{"p": [0.5], "q": [0.5], "kept": 1}\n' * 8,
}


def run(words: str, status: tuple[int, ...] = (0, 1, 2)) -> str:
    ended = CliRunner().invoke(specsim.cli.app, words.split())
    assert ended.exit_code in status, ended.output
    return str(ended.stdout)


def tables_of(text: str) -> list[Any]:
    return [block for block in blocks_of(text) if not isinstance(block, str)]


def csv_tables(text: str) -> list[list[list[str]]]:
    rows = csv.reader(text.splitlines())
    return [list(group) for filled, group in itertools.groupby(rows, key=bool) if filled]


def is_in(word: str, cells: list[str]) -> bool:
    """Whether a cell of a table stands in a row of CSV: as it is, or each of its numbers with all digits."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?%?", word)
    is_known = word in cells or word == "not known"
    return is_known or (bool(numbers) and all(any(rounds_to(cell, number) for cell in cells) for number in numbers))


def rounds_to(cell: str, shown: str) -> bool:
    try:
        value = float(cell) * (100 if shown.endswith("%") else 1)
    except ValueError:
        return False
    digits = len(shown.removesuffix("%").partition(".")[2])
    return f"{value:.{digits}f}" == shown.removesuffix("%")


def test_csv_has_every_digit() -> None:
    """Of 1.5489130 a table shows 1.55; CSV once held that, too."""
    (table,) = csv_tables(run("plan 0.7 --cost-ratio 0.07 --csv"))
    row = dict(zip(*table, strict=True))
    found = specsim.optimal_gamma(0.7, cost_ratio=0.07)
    assert float(row["speedup"]) == pytest.approx(found.speedup, rel=1e-14)
    assert row["gamma"] == str(found.gamma)
    words = "simulate --target law:1/3,2/3 --draft law:2/3,1/3 --gamma 2 --blocks 100 --sequences 10"
    (table,) = csv_tables(run(f"{words} --csv"))
    held = json.loads(run(f"{words} --json"))["hazards"]
    first = dict(zip(table[0], table[1], strict=True))
    names = ("kept if reached", "99% interval low", "99% interval high")
    assert [float(first[name]) for name in names] == [held[0][name] for name in ("value", "low", "high")]


@pytest.mark.parametrize("name", OPTIONS)
def test_every_command_with_a_table_has_every_form(name: str) -> None:
    forms = {"--csv", "--latex", "--json"}
    assert OPTIONS[name] & forms == ({"--json"} if name in WITHOUT_TABLE else forms)


@pytest.mark.parametrize("name", SHOWN)
def test_csv_has_the_cells_of_the_table(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in FILES.items():
        Path(file).write_text(text)
    wanted = tables_of(run(f"{SHOWN[name]} --markdown"))
    assert wanted
    found = csv_tables(run(f"{SHOWN[name]} --csv").replace("`", ""))
    # Words are the same; a number of the table is one of CSV, rounded, and an interval stands in columns of its own.
    assert [len(table) for table in found] == [len(table) for table in wanted]
    for table, printed in zip(found, wanted, strict=True):
        for cells, words in zip(table[1:], printed[1:], strict=True):
            assert [word for word in words if not is_in(word, cells)] == []
    assert all(all(cell for cell in table[0]) for table in found)
    latex = run(f"{SHOWN[name]} --latex")
    assert latex.count(r"\begin{tabular}") == len(wanted)
    outside = re.sub(r"\\begin\{tabular\}.*?\\end\{tabular\}", "", latex, flags=re.DOTALL)
    assert all(line.startswith("%") for line in outside.split("\n") if line)


def test_rules_have_every_column() -> None:
    assert csv_tables(run("rules --csv")) == [rules_rows()]


@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in WITHOUT_TABLE and "real" not in name])
def test_two_forms_are_refused(name: str) -> None:
    words = {"specsim check": "check rejection", "specsim log": "log x", "specsim diagnose": "diagnose x"}
    words |= {"specsim simulate": SHOWN["simulate"], "specsim plan": SHOWN["plan"]}
    asked = words.get(name, name.removeprefix("specsim "))
    ended = CliRunner().invoke(specsim.cli.app, [*asked.split(), "--csv", "--latex"])
    assert ended.exit_code in (2, 3)
    assert ended.stderr == "error: --csv and --latex are both given: the output has one form at a time\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("conform rejection --check x.json --csv", "--check prints no table, so it has no --csv"),
        ("sweep study.toml --latex", "--latex is a form of the table that --show prints"),
        ("plan 0.8 --cost-ratio 0.1 --csv --emit vllm", "--csv and --emit are both given"),
    ],
)
def test_no_table_no_form(words: str, message: str) -> None:
    ended = CliRunner().invoke(specsim.cli.app, words.split())
    assert ended.exit_code in (2, 3)
    assert message in ended.stderr


HARD = [["a_b", "50 %", "x & y", "#1", "\\{$^~}"], ['say "no", then', "1,5", "<", "|", "±"]]


def test_csv_holds_any_cell() -> None:
    assert csv_tables(csv_table(HARD)) == [HARD]


def test_latex_escapes_what_it_reads() -> None:
    text = latex_table(HARD)
    body = re.sub(r"\\begin.*|\\end.*", "", text)
    assert r"a\_b & 50 \% & x \& y & \#1" in text
    assert not re.search(r"(?<!\\)[_%#]", body)
    assert [line.count(" & ") for line in text.splitlines() if line.endswith(r"\\")] == [4, 4]
    assert escaped("\\") == r"\textbackslash{}"


def test_words_are_left_out_of_csv_and_comments_in_latex() -> None:
    blocks = ["Yes.\nMore.", "", [["n"], ["1"]], "note: x"]
    assert page(blocks, "csv") == "n\n1"
    assert page(blocks, "latex").split("\n")[:3] == ["% Yes.", "% More.", ""]
    assert page(blocks, "text") == "Yes.\nMore.\n\nn\n-\n1\nnote: x"


def test_heads_of_groups() -> None:
    head = plain_rows([["rate\n1/s", "plain\nmean", "\nP50", "gamma"], ["1", "2", "3", "4"]])[0]
    assert head == ["rate 1/s", "plain mean", "plain P50", "gamma"]
