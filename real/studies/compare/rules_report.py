"""The tables and the plot of several chain rules compared in one run, from their record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group

from real.studies.columns import shown
from real.studies.compare import answer, report
from specsim.base.files import write_bytes
from specsim.report import figure as pictures
from specsim.report.text import aligned

SCHEMA = "specsim-chains/1"
# Values of filters that change nothing.
OFF = {"top_k": 0, "top_p": 1, "min_p": 0, "repetition_penalty": 1}
# Colours of the plot; red and green look alike to many readers.
COLOURS = ("C0", "C1", "C4", "black", "C5", "C9", "C6", "C7")
# Shift of a measurement from its gamma: two bars at one place cannot be read.
OFFSET = 0.12


def columns(record: dict[str, Any], quantity: str) -> list[list[str]]:
    """Return the cells of a table, headings first: a quantity of each rule by gamma, and gains of it.

    quantity: "tau" or "speedup", a key of the record's rows.
    """
    # Entries by rule and gamma; only tau has a column for the difference.
    runs, has_difference = record["runs"], quantity == "tau"
    gain_key, form = ("tau", ".3f") if has_difference else ("speed", ".2f")
    entries = {(run["rule"], row["gamma"]): row[quantity] for run in runs for row in run["pairs"]}
    gains_by = {(gain["rule"], gain["gamma"]): gain[gain_key] for gain in record["gains"]}

    # The headings.
    head = ["gamma"]
    for run in runs:
        head += [f"{run['rule']}: {quantity} predicted", "measured"]
        head += ["difference"] if has_difference else []
    for run in runs[1:]:
        head += [f"{run['rule']} over {runs[0]['rule']}: predicted", "measured"]

    # A line for each gamma.
    lines = [head]
    for row in runs[0]["pairs"]:
        cells = [str(row["gamma"])]
        for run in runs:
            entry = entries.get((run["rule"], row["gamma"]))
            cells += _pair(entry, form)
            if has_difference:
                cells.append(report.bracket(entry and entry["difference_interval"], "+.3f"))
        for run in runs[1:]:
            cells += _pair(_less_one(gains_by.get((run["rule"], row["gamma"]))), "+.1%")
        lines.append(cells)
    return lines


def _pair(entry: dict[str, Any] | None, form: str) -> list[str]:
    """Return the predicted number, and the measured one with its interval; both empty without an entry."""
    if entry is None:
        return ["", ""]
    interval = report.bracket(entry["interval"], form)
    return [f"{entry['predicted']:{form}}", f"{entry['measured']:{form}} {interval}".rstrip()]


def _less_one(entry: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return an entry of ratios as one of gains: every number less 1."""
    if entry is None:
        return None
    interval = entry["interval"] and [end - 1 for end in entry["interval"]]
    predicted, measured = entry["predicted"] - 1, entry["measured"] - 1
    return {"predicted": predicted, "measured": measured, "interval": interval}


def missed(record: dict[str, Any]) -> list[str]:
    """Return the differences of measured and predicted tau, or gain, whose simultaneous interval lacks 0."""
    rows = [(run["rule"], row) for run in record["runs"] for row in run["pairs"]]
    rows += [(f"gain of {row['rule']}", row) for row in record["gains"]]
    return [
        f"{name}, gamma {row['gamma']}"
        for name, row in rows
        if row["tau"]["difference_interval"] and not report.is_within(0, row["tau"]["difference_interval"])
    ]


def verdict(record: dict[str, Any]) -> str:
    """Return sentences on how many predictions of tau hold, within simultaneous intervals and within 95 %."""
    rows = [row["tau"] for run in record["runs"] for row in run["pairs"] if row["tau"]["interval"]]
    if not rows:
        return "one prompt: no intervals"
    failed, number = missed(record), len(rows) + len(record["gains"])
    num_outside = sum(not report.is_within(tau["predicted"], tau["interval"]) for tau in rows)
    exceptions = f", all but {'; '.join(failed)}" if failed else ""
    return (
        f"{number - len(failed)} of {number} differences between measured and predicted (tau of each rule, and gains) "
        "hold 0 within intervals that hold all at once at 99 % (Bonferroni; 99 % each would leave out "
        f"{0.01 * number:.2f} on average){exceptions}. {num_outside} of "
        f"{len(rows)} predictions lie outside the 95 % interval of what was measured, where "
        f"{0.05 * len(rows):.1f} would on average if they had no sampling error; they, too, come from sampled texts"
    )


def table(record: dict[str, Any], *, wide: bool = False) -> Group:
    """Return the answer for the fastest rule, a table for each rule, the gains, and the verdict."""
    # Sentences on the fastest rule and on the run.
    runs = [run for run in record["runs"] if run["pairs"]]
    fastest = max(runs, key=lambda run: max(float(row["speedup"]["measured"]) for row in run["pairs"]))
    parts = [
        answer.answer(fastest["pairs"], fastest["rule"]),
        answer.emulation(record["provenance"]),
        answer.rounded(record["provenance"]),
        answer.restless(runs),
    ]

    # Tables, and sentences below them.
    for run in runs:
        lines = answer.wide_pairs(run["pairs"]) if wide else answer.pairs(run["pairs"])
        parts.append(f"\n{run['rule']}\n{lines}")
    closing = answer.closing(record | {"pairs": runs[0]["pairs"]})
    return shown(*parts, *gains(record), "", closing, f"{verdict(record)}.")


