"""What a person sees of trees compared with chains: the answer, a table, a plot, and Markdown of the record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group

from real.decode.clock import PHASES
from real.decode.warping import Warping
from real.studies.columns import shown
from real.studies.compare import answer, report
from specsim.base.files import write_bytes
from specsim.report import figure as pictures
from specsim.report.text import in_blocks, terminal_width
from specsim.trees import depths, optimal_tree

SCHEMA = "specsim-compare-trees/1"
NONE = "not predicted"
FLAT, DRAFT = 1.05, 0.1  # plain steps of a target pass whatever its tokens, and of a draft step: as on a large GPU


def table(record: dict[str, Any], *, wide: bool = False) -> Group:
    """Who is fastest, the table, what passes cost, and what the predictions are worth; `wide` shows all columns."""
    rows, what = record["rows"], record["provenance"]
    head = ["tree\n  rule", "nodes,\nlevels", "tau\npredicted", "\nmeasured", "speedup\npredicted", "\nmeasured"]
    cells = [_cells(row) for row in rows]
    if wide:
        head += ["difference\nof tau", "cycle, ms\npredicted", "\nmeasured", "target pass\nin plain steps"]
        cells = [line + _more(row) for line, row in zip(cells, rows, strict=True)]
    notes = (faster(record), answer.emulation(what), answer.rounded(what), answer.restless(rows))
    return shown(
        *(line for line in notes if line),
        "\n" + in_blocks([head, *cells], terminal_width() or 80) + "\n",
        passes(rows),
        elsewhere(rows),
        shapes(record),
        siblings(what),
        suggested(record),
        verdict(rows),
        "Brackets: 95 % over prompts. All took turns with plain decoding, prompt by prompt.",
    )


def _cells(row: dict[str, Any]) -> list[str]:
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
    return NONE.replace(" ", "\n") if value is None else f"{value:.2f}"


def _stacked(entry: dict[str, Any]) -> str:
    return f"{entry['measured']:.2f}\n{report.bracket(entry['interval'], '.2f')}"


def _more(row: dict[str, Any]) -> list[str]:
    cycle = row["cycle_s"]
    return [
        report.bracket(row["tau"]["difference_interval"], "+.2f"),
        f"{cycle['predicted'] * 1e3:.2f}",
        f"{cycle['measured'] * 1e3:.2f}",
        _steps(row),
    ]


def _steps(row: dict[str, Any]) -> str:
    """t(m) of a row; on a GPU cycles are timed as a whole."""
    steps = row["pass"]["plain_steps"]
    return "" if steps is None else f"{steps:.2f}"


def faster(record: dict[str, Any]) -> str | None:
    """One sentence: the best tree and the best chain, and which of them is faster, if that can be told."""
    found, rows = record.get("fastest"), record["rows"]
    if found is None:
        return None
    tree, chain = rows[found["tree"]], rows[found["chain"]]
    ratio, interval = found["measured"], found["interval"]
    low, high = interval or (ratio, ratio)
    ends = report.bracket(interval and [100 * (end - 1) for end in interval], "+.1f")
    if low > 1:
        said = "The best tree is faster than the best chain"
    elif high < 1:
        said = "The best chain is faster than the best tree"
    else:
        said = "Best tree and best chain are not told apart"
    return (
        f"{said}: {report.span(tree['speedup'], 2)} times the speed of plain decoding for {_name(tree)}, "
        f"{report.span(chain['speedup'], 2)} for {_name(chain)}; the tree over the chain, in percent: "
        f"{f'{100 * (ratio - 1):+.1f} {ends}'.rstrip()}."
    )


def _name(row: dict[str, Any]) -> str:
    return f"{'tree ' * row['tree']}{row['name']} under {row['rule']}"


def passes(rows: list[dict[str, Any]]) -> str | None:
    """One sentence: t(m) at every m that is used; of several lines with one m their median."""
    by: dict[int, list[float]] = {}
    for row in rows:
        if row["pass"]["plain_steps"] is not None:
            by.setdefault(row["pass"]["tokens"], []).append(row["pass"]["plain_steps"])
    if not by:
        return None
    said = ", ".join(f"t({m}) = {np.median(by[m]):.2f}" for m in sorted(by))
    return f"A target pass over m tokens, in plain steps as timed here: {said}."


def elsewhere(rows: list[dict[str, Any]]) -> str:
    """One sentence: what the same tau would mean where target passes cost nearly the same whatever their tokens."""
    best = {
        tree: max(_flat(row) for row in rows if row["tree"] == tree)
        for tree in (True, False)
        if any(row["tree"] == tree for row in rows)
    }
    said = " and ".join(f"{value:.2f}x for the best {'tree' if tree else 'chain'}" for tree, value in best.items())
    return (
        f"The same tau measured would mean {said} where a target pass costs {FLAT:g} plain steps whatever its tokens "
        f"and a draft step {DRAFT:g}: an assumption, not measured here."
    )


def _flat(row: dict[str, Any]) -> float:
    return float(row["tau"]["measured"]) / (FLAT + DRAFT * int(row["levels"]))


def suggested(record: dict[str, Any]) -> str | None:
    """One sentence: the fastest shape by acceptance by rank and by the times found, among passes that were timed."""
    timed = [row for row in record["rows"] if row["pass"]["plain_steps"] is not None]
    ranks = record.get("shape_ranks") or record.get("acceptance", {}).get("ranks")
    if not ranks or not timed:
        return None
    costs = {phase: np.array([row["costs"][f"{phase}_s"][1] for row in timed]) for phase in PHASES}
    step = float(np.median((costs["draft"] + costs["sample"]) / [row["levels"] for row in timed]))
    sizes = np.array([row["pass"]["tokens"] for row in timed])
    times = {1: float(np.median([row["costs"]["cycle_s"][0] for row in timed]))}
    times |= {int(m): float(np.median(costs["verify"][sizes == m])) for m in sorted(set(sizes.tolist()))}
    best = optimal_tree(ranks, draft_s=step, verify_s=times, overhead_s=float(np.median(costs["rule"] + costs["host"])))
    nodes = len(best.parents)
    what = f"{nodes} node{'s' if nodes > 1 else ''}, {depths(best.parents).max()} deep" if nodes else "no tree"
    return (
        f"By acceptance by rank and these times, with {1e3 * step:.2g} ms a draft step, the fastest shape for a "
        f"tokenwise walk would be {what}, at {best.speedup:.2f} times plain decoding (every position alike: rough)."
    )


def shapes(record: dict[str, Any]) -> str | None:
    """One sentence: how shapes were found, if any were."""
    ranks = record.get("shape_ranks")
    if ranks is None:
        return None
    found = {row["name"]: row for row in record["rows"] if row["name"].startswith("sequoia")}
    said = ", ".join(
        f"{name} is {row['levels']} deep, {row['parents'].count(-1)} at the root" for name, row in found.items()
    )
    return (
        f"Shapes follow from acceptance by rank ({' '.join(f'{b:.3f}' for b in ranks)}) in "
        f"{record['provenance']['shape_texts']} other texts: {said}."
    )


def siblings(what: dict[str, Any]) -> str | None:
    """One sentence: the step rule, and the number of draws, where they are not those of the scheme."""
    said = []
    if "step" in what:
        said.append(f"tree rules run the step rule {what['step']!r}")
    if "draws" in what:
        said.append(f"a node draws until {what['draws']} different siblings are expected, or its places are full")
    return ", and ".join(said).capitalize() + "." if said else None


def missed(rows: list[dict[str, Any]]) -> list[str]:
    """Whose interval of measured less predicted tau does not hold 0."""
    ends = [(row, row["tau"]["difference_interval"]) for row in rows]
    return [f"{row['name']}, {row['rule']}" for row, found in ends if found and not found[0] <= 0 <= found[1]]


def verdict(rows: list[dict[str, Any]]) -> str:
    """One sentence: whether the predictions of tau stand, over all intervals at once, and which were not made."""
    number = sum(row["tau"]["difference_interval"] is not None for row in rows)
    none = sorted({row["rule"] for row in rows if row["tau"]["predicted"] is None})
    sampled, out = max(row["tau"]["predicted_error"] for row in rows), missed(rows)
    said = (
        f"{number - len(out)} of {number} differences between measured and predicted tau hold 0 within intervals that "
        f"hold all at once at 99 %{', all but ' + '; '.join(out) if out else ''}."
    )
    if number == 0:
        said = "One prompt, or nothing predicted: no intervals of differences."
    if sampled:
        said += f" Siblings that fail were sampled: standard error of a predicted tau at most {sampled:.4f}."
    if none:
        said += f" Of {', '.join(none)} no law given the text is known: {NONE}."
    return said


def markdown(record: dict[str, Any], plot: str) -> str:
    """Markdown of a record: the table, who is fastest, what it was run on, and its plot."""
    what, rows = record["provenance"], record["rows"]
    head = ["tree", "rule", "nodes", "levels", "tau predicted", "tau measured", "difference", "t(nodes + 1)",
            "speedup predicted", "speedup measured"]  # fmt: skip
    text = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for row in rows:
        tau, speed = row["tau"], row["speedup"]
        predicted = [NONE if v is None else f"{v:.{n}f}" for v, n in ((tau["predicted"], 3), (speed["predicted"], 2))]
        cells = [row["name"], f"`{row['rule']}`", str(row["nodes"]), str(row["levels"]), predicted[0],
                 report.span(tau), report.bracket(tau["difference_interval"], "+.3f"),
                 _steps(row), predicted[1], report.span(speed, 2)]  # fmt: skip
        text.append(f"| {' | '.join(cells)} |")
    warping, off = what["warping"], vars(Warping())
    filters = [f"{n} {v:g}" for n, v in warping.items() if n not in ("temperature", "logit_bias") and v != off[n]]
    lines = [
        faster(record),
        answer.restless(rows),
        elsewhere(rows),
        shapes(record),
        siblings(what),
        suggested(record),
        verdict(rows),
    ]
    text += [
        "",
        f"Target: {report.target_name(what)}; siblings drawn {what['scheme']!r}; temperature "
        f"{warping['temperature']:g}, {', '.join(filters) or 'no filters'}; {what['prompts']} prompts, up to "
        f"{what['max_tokens']} tokens each. {' '.join(line for line in lines if line)} {report.made_by(record)}",
        "",
        f"![tau and speedup of trees and chains]({plot})",
    ]
    return "\n".join(text)


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """PNG: tau and speedup of each shape; predictions as crosses, measurements with 95 % intervals."""
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """The figure of `write_plot`: a line for each shape, a colour for each rule, of chains and of trees."""
    shapes = list(dict.fromkeys(row["name"] for row in record["rows"]))
    groups = list(dict.fromkeys((row["tree"], row["rule"]) for row in record["rows"]))
    figure, axes = pictures.figure(10, 1.6 + 0.3 * len(shapes), 2)
    for axis, key, title in ((axes[0], "tau", "tau (tokens per target call)"), (axes[1], "speedup", "speedup")):
        for i, (tree, rule) in enumerate(groups):
            rows = [row for row in record["rows"] if (row["tree"], row["rule"]) == (tree, rule)]
            entries = [row[key] for row in rows]
            # Rules of one shape stand above each other on its line.
            heights = [shapes.index(row["name"]) + (0.22 * (i - len(groups) / 2) if tree else 0) for row in rows]
            look = {"color": f"C{i}", "markersize": 4}
            values = [entry["measured"] for entry in entries]
            label = f"{'trees' if tree else 'chains'}, {rule}"
            axis.errorbar(values, heights, xerr=report.bars(entries), fmt="o", capsize=2, label=label, **look)
            known = [(e["predicted"], y) for y, e in zip(heights, entries, strict=True) if e["predicted"] is not None]
            axis.plot(*np.array(known).reshape(-1, 2).T, "x", color=f"C{i}", markersize=6)
        axis.set(title=title)
        axis.grid(alpha=0.3)
        axis.set_yticks(range(len(shapes)), [])
        axis.set_ylim(len(shapes) - 0.4, -0.6)
    nodes = {row["name"]: row["nodes"] for row in record["rows"]}
    axes[0].set_yticks(range(len(shapes)), [_named(name, nodes[name]) for name in shapes], fontsize=8)
    axes[1].axvline(1, color="black", linewidth=0.8)
    pictures.legend_beside(axes[1], "crosses: predicted\ndots: measured, 95 %")
    figure.suptitle(report.caption(record["provenance"]), fontsize=9)
    return figure


def _named(name: str, nodes: int) -> str:
    """The name of a shape as a label: a tree's says its nodes."""
    return name if name.startswith("chain") else f"tree {name}, {nodes} nodes"
