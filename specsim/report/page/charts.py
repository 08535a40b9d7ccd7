"""Charts of a page in Vega-Lite: data that the page's script draws, anew when a control moves.

The controls are `alpha` (acceptance of a draft), `scale` (its draft's cost, times the model's) and
`batch`. Colours of text are the page's own, so that they follow light, dark and print.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
Row = dict[str, Any]
START = {"alpha": 0.8, "scale": 1.0, "batch": 1}
EVERY = tuple(START)
TAU = "(1 - pow(alpha, datum.g + 1)) / (1 - alpha)"
# The time of a cycle, in plain steps.
CYCLE = "datum.g * scale * datum.d + datum.r"
TEXT = "currentColor"
# Height of a chart, in pixels.
HEIGHT = 260
# Most lines of a chart: more cannot be told apart.
COLOURS = 10


def _chart(rows: Sequence[Row], alone: Sequence[str] = (), **rest: Any) -> Spec:
    """Return a chart of rows, as wide as its place, with the controls that concern it."""
    # The page's font and colours, for light, dark and print.
    return {
        "data": {"values": list(rows)},
        "width": "container",
        "height": HEIGHT,
        "params": [{"name": name, "value": START[name]} for name in alone],
        "background": None,
        "config": {
            "font": "system-ui, sans-serif",
            "axis": {"labelColor": TEXT, "titleColor": TEXT, "gridColor": "#88888840", "domainColor": "#888888",
                     "tickColor": "#888888", "labelOverlap": True, "labelSeparation": 6, "titlePadding": 8},
            "axisX": {"tickCount": {"expr": "ceil(width / 64)"}},
            "legend": {"labelColor": TEXT, "titleColor": TEXT, "orient": "bottom", "labelLimit": 300},
            "title": {"color": TEXT, "fontSize": 12, "fontWeight": "normal"},
            "view": {"stroke": None},
            "text": {"color": TEXT},
        },
        **rest,
    }  # fmt: skip


def _names(rows: Sequence[Row], field: str) -> Spec:
    """Return the encoding of a colour for each name.

    The legend has two columns where names are short enough for a narrow page.
    """
    names = {str(row[field]) for row in rows}
    scheme = "tableau10" if len(names) <= COLOURS else "tableau20"
    columns = 2 if max(map(len, names)) <= 22 else 1
    return _x(field, "", "nominal", scale={"scheme": scheme}, legend={"columns": columns})


def _x(field: str, title: str, kind: str = "quantitative", **rest: Any) -> Spec:
    """Return the encoding of a field on an axis, as a colour or in a tooltip."""
    return {"field": field, "type": kind, "title": title, **rest}


def beside(rows: Sequence[Row], quantity: str) -> Spec:
    """Return the chart of a quantity predicted beside measured.

    It has a dot for each run with its interval, and the line where both agree.
    """
    # Axes that reach from the smallest value to the largest.
    runs = [row for row in rows if row["quantity"] == quantity]
    ends = [value for row in runs for value in (row["predicted"], row["measured"])]
    low, high = min(ends), max(ends)
    scale: Any = {"scale": {"zero": False}}
    colour = _names(runs, "record")
    tip = [_x(name, name, "nominal") for name in ("record", "what", "predicted", "measured", "low", "high")]
    across, up = f"{quantity} predicted", f"{quantity} measured"

    # The line, the intervals, the dots.
    layers: list[Spec] = [
        {"data": {"values": [{"x": low}, {"x": high}]}, "mark": {"type": "line", "color": "#888888"},
         "encoding": {"x": _x("x", across, **scale), "y": _x("x", up, **scale)}},
        {"mark": "rule", "transform": [{"filter": "datum.low != null"}],
         "encoding": {"y": _x("low", up, **scale), "y2": {"field": "high"}, "color": colour}},
        {"mark": {"type": "point", "filled": True, "size": 45},
         "encoding": {"y": _x("measured", up, **scale), "color": colour, "tooltip": tip}},
    ]  # fmt: skip
    # One record needs no legend.
    if len({row["record"] for row in runs}) == 1:
        colour["legend"] = None
    return _chart(runs, encoding={"x": _x("predicted", across, **scale)}, layer=layers)


def by_gamma(rows: Sequence[Row]) -> Spec:
    """Return the chart of a quantity by block length.

    Predictions are a line, measurements dots with their intervals.
    """
    # One series needs no legend.
    quantity = rows[0]["quantity"]
    colour = _names(rows, "series")
    if len({row["series"] for row in rows}) == 1:
        colour["legend"] = None

    # The line, the intervals, the dots.
    names = ("series", "gamma", "predicted", "measured", "low", "high")
    tip = [_x(name, name, "nominal") for name in names]
    scale: Any = {"scale": {"zero": False}}
    layers: list[Spec] = [
        {"mark": {"type": "line"}, "encoding": {"y": _x("predicted", quantity, **scale)}},
        {"mark": "rule", "transform": [{"filter": "datum.low != null"}],
         "encoding": {"y": _x("low", quantity, **scale), "y2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": True, "size": 45},
         "encoding": {"y": _x("measured", quantity, **scale), "tooltip": tip}},
    ]  # fmt: skip
    # The speedup of plain decoding is 1.
    if quantity == "speedup":
        across = {"x": {"value": 0}, "x2": {"value": "width"}, "y": {"datum": 1}, "color": {"value": "#888888"}}
        layers.append({"mark": "rule", "encoding": across})
    span = {"zero": False, "nice": False, "padding": 10}
    x = _x("gamma", "gamma, drafts per block", scale=span, axis={"tickMinStep": 1})
    return _chart(rows, title=rows[0]["panel"], encoding={"x": x, "color": colour}, layer=layers)


def accepted(rows: Sequence[Row]) -> Spec:
    """Return the chart of acceptance by number of drafts, a line for each rule, optima dashed."""
    # Rank more rules than there are colours.
    if len({row["rule"] for row in rows}) > COLOURS:
        return _ranked(rows, ("value", "acceptance"), ("drafts", "drafts for one position"))
    return _chart(
        rows,
        title=rows[0]["panel"],
        mark={"type": "line", "point": True},
        encoding={
            "x": _x("drafts", "drafts for one position", axis={"tickMinStep": 1}),
            "y": _x("value", "acceptance", scale={"zero": False}),
            "color": _names(rows, "rule"),
            "strokeDash": {"field": "optimum", "type": "nominal", "legend": None},
            "strokeWidth": {"condition": {"test": "datum.optimum", "value": 3}, "value": 1.5},
            "tooltip": [_x(name, name, "nominal") for name in ("rule", "drafts", "value")],
        },
    )


def trees(rows: Sequence[Row]) -> Spec:
    """Return the chart of tokens per call of trees, by their nodes, the best rule first."""
    return _ranked(rows, ("tau", "tokens per call"), ("nodes", "nodes"))


def _ranked(rows: Sequence[Row], value: tuple[str, str], size: tuple[str, str]) -> Spec:
    """Return the chart with a line of dots for each rule, under its name, the best first.

    It serves for more rules than there are colours.
    """
    # Sort rules by their largest value.
    most: dict[str, float] = {}
    for row in rows:
        most[row["rule"]] = max(row[value[0]], most.get(row["rule"], row[value[0]]))
    order = sorted(most, key=lambda rule: -most[rule])

    # A line from the smallest value to the largest, the dots, the names.
    y = {"field": "rule", "type": "ordinal", "sort": order, "axis": None}
    scale: Any = {"scale": {"zero": False}}
    ends = {"x": _x(value[0], value[1], aggregate="min", **scale), "x2": {"field": value[0], "aggregate": "max"}}
    tip = [_x(name, name, "nominal") for name in ("rule", size[0], value[0])]
    colour = _x(*size, "ordinal", scale={"scheme": "tableau10"}, legend={"columns": 8})
    layers: list[Spec] = [
        {"mark": {"type": "rule", "color": "#88888880"}, "encoding": {**ends, "y": y}},
        {"mark": {"type": "point", "filled": True, "size": 45},
         "encoding": {"x": _x(*value, **scale), "y": y, "color": colour, "tooltip": tip}},
        {"transform": [{"aggregate": [{"op": "count", "as": "dots"}], "groupby": ["rule"]}],
         "mark": {"type": "text", "align": "left", "dy": -11, "fontSize": 10},
         "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "rule"}}},
    ]  # fmt: skip
    return _chart(rows, title=rows[0]["panel"], layer=layers, height={"step": 28})


def by_length(rows: Sequence[Row]) -> Spec:
    """Return the chart of the speedup by length, at the controls' values; the best is named."""
    # The speedups, and the best of them with its words.
    speed = [{"filter": "datum.b == batch"}, {"calculate": f"{TAU} / ({CYCLE})", "as": "speedup"}]
    best = [
        {"joinaggregate": [{"op": "max", "field": "speedup", "as": "most"}]},
        {"filter": "datum.speedup == datum.most"},
        {"calculate": "datum.g == 0 ? 'off is best' : 'best: ' + datum.g + ', ' + format(datum.speedup, '.2f') + 'x'",
         "as": "said"},
    ]  # fmt: skip

    # The line, plain decoding at 1, the best.
    place = {"x": _x("g", "gamma, drafts per block", axis={"tickMinStep": 1}), "y": _x("speedup", "speedup, predicted")}
    layers: list[Spec] = [
        {"mark": {"type": "line", "point": True},
         "encoding": {"tooltip": [_x("g", "gamma"), _x("speedup", "speedup")]}},
        {"mark": {"type": "rule", "color": "#888888"},
         "encoding": {"x": {"value": 0}, "x2": {"value": "width"}, "y": {"datum": 1}}},
        {"transform": best, "mark": {"type": "point", "size": 120, "color": "#d62728"}},
        {"transform": best, "mark": {"type": "text", "dy": -14, "fontSize": 13},
         "encoding": {"text": {"field": "said"}}},
    ]  # fmt: skip
    return _chart(rows, EVERY, transform=speed, encoding=place, layer=layers)


