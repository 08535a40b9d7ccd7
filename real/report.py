"""What a person sees of a comparison: a table, a plot, and the JSON record."""

from __future__ import annotations

import datetime
import io
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from real.compare import Acceptance, Row
from real.intervals import Estimate
from specsim._files import write_bytes

SCHEMA = "specsim-compare/1"


def provenance(**what: Any) -> dict[str, Any]:
    """Machine, versions and settings of a run."""
    packages = ("specsim-llm", "torch", "transformers", "numpy", "scipy")
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version()} | {p: _version(p) for p in packages},
        **what,
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def summary(found: Acceptance) -> str:
    """One line on the scored texts."""
    hazards = " ".join(f"{h:.3f}" for h in found.hazards)
    return (
        f"acceptance per position {_show(found.mean, 3)} over {found.tokens} tokens of {found.texts} texts that the "
        f"target wrote\nhazards met by a decoder, position 1..{len(found.hazards)}: {hazards}"
    )


def table(rows: list[Row]) -> Table:
    """Predicted beside measured, one line per gamma; intervals are 95 % over prompts."""
    out = Table(title="predicted (from scores and micro-timings) beside measured (by decoding)")
    out.add_column("gamma", justify="right")
    for group, fields in (
        ("tau", ("predicted", "measured", "if every position counted alike")),
        ("target calls", ("predicted", "measured")),
        ("tokens/s", ("predicted", "measured")),
        ("speedup", ("predicted", "measured")),
    ):
        for field in fields:
            out.add_column(f"{group}\n{field}", justify="right")
    for r in rows:
        out.add_row(
            str(r.gamma),
            _show(r.tau_predicted, 2),
            _show(r.tau_measured, 2),
            f"{r.tau_over_positions:.2f}",
            f"{r.calls_predicted:.0f}",
            str(r.calls_measured),
            f"{r.tokens_per_s_predicted:.0f}",
            _show(r.tokens_per_s_measured, 0),
            f"{r.speedup_predicted:.2f}",
            _show(r.speedup_measured, 2),
        )
    return out


def verdict(rows: list[Row]) -> str:
    """Which gamma is best, by prediction and by measurement."""
    predicted = max(rows, key=lambda r: r.speedup_predicted)
    measured = max(rows, key=lambda r: r.speedup_measured.value)
    return (
        f"best gamma: {predicted.gamma} predicted ({predicted.speedup_predicted:.2f}x), "
        f"{measured.gamma} measured ({_show(measured.speedup_measured, 2)}x)"
        + ("" if measured.speedup_measured.value > 1 else "; speculation does not pay here")
    )


def _show(e: Estimate, digits: int) -> str:
    if e.low == float("-inf"):  # one prompt: no interval
        return f"{e.value:.{digits}f}"
    return f"{e.value:.{digits}f} [{e.low:.{digits}f}, {e.high:.{digits}f}]"


def write_plot(path: Path, rows: list[Row], title: str) -> None:
    """PNG of tau and speedup against gamma: predictions as lines, measurements with their intervals."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    gammas = [r.gamma for r in rows]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, name, predicted, measured in (
        (
            axes[0],
            "tau (tokens per target call)",
            [r.tau_predicted.value for r in rows],
            [r.tau_measured for r in rows],
        ),
        (axes[1], "speedup", [r.speedup_predicted for r in rows], [r.speedup_measured for r in rows]),
    ):
        values = [m.value for m in measured]
        spread = np.array([[m.value - m.low for m in measured], [m.high - m.value for m in measured]])
        bars = spread if np.isfinite(spread).all() else None
        axis.plot(gammas, predicted, color="tab:blue", label="predicted")
        axis.errorbar(gammas, values, bars, fmt="o", color="tab:orange", capsize=3, label="measured, 95 %")
        axis.set(xlabel="gamma (drafts per block)", title=name, xticks=gammas)
        axis.grid(alpha=0.3)
    axes[0].plot(gammas, [r.tau_over_positions for r in rows], ":", color="gray", label="every position alike (biased)")
    axes[1].axhline(1, color="black", linewidth=0.8)
    axes[0].legend()
    figure.suptitle(title, fontsize=10)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    plt.close(figure)
    write_bytes(path, buffer.getvalue())


def markdown(record: dict[str, Any], plot: str) -> str:
    """Markdown table of a recorded comparison, with what it was run on and its plot."""
    what = record["provenance"]
    lines = [
        "| gamma | tau predicted | tau measured | difference | every position alike | target calls measured "
        "| speedup predicted | speedup measured |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in record["pairs"]:
        tau, speed = r["tau"], r["speedup"]
        low, high = tau["difference_interval"]
        lines.append(
            f"| {r['gamma']} | {tau['predicted']:.3f} | {_span(tau)} | [{low:+.3f}, {high:+.3f}] "
            f"| {tau['predicted_over_positions']:.3f} | {r['target_calls']['measured']} "
            f"| {speed['predicted']:.2f} | {_span(speed, 2)} |"
        )
    versions, machine, mean = what["versions"], what["machine"], record["acceptance"]["mean"]
    lines += [
        "",
        f"Acceptance per position {mean['predicted']:.3f} over {record['acceptance']['tokens']} tokens of "
        f"{record['acceptance']['texts']} texts. Measured {what['date'][:10]} on {machine['processor']}, "
        f"{what['threads']} thread, {what['dtype']}, Python {versions['python']}, torch {versions['torch']}, "
        f"transformers {versions['transformers']}: `{what['command']}`.",
        "",
        f"![predicted and measured]({plot})",
    ]
    return "\n".join(lines)


def _span(entry: dict[str, Any], digits: int = 3) -> str:
    low, high = entry["interval"]
    return f"{entry['measured']:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