def gains(record: dict[str, Any]) -> list[str]:
    """The gains of each later rule over the first, in tau and in tokens a second: a table a rule."""
    head = ["gamma", "tau, %\npredicted", "\nmeasured", "speed, %\npredicted", "\nmeasured"]
    first_rule = record["runs"][0]["rule"]
    tables = []
    for rule in dict.fromkeys(gain["rule"] for gain in record["gains"]):
        lines = [
            [str(gain["gamma"]), *_percent(gain["tau"]), *_percent(gain["speed"])]
            for gain in record["gains"]
            if gain["rule"] == rule
        ]
        tables.append(f"\n{rule} over {first_rule}\n{aligned([head, *lines])}")
    return tables


def _percent(entry: dict[str, Any]) -> list[str]:
    """Return predicted and measured gain of a ratio, in percent."""
    low_high = entry["interval"] and [100 * (end - 1) for end in entry["interval"]]
    measured = f"{100 * (entry['measured'] - 1):+.1f} {report.bracket(low_high, '+.1f')}".rstrip()
    return [f"{100 * (entry['predicted'] - 1):+.1f}", measured]


def markdown(record: dict[str, Any], plot: str) -> str:
    """Return Markdown of a record: both tables, the verdict, models and machine, and its plot."""
    # A table of tau and one of speedup, then the settings.
    provenance, text = record["provenance"], []
    for name in ("tau", "speedup"):
        head, *lines = columns(record, name)
        text += [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines)] + [""]
    warping = provenance["warping"]
    used = [f"{name} {warping[name]:g}" for name, off in OFF.items() if warping[name] != off]
    filters = ", ".join(used)
    text += [
        f"Target: {report.target_name(provenance)}; temperature {warping['temperature']:g}, {filters or 'no filters'}; "
        f"{provenance['prompts']} prompts, up to {provenance['max_tokens']} tokens each. {verdict(record)}. "
        f"Cycles timed at {report.timed(provenance, record['runs'][0]['pairs'])}. {report.made_by(record)}",
        "",
        f"![tau of chain rules, predicted and measured]({plot})",
    ]
    return "\n".join(text)


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """Write a PNG: tau of every rule, and gains over the first one.

    Predictions are lines, measurements have 95 % intervals.
    """
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """Return the figure of `write_plot`; bars of one gamma stand side by side."""
    # The panel, rows, key and name of each curve.
    figure, (left, right) = pictures.figure(11, 4, 2)
    first_run = record["runs"][0]
    shown = [(left, run["pairs"], "tau", run["rule"]) for run in record["runs"]]
    for rule in dict.fromkeys(gain["rule"] for gain in record["gains"]):
        rows = [gain for gain in record["gains"] if gain["rule"] == rule]
        shown += [(right, rows, key, f"{rule}, {key}") for key in ("tau", "speed")]

    # Predictions as a line, measurements beside it.
    for i, (axis, rows, key, name) in enumerate(shown):
        gammas, entries = np.array([row["gamma"] for row in rows]), [row[key] for row in rows]
        colour = COLOURS[i % len(COLOURS)]
        look = {"color": colour, "markersize": 4}
        axis.plot(gammas, [e["predicted"] for e in entries], ("-", "--")[i % 2], color=colour, label=name)
        values, aside = [e["measured"] for e in entries], gammas + (OFFSET, -OFFSET)[i % 2]
        axis.errorbar(aside, values, report.bars(entries), fmt="os"[i % 2], capsize=2, alpha=0.7, **look)

    # Titles, axes and legends.
    left.set(title="tau (tokens per target call)")
    right.set(title=f"gain over {first_run['rule']}")
    right.yaxis.set_major_formatter(lambda ratio, _: f"{ratio - 1:+.0%}")
    right.axhline(1, color="black", linewidth=0.8)
    # A run that was stopped may have no gains, and then no legend.
    for axis in (left, right):
        axis.set(xlabel="gamma (drafts per block)")
        pictures.whole_ticks(axis.xaxis)
        axis.grid(alpha=0.3)
        pictures.legend_beside(axis, "lines: predicted\ndots: measured,\n95 %")
    acceptance = ""
    first_run = record["runs"][0]
    if first_run.get("acceptance"):
        mean = first_run["acceptance"]["mean"]
        acceptance = f"; acceptance {mean['predicted']:.3f} {report.bracket(mean['interval'], '.3f')}".rstrip()
    figure.suptitle(report.caption(record["provenance"]) + acceptance, fontsize=9)
    return figure