def by_ratio(rows: Sequence[Row]) -> Spec:
    """Return the chart of the speedup by length and draft cost.

    Dots are the best length of each cost, the line is this draft's cost.
    """
    # The speedups, the best of each cost, this draft's cost.
    speed = [
        {"filter": "datum.b == batch"},
        {"calculate": f"{TAU} / (datum.g * datum.c + datum.r)", "as": "speedup"},
    ]
    best = [
        {"joinaggregate": [{"op": "max", "field": "speedup", "as": "most"}], "groupby": ["c"]},
        {"filter": "datum.speedup == datum.most"},
    ]
    draft_cost = [{"filter": "datum.g == 1"}, {"aggregate": [{"op": "max", "field": "d", "as": "d"}]},
                  {"calculate": "scale * datum.d", "as": "own"}]  # fmt: skip

    # Cells, dots, the line.
    top = max(row["c1"] for row in rows)
    y = {"type": "quantitative", "title": "draft step, in target steps", "scale": {"domain": [0, top], "nice": False}}
    x = _x("g", "gamma, drafts per block", "ordinal", axis={"labelAngle": 0})
    tip = [_x("g", "gamma"), _x("c", "draft step"), _x("speedup", "speedup")]
    colour = _x("speedup", "speedup", scale={"scheme": "viridis"}, legend={"gradientLength": 200, "format": ".2f"})
    layers: list[Spec] = [
        {"mark": "rect",
         "encoding": {"y": {"field": "c0", **y}, "y2": {"field": "c1"}, "color": colour, "tooltip": tip}},
        {"transform": best, "mark": {"type": "point", "filled": True, "color": "#ffffff", "size": 22},
         "encoding": {"y": {"field": "c", **y}}},
        {"transform": draft_cost, "mark": {"type": "rule", "color": "#d62728", "strokeWidth": 2, "clip": True},
         "encoding": {"y": {"field": "own", **y}, "x": {"value": 0}, "x2": {"value": "width"}}},
    ]  # fmt: skip
    return _chart(rows, EVERY, transform=speed, encoding={"x": x}, layer=layers)


