"""What a person sees of a comparison: a table, a plot, and the JSON record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from real.models.names import shipped_draft, shipped_file
from specsim.base import provenance as runs
from specsim.base.files import write_bytes
from specsim.report import figure as pictures
from specsim.types import Array

SCHEMA = "specsim-compare/2"
CLIFF = 0.1  # of a cycle: what is worth naming


def provenance(**settings: Any) -> dict[str, Any]:
    """Return date, machine and versions of a run with real models, and then its settings."""
    return runs.provenance(("torch", "transformers", *runs.PACKAGES), **settings)


def digest(texts: Iterable[str]) -> str:
    """A short name of these texts, in this order: another study has another one."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def weights(path: str) -> str | None:
    """A short name of the files of a model in a directory, which changes as they do; None for the hub's."""
    name = shipped_draft(path) if path else None
    if name is not None:
        return hashlib.sha256(shipped_file(name).read_bytes()).hexdigest()[:16]
    folder = Path(path)
    if not path or not folder.is_dir():
        return None
    files = sorted(f for f in folder.iterdir() if f.suffix in (".jinja", ".json", ".safetensors"))
    return digest(f"{f.name} {f.stat().st_size} {f.stat().st_mtime_ns}" for f in files)


def summary(acceptance: dict[str, Any]) -> str:
    """One line on the scored texts."""
    mean, hazards = acceptance["mean"], " ".join(f"{h:.3f}" for h in acceptance["hazards"])
    rate = f"{mean['predicted']:.3f} {bracket(mean['interval'], '.3f')}".rstrip()
    return (
        f"Acceptance per position {rate} over {acceptance['tokens']} tokens of {acceptance['texts']} texts that the "
        f"target wrote; hazards met by a decoder, position 1..{len(acceptance['hazards'])}: {hazards}."
    )


def bandwidth(rates: dict[str, float]) -> str:
    """One line on how good the baseline is: a slow one inflates every speedup."""
    copy = f"{rates['baseline'] / rates['copy']:.0%} of what a copy moves here ({rates['copy'] / 1e9:.1f} GB/s"
    return (
        f"Plain decoding reads its weights at {rates['baseline'] / 1e9:.1f} GB/s, {copy}, read and written; small "
        "models sit in the cache)."
    )


def target_name(what: dict[str, Any]) -> str:
    """The target of a record, with what its cost stands for."""
    millions, kind = what.get("widened_to_millions"), what.get("target_weights")
    cost = f" at the cost of {millions} M parameters (cost emulation)" if millions else ""
    return f"{what['target']}{cost}" + (f", rounded to {kind}: lossless with respect to that" if kind else "")


def errors(speeds: list[tuple[int, dict[str, Any]]], calibrated: list[int]) -> str:
    """Median errors of predicted speedups, (gamma, entry): of all, and of the lengths that were not timed before."""
    off = {True: [], False: []}  # type: dict[bool, list[float]]
    for gamma, entry in speeds:
        off[gamma in calibrated].append(abs(entry["predicted"] / entry["measured"] - 1))
    beyond = f", {np.median(off[False]):.1%} over the lengths not calibrated" if off[False] else ""
    return f"median error of the predicted speedup {np.median(off[True] + off[False]):.1%}{beyond}"


def verdict(record: dict[str, Any]) -> str:
    """Which gamma is best, by prediction and by measurement, and what taking the predicted one costs."""
    speeds = [(row["gamma"], row["speedup"]) for row in record["pairs"]]
    predicted = max(speeds, key=lambda pair: pair[1]["predicted"])
    measured = max(speeds, key=lambda pair: pair[1]["measured"])
    loss = 1 - predicted[1]["measured"] / measured[1]["measured"]
    return (
        f"best gamma: {predicted[0]} predicted ({predicted[1]['predicted']:.2f}x), "
        f"{measured[0]} measured ({span(measured[1], 2)}x); "
        + ("the prediction found it; " if loss == 0 else f"the predicted one is {loss:.1%} slower; ")
        + errors(speeds, record["provenance"]["calibrated"])
        + ("" if measured[1]["measured"] > 1 else "; speculation does not pay here")
    )


