"""Rows that charts draw, from records: predicted beside measured, acceptance by drafts, laws of the block length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from specsim import discover
from specsim.bounds.optimum import optimal_acceptance
from specsim.exact.step import acceptance_rate
from specsim.lengths.blocks import accepted_length_law
from specsim.report.page.records import Record
from specsim.report.plots import laws_of_one_tau

Row = dict[str, Any]
OPTIMUM = "optimum"
P, Q = (0.5, 0.3, 0.2), (0.1, 0.3, 0.6)  # the laws of the first example of the documentation
DRAFTS = range(1, 7)
SERIES = 6  # laws of one record: more cannot be told apart


def answers(record: Record) -> Iterator[str]:
    """Say in a sentence what a record answers, if it has one answer: a plan, a simulation or a comparison."""
    if record.kind == "plan":
        yield str(record.held["sentence"])
    if record.kind == "simulate":
        tau = record.held["tau"]
        interval = "" if tau["low"] is None else f" [{tau['low']:.3f}, {tau['high']:.3f}]"
        yield f"A target call emits {tau['value']:.3f}{interval} tokens, simulated over {record.held['blocks']} blocks."
    if record.kind in ("compare", "chains"):
        runs = [row for row in compared(record) if row["quantity"] == "speedup"]
        if runs:
            best = max(runs, key=lambda row: float(row["measured"]))
            yield (
                f"Measured fastest: {best['what']}, {best['measured']:.2f} times plain decoding; "
                f"predicted {best['predicted']:.2f} times."
            )


def compared(record: Record) -> Iterator[Row]:
    """Predicted beside measured, one row for each quantity: tau and speedup."""
    for series, gamma, one in _pairs(record):
        what = ", ".join([*([series] if series else []), *([] if gamma is None else [f"gamma {gamma}"])])
        for quantity in ("tau", "speedup"):
            found = one[quantity]
            low, high = found.get("interval") or (None, None)
            yield {
                "record": record.name,
                "what": what,
                "series": series,
                "gamma": gamma,
                "quantity": quantity,
                "predicted": float(found["predicted"]),
                "measured": float(found["measured"]),
                "low": low,
                "high": high,
            }


def _pairs(record: Record) -> Iterator[tuple[str, int | None, Row]]:
    """(what was run, the length of its blocks or None, its tau and speedup, each predicted and measured)."""
    held = record.held
    if record.kind == "compare":
        yield from (("", one["gamma"], one) for one in held["pairs"])
    elif record.kind == "chains":
        for run in held["runs"]:
            yield from ((run["rule"], one["gamma"], one) for one in run["pairs"])
    elif record.kind == "compare trees":
        yield from ((f"{one['rule']}, {one['name']}", None, one) for one in held["rows"])
    elif record.kind == "forced":
        for run in held["runs"]:
            for one in run["rows"]:
                tau = {"predicted": one["tau_predicted"], "measured": one["tau_measured"]}
                where = f"batch {run['batch']}, context {run['context']}"
                yield where, one["gamma"], {"tau": tau, "speedup": one["speedup"]}
    elif record.kind == "sweep compare":
        for one in held:
            if one["refused"] is None:
                quantities = {
                    name: {
                        "predicted": one[f"{name}_predicted"],
                        "measured": one[f"{name}_measured"],
                        "interval": [one[f"{name}_low"], one[f"{name}_high"]],
                    }
                    for name in ("tau", "speedup")
                }
                yield f"{one['rule']}, seed {one['seed']}", one["gamma"], quantities


def by_gamma(record: Record) -> Iterator[Row]:
    """Tau and speedup against the block length, a panel for each; where acceptance is forced, the speedup alone."""
    if record.kind in ("compare", "chains", "forced"):
        for row in compared(record):
            if record.kind != "forced" or row["quantity"] == "speedup":
                yield row | {"panel": f"{record.name}: {row['quantity']}"}


def accepted(record: Record) -> Iterator[Row]:
    """Acceptance by number of drafts, with the optimum of each scheme; a panel for each pair of laws."""
    if record.kind == "drafts":
        for run in record.held["runs"]:
            for one in run["rows"]:
                yield _curve(
                    f"{record.name}: {run['name']}", one["rule"], one["scheme"], one["num_drafts"], one["value"]
                )
    elif record.kind == "sweep acceptance":
        panels = list(dict.fromkeys((one["target"], one["draft"]) for one in record.held))
        for one in record.held:
            if one["refused"] is None and panels.index((one["target"], one["draft"])) < SERIES:
                scheme = one["scheme"] or discover.facts(discover.find("step", one["rule"])).schemes[0]
                panel = f"{record.name}: {one['target']:.40} and {one['draft']:.40}"
                yield _curve(panel, one["rule"], scheme, one["num_drafts"], one["acceptance"])
                if one["optimum"] is not None:
                    yield _curve(panel, "", scheme, one["num_drafts"], one["optimum"])


def example() -> Iterator[Row]:
    """The same of every lossless step rule on the laws of the documentation's first example, exactly."""
    panel = f"p = {', '.join(map(str, P))} and q = {', '.join(map(str, Q))}, exact"
    for name, rule in discover.rules("step").items():
        known = discover.facts(rule)
        for drafts in DRAFTS if not known.bias and not known.by_id else ():
            if known.counts is None or drafts in known.counts:
                try:
                    value = float(acceptance_rate(P, Q, rule=name, num_drafts=drafts))
                except ValueError:  # as many distinct drafts as these laws do not have
                    continue
                yield _curve(panel, name, known.schemes[0], drafts, value)
    for drafts in DRAFTS:
        yield _curve(panel, "", "iid", drafts, float(optimal_acceptance(P, Q, num_drafts=drafts)))


