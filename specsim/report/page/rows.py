"""Rows that charts draw, from records: tau and speedup, acceptance, laws of the block length."""

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
# The laws of the first example of the documentation.
P, Q = (0.5, 0.3, 0.2), (0.1, 0.3, 0.6)
DRAFTS = range(1, 7)
# Most laws of one record: more cannot be told apart.
SERIES = 6


def compared(record: Record) -> Iterator[Row]:
    """Yield predicted beside measured, one row for each quantity: tau and speedup."""
    for series, gamma, quantities in _pairs(record):
        # What was run: the series, and the block length where it has one.
        parts = [series] if series else []
        if gamma is not None:
            parts.append(f"gamma {gamma}")
        what = ", ".join(parts)

        for name in ("tau", "speedup"):
            values = quantities[name]
            low, high = values.get("interval") or (None, None)
            yield {
                "record": record.name,
                "what": what,
                "series": series,
                "gamma": gamma,
                "quantity": name,
                "predicted": float(values["predicted"]),
                "measured": float(values["measured"]),
                "low": low,
                "high": high,
            }


def _pairs(record: Record) -> Iterator[tuple[str, int | None, Row]]:
    """Yield (series, block length or None, quantities) of each run.

    `quantities` holds tau and speedup, each predicted and measured.
    """
    # Records of specsim-real.
    held = record.held
    if record.kind == "compare":
        yield from (("", pair["gamma"], pair) for pair in held["pairs"])
    elif record.kind == "chains":
        for run in held["runs"]:
            yield from ((run["rule"], pair["gamma"], pair) for pair in run["pairs"])
    elif record.kind == "compare trees":
        yield from ((f"{row['rule']}, {row['name']}", None, row) for row in held["rows"])
    elif record.kind == "forced":
        for run in held["runs"]:
            for row in run["rows"]:
                tau = {"predicted": row["tau_predicted"], "measured": row["tau_measured"]}
                where = f"batch {run['batch']}, context {run['context']}"
                yield where, row["gamma"], {"tau": tau, "speedup": row["speedup"]}

    # Rows of a sweep, except those that were refused.
    elif record.kind == "sweep compare":
        for row in held:
            if row["refused"] is None:
                quantities = {
                    name: {
                        "predicted": row[f"{name}_predicted"],
                        "measured": row[f"{name}_measured"],
                        "interval": [row[f"{name}_low"], row[f"{name}_high"]],
                    }
                    for name in ("tau", "speedup")
                }
                yield f"{row['rule']}, seed {row['seed']}", row["gamma"], quantities


def by_gamma(record: Record) -> Iterator[Row]:
    """Yield tau and speedup by block length, a panel for each.

    Where acceptance is forced there is the speedup only.
    """
    if record.kind in ("compare", "chains", "forced"):
        for row in compared(record):
            if record.kind != "forced" or row["quantity"] == "speedup":
                yield row | {"panel": f"{record.name}: {row['quantity']}"}


def accepted(record: Record) -> Iterator[Row]:
    """Yield acceptance by number of drafts, with the optimum of each scheme.

    There is a panel for each pair of laws.
    """
    # A record of specsim-real drafts.
    if record.kind == "drafts":
        for run in record.held["runs"]:
            for row in run["rows"]:
                panel = f"{record.name}: {run['name']}"
                yield _curve(panel, row["rule"], row["scheme"], row["num_drafts"], row["value"])

    # A sweep: the first pairs of laws.
    elif record.kind == "sweep acceptance":
        panels = list(dict.fromkeys((row["target"], row["draft"]) for row in record.held))
        for row in record.held:
            if row["refused"] is None and panels.index((row["target"], row["draft"])) < SERIES:
                scheme = row["scheme"] or discover.facts(discover.find("step", row["rule"])).schemes[0]
                panel = f"{record.name}: {row['target']:.40} and {row['draft']:.40}"
                yield _curve(panel, row["rule"], scheme, row["num_drafts"], row["acceptance"])
                if row["optimum"] is not None:
                    yield _curve(panel, "", scheme, row["num_drafts"], row["optimum"])


def example() -> Iterator[Row]:
    """Yield the exact acceptance of every lossless step rule, and the optimum, on one pair of laws.

    The laws are those of the documentation's first example.
    """
    # The rules; more distinct drafts than these laws have tokens raise ValueError.
    panel = f"p = {', '.join(map(str, P))} and q = {', '.join(map(str, Q))}, exact"
    for name, rule in discover.rules("step").items():
        facts = discover.facts(rule)
        for drafts in DRAFTS if not facts.bias and not facts.by_id else ():
            if facts.counts is None or drafts in facts.counts:
                try:
                    value = float(acceptance_rate(P, Q, rule=name, num_drafts=drafts))
                except ValueError:
                    continue
                yield _curve(panel, name, facts.schemes[0], drafts, value)

    # The optimum.
    for drafts in DRAFTS:
        yield _curve(panel, "", "iid", drafts, float(optimal_acceptance(P, Q, num_drafts=drafts)))


def _curve(panel: str, rule: str, scheme: str, drafts: int, value: float) -> Row:
    """Return a point of a rule's curve; without a rule it is the optimum's."""
    name = f"{rule or OPTIMUM} ({scheme})" if scheme != "iid" else rule or OPTIMUM
    return {"panel": panel, "rule": name, "optimum": not rule, "drafts": drafts, "value": float(value)}


def lengths(record: Record) -> Iterator[Row]:
    """Yield laws of a block's accepted drafts: as counted in simulations, or from hazards."""
    if record.kind == "simulate":
        yield from _law(f"{record.name}, simulated", record.held["kept"])
    elif record.kind == "compare":
        hazards = record.held["acceptance"]["hazards"]
        yield from _law(f"{record.name}, from hazards", accepted_length_law(hazards).tolist())
    elif record.kind == "sweep simulate":
        finished = (row for row in record.held if row["refused"] is None)
        for row in islice(finished, SERIES):
            length = f"tree {row['tree']}" if row["gamma"] is None else f"gamma {row['gamma']}"
            yield from _law(f"{record.name}: {row['rule']}, {length}, seed {row['seed']}", row["kept"])


def not_drawn(record: Record) -> Iterator[str]:
    """Yield the note on a record of which not every law is drawn."""
    if record.kind == "sweep simulate":
        finished = [row for row in record.held if row["refused"] is None]
        if len(finished) > SERIES:
            yield f"Of {record.name} the first {SERIES} rows are drawn, of {len(finished)}."


def laws_of_one_mean() -> Iterator[Row]:
    """Yield three laws with one mean: they show that a mean says little."""
    for name, law in laws_of_one_tau().items():
        yield from _law(name, law.tolist())


def _law(series: str, weights: list[float]) -> Iterator[Row]:
    """Return the bars of one law: the share of each number of accepted drafts."""
    total = sum(weights)
    return ({"series": series, "kept": n, "share": weight / total} for n, weight in enumerate(weights))


def trees(record: Record) -> Iterator[Row]:
    """Yield tokens per call of trees by their budget of nodes."""
    if record.kind == "trees":
        for run in record.held["runs"]:
            for row in run["rows"]:
                name = f"{row['rule']} on {row['topology']}"
                panel = f"{record.name}: {run['name']}"
                yield {"panel": panel, "rule": name, "nodes": row["budget"], "tau": row["tau"]}


def systems(record: Record) -> Iterator[tuple[str, str, str]]:
    """Yield (name, verdict, test) of a system's record."""
    if record.kind == "system":
        yield record.name, str(record.held["verdict"]), str(record.held["test"])