def face(record: dict[str, Any], plot: str) -> str:
    """Markdown for a first page: speedups at some lengths, the errors over all of them, and the picture.

    The first and the last length are shown, the fastest ones, and the one with the largest error.
    """
    speeds = {row["gamma"]: row["speedup"] for row in record["pairs"]}
    errors = {gamma: speed["predicted"] / speed["measured"] - 1 for gamma, speed in speeds.items()}
    best = {key: max(speeds, key=lambda gamma: speeds[gamma][key]) for key in ("predicted", "measured")}
    worst = max(errors, key=lambda gamma: abs(errors[gamma]))
    shown = sorted({min(speeds), max(speeds), worst, *best.values()})
    lines = ["| drafts per block | predicted speedup | measured speedup (95 %) | predicted / measured - 1 |"]
    lines.append("| --- " * 4 + "|")
    for gamma in shown:
        speed = speeds[gamma]
        lines.append(
            f"| {gamma} | {speed['predicted']:.3f} | {span(speed, 3)} | {round(errors[gamma], 3) + 0.0:+.1%} |"
        )
    sizes = [abs(error) for error in errors.values()]
    outside = [g for g, speed in speeds.items() if not _is_within(speed["predicted"], speed["interval"])]
    summary = (
        f"Best number of drafts: {best['predicted']} predicted, {best['measured']} measured. Over {min(speeds)} to "
        f"{max(speeds)} drafts ({len(shown)} of {len(speeds)} rows are shown) the median error is "
        f"{np.median(sizes):.1%}, the largest {max(sizes):.1%}; predictions outside the measured "
        f"interval: {len(outside)} of {len(speeds)}."
    )
    picture = f"![predicted and measured tokens per target call, and speedup, by drafts per block]({plot})"
    return "\n".join([*lines, "", f"{summary} {made_by(record)}", "", picture])


def _is_within(value: float, interval: list[float]) -> bool:
    """Whether a number lies in an interval."""
    return interval[0] <= value <= interval[1]


def histogram(record: dict[str, Any], row: dict[str, Any]) -> str:
    """One line: how many drafts the blocks of a gamma kept, measured and predicted."""
    least = row["blocks_keeping_at_least"]

    def shares(at_least: list[float], blocks: float) -> str:
        counts = np.array([blocks, *at_least]) - np.array([*at_least, 0])
        return " ".join(f"{share:.1%}" for share in counts / blocks)

    expected = record["acceptance"]["tokens"] / row["tau"]["predicted"]  # blocks over the scored texts
    return (
        f"blocks of gamma {row['gamma']} that keep 0, 1, ... drafts, predicted: "
        f"{shares(least['predicted'], expected)}; measured: "
        f"{shares(least['measured'], row['target_calls']['measured'])}"
    )


def cliffs(record: dict[str, Any]) -> list[str]:
    """Steps of the measured t(m): where a pass over one token more takes a tenth more, or less."""
    times = {1: record["costs"]["verify_s"][0]} if record["costs"]["gammas"][0] == 0 else {}
    for row in record["pairs"]:
        if row["cycle_s"]["phases_measured"]:
            times[row["gamma"] + 1] = row["cycle_s"]["phases_measured"]["verify"]
    lines = []
    for m in sorted(times):
        step = times[m] / times.get(m - 1, times[m]) - 1
        if abs(step) > CLIFF:
            lines.append(
                f"cliff at {m} tokens (gamma {m - 1}): a target pass over them takes {times[m] * 1e3:.3g} ms, "
                f"{abs(step):.0%} {'more' if step > 0 else 'less'} than over {m - 1}"
            )
    return lines


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """PNG of tau and speedup against gamma: predictions as lines, measurements with their intervals."""
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """The figure of `write_plot`; the band is the interval of the predicted tau."""
    rows = record["pairs"]
    gammas = [r["gamma"] for r in rows]
    figure, axes = pictures.figure(10, 3.8, 2)
    for axis, key, title in ((axes[0], "tau", "tau (tokens per target call)"), (axes[1], "speedup", "speedup")):
        entries = [r[key] for r in rows]
        axis.plot(gammas, [e["predicted"] for e in entries], color="tab:blue", label="predicted")
        if entries and all(e.get("predicted_interval") for e in entries):
            ends = np.array([e["predicted_interval"] for e in entries]).T
            axis.fill_between(gammas, *ends, color="tab:blue", alpha=0.2, label="predicted, 95 %")
        values = np.array([e["measured"] for e in entries])
        axis.errorbar(gammas, values, bars(entries), fmt="o", color="tab:orange", capsize=3, label="measured, 95 %")
        axis.set(xlabel="gamma (drafts per block)", title=title)
        pictures.whole_ticks(axis.xaxis)
        axis.grid(alpha=0.3)
    alike = [r["tau"]["predicted_over_positions"] for r in rows]
    axes[0].plot(gammas, alike, ":", color="gray", label="one acceptance for all\npositions (biased)")
    axes[1].axhline(1, color="black", linewidth=0.8)
    axes[0].legend(loc="lower right", fontsize=7)  # tau rises with gamma: this corner is free
    mean = record["acceptance"]["mean"]
    said = f"{caption(record['provenance'])}; acceptance {mean['predicted']:.3f} {bracket(mean['interval'], '.3f')}"
    figure.suptitle(said.rstrip(), fontsize=9)
    return figure


