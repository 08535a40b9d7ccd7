"""A comparison in a terminal: does speculation pay and by how much, the table, and then the rest."""

from __future__ import annotations

from typing import Any

from rich.console import Group

from real.studies.columns import shown
from real.studies.compare import report
from specsim.report.text import aligned, in_blocks, terminal_width

# Quartile range of a cycle over its median; quiet machines stay below 0.25, even in cycles of 4 ms.
RESTLESS = 0.3


def table(record: dict[str, Any], *, wide: bool = False) -> Group:
    """Return the answer, the table of predicted and measured values by gamma, and sentences on both."""
    rows = record["pairs"]
    best = max(rows, key=lambda row: float(row["speedup"]["measured"]))
    lines = wide_pairs(rows) if wide else pairs(rows)

    # Steps of t(m) are shown if times can be trusted, and accepted drafts once all are counted.
    restless_sentence = restless([record])
    cliffs = [] if restless_sentence else [_sentence(line) for line in report.cliffs(record)]
    histogram = _sentence(report.histogram(record, best)) if record["complete"] else None
    return shown(
        answer(rows),
        emulation(record["provenance"]),
        rounded(record["provenance"]),
        restless_sentence,
        f"\n{lines}\n",
        closing(record),
        errors(record),
        report.summary(record["acceptance"]),
        report.bandwidth(record["bandwidth"]),
        *cliffs,
        histogram,
    )


def answer(rows: list[dict[str, Any]], rule: str = "") -> str:
    """Return one sentence: whether speculation pays, by how much, at which gamma, and what was predicted."""
    # The lengths with the best predicted and measured speedup.
    best_predicted = max(rows, key=lambda row: float(row["speedup"]["predicted"]))
    best_measured = max(rows, key=lambda row: float(row["speedup"]["measured"]))

    # Speculation pays if the whole interval is above 1; few prompts have no interval.
    best_speedup = best_measured["speedup"]
    value = best_speedup["measured"]
    low, high = best_speedup["interval"] or (value, value)
    if best_speedup["interval"] is None:
        pays = "may pay or not, there are too few prompts for an interval"
    elif low > 1:
        pays = "pays"
    elif high <= 1:
        pays = "does not pay"
    else:
        pays = "may pay or not, the interval holds 1"

    # How much slower decoding is at the length with the best prediction.
    loss = 1 - best_predicted["speedup"]["measured"] / value
    place = f"at gamma {best_predicted['gamma']}, which is {loss:.1%} slower"
    if loss == 0:
        place = "at the same gamma"
    with_rule = f" with the rule {rule}" if rule else ""
    return (
        f"Speculation {pays}{with_rule}: {report.span(best_speedup, 2)} times the speed of plain decoding "
        f"at gamma {best_measured['gamma']}, the best measured; "
        f"the best predicted is {best_predicted['speedup']['predicted']:.2f}, {place}."
    )


def emulation(provenance: dict[str, Any]) -> str | None:
    """One sentence where the target is padded to the cost of a larger model."""
    millions = provenance.get("widened_to_millions")
    if not millions:
        return None
    return (
        f"Cost emulation: the target ({provenance['target']}) is padded to the cost of {millions} M parameters; "
        "texts and acceptance are those of the small model, times those of the large one (--widen 0: the pair as it "
        "is)."
    )


def rounded(provenance: dict[str, Any]) -> str | None:
    """One sentence where the target's weights are in few bits."""
    kind = provenance.get("target_weights")
    if not kind:
        return None
    return (
        f"The target's projections are rounded to {kind}, and multiplied in bfloat16: texts, acceptance and "
        "losslessness are those of the rounded target."
    )


