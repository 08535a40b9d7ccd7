"""The answer, the table and the plot of trees compared with chains, from their record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group

from real.decode.warping import Warping
from real.studies.columns import shown
from real.studies.compare import answer, report, tree_sentences
from specsim.base.files import write_bytes
from specsim.report import figure as pictures
from specsim.report.text import in_blocks, terminal_width

SCHEMA = "specsim-compare-trees/1"
# The cell of a number that no known law predicts.
NONE = "not predicted"


def table(record: dict[str, Any], *, wide: bool = False) -> Group:
    """Return the fastest entries, the table, costs of passes, and a verdict on predictions.

    `wide` shows all columns.
    """
    # The table.
    rows, provenance = record["rows"], record["provenance"]
    head = ["tree\n  rule", "nodes,\nlevels", "tau\npredicted", "\nmeasured", "speedup\npredicted", "\nmeasured"]
    cells = [_cells(row) for row in rows]
    if wide:
        head += ["difference\nof tau", "cycle, ms\npredicted", "\nmeasured", "target pass\nin plain steps"]
        cells = [line + _wide_cells(row) for line, row in zip(cells, rows, strict=True)]
    lines = in_blocks([head, *cells], terminal_width() or 80)

    # Sentences above and below it.
    return shown(
        faster(record),
        answer.emulation(provenance),
        answer.rounded(provenance),
        answer.restless(rows),
        f"\n{lines}\n",
        tree_sentences.passes(rows),
        tree_sentences.elsewhere(rows),
        tree_sentences.shapes(record),
        tree_sentences.siblings(provenance),
        tree_sentences.suggested(record),
        verdict(rows),
        "Brackets: 95 % over prompts. All took turns with plain decoding, prompt by prompt.",
    )


def _cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row in the table of usual width."""
    tau, speed = row["tau"], row["speedup"]
    return [
        f"{row['name']}\n  {row['rule']}",
        f"{row['nodes']}\n{row['levels']}",
        _predicted(tau["predicted"]),
        _stacked(tau),
        _predicted(speed["predicted"]),
        _stacked(speed),
    ]


def _predicted(value: float | None) -> str:
    """Return a predicted number, or words that say that there is none."""
    return NONE.replace(" ", "\n") if value is None else f"{value:.2f}"


def _stacked(entry: dict[str, Any]) -> str:
    """Return a measured number, and below it its interval."""
    return f"{entry['measured']:.2f}\n{report.bracket(entry['interval'], '.2f')}"


def _wide_cells(row: dict[str, Any]) -> list[str]:
    """Return the cells that the wide table adds to a row: interval of tau's difference, cycle times, t(m)."""
    cycle = row["cycle_s"]
    return [
        report.bracket(row["tau"]["difference_interval"], "+.2f"),
        f"{cycle['predicted'] * 1e3:.2f}",
        f"{cycle['measured'] * 1e3:.2f}",
        _steps(row),
    ]


def _steps(row: dict[str, Any]) -> str:
    """Return t(m) of a row; empty on a GPU, where cycles are timed as a whole."""
    steps = row["pass"]["plain_steps"]
    return "" if steps is None else f"{steps:.2f}"


def faster(record: dict[str, Any]) -> str | None:
    """Return one sentence: the best tree and the best chain, and which is faster if the interval shows it."""
    # The two rows, and the ratio of their speeds.
    fastest, rows = record.get("fastest"), record["rows"]
    if fastest is None:
        return None
    tree, chain = rows[fastest["tree"]], rows[fastest["chain"]]
    ratio, interval = fastest["measured"], fastest["interval"]
    low, high = interval or (ratio, ratio)
    ends = report.bracket(interval and [100 * (end - 1) for end in interval], "+.1f")

    # One of them is faster if the whole interval is above 1, or below.
    if low > 1:
        comparison = "The best tree is faster than the best chain"
    elif high < 1:
        comparison = "The best chain is faster than the best tree"
    else:
        comparison = "Best tree and best chain are not told apart"
    percent = f"{100 * (ratio - 1):+.1f} {ends}".rstrip()
    return (
        f"{comparison}: {report.span(tree['speedup'], 2)} times the speed of plain decoding "
        f"for {_name(tree)}, {report.span(chain['speedup'], 2)} for {_name(chain)}; "
        f"the tree over the chain, in percent: {percent}."
    )


def _name(row: dict[str, Any]) -> str:
    """Return a chain or a tree with its rule, in a sentence."""
    kind = "tree " if row["tree"] else ""
    return f"{kind}{row['name']} under {row['rule']}"


def missed(rows: list[dict[str, Any]]) -> list[str]:
    """Return the entries whose interval of measured less predicted tau does not hold 0."""
    pairs = [(row, row["tau"]["difference_interval"]) for row in rows]
    return [f"{row['name']}, {row['rule']}" for row, ends in pairs if ends and not report.is_within(0, ends)]


