"""What a terminal shows of a comparison: does speculation pay, by how much, then the table, then the rest."""

from __future__ import annotations

from typing import Any

from rich.console import Group

from real.studies.columns import shown
from real.studies.compare import report
from specsim.report.text import aligned, in_blocks, terminal_width

RESTLESS = 0.3  # quartile range of a cycle over its median; quiet machines stay below 0.25, even in cycles of 4 ms


def table(record: dict[str, Any], *, wide: bool = False) -> Group:
    """The answer, predicted beside measured with a line for each gamma, and what it amounts to."""
    rows = record["pairs"]
    best = max(rows, key=lambda row: float(row["speedup"]["measured"]))
    return shown(
        answer(rows),
        emulation(record["provenance"]),
        rounded(record["provenance"]),
        restless([record]),
        "\n" + (wide_pairs(rows) if wide else pairs(rows)) + "\n",
        closing(record),
        errors(record),
        report.summary(record["acceptance"]),
        report.bandwidth(record["bandwidth"]),
        *(_sentence(line) for line in report.cliffs(record) if not restless([record])),
        _sentence(report.histogram(record, best)) if record["complete"] else None,
    )


def answer(rows: list[dict[str, Any]], rule: str = "") -> str:
    """One sentence: whether speculation pays, by how much, at which gamma, and what was predicted."""
    speeds = [(row["gamma"], row["speedup"]) for row in rows]
    predicted, measured = (max(speeds, key=lambda pair: float(pair[1][how])) for how in ("predicted", "measured"))
    interval, value = measured[1]["interval"], measured[1]["measured"]
    low, high = interval or (value, value)
    if low > 1:
        pays = "pays"
    elif high <= 1:
        pays = "does not pay"
    else:
        pays = "may pay or not, the interval holds 1"
    loss = 1 - predicted[1]["measured"] / value
    where = "at the same gamma" if loss == 0 else f"at gamma {predicted[0]}, which is {loss:.1%} slower"
    who = f" with the rule {rule}" if rule else ""
    return (
        f"Speculation {pays}{who}: {report.span(measured[1], 2)} times the speed of plain decoding at gamma "
        f"{measured[0]}, the best measured; the best predicted is {predicted[1]['predicted']:.2f}, {where}."
    )


def emulation(what: dict[str, Any]) -> str | None:
    """One sentence where the target is not what its time says."""
    millions = what.get("widened_to_millions")
    if not millions:
        return None
    return (
        f"Cost emulation: the target ({what['target']}) is padded to the cost of {millions} M parameters; texts and "
        "acceptance are those of the small model, times those of the large one (--widen 0: the pair as it is)."
    )


def rounded(what: dict[str, Any]) -> str | None:
    """One sentence where the target's weights are in few bits."""
    kind = what.get("target_weights")
    if not kind:
        return None
    return (
        f"The target's projections are rounded to {kind}, and multiplied in bfloat16: texts, acceptance and "
        "losslessness are those of the rounded target."
    )


def restless(runs: list[dict[str, Any]]) -> str | None:
    """One sentence where the times of a cycle were spread too widely to trust any: the machine did something else."""
    spreads = [
        (spread, gamma)
        for run in runs
        if "costs" in run
        for spread, gamma in zip(run["costs"]["spread"], run["costs"]["gammas"], strict=True)
    ]
    spread, gamma = max(spreads, default=(0.0, 0))
    if spread <= RESTLESS:
        return None
    what = f"a cycle of gamma {gamma}" if gamma else "a plain step"
    return (
        f"The machine was too restless to trust a time: the middle half of those of {what} spans {spread:.0%} of their "
        f"median (at most {RESTLESS:.0%} is quiet). Acceptance and tau stand; run it again when nothing else runs."
    )


def closing(record: dict[str, Any]) -> str:
    """What the columns are."""
    timed = record["provenance"]["calibrated"]
    extrapolated = [row["gamma"] for row in record["pairs"] if row["gamma"] not in timed]
    how = "from scored texts and timings of single cycles"
    if extrapolated:
        how += f" at gamma {', '.join(map(str, timed))} (others extrapolated)"
    return f"Predicted {how}; measured by decoding, in turn with plain decoding. Brackets: 95 % over prompts."


def errors(record: dict[str, Any]) -> str:
    """How far the predicted speedups are off."""
    speeds = [(row["gamma"], row["speedup"]) for row in record["pairs"]]
    gamma, worst = max(((g, abs(s["predicted"] / s["measured"] - 1)) for g, s in speeds), key=lambda pair: pair[1])
    median = report.errors(speeds, record["provenance"]["calibrated"])
    return _sentence(f"{median}; the largest {worst:.1%}, at gamma {gamma}")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def pairs(rows: list[dict[str, Any]]) -> str:
    """The table of one rule, at most 80 columns."""
    head = ["gamma", "tau\npredicted", "\nmeasured", "speedup\npredicted", "\nmeasured", "\nerror"]
    cells = [
        [
            str(row["gamma"]),
            f"{row['tau']['predicted']:.2f}",
            report.span(row["tau"], 2),
            f"{row['speedup']['predicted']:.2f}",
            report.span(row["speedup"], 2),
            f"{row['speedup']['predicted'] / row['speedup']['measured'] - 1:+.1%}",
        ]
        for row in rows
    ]
    return aligned([head, *cells])


def wide_pairs(rows: list[dict[str, Any]]) -> str:
    """All columns of one rule, in blocks that fit the terminal, or 80 columns where there is none."""
    head = [
        "gamma", "tau\npredicted", "\nmeasured", "\ndifference", "every position\nalike", "target calls\npredicted",
        "\nmeasured", "cycle, ms\npredicted", "\nmeasured", "outside\nthe models", "speedup\npredicted", "\nmeasured",
        "error of\nacceptance", "error of\ntime",
    ]  # fmt: skip
    return in_blocks([head, *(_wide(row) for row in rows)], terminal_width() or 80)


def _wide(row: dict[str, Any]) -> list[str]:
    tau, calls, cycle, speed = row["tau"], row["target_calls"], row["cycle_s"], row["speedup"]
    alike, outside = tau["predicted_over_positions"], cycle["outside_models"]
    return [
        str(row["gamma"]),
        f"{tau['predicted']:.2f} {report.bracket(tau['predicted_interval'], '.2f')}".rstrip(),
        report.span(tau, 2),
        report.bracket(tau["difference_interval"], "+.2f"),
        "" if alike is None else f"{alike:.2f}",
        f"{calls['predicted']:.0f}",
        str(calls["measured"]),
        f"{cycle['predicted'] * 1e3:.2f}",
        f"{cycle['measured'] * 1e3:.2f}",
        "" if outside is None else f"{outside:.0%}",
        f"{speed['predicted']:.2f}",
        report.span(speed, 2),
        f"{speed['error_tau']:+.1%}",
        f"{speed['error_time']:+.1%}",
    ]
