"""The roofline against recorded kernel times, by device: `python tests/bench/table_roofline.py`.

Its three constants are fitted on the rows of one device and tested on the others. Products only: the records hold no
attention, norms or host work.
"""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

from specsim import latency
from specsim.latency import Constants, roofline

FITTED = "H100-SXM5-80GB"
ROWS = list(csv.DictReader((Path(latency.__file__).parent / "data" / "verify_cost.csv").read_text().splitlines()))
DEVICES = list(dict.fromkeys(row["device"] for row in ROWS))
ALONE = Constants(attention_s=0.0)


def errors(device: str, constants: Constants = ALONE) -> tuple[list[float], list[float]]:
    """Relative errors of T(1), and of t(m) = T(m) / T(1) for m <= 64, over the dense models."""
    ones, ratios = [], []
    for model in sorted({row["model"] for row in ROWS}):
        measured = {
            int(row["tokens"]): float(row["products_ms"])
            for row in ROWS
            if (row["device"], row["model"]) == (device, model)
        }
        target = roofline(model, model, device, constants=constants).target
        predicted = {m: 1e3 * target(m, 1, 0).value for m in measured}
        ones.append(abs(predicted[1] / measured[1] - 1))
        ratios += [abs(predicted[m] / predicted[1] / (measured[m] / measured[1]) - 1) for m in measured if 1 < m <= 64]
    return ones, ratios


def table() -> str:
    """One line a device."""
    lines = ["| device | role | T(1), median error | worst | t(m), m <= 64, median error | worst | points |"]
    lines.append("|" + " --- |" * 7)
    for device in DEVICES:
        ones, ratios = errors(device)
        cells = [f"{100 * value:.1f}%" for value in (median(ones), max(ones), median(ratios), max(ratios))]
        role = "fitted" if device == FITTED else "tested"
        lines.append("| " + " | ".join([device, role, *cells, str(len(ratios))]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
