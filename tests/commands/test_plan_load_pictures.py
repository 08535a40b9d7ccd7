"""`--plot` with `--rate` and `--concurrency`: what is drawn are the numbers of the tables, and it can be read."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from helpers import pictures
from PIL import Image
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.plan import rates
from specsim.report import load_curves
from specsim.report.load_curves import DRAFTS, PLAIN, Curve, Panel

PAIR = "--target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --overhead 0"
RATES = f"0.7 {PAIR} --max-gamma 1 --output-tokens 16 --rate 40,2"
LOOP = f"0.7 {PAIR} --gamma 2 --prompt-tokens 64 --output-tokens 8 --concurrency 4,1"


@pytest.fixture
def panels(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Panel, ...]]:
    """The panels that are drawn, by and by; nothing is drawn."""
    monkeypatch.setattr(rates, "REQUESTS", 100)
    drawn: list[tuple[Panel, ...]] = []
    monkeypatch.setattr(load_curves, "picture", lambda panels, title: drawn.append(tuple(panels)) or b"")
    return drawn


def run(words: str) -> str:
    ended = CliRunner().invoke(app, ["plan", *shlex.split(words)])
    assert ended.exit_code == 0, ended.output
    return str(ended.stdout)


def columns(text: str, **wanted: str) -> dict[str, list[str]]:
    """Return the columns of a table of CSV, of the rows with these cells."""
    rows = list(csv.DictReader(text.split("\n\n")[-1].splitlines()))
    rows = [row for row in rows if all(row[name] == cell for name, cell in wanted.items())]
    return {name: [row[name] for row in rows] for name in rows[0]}


def values(panel: Panel) -> dict[str, list[str]]:
    return {curve.name: list(map(repr, curve.values)) for curve in panel.curves}


def test_curves_of_rates_are_the_numbers_of_the_table(panels: list[Any], tmp_path: Path) -> None:
    printed = run(f"{RATES} --csv --plot {tmp_path / 'x.png'}")
    first, last = panels[0]
    for panel, name in ((first, "first token"), (last, "whole answer")):
        table = columns(printed, **{"time, ms": name})
        assert panel.loads == (40.0, 2.0)
        drawn = values(panel)
        for what in ("mean", "P50", "P99"):
            assert drawn[f"plain {what}"] == table[f"plain {what}"]
            assert drawn[f"with drafts {what}"] == table[f"drafts {what}"]


def test_curves_of_clients_are_the_numbers_of_the_tables(panels: list[Any], tmp_path: Path) -> None:
    printed = run(f"{LOOP} --csv --plot {tmp_path / 'x.png'}")
    written, times = panels[0]
    head, *rows = csv.reader(printed.split("\n\n")[0].splitlines())
    by_clients = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert written.loads == (1.0, 4.0)
    wanted = [by_clients[clients]["plain tokens/s"] for clients in ("1", "4")]
    assert values(written)["plain"] == wanted
    assert values(written)["with drafts"] == [by_clients[clients]["with drafts tokens/s"] for clients in ("1", "4")]
    table = columns(printed, **{"time, ms": "whole answer"})
    assert values(times)["with drafts P99"] == table["drafts P99"][::-1]


def test_a_rate_that_cannot_be_served_has_no_point(panels: list[Any], tmp_path: Path) -> None:
    answer = json.loads(run(f"0.95 {PAIR} --max-gamma 3 --rate 2,25 --json --plot {tmp_path / 'x.png'}"))
    plain = [line["plain"] is None for line in answer["lines"]]
    assert [value is None for value in panels[0][0].curves[0].values] == plain == [False, True]
    assert len(panels[0][0].curves) == 6


def test_a_table_of_lengths_of_loops_has_its_picture_too(panels: list[Any], tmp_path: Path) -> None:
    """`--emit` with `--concurrency` once drew the heat map of one batch."""
    run(f"{LOOP} --emit vllm --plot {tmp_path / 'x.png'}")
    assert [panel.load for panel in panels[0]] == ["clients", "clients"]


ENDING = Panel(
    "time", "requests per second", "ms", (1.0, 2.0, 4.0), (Curve(PLAIN, "P99", (3.0, 90.0, None)),
    Curve(PLAIN, "mean", (2.0, 80.0, None)), Curve(DRAFTS, "P99", (2.0, 3.0, 5.0))),
)  # fmt: skip


@pytest.mark.parametrize("loads", [(1.0, 2.0, 4.0), (4.0, 2.0, 1.0)])
def test_a_picture_can_be_read(loads: tuple[float, ...]) -> None:
    """Each curve has its name at its end, wherever that is; ticks are whole, and nothing is cut."""
    reverse = loads[0] > loads[-1]
    curves = tuple(curve._replace(values=curve.values[::-1]) if reverse else curve for curve in ENDING.curves)
    figure = load_curves.drawn([ENDING._replace(loads=loads, curves=curves)] * 2, "a pair")
    assert pictures.faults(figure) == []
    names = {text.get_text() for text in figure.axes[0].texts}
    assert names == {"plain P99, up to 2", "plain mean, up to 2", "with drafts P99"}
    assert figure.axes[0].get_xticks().tolist() == [4, 2, 1]


def test_each_name_is_joined_to_the_end_of_its_curve() -> None:
    """Names stand in the order of the ends, so that no two lines to them cross."""
    axes = load_curves.drawn([ENDING], "a pair").axes[0]
    to_data = (axes.transAxes + axes.transData.inverted()).transform
    ends = {text.get_text(): tuple(to_data(text.xy)) for text in axes.texts}
    assert ends["plain P99, up to 2"] == pytest.approx((2, 90))
    assert ends["plain mean, up to 2"] == pytest.approx((2, 80))
    assert ends["with drafts P99"] == pytest.approx((4, 5))
    places = [(text.xyann[1], text.get_text()) for text in axes.texts]
    assert [name for _, name in sorted(places)] == ["with drafts P99", "plain mean, up to 2", "plain P99, up to 2"]


@pytest.mark.parametrize("values", [(7.0,), (2.0,), (210.0,), (1e-6,)])
def test_one_load_and_a_narrow_range_have_ticks(values: tuple[float, ...]) -> None:
    figure = load_curves.drawn([Panel("t", "clients", "ms", (8.0,), (Curve(PLAIN, "mean", values),))], "x")
    low, high = figure.axes[0].get_ylim()
    assert low < values[0] < high
    assert len(figure.axes[0].get_yticks()) >= 2


def test_the_command_writes_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REQUESTS", 100)
    run(f"{RATES} --plot {tmp_path / 'x.png'}")
    with Image.open(tmp_path / "x.png") as picture:
        assert picture.size == (1620, 585)