def verdict(rows: list[dict[str, Any]]) -> str:
    """Return sentences on how many predictions of tau hold, all at once, and which were not made."""
    # Only rows with a prediction and more than one prompt have an interval.
    number = sum(row["tau"]["difference_interval"] is not None for row in rows)
    unpredicted = sorted({row["rule"] for row in rows if row["tau"]["predicted"] is None})
    sampled, out = max(row["tau"]["predicted_error"] for row in rows), missed(rows)
    exceptions = f", all but {'; '.join(out)}" if out else ""
    sentences = (
        f"{number - len(out)} of {number} differences between measured and predicted tau hold 0 "
        f"within intervals that hold all at once at 99 %{exceptions}."
    )
    if number == 0:
        sentences = "One prompt, or nothing predicted: no intervals of differences."
    if sampled:
        sentences += f" Siblings that fail were sampled: standard error of a predicted tau at most {sampled:.4f}."
    if unpredicted:
        sentences += f" Of {', '.join(unpredicted)} no law given the text is known: {NONE}."
    return sentences


def markdown(record: dict[str, Any], plot: str) -> str:
    """Return Markdown of a record: the table, the fastest entries, models and machine, and its plot."""
    # The table.
    provenance, rows = record["provenance"], record["rows"]
    head = ["tree", "rule", "nodes", "levels", "tau predicted", "tau measured", "difference", "t(nodes + 1)",
            "speedup predicted", "speedup measured"]  # fmt: skip
    text = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for row in rows:
        tau, speed = row["tau"], row["speedup"]
        digits = ((tau["predicted"], 3), (speed["predicted"], 2))
        predicted_tau, predicted_speed = (NONE if value is None else f"{value:.{n}f}" for value, n in digits)
        cells = [row["name"], f"`{row['rule']}`", str(row["nodes"]), str(row["levels"]), predicted_tau,
                 report.span(tau), report.bracket(tau["difference_interval"], "+.3f"),
                 _steps(row), predicted_speed, report.span(speed, 2)]  # fmt: skip
        text.append(f"| {' | '.join(cells)} |")

    # Filters that are on, and the sentences of a terminal.
    warping, defaults = provenance["warping"], vars(Warping())
    names = [name for name in warping if name not in ("temperature", "logit_bias")]
    filters = [f"{name} {warping[name]:g}" for name in names if warping[name] != defaults[name]]
    lines = [
        faster(record),
        answer.restless(rows),
        tree_sentences.elsewhere(rows),
        tree_sentences.shapes(record),
        tree_sentences.siblings(provenance),
        tree_sentences.suggested(record),
        verdict(rows),
    ]
    text += [
        "",
        f"Target: {report.target_name(provenance)}; siblings drawn {provenance['scheme']!r}; temperature "
        f"{warping['temperature']:g}, {', '.join(filters) or 'no filters'}; {provenance['prompts']} prompts, up to "
        f"{provenance['max_tokens']} tokens each. {' '.join(line for line in lines if line)} {report.made_by(record)}",
        "",
        f"![tau and speedup of trees and chains]({plot})",
    ]
    return "\n".join(text)


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """Write a PNG: tau and speedup of each shape.

    Predictions are crosses, measurements have 95 % intervals.
    """
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """Return the figure of `write_plot`: a line a shape, and a colour a rule of chains and of trees."""
    shapes = list(dict.fromkeys(row["name"] for row in record["rows"]))
    groups = list(dict.fromkeys((row["tree"], row["rule"]) for row in record["rows"]))
    figure, (tau_axis, speedup_axis) = pictures.figure(10, 1.6 + 0.3 * len(shapes), 2)
    tau_panel = (tau_axis, "tau", "tau (tokens per target call)")
    for axis, key, title in (tau_panel, (speedup_axis, "speedup", "speedup")):
        for i, (is_tree, rule) in enumerate(groups):
            # Rules of one shape stand above each other on its line.
            rows = [r for r in record["rows"] if (r["tree"], r["rule"]) == (is_tree, rule)]
            shift = 0.22 * (i - len(groups) / 2) if is_tree else 0
            heights = [shapes.index(row["name"]) + shift for row in rows]

            # Measurements with their intervals, then predictions.
            entries = [row[key] for row in rows]
            axis.errorbar(
                [entry["measured"] for entry in entries],
                heights,
                xerr=report.bars(entries),
                fmt="o",
                capsize=2,
                label=f"{'trees' if is_tree else 'chains'}, {rule}",
                color=f"C{i}",
                markersize=4,
            )
            pairs = zip(heights, entries, strict=True)
            predicted = [(e["predicted"], y) for y, e in pairs if e["predicted"] is not None]
            axis.plot(*np.array(predicted).reshape(-1, 2).T, "x", color=f"C{i}", markersize=6)
        axis.set(title=title)
        axis.grid(alpha=0.3)
        axis.set_yticks(range(len(shapes)), [])
        axis.set_ylim(len(shapes) - 0.4, -0.6)

    # The shapes are named at the left alone.
    nodes = {row["name"]: row["nodes"] for row in record["rows"]}
    labels = [_label(name, nodes[name]) for name in shapes]
    tau_axis.set_yticks(range(len(shapes)), labels, fontsize=8)
    speedup_axis.axvline(1, color="black", linewidth=0.8)
    pictures.legend_beside(speedup_axis, "crosses: predicted\ndots: measured, 95 %")
    figure.suptitle(report.caption(record["provenance"]), fontsize=9)
    return figure


def _label(name: str, nodes: int) -> str:
    """Return the name of a shape as a label; that of a tree has its nodes."""
    return name if name.startswith("chain") else f"tree {name}, {nodes} nodes"