def caption(what: dict[str, Any]) -> str:
    """Models, temperature and hardware of a record: the title of its picture."""
    temperature = f"T = {what['warping']['temperature']:g}"
    return f"target: {target_name(what)}, draft: {what['draft']}, {temperature}\n{hardware(what)}"


def hardware(what: dict[str, Any]) -> str:
    """What a record was timed on, as short as a title."""
    machine, threads = what["machine"], what.get("threads", 1)
    on = f"{machine['processor']}, {threads} thread{'s' * (threads != 1)}"
    return f"{on if what.get('device', 'cpu') == 'cpu' else what['device']}, {what['dtype']}"


def bars(entries: list[dict[str, Any]]) -> Array | None:
    """Lengths of error bars (2, n) of measured values; None where there are no intervals."""
    if any(e["interval"] is None for e in entries):
        return None
    return np.abs(np.array([e["interval"] for e in entries]).T - [e["measured"] for e in entries])


def markdown(record: dict[str, Any], plot: str) -> str:
    """Markdown table of a recorded comparison, with what it was run on and its plot."""
    what = record["provenance"]
    lines = [
        "| gamma | tau predicted | tau measured | difference | every position alike | target calls measured "
        "| speedup predicted | speedup measured | error: acceptance | error: time | outside the models |",
        "| --- " * 11 + "|",
    ]
    for r in record["pairs"]:
        tau, speed, outside = r["tau"], r["speedup"], r["cycle_s"]["outside_models"]
        alike = tau["predicted_over_positions"]
        lines.append(
            f"| {r['gamma']} | {tau['predicted']:.3f} | {span(tau)} | {bracket(tau['difference_interval'], '+.3f')} "
            f"| {'' if alike is None else f'{alike:.3f}'} | {r['target_calls']['measured']} "
            f"| {speed['predicted']:.2f} | {span(speed, 2)} "
            f"| {speed['error_tau']:+.1%} | {speed['error_time']:+.1%} "
            f"| {'' if outside is None else f'{outside:.1%}'} |"
        )
    mean, rates = record["acceptance"]["mean"], record["bandwidth"]
    lines += [
        "",
        f"Target: {target_name(what)}. Cycles timed at {timed(what, record['pairs'])}; {verdict(record)}. "
        f"Acceptance per position {mean['predicted']:.3f} over {record['acceptance']['tokens']} tokens of "
        f"{record['acceptance']['texts']} texts. Plain decoding reads weights at {rates['baseline'] / 1e9:.1f} GB/s "
        f"(a copy moves {rates['copy'] / 1e9:.1f} GB/s). {made_by(record)}",
        "",
        *(f"- {line}" for line in cliffs(record)),
        "",
        f"![predicted and measured]({plot})",
    ]
    return "\n".join(lines)


def timed(what: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """At which lengths cycles were timed."""
    some = {row["gamma"] for row in rows} - set(what["calibrated"])
    return f"gamma {', '.join(map(str, what['calibrated']))} only" if some else "every gamma"


def made_by(record: dict[str, Any]) -> str:
    """Machine, versions and command of a record, as a sentence, and what ended it early; a killed run could not say."""
    what = record["provenance"]
    used, machine = what["versions"], what["machine"]
    return (
        f"Measured {what['date'][:10]} on {machine['processor']}, {what['threads']} thread, {what['dtype']}, Python "
        f"{used['python']}, torch {used['torch']}, transformers {used['transformers']}: `{what['command']}`."
        + ("" if record["complete"] else f" Incomplete: {record.get('failed', 'still running')}.")
    )


def span(entry: dict[str, Any], digits: int = 3) -> str:
    """A measured value and its interval."""
    return f"{entry['measured']:.{digits}f} {bracket(entry['interval'], f'.{digits}f')}".rstrip()


def bracket(interval: list[float] | None, form: str) -> str:
    """Nothing where one prompt gives no interval."""
    return "" if interval is None else f"[{interval[0]:{form}}, {interval[1]:{form}}]"