def by_context(rows: Sequence[Row]) -> Spec:
    """Return the chart of the best speedup by batch and context, with its length in each cell.

    The chosen batch is framed.
    """
    # The best speedup and its length.
    speed = [
        {"calculate": f"{TAU} / ({CYCLE})", "as": "speedup"},
        {"aggregate": [{"op": "argmax", "field": "speedup", "as": "best"}], "groupby": ["b", "s"]},
        {"calculate": "datum.best.speedup", "as": "speedup"},
        {"calculate": "datum.best.g == 0 ? 'off' : '' + datum.best.g", "as": "g"},
    ]

    # Cells, the frame, the lengths: white with a dark edge, so that any colour lets them be read.
    x = _x("b", "batch", "ordinal", axis={"labelAngle": 0})
    y = _x("s", "context, tokens", "ordinal", sort="descending")
    colour = _x("speedup", "speedup", scale={"scheme": "viridis"}, legend={"gradientLength": 200, "format": ".2f"})
    tip = [_x("b", "batch"), _x("s", "context"), _x("g", "best gamma", "nominal"), _x("speedup", "speedup")]
    layers: list[Spec] = [
        {"mark": "rect", "encoding": {"color": colour, "tooltip": tip}},
        {"transform": [{"filter": "datum.b == batch"}],
         "mark": {"type": "rect", "filled": False, "stroke": "#d62728", "strokeWidth": 2}},
        {"mark": {"type": "text", "fontSize": 10, "color": "#ffffff", "stroke": "#00000099", "strokeWidth": 2,
                  "strokeJoin": "round"}, "encoding": {"text": {"field": "g"}}},
        {"mark": {"type": "text", "fontSize": 10, "color": "#ffffff"}, "encoding": {"text": {"field": "g"}}},
    ]  # fmt: skip
    return _chart(rows, EVERY, transform=speed, encoding={"x": x, "y": y}, layer=layers)


def lengths(rows: Sequence[Row]) -> Spec:
    """Return the chart of laws of a block's accepted drafts, side by side.

    The slider's law, in which every draft is as likely to be accepted, stands beside them.
    """
    # The slider's law is computed by the page.
    most = max(row["kept"] for row in rows)
    alike = [
        {"kept": n, "series": "every draft alike, at the slider's acceptance", "alike": True} for n in range(most + 1)
    ]
    share = (
        f"datum.alike ? (datum.kept < {most} ? pow(alpha, datum.kept) * (1 - alpha) : pow(alpha, {most})) : datum.share"
    )
    return _chart(
        [*rows, *alike],
        ("alpha",),
        transform=[{"calculate": share, "as": "share"}],
        mark={"type": "bar"},
        encoding={
            "x": _x("kept", "drafts kept", "ordinal", axis={"labelAngle": 0}),
            "xOffset": {"field": "series"},
            "y": _x("share", "share of blocks"),
            "color": _names([*rows, *alike], "series"),
            "tooltip": [_x(name, name, "nominal") for name in ("series", "kept", "share")],
        },
    )
