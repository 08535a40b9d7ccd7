"""The page: sections with their charts and tables, put into one file with all that it needs."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import specsim
from specsim.base import extras
from specsim.report.page import charts, costs, rows
from specsim.report.page.answers import answers
from specsim.report.page.records import Record, made_by, rows_of

HERE = Path(__file__).parent
# Most rows of a table.
SHOWN = 200
# The script that vl_convert bundles with Vega: it makes vegaEmbed known to the page's own script.
BUNDLED = "window.vegaEmbed = vegaEmbed;"


class Section(NamedTuple):
    """A section of the page.

    It has a title, a sentence or two, charts, and HTML below them; an example comes from no record.
    """

    title: str
    words: str
    charts: tuple[charts.Spec, ...] = ()
    below: str = ""
    is_example: bool = False


def page(records: Sequence[Record]) -> str:
    """Return the whole page: HTML that fetches nothing.

    Raises ValueError for a record that lacks what its kind should have.
    """
    # Number the charts of all sections.
    parts = sections(records)
    specs = {f"chart{i}": spec for i, spec in enumerate(spec for section in parts for spec in section.charts)}
    names = iter(specs)
    body = "".join(_section(section, [next(names) for _ in section.charts]) for section in parts)

    # Say where the numbers come from.
    record_names = ", ".join(record.name for record in records)
    examples = "Examples: no record is given, and nothing here was measured by you."
    source = f"Records: {record_names}." if records else examples
    has_controls = any(spec["params"] for spec in specs.values())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>specsim: {html.escape(record_names or "examples")}</title>
<style>{_file("page.css")}</style>
</head>
<body>
<h1>Speculative decoding: predicted and measured</h1>
<p>{html.escape(source)} Made by specsim {html.escape(specsim.__version__)}.</p>
<noscript><p>The charts need JavaScript, which this page holds; nothing is fetched.</p></noscript>
{_controls() if has_controls else ""}
{body}
<script type="application/json" id="specs">{_json(specs)}</script>
<script>{_script()}</script>
<script>{_file("page.js")}</script>
</body>
</html>
"""


def sections(records: Sequence[Record]) -> list[Section]:
    """Return the sections of the records and how they were made; without records, examples."""
    if not records:
        return list(_examples())
    return [section for section in (
        _answers(records),
        _made(records),
        _by_gamma(rows_of(records, rows.by_gamma)),
        _beside(rows_of(records, rows.compared)),
        _accepted(rows_of(records, rows.accepted)),
        *_controlled(rows_of(records, lambda record: [costs.costs([record])])),
        _lengths(rows_of(records, rows.lengths), rows_of(records, rows.not_drawn)),
        _trees(rows_of(records, rows.trees)),
        _systems(rows_of(records, rows.systems)),
    ) if section is not None]  # fmt: skip


def _examples() -> Iterator[Section]:
    """Yield the examples that a page without records shows."""
    parts = [_accepted(list(rows.example())), *_controlled([costs.example()])]
    parts += [_lengths(list(rows.laws_of_one_mean()), ["These three laws have one mean."])]
    yield from (section._replace(is_example=True) for section in parts if section is not None)


def _answers(records: Sequence[Record]) -> Section | None:
    """Return the section with each record's answer in a sentence."""
    named = rows_of(records, lambda record: [(record.name, sentence) for sentence in answers(record)])
    if not named:
        return None
    several = len({name for name, _ in named}) > 1
    sentences = [f"{name}: {sentence}" if several else sentence for name, sentence in named]
    below = "".join(f'<p class="answer">{html.escape(sentence)}</p>' for sentence in sentences)
    return Section("The answer", "", (), below)


def _made(records: Sequence[Record]) -> Section:
    """Return the section on how each record was made: command, machine, date and versions."""
    head = ["record", "kind", "command", "machine", "date", "versions"]
    cells = [[record.name, record.kind, *made_by(record)] for record in records]
    words = "As the records say it themselves; what one does not hold is left empty."
    return Section("What it rests on", words, (), _rows(head, cells, "stacked"))


def _by_gamma(chart_rows: list[rows.Row]) -> Section | None:
    """Return the section of quantities by block length, or None without rows."""
    if not chart_rows:
        return None
    words = "Lines are predicted; dots are measured, with their intervals where the record has them."
    return Section("Block length", words, _panels(chart_rows, charts.by_gamma))


def _beside(chart_rows: list[rows.Row]) -> Section | None:
    """Return the section of predictions beside measurements, or None without rows."""
    if not chart_rows:
        return None
    head = ["record", "what", "quantity", "predicted", "measured", "low", "high"]
    words = "Each dot is a run, its bar the interval of what was measured; on the line both agree."
    drawn = tuple(charts.beside(chart_rows, name) for name in ("tau", "speedup"))
    cells = [[_cell(row[name]) for name in head] for row in chart_rows]
    return Section("Predicted beside measured", words, drawn, _table(head, cells))


def _accepted(chart_rows: list[rows.Row]) -> Section | None:
    """Return the section of acceptance by number of drafts, or None without rows."""
    if not chart_rows:
        return None
    words = "The optimum (dashed among lines) is the most that any lossless rule reaches with drafts drawn so."
    return Section("Acceptance against drafts", words, _panels(chart_rows, charts.accepted))


