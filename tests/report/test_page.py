"""`specsim report`: what records give, one line for what is none, and the page itself in a browser."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import WIDTHS, complaints, opened, visit, wait
from helpers.studies import rows_of, study_file, threads
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.report.page import charts, costs, rows
from specsim.report.page.records import EXPECTED, Record, read
from specsim.report.page.records import rows_of as read_rows

pytest.importorskip("vl_convert", reason="vl_convert (extra `report`) is not installed")

from specsim.report.page import html

RESULTS = Path(__file__).parents[2] / "real" / "results"
EVERY = sorted([*RESULTS.glob("*.json"), *(RESULTS / "systems").glob("*.json")])
LAWS = ["--target", "law:1/3,2/3", "--draft", "law:2/3,1/3", "--gamma", "3", "--blocks", "500", "--sequences", "10"]
MODELS = ["--target", "llama-3.1-8b", "--draft", "llama-3.2-1b", "--hardware", "h100-sxm"]


def printed(*words: str) -> str:
    ended = CliRunner().invoke(app, list(words))
    assert ended.exit_code == 0, ended.stderr
    return ended.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A record of each kind that is made here; those of sweeps where its extra is installed."""
    folder = tmp_path_factory.mktemp("records")
    (folder / "plan.json").write_text(printed("plan", "0.8", *MODELS, "--json"))
    (folder / "simulate.json").write_text(printed("simulate", *LAWS, "--json"))
    return [folder / "plan.json", folder / "simulate.json"]


def test_every_record_of_the_project_is_read() -> None:
    found = [read(path) for path in EVERY]
    kinds = {one.kind for one in found}
    assert kinds == {"compare", "chains", "compare trees", "forced", "drafts", "trees", "system"}
    beside = read_rows(found, rows.compared)
    assert {row["record"] for row in beside} == {
        one.name for one in found if one.kind in ("compare", "chains", "compare trees", "forced")
    }
    bundled = json.loads((RESULTS / "bundled.json").read_text())["pairs"][2]
    (row,) = (r for r in beside if (r["record"], r["what"], r["quantity"]) == ("bundled", "gamma 3", "speedup"))
    assert (row["predicted"], row["measured"]) == (bundled["speedup"]["predicted"], bundled["speedup"]["measured"])
    assert [row["low"], row["high"]] == bundled["speedup"]["interval"]
    assert len(read_rows(found, rows.systems)) == len(list((RESULTS / "systems").glob("*.json")))


def test_what_commands_print_is_read(made: list[Path]) -> None:
    plan, simulated = (read(path) for path in made)
    assert (plan.kind, simulated.kind) == ("plan", "simulate")
    law = read_rows([simulated], rows.lengths)
    assert [row["kept"] for row in law] == [0, 1, 2, 3]
    assert sum(row["share"] for row in law) == pytest.approx(1)
    assert law[0]["share"] == simulated.held["kept"][0] / simulated.held["blocks"]
    assert costs.costs([plan]).words.startswith("plan: llama-3.1-8b with llama-3.2-1b on 1 x h100-sxm")


def test_rows_of_sweeps_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")
    from specsim.commands.sweep import pools, run

    monkeypatch.setattr(pools, "processes", lambda count: threads()())
    text = 'kind = "acceptance"\n[grid]\ntarget = "law:.5,.3,.2"\ndraft = "law:.1,.3,.6"\nnum_drafts = [1, 2]\n'
    study_file(tmp_path, text + 'rule = ["recursive", "rejection"]\n')
    run.run(run.Sweep(tmp_path / "study.toml", tmp_path / "rows.parquet"))
    found = read_rows([read(tmp_path / "rows.parquet")], rows.accepted)
    values = {(row["rule"], row["drafts"]): row["value"] for row in found}
    assert values["recursive", 2] == pytest.approx(0.64)
    assert values["optimum", 2] == pytest.approx(0.69)
    assert ("rejection", 2) not in values  # refused
    assert len(rows_of(tmp_path / "rows.parquet")) == 4


def test_the_example_has_the_numbers_of_the_documentation() -> None:
    values = {(row["rule"], row["drafts"]): row["value"] for row in rows.example()}
    assert values["rejection", 1] == pytest.approx(0.6)
    assert values["recursive", 2] == pytest.approx(0.64)
    assert values["optimum", 2] == pytest.approx(0.69)
    best = {drafts: value for (rule, drafts), value in values.items() if rule == "optimum"}
    assert all(values[rule, k] <= best[k] + 1e-9 for rule, k in values if "(" not in rule)