def _curve(panel: str, rule: str, scheme: str, drafts: int, value: float) -> Row:
    name = f"{rule or OPTIMUM} ({scheme})" if scheme != "iid" else rule or OPTIMUM
    return {"panel": panel, "rule": name, "optimum": not rule, "drafts": drafts, "value": float(value)}


def lengths(record: Record) -> Iterator[Row]:
    """Laws of the drafts kept by a block: of simulations as counted, of comparisons from their hazards."""
    if record.kind == "simulate":
        yield from _law(f"{record.name}, simulated", record.held["kept"])
    elif record.kind == "compare":
        hazards = record.held["acceptance"]["hazards"]
        yield from _law(f"{record.name}, from hazards", accepted_length_law(hazards).tolist())
    elif record.kind == "sweep simulate":
        good = (one for one in record.held if one["refused"] is None)
        for one in islice(good, SERIES):
            length = f"tree {one['tree']}" if one["gamma"] is None else f"gamma {one['gamma']}"
            yield from _law(f"{record.name}: {one['rule']}, {length}, seed {one['seed']}", one["kept"])


def not_drawn(record: Record) -> Iterator[str]:
    """Return the note on a record of which not every law is drawn."""
    if record.kind == "sweep simulate":
        good = [one for one in record.held if one["refused"] is None]
        if len(good) > SERIES:
            yield f"Of {record.name} the first {SERIES} rows are drawn, of {len(good)}."


def laws_of_one_mean() -> Iterator[Row]:
    """Three laws with one mean: why a mean says little."""
    for name, law in laws_of_one_tau().items():
        yield from _law(name, law.tolist())


def _law(series: str, weights: list[float]) -> Iterator[Row]:
    total = sum(weights)
    return ({"series": series, "kept": n, "share": weight / total} for n, weight in enumerate(weights))


def trees(record: Record) -> Iterator[Row]:
    """Tokens per call of trees by their budget of nodes."""
    if record.kind == "trees":
        for run in record.held["runs"]:
            for one in run["rows"]:
                name = f"{one['rule']} on {one['topology']}"
                panel = f"{record.name}: {run['name']}"
                yield {"panel": panel, "rule": name, "nodes": one["budget"], "tau": one["tau"]}


def systems(record: Record) -> Iterator[tuple[str, str, str]]:
    """(name, verdict, test) of systems."""
    if record.kind == "system":
        yield record.name, str(record.held["verdict"]), str(record.held["test"])