def _controlled(models: Sequence[costs.Costs | None]) -> Iterable[Section]:
    """Yield the sections that the controls redraw, from the first costs there are."""
    model = next((candidate for candidate in models if candidate is not None), None)
    if model is None:
        return

    # Speedups by length, and by draft cost.
    words = f"Costs: {model.words}; context {costs.CONTEXT}. Every draft is as likely to be kept."
    drawn = (charts.by_length(costs.by_length(model.latency)), charts.by_ratio(costs.by_ratio(model.latency)))
    yield Section(
        "Length and draft cost", f"{words} White: the best length of each cost; red: this draft's cost.", drawn
    )

    # Speedups by batch and context, where these matter.
    plane = costs.by_context(model.latency)
    if plane:
        words = "The best speedup at the sliders' acceptance and draft cost; the number is its length."
        yield Section("Batch and context", words, (charts.by_context(plane),))


def _lengths(chart_rows: list[rows.Row], notes: list[str]) -> Section | None:
    """Return the section of laws of the block length, with notes, or None without rows."""
    if not chart_rows:
        return None
    words = "How many drafts blocks keep. Laws of one mean differ in their tails, and so in what a longer block gains."
    words = " ".join([words, *notes])
    return Section("Laws of the block length", words, (charts.lengths(chart_rows),))


def _trees(chart_rows: list[rows.Row]) -> Section | None:
    """Return the section of trees, or None without rows."""
    if not chart_rows:
        return None
    words = "Tokens per target call, the best rule first; the colour is the budget of nodes."
    return Section("Trees", words, _panels(chart_rows, charts.trees))


def _systems(verdicts: list[tuple[str, str, str]]) -> Section | None:
    """Return the section of systems (name, verdict, test), or None without any."""
    if not verdicts:
        return None
    table = _table(["system", "verdict", "test"], [list(cells) for cells in verdicts])
    return Section("Systems", "The test of each was fixed before its run; the verdict is computed.", (), table)


def _panels(chart_rows: list[rows.Row], draw: Callable[[Sequence[rows.Row]], charts.Spec]) -> tuple[charts.Spec, ...]:
    """Return a chart for each panel, in the order of the records."""
    order = {panel: i for i, panel in enumerate(dict.fromkeys(row["panel"] for row in chart_rows))}
    ordered = sorted(chart_rows, key=lambda row: order[row["panel"]])
    return tuple(draw(list(panel_rows)) for _, panel_rows in groupby(ordered, key=lambda row: row["panel"]))


def _section(section: Section, names: Sequence[str]) -> str:
    """Return the HTML of a section, with places for its charts, which have these names."""
    places = "".join(f'<div class="chart" id="{name}"></div>' for name in names)
    block = f'<div class="charts">{places}</div>' if names else ""
    title = f"Example: {section.title}" if section.is_example else section.title
    head = f"<h2>{html.escape(title)}</h2><p>{html.escape(section.words)}</p>"
    return f"<section>{head}{block}{section.below}</section>\n"


def _controls() -> str:
    """Return the HTML of the controls."""
    batches = json.dumps(list(costs.BATCHES))
    start = charts.START
    return f"""<form id="controls" onsubmit="return false">
<label>acceptance <input type="range" name="alpha" min="0" max="0.99" step="0.01" value="{start["alpha"]}"><output></output></label>
<label>draft cost, times <input type="range" name="scale" min="0" max="4" step="0.05" value="{start["scale"]:g}"><output></output></label>
<label>batch <input type="range" name="batch" min="0" max="{len(costs.BATCHES) - 1}" step="1" value="0" data-values="{batches}"><output></output></label>
</form>"""  # noqa: E501


def _table(head: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Return the HTML of a table that opens on demand."""
    rest = f"<p>{len(cells) - SHOWN} more rows are in the records.</p>" if len(cells) > SHOWN else ""
    return f"<details><summary>{len(cells)} rows</summary>{_rows(head, cells[:SHOWN])}{rest}</details>"


def _rows(head: Sequence[str], cells: Sequence[Sequence[str]], narrow: str = "wide") -> str:
    """Return the HTML of a table.

    On a narrow page it scrolls by itself ("wide") or has its cells one below the other ("stacked").
    """
    body = "".join(f"<tr>{_row(head, row)}</tr>" for row in cells)
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    return f'<div class="{narrow}"><table><tr>{top}</tr>{body}</table></div>'


def _row(head: Sequence[str], row: Sequence[str]) -> str:
    """Return the HTML of a row's cells; each holds the name of its column, for stacked tables."""
    named = zip(map(html.escape, head), map(html.escape, row), strict=True)
    return "".join(f'<td data-name="{name}">{cell}</td>' for name, cell in named)


def _cell(value: Any) -> str:
    """Return the text of a cell, "" for None."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _json(value: Any) -> str:
    """Return JSON in which no HTML parser sees a tag."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _file(name: str) -> str:
    """Return the text of a file of this folder."""
    return (HERE / name).read_text(encoding="utf-8")


def _script() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    with extras.needed("specsim report"):
        import vl_convert
    return str(vl_convert.javascript_bundle(BUNDLED)).replace("</script", "<\\/script")