def test_costs_of_a_page_are_those_of_predictions() -> None:
    model = specsim.roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    for row in costs.by_length(model):
        found = specsim.predict(model, 0.8, gamma=row["g"], batch=row["b"], context=costs.CONTEXT)
        tau = (1 - 0.8 ** (row["g"] + 1)) / (1 - 0.8)
        assert tau / (row["g"] * row["d"] + row["r"]) == pytest.approx(found.speedup.value, rel=1e-4)
    curve = specsim.latency.constant(0.1, verify_cost=[1, 1.1, 1.3])
    assert max(row["g"] for row in costs.by_length(curve)) == 2  # as far as the curve goes
    assert costs.by_context(curve) == []


WRONG: dict[str, tuple[str | bytes | None, str]] = {
    "gone.json": (None, "gone.json cannot be read: No such file or directory"),
    "text.json": ("hello", f"text.json is no JSON; expected {EXPECTED}"),
    "bytes.json": (b"\xff\xfe", "bytes.json is no JSON"),
    "list.json": ("[1]", "list.json is no record that a page shows (it has none); expected a record of specsim-real"),
    "old.json": ('{"schema": "specsim-compare/1"}', "(its schema is 'specsim-compare/1'); expected a record"),
    "half.json": ('{"schema": "specsim-compare/2"}', "half is not as a record of kind compare should be (KeyError"),
    "odd.json": (
        '{"schema": "specsim/plan/1", "asked": 1, "points": 1, "sentence": 1}',
        "odd is not as a record of kind plan should be",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_record_is_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, said = WRONG[name]
    if text is not None:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    ended = CliRunner().invoke(app, ["report", "--out", "page.html", name])
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not Path("page.html").exists()


def test_a_page_goes_where_it_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_script", lambda: "")
    for out, said in (("page.txt", "must end in .html"), (str(tmp_path), "is a directory")):
        ended = CliRunner().invoke(app, ["report", "--out", out])
        assert (ended.exit_code, ended.stderr.count("\n")) == (2, 1)
        assert said in ended.stderr
    os.mkfifo(tmp_path / "pipe")
    assert "opens without a network" in printed("report", "--out", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_names_are_text_and_not_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_script", lambda: "")
    record = json.loads((RESULTS / "bundled.json").read_text())
    page = html.page([Record("<script>alert(1)</script>", "compare", record)])
    assert "<script>alert" not in page
    assert page.count("</script>") == 3


def test_words_of_a_section_are_text_and_not_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold the file's name and its models: of a plan, what it says of its costs."""
    monkeypatch.setattr(html, "_script", lambda: "")
    tag = "<img src=x onerror=alert(1)>"
    held = html.Section(tag, tag, (), html._table([tag], [[tag]]))
    monkeypatch.setattr(html, "sections", lambda records: [held])
    page = html.page([Record(tag, "plan", {})])
    assert "<img" not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") >= 6


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_printed_fits_a_terminal(width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_script", lambda: "")
    monkeypatch.chdir(tmp_path)
    assert max(map(len, printed("report", "--out", "page.html").splitlines())) <= width
    assert json.loads(printed("report", "--out", "page.html", "--json"))["records"] == []


def test_every_chart_compiles_and_follows_its_controls(made: list[Path]) -> None:
    """The quick sibling of the browser: Vega-Lite itself reads each chart, and finds the signals that controls set."""
    import vl_convert

    found = html.sections([read(path) for path in [RESULTS / "bundled.json", *made]])
    drawn = [chart for section in found for chart in section.charts]
    assert [len(section.charts) for section in found] == [0, 0, 2, 2, 2, 1, 1]
    for chart in drawn:
        compiled = vl_convert.vegalite_to_vega(chart)
        signals = {one["name"] for one in compiled["signals"]}
        assert {one["name"] for one in chart["params"]} <= signals
        written = json.dumps(compiled)
        assert "http" not in written.replace("https://vega.github.io/schema", "")  # no data from elsewhere
    assert [sorted(one["name"] for one in chart["params"]) for chart in drawn][4:] == [
        *[["alpha", "batch", "scale"]] * 3,
        ["alpha"],
    ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("selenium", reason="selenium (extra `test`) is not installed")
    yield from opened()


@pytest.fixture(scope="module")
def address(made: list[Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of every record there is, as a file."""
    out = tmp_path_factory.mktemp("page") / "page.html"
    printed("report", "--out", str(out), *map(str, EVERY), *map(str, made))
    assert out.stat().st_size <= 3_000_000
    return out.as_uri()


def moved(browser: Any, name: str, value: float) -> None:
    """Move a control, and wait until all is drawn anew."""
    before = browser.execute_script("return document.body.dataset.drawn")
    script = (
        f"const c = document.querySelector('#controls [name={name}]'); c.value = {value}; "
        "c.dispatchEvent(new Event('input'))"
    )
    browser.execute_script(script)
    wait(browser, f"document.body.dataset.drawn !== '{before}'")


def best(browser: Any) -> str:
    """What the plot of speedup against length names as best."""
    found = "[...document.querySelectorAll('.chart svg text')].map(t => t.textContent).find(t => /best/.test(t))"
    return str(browser.execute_script(f"return {found}"))


def expected(alpha: float, batch: int) -> str:
    model = specsim.roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    (found,) = specsim.plan(model, alpha, batches=[batch], contexts=[costs.CONTEXT])
    return f"best: {found.gamma}, {found.speedup.value:.2f}x" if found.gamma else "off is best"


# Pairs of texts of one chart that lie over each other; a number and its outline are the same text at the same place.
OVERLAPS = """
return [...document.querySelectorAll('.chart')].flatMap(chart => {
  const texts = [...chart.querySelectorAll('svg text')].filter(t => t.textContent && getComputedStyle(t).opacity > 0);
  const boxes = texts.map(t => t.getBoundingClientRect());
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const same = (i, j) => texts[i].textContent === texts[j].textContent && Math.abs(boxes[i].left - boxes[j].left) < 3;
  return boxes.flatMap((a, i) => boxes.slice(0, i).flatMap((b, j) =>
    meet(a, b) && !same(i, j) ? [texts[i].textContent + ' over ' + texts[j].textContent] : []));
})
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_of_a_chart_lies_over_another(browser: Any, address: str, width: int) -> None:
    """At 390 px, numbers beside the dots of a record and ticks of the axis once did."""
    visit(browser, address, width)
    wait(browser, "document.body.dataset.drawn")
    assert browser.execute_script(OVERLAPS) == []
    narrow = browser.execute_script("return document.querySelector('.stacked td').getBoundingClientRect().width")
    assert (narrow > 300) == (width == 390)


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_draws_it_and_controls_redraw_it(browser: Any, address: str, width: int) -> None:
    visit(browser, address, width)
    wait(browser, "document.body.dataset.drawn")
    places = browser.execute_script("return document.querySelectorAll('.chart').length")
    marks = "[...document.querySelectorAll('.chart')].filter(c => c.querySelectorAll('svg path').length > 5)"
    assert browser.execute_script(f"return {marks}.length") == places >= 10
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('.chart svg')].filter(s => s.getBoundingClientRect().right > innerWidth)"
    assert browser.execute_script(f"return {wide}.length") == 0
    assert best(browser) == expected(charts.START["alpha"], 1)
    moved(browser, "alpha", 0.5)
    assert best(browser) == expected(0.5, 1)
    moved(browser, "batch", costs.BATCHES.index(512))
    assert best(browser) == expected(0.5, 512) == "off is best"
    moved(browser, "batch", 0)
    moved(browser, "scale", 0)
    assert best(browser) != expected(0.5, 1)  # drafts for nothing
    assert complaints(browser, address) == []


@pytest.mark.slow
def test_dark_and_print_have_ink_of_their_own(browser: Any, address: str) -> None:
    inks = {}
    for name, media in {
        "light": {"features": [{"name": "prefers-color-scheme", "value": "light"}]},
        "dark": {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
        "print": {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    }.items():
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", **media})
        visit(browser, address, 1280)
        wait(browser, "document.body.dataset.drawn")
        text = "getComputedStyle(document.querySelector('.role-axis-label text')).fill"
        paper = "getComputedStyle(document.body).backgroundColor"
        inks[name] = browser.execute_script(f"return [{text}, {paper}]")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert inks["light"] == ["rgb(27, 27, 27)", "rgb(255, 255, 255)"]
    assert inks["dark"] == ["rgb(228, 228, 228)", "rgb(22, 24, 28)"]
    assert inks["print"] == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
