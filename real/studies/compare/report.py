"""The sentences, the table and the plot of a comparison, from its record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from specsim.base.files import write_bytes
from specsim.report import figure as pictures
from specsim.types import Array

SCHEMA = "specsim-compare/2"
# A step of the time of a target pass is named if it is larger than this fraction.
CLIFF = 0.1


def summary(acceptance: dict[str, Any]) -> str:
    """Return one line on the scored texts."""
    mean, hazards = acceptance["mean"], " ".join(f"{h:.3f}" for h in acceptance["hazards"])
    rate = f"{mean['predicted']:.3f} {bracket(mean['interval'], '.3f')}".rstrip()
    return (
        f"Acceptance per position {rate} over {acceptance['tokens']} tokens of {acceptance['texts']} texts that the "
        f"target wrote; hazards met by a decoder, position 1..{len(acceptance['hazards'])}: {hazards}."
    )


def bandwidth(rates: dict[str, float]) -> str:
    """Return one line on how good the baseline is: a slow one inflates every speedup."""
    copy = f"{rates['baseline'] / rates['copy']:.0%} of what a copy moves here ({rates['copy'] / 1e9:.1f} GB/s"
    return (
        f"Plain decoding reads its weights at {rates['baseline'] / 1e9:.1f} GB/s, {copy}, read and written; small "
        "models sit in the cache)."
    )


def target_name(provenance: dict[str, Any]) -> str:
    """The target of a record, with the size that its cost stands for, and its rounding."""
    millions, kind = provenance.get("widened_to_millions"), provenance.get("target_weights")
    cost = f" at the cost of {millions} M parameters (cost emulation)" if millions else ""
    rounding = f", rounded to {kind}: lossless with respect to that" if kind else ""
    return f"{provenance['target']}{cost}{rounding}"


def errors(speeds: list[tuple[int, dict[str, Any]]], calibrated: list[int]) -> str:
    """Median errors of predicted speedups (gamma, entry), over all and over the lengths not timed."""
    # A length may occur several times, once for each setting.
    sizes = [(gamma, abs(entry["predicted"] / entry["measured"] - 1)) for gamma, entry in speeds]
    extrapolated = [size for gamma, size in sizes if gamma not in calibrated]
    beyond = f", {np.median(extrapolated):.1%} over the lengths not calibrated" if extrapolated else ""
    return f"median error of the predicted speedup {np.median([size for _, size in sizes]):.1%}{beyond}"


def verdict(record: dict[str, Any]) -> str:
    """The best gamma by prediction and by measurement, and the loss of the predicted one."""
    speeds = [(row["gamma"], row["speedup"]) for row in record["pairs"]]
    predicted_gamma, predicted = max(speeds, key=lambda pair: pair[1]["predicted"])
    measured_gamma, measured = max(speeds, key=lambda pair: pair[1]["measured"])
    loss = 1 - predicted["measured"] / measured["measured"]
    difference = f"the predicted one is {loss:.1%} slower; "
    if loss == 0:
        difference = "the prediction found it; "
    ending = "" if measured["measured"] > 1 else "; speculation does not pay here"
    return (
        f"best gamma: {predicted_gamma} predicted ({predicted['predicted']:.2f}x), "
        f"{measured_gamma} measured ({span(measured, 2)}x); "
        f"{difference}{errors(speeds, record['provenance']['calibrated'])}{ending}"
    )


def face(record: dict[str, Any], plot: str) -> str:
    """Return Markdown for a first page: speedups at some lengths, errors over all lengths, the picture.

    The first and the last length are shown, the fastest ones, and the one with the largest error.
    """
    # The lengths to show.
    speeds = {row["gamma"]: row["speedup"] for row in record["pairs"]}
    errors = {gamma: speed["predicted"] / speed["measured"] - 1 for gamma, speed in speeds.items()}
    best = {key: max(speeds, key=lambda gamma: speeds[gamma][key]) for key in ("predicted", "measured")}
    worst = max(errors, key=lambda gamma: abs(errors[gamma]))
    shown = sorted({min(speeds), max(speeds), worst, *best.values()})

    # The table.
    lines = ["| drafts per block | predicted speedup | measured speedup (95 %) | predicted / measured - 1 |"]
    lines.append("| --- " * 4 + "|")
    for gamma in shown:
        speed = speeds[gamma]
        lines.append(
            f"| {gamma} | {speed['predicted']:.3f} | {span(speed, 3)} | {round(errors[gamma], 3) + 0.0:+.1%} |"
        )

    # The best lengths, and errors over all of them.
    sizes = [abs(error) for error in errors.values()]
    spans = {gamma: speed["interval"] for gamma, speed in speeds.items() if speed["interval"]}
    outside = [gamma for gamma, ends in spans.items() if not is_within(speeds[gamma]["predicted"], ends)]
    summary = (
        f"Best number of drafts: {best['predicted']} predicted, {best['measured']} measured. Over {min(speeds)} to "
        f"{max(speeds)} drafts ({len(shown)} of {len(speeds)} rows are shown) the median error is "
        f"{np.median(sizes):.1%}, the largest {max(sizes):.1%}; predictions outside the measured "
        f"interval: {len(outside)} of {len(spans)}."
    )
    picture = f"![predicted and measured tokens per target call, and speedup, by drafts per block]({plot})"
    return "\n".join([*lines, "", f"{summary} {made_by(record)}", "", picture])


def is_within(value: float, interval: list[float]) -> bool:
    """Return whether a number lies in an interval [low, high], ends included."""
    low, high = interval
    return low <= value <= high


def histogram(record: dict[str, Any], row: dict[str, Any]) -> str:
    """Return one line: how many drafts the blocks of a gamma accept, predicted and measured."""
    at_least = row["blocks_keeping_at_least"]

    def shares(counts_at_least: list[float], blocks: float) -> str:
        """Return the shares of blocks that accept exactly 0, 1, ... drafts, from counts of at least 1, 2, ..."""
        counts = np.array([blocks, *counts_at_least]) - np.array([*counts_at_least, 0])
        return " ".join(f"{share:.1%}" for share in counts / blocks)

    # Expected blocks over the scored texts.
    expected = record["acceptance"]["tokens"] / row["tau"]["predicted"]
    return (
        f"blocks of gamma {row['gamma']} that keep 0, 1, ... drafts, predicted: "
        f"{shares(at_least['predicted'], expected)}; measured: "
        f"{shares(at_least['measured'], row['target_calls']['measured'])}"
    )


def cliffs(record: dict[str, Any]) -> list[str]:
    """Lines on steps of the measured t(m), where one token more takes a tenth more time, or less."""
    # Seconds of a pass over m tokens. One token: the verify phase of gamma 0, if it was timed.
    costs = record["costs"]
    verify_s = dict(zip(costs["gammas"], costs["verify_s"], strict=True))
    times = {1: verify_s[0]} if 0 in verify_s else {}
    for row in record["pairs"]:
        if row["cycle_s"]["phases_measured"]:
            times[row["gamma"] + 1] = row["cycle_s"]["phases_measured"]["verify"]

    # A length whose predecessor was not timed has no step.
    lines = []
    for m in sorted(times):
        step = times[m] / times.get(m - 1, times[m]) - 1
        if abs(step) > CLIFF:
            direction = "more" if step > 0 else "less"
            lines.append(
                f"cliff at {m} tokens (gamma {m - 1}): "
                f"a target pass over them takes {times[m] * 1e3:.3g} ms, "
                f"{abs(step):.0%} {direction} than over {m - 1}"
            )
    return lines


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """Write a PNG of tau and speedup by gamma: predictions as lines, measurements with intervals."""
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """Return the figure of `write_plot`; the band is the interval of the predicted tau."""
    # Both panels: predictions with their band, measurements with their bars.
    rows = record["pairs"]
    gammas = [row["gamma"] for row in rows]
    figure, (tau_axis, speedup_axis) = pictures.figure(10, 3.8, 2)
    tau_panel = (tau_axis, "tau", "tau (tokens per target call)")
    for axis, key, title in (tau_panel, (speedup_axis, "speedup", "speedup")):
        entries = [r[key] for r in rows]
        axis.plot(gammas, [e["predicted"] for e in entries], color="tab:blue", label="predicted")
        if entries and all(e.get("predicted_interval") for e in entries):
            ends = np.array([e["predicted_interval"] for e in entries]).T
            axis.fill_between(gammas, *ends, color="tab:blue", alpha=0.2, label="predicted, 95 %")
        values = np.array([e["measured"] for e in entries])
        axis.errorbar(
            gammas,
            values,
            bars(entries),
            fmt="o",
            color="tab:orange",
            capsize=3,
            label="measured, 95 %",
        )
        axis.set(xlabel="gamma (drafts per block)", title=title)
        pictures.whole_ticks(axis.xaxis)
        axis.grid(alpha=0.3)

    # The biased prediction, and the line above which speculation pays.
    over_positions = [row["tau"]["predicted_over_positions"] for row in rows]
    label = "one acceptance for all\npositions (biased)"
    tau_axis.plot(gammas, over_positions, ":", color="gray", label=label)
    speedup_axis.axhline(1, color="black", linewidth=0.8)

    # Tau rises with gamma: this corner is free.
    tau_axis.legend(loc="lower right", fontsize=7)
    mean = record["acceptance"]["mean"]
    rate = f"acceptance {mean['predicted']:.3f} {bracket(mean['interval'], '.3f')}"
    figure.suptitle(f"{caption(record['provenance'])}; {rate}".rstrip(), fontsize=9)
    return figure


def caption(provenance: dict[str, Any]) -> str:
    """Models, temperature and hardware of a record: the title of its picture."""
    temperature = f"T = {provenance['warping']['temperature']:g}"
    return f"target: {target_name(provenance)}, draft: {provenance['draft']}, {temperature}\n{hardware(provenance)}"


def hardware(provenance: dict[str, Any]) -> str:
    """Processor or device, threads and number format of a record, short enough for a title."""
    machine, threads = provenance["machine"], provenance.get("threads", 1)
    device = provenance.get("device", "cpu")
    if device == "cpu":
        unit = "thread" if threads == 1 else "threads"
        device = f"{machine['processor']}, {threads} {unit}"
    return f"{device}, {provenance['dtype']}"


def bars(entries: list[dict[str, Any]]) -> Array | None:
    """Return lengths of error bars (2, n) of measured values; None where there are no intervals."""
    if any(e["interval"] is None for e in entries):
        return None
    ends = np.array([entry["interval"] for entry in entries]).T
    return np.abs(ends - [entry["measured"] for entry in entries])


def markdown(record: dict[str, Any], plot: str) -> str:
    """Return the Markdown table of a recorded comparison, with its models and machine and its plot."""
    # The table.
    provenance = record["provenance"]
    lines = [
        "| gamma | tau predicted | tau measured | difference | every position alike | target calls measured "
        "| speedup predicted | speedup measured | error: acceptance | error: time | outside the models |",
        "| --- " * 11 + "|",
    ]
    for row in record["pairs"]:
        tau, speed, outside = row["tau"], row["speedup"], row["cycle_s"]["outside_models"]
        over_positions = tau["predicted_over_positions"]
        over_positions_cell = "" if over_positions is None else f"{over_positions:.3f}"
        outside_cell = "" if outside is None else f"{outside:.1%}"
        lines.append(
            f"| {row['gamma']} | {tau['predicted']:.3f} | {span(tau)} "
            f"| {bracket(tau['difference_interval'], '+.3f')} "
            f"| {over_positions_cell} | {row['target_calls']['measured']} "
            f"| {speed['predicted']:.2f} | {span(speed, 2)} "
            f"| {speed['error_tau']:+.1%} | {speed['error_time']:+.1%} "
            f"| {outside_cell} |"
        )

    # The models, the verdict, and steps of t(m).
    mean, rates = record["acceptance"]["mean"], record["bandwidth"]
    lines += [
        "",
        f"Target: {target_name(provenance)}. Cycles timed at {timed(provenance, record['pairs'])}; {verdict(record)}. "
        f"Acceptance per position {mean['predicted']:.3f} over {record['acceptance']['tokens']} tokens of "
        f"{record['acceptance']['texts']} texts. Plain decoding reads weights at {rates['baseline'] / 1e9:.1f} GB/s "
        f"(a copy moves {rates['copy'] / 1e9:.1f} GB/s). {made_by(record)}",
        "",
        *(f"- {line}" for line in cliffs(record)),
        "",
        f"![predicted and measured]({plot})",
    ]
    return "\n".join(lines)


def timed(provenance: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The lengths at which cycles were timed."""
    extrapolated = {row["gamma"] for row in rows} - set(provenance["calibrated"])
    if not extrapolated:
        return "every gamma"
    return f"gamma {', '.join(map(str, provenance['calibrated']))} only"


def made_by(record: dict[str, Any]) -> str:
    """Return machine, versions and command of a record, as a sentence, and why it ended early.

    A run that was killed could not write that.
    """
    provenance = record["provenance"]
    used, machine = provenance["versions"], provenance["machine"]
    ending = "" if record["complete"] else f" Incomplete: {record.get('failed', 'still running')}."
    return (
        f"Measured {provenance['date'][:10]} on {machine['processor']}, {provenance['threads']} thread, "
        f"{provenance['dtype']}, Python {used['python']}, torch {used['torch']}, "
        f"transformers {used['transformers']}: `{provenance['command']}`.{ending}"
    )


def span(entry: dict[str, Any], digits: int = 3) -> str:
    """Return a measured value and its interval."""
    return f"{entry['measured']:.{digits}f} {bracket(entry['interval'], f'.{digits}f')}".rstrip()


def bracket(interval: list[float] | None, form: str) -> str:
    """Return an interval [low, high] as text, its ends in this format; "" for None (a single prompt)."""
    if interval is None:
        return ""
    low, high = interval
    return f"[{low:{form}}, {high:{form}}]"
