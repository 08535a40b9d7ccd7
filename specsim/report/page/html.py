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
from specsim.report.page.records import Record, made_by, rows_of

HERE = Path(__file__).parent
SHOWN = 200  # rows of a table
BUNDLED = "window.vegaEmbed = vegaEmbed;"


class Section(NamedTuple):
    """A heading, a sentence or two, charts, what stands below them, and whether no record has given it."""

    title: str
    words: str
    charts: tuple[charts.Spec, ...] = ()
    below: str = ""
    is_example: bool = False


def page(records: Sequence[Record]) -> str:
    """The whole page: HTML that fetches nothing. ValueError for a record that is not as it says it is."""
    found = sections(records)
    specs = {f"chart{i}": spec for i, spec in enumerate(spec for one in found for spec in one.charts)}
    names = iter(specs)
    shown = "".join(_section(one, [next(names) for _ in one.charts]) for one in found)
    told = ", ".join(record.name for record in records)
    source = f"Records: {told}." if records else "Examples: no record is given, and nothing here was measured by you."
    moves = any(spec["params"] for spec in specs.values())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>specsim: {html.escape(told or "examples")}</title>
<style>{_file("page.css")}</style>
</head>
<body>
<h1>Speculative decoding: predicted and measured</h1>
<p>{html.escape(source)} Made by specsim {html.escape(specsim.__version__)}.</p>
<noscript><p>The charts need JavaScript, which this page holds; nothing is fetched.</p></noscript>
{_controls() if moves else ""}
{shown}
<script type="application/json" id="specs">{_json(specs)}</script>
<script>{_script()}</script>
<script>{_file("page.js")}</script>
</body>
</html>
"""


def sections(records: Sequence[Record]) -> list[Section]:
    """Return the sections of the records and how they were made; without any record, examples marked as such."""
    if not records:
        return list(_examples())
    return [one for one in (
        _answers(records),
        _made(records),
        _by_gamma(rows_of(records, rows.by_gamma)),
        _beside(rows_of(records, rows.compared)),
        _accepted(rows_of(records, rows.accepted)),
        *_controlled(rows_of(records, lambda record: [costs.costs([record])])),
        _lengths(rows_of(records, rows.lengths), rows_of(records, rows.not_drawn)),
        _trees(rows_of(records, rows.trees)),
        _systems(rows_of(records, rows.systems)),
    ) if one is not None]  # fmt: skip


def _examples() -> Iterator[Section]:
    """Return the examples that a page without records shows."""
    found = [_accepted(list(rows.example())), *_controlled([costs.example()])]
    found += [_lengths(list(rows.laws_of_one_mean()), ["These three laws have one mean."])]
    yield from (one._replace(is_example=True) for one in found if one is not None)


def _answers(records: Sequence[Record]) -> Section | None:
    """What each record answers, in a sentence."""
    found = rows_of(records, lambda record: [(record.name, sentence) for sentence in rows.answers(record)])
    if not found:
        return None
    several = len({name for name, _ in found}) > 1
    sentences = [f"{name}: {sentence}" if several else sentence for name, sentence in found]
    below = "".join(f'<p class="answer">{html.escape(sentence)}</p>' for sentence in sentences)
    return Section("The answer", "", (), below)


def _made(records: Sequence[Record]) -> Section:
    """How each record was made: its command, machine, date and versions, as far as it says."""
    head = ["record", "kind", "command", "machine", "date", "versions"]
    cells = [[record.name, record.kind, *made_by(record)] for record in records]
    words = "As the records say it themselves; what one does not hold is left empty."
    return Section("What it rests on", words, (), _rows(head, cells, "stacked"))


def _by_gamma(found: list[rows.Row]) -> Section | None:
    if not found:
        return None
    words = "Lines are predicted; dots are measured, with their intervals where the record has them."
    return Section("Block length", words, _panels(found, charts.by_gamma))


def _beside(found: list[rows.Row]) -> Section | None:
    if not found:
        return None
    head = ["record", "what", "quantity", "predicted", "measured", "low", "high"]
    words = "Each dot is a run, its bar the interval of what was measured; on the line both agree."
    drawn = tuple(charts.beside(found, name) for name in ("tau", "speedup"))
    cells = [[_cell(row[name]) for name in head] for row in found]
    return Section("Predicted beside measured", words, drawn, _table(head, cells))


def _accepted(found: list[rows.Row]) -> Section | None:
    if not found:
        return None
    words = "The optimum (dashed among lines) is the most that any lossless rule reaches with drafts drawn so."
    return Section("Acceptance against drafts", words, _panels(found, charts.accepted))


def _controlled(found: Sequence[costs.Costs | None]) -> Iterable[Section]:
    """What the controls redraw most of: the costs of the first plan whose costs can be made again."""
    model = next((one for one in found if one is not None), None)
    if model is None:
        return
    words = f"Costs: {model.words}; context {costs.CONTEXT}. Every draft is as likely to be kept."
    drawn = (charts.by_length(costs.by_length(model.latency)), charts.by_ratio(costs.by_ratio(model.latency)))
    yield Section(
        "Length and draft cost", f"{words} White: the best length of each cost; red: this draft's cost.", drawn
    )
    plane = costs.by_context(model.latency)
    if plane:
        words = "The best speedup at the sliders' acceptance and draft cost; the number is its length."
        yield Section("Batch and context", words, (charts.by_context(plane),))


def _lengths(found: list[rows.Row], more: list[str]) -> Section | None:
    if not found:
        return None
    words = "How many drafts blocks keep. Laws of one mean differ in their tails, and so in what a longer block gains."
    words = " ".join([words, *more])
    return Section("Laws of the block length", words, (charts.lengths(found),))


def _trees(found: list[rows.Row]) -> Section | None:
    if not found:
        return None
    words = "Tokens per target call, the best rule first; the colour is the budget of nodes."
    return Section("Trees", words, _panels(found, charts.trees))


def _systems(found: list[tuple[str, str, str]]) -> Section | None:
    if not found:
        return None
    table = _table(["system", "verdict", "test"], [list(one) for one in found])
    return Section("Systems", "The test of each was fixed before its run; the verdict is computed.", (), table)


def _panels(found: list[rows.Row], draw: Callable[[Sequence[rows.Row]], charts.Spec]) -> tuple[charts.Spec, ...]:
    """A chart for each panel, in the order of the records."""
    order = {panel: i for i, panel in enumerate(dict.fromkeys(row["panel"] for row in found))}
    ordered = sorted(found, key=lambda row: order[row["panel"]])
    return tuple(draw(list(mine)) for _, mine in groupby(ordered, key=lambda row: row["panel"]))


def _section(one: Section, names: Sequence[str]) -> str:
    places = "".join(f'<div class="chart" id="{name}"></div>' for name in names)
    shown = f'<div class="charts">{places}</div>' if names else ""
    title = f"Example: {one.title}" if one.is_example else one.title
    return f"<section><h2>{html.escape(title)}</h2><p>{html.escape(one.words)}</p>{shown}{one.below}</section>\n"


def _controls() -> str:
    batches = json.dumps(list(costs.BATCHES))
    start = charts.START
    return f"""<form id="controls" onsubmit="return false">