def restless(runs: list[dict[str, Any]]) -> str | None:
    """Return one sentence where the times of a cycle were spread too widely to trust them.

    Then the machine did something else at the same time.
    """
    spreads = [
        (spread, gamma)
        for run in runs
        if "costs" in run
        for spread, gamma in zip(run["costs"]["spread"], run["costs"]["gammas"], strict=True)
    ]
    spread, gamma = max(spreads, default=(0.0, 0))
    if spread <= RESTLESS:
        return None
    cycle = f"a cycle of gamma {gamma}" if gamma else "a plain step"
    return (
        f"The machine was too restless to trust a time: the middle half of those of {cycle} spans {spread:.0%} of "
        f"their median (at most {RESTLESS:.0%} is quiet). Acceptance and tau stand; run it again when nothing else "
        "runs."
    )


def closing(record: dict[str, Any]) -> str:
    """Return two sentences that explain the columns."""
    timed = record["provenance"]["calibrated"]
    extrapolated = [row["gamma"] for row in record["pairs"] if row["gamma"] not in timed]
    basis = "from scored texts and timings of single cycles"
    if extrapolated:
        basis += f" at gamma {', '.join(map(str, timed))} (others extrapolated)"

    # Where few prompts are timed, tau is of all of them.
    prompts, timed_prompts = record["provenance"]["prompts"], record["provenance"].get("timed_prompts")
    decoded = "decoding"
    if timed_prompts is not None and timed_prompts < prompts:
        decoded = f"decoding, tau on {prompts} prompts in one batch, times on {timed_prompts} of them alone"
    return f"Predicted {basis}; measured by {decoded}, in turn with plain decoding. Brackets: 95 % over prompts."


def errors(record: dict[str, Any]) -> str:
    """Return one sentence on the errors of the predicted speedups."""
    speeds = [(row["gamma"], row["speedup"]) for row in record["pairs"]]
    sizes = [(abs(speed["predicted"] / speed["measured"] - 1), gamma) for gamma, speed in speeds]
    worst, gamma = max(sizes, key=lambda pair: pair[0])
    median = report.errors(speeds, record["provenance"]["calibrated"])
    return _sentence(f"{median}; the largest {worst:.1%}, at gamma {gamma}")


def _sentence(text: str) -> str:
    """Return a text with a capital letter at its beginning and a full stop at its end."""
    return f"{text[0].upper()}{text[1:]}."


def pairs(rows: list[dict[str, Any]]) -> str:
    """Return the table of one rule, at most 80 columns."""
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
    """Return all columns of one rule, in blocks that fit the terminal, or 80 columns where there is none."""
    head = [
        "gamma", "tau\npredicted", "\nmeasured", "\ndifference", "every position\nalike", "target calls\npredicted",
        "\nmeasured", "cycle, ms\npredicted", "\nmeasured", "outside\nthe models", "speedup\npredicted", "\nmeasured",
        "error of\nacceptance", "error of\ntime",
    ]  # fmt: skip
    return in_blocks([head, *(_wide(row) for row in rows)], terminal_width() or 80)


def _wide(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row with all columns."""
    tau, calls, cycle, speed = row["tau"], row["target_calls"], row["cycle_s"], row["speedup"]
    over_positions, outside = tau["predicted_over_positions"], cycle["outside_models"]
    # Empty where texts are shorter than a block, or no phase was timed.
    over_positions_cell = "" if over_positions is None else f"{over_positions:.2f}"
    outside_cell = "" if outside is None else f"{outside:.0%}"
    return [
        str(row["gamma"]),
        f"{tau['predicted']:.2f} {report.bracket(tau['predicted_interval'], '.2f')}".rstrip(),
        report.span(tau, 2),
        report.bracket(tau["difference_interval"], "+.2f"),
        over_positions_cell,
        f"{calls['predicted']:.0f}",
        str(calls["measured"]),
        f"{cycle['predicted'] * 1e3:.2f}",
        f"{cycle['measured'] * 1e3:.2f}",
        outside_cell,
        f"{speed['predicted']:.2f}",
        report.span(speed, 2),
        f"{speed['error_tau']:+.1%}",
        f"{speed['error_time']:+.1%}",
    ]