<label>acceptance <input type="range" name="alpha" min="0" max="0.99" step="0.01" value="{start["alpha"]}"><output></output></label>
<label>draft cost, times <input type="range" name="scale" min="0" max="4" step="0.05" value="{start["scale"]:g}"><output></output></label>
<label>batch <input type="range" name="batch" min="0" max="{len(costs.BATCHES) - 1}" step="1" value="0" data-values="{batches}"><output></output></label>
</form>"""  # noqa: E501


def _table(head: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table that opens on demand."""
    rest = f"<p>{len(cells) - SHOWN} more rows are in the records.</p>" if len(cells) > SHOWN else ""
    return f"<details><summary>{len(cells)} rows</summary>{_rows(head, cells[:SHOWN])}{rest}</details>"


def _rows(head: Sequence[str], cells: Sequence[Sequence[str]], narrow: str = "wide") -> str:
    """A table that, on a narrow page, scrolls by itself ("wide") or has its cells one below the other ("stacked")."""
    body = "".join(f"<tr>{_row(head, row)}</tr>" for row in cells)
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    return f'<div class="{narrow}"><table><tr>{top}</tr>{body}</table></div>'


def _row(head: Sequence[str], row: Sequence[str]) -> str:
    """The cells of a row; each holds the name of its column, for pages on which they are stacked."""
    named = zip(map(html.escape, head), map(html.escape, row), strict=True)
    return "".join(f'<td data-name="{name}">{cell}</td>' for name, cell in named)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _json(value: Any) -> str:
    """JSON that no HTML parser takes for a tag."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _script() -> str:
    """Vega, Vega-Lite and what puts them into a page, as one script."""
    with extras.needed("specsim report"):
        import vl_convert
    return str(vl_convert.javascript_bundle(BUNDLED)).replace("</script", "<\\/script")
