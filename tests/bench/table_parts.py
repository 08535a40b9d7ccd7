"""Two parts of the roofline against recorded kernel times: `python tests/bench/table_parts.py`.

Products shared by several devices (all-reduces not included, as in the records), by device and degree; and one layer's
decode attention, by device. Of these rows only the H100's of attention were used to fit a constant, its fixed time.
"""

from __future__ import annotations

import csv
from itertools import product
from math import log
from pathlib import Path
from statistics import median

from specsim import latency
from specsim.latency import Constants, ModelShape
from specsim.latency.passes import attention, products
from specsim.latency.weights import TYPES

DATA = Path(latency.__file__).parent / "data"


def read(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((DATA / name).read_text().splitlines()))


SHARED, ATTENTION, CONSTANTS = read("verify_cost_tp.csv"), read("attention_cost.csv"), Constants()
LAYER = ModelShape.named("llama-3.1-8b")  # 32 query heads on 8 of the cache, 128 wide, as the records


def products_ms(row: dict[str, str], tokens: int) -> float:
    """Predicted milliseconds of the products of a row."""
    shape, device = ModelShape.named(row["model"]), latency.hardware(row["device"])
    if row["head"] == "no":
        shape = shape._replace(head=0.0, vocab=0)
    parts = int(row["tensor_parallel"])
    return 1e3 * products(shape, tokens, parts, device, device.flops["bf16"], TYPES["bf16"], 1.0, CONSTANTS)


def shared_errors(device: str, degree: str) -> tuple[list[float], list[float], int]:
    """Relative errors of T(1), of t(m) = T(m) / T(1) for m <= 64, over models and sources; and how many series."""
    series: dict[tuple[str, str], dict[int, dict[str, str]]] = {}
    for row in SHARED:
        if (row["device"], row["tensor_parallel"]) == (device, degree):
            series.setdefault((row["model"], row["source"]), {})[int(row["tokens"])] = row
    ones, ratios = [], []
    for points in series.values():
        measured = {m: float(row["products_ms"]) for m, row in points.items()}
        predicted = {m: products_ms(row, m) for m, row in points.items()}
        ones.append(abs(predicted[1] / measured[1] - 1))
        ratios += [abs(predicted[m] / predicted[1] / (measured[m] / measured[1]) - 1) for m in measured if 1 < m <= 64]
    return ones, ratios, len(series)


def shared_cycles() -> list[tuple[int, float]]:
    """Tokens of a pass, and log of predicted over measured cycle over step, as `table_roofline.cycles`, where several
    devices share the target's products and one drafts."""
    alone: dict[tuple[str, str], dict[int, dict[str, str]]] = {}
    series: dict[tuple[str, ...], dict[int, dict[str, str]]] = {}
    for row in read("verify_cost.csv"):
        single = {**row, "head": "yes", "tensor_parallel": "1"}
        alone.setdefault((row["device"], row["model"]), {})[int(row["tokens"])] = single
    for row in SHARED:
        if row["tensor_parallel"] != "1":
            key = (row["device"], row["model"], row["tensor_parallel"], row["source"])
            series.setdefault(key, {})[int(row["tokens"])] = row
    found = []
    for (device, target, *_), large in series.items():
        for (where, draft), small in alone.items():
            if where != device or ModelShape.named(target).body < 4 * ModelShape.named(draft).body:
                continue
            for batch, gamma in product((1, 2, 4, 8, 16, 32, 64), (1, 2, 3, 5, 7)):
                tokens = batch * (gamma + 1)
                if {batch, tokens} <= set(large) and batch in small:
                    step, verify, one = large[batch], large[tokens], small[batch]
                    times = [float(row["products_ms"]) for row in (one, verify, step)]
                    guess = [products_ms(row, m) for row, m in ((one, batch), (verify, tokens), (step, batch))]
                    measured, predicted = ((gamma * d + v) / s for d, v, s in (times, guess))
                    found.append((tokens, log(predicted / measured)))
    return found


def attention_us(device: str, batch: int, context: int, constants: Constants) -> float:
    """Predicted microseconds of one layer's attention for one new token a sequence."""
    gpu = latency.hardware(device)
    return 1e6 * attention(LAYER, 1, batch, context, 1, gpu, gpu.flops["bf16"], 2.0, constants) / LAYER.layers


def attention_errors(device: str, constants: Constants = CONSTANTS) -> list[float]:
    """Relative errors over batches and contexts, predicted over measured less 1."""
    return [
        attention_us(device, int(row["batch"]), int(row["context"]), constants) / float(row["us_per_layer"]) - 1
        for row in ATTENTION
        if row["device"] == device
    ]


def table() -> str:
    """Both tables."""
    lines = ["| products: device | shared by | series | T(1), median error | worst | t(m), m <= 64, median | worst |"]
    lines.append("|" + " --- |" * 7)
    for device, degree in dict.fromkeys((row["device"], row["tensor_parallel"]) for row in SHARED):
        ones, ratios, count = shared_errors(device, degree)
        cells = [f"{100 * value:.1f}%" for value in (median(ones), max(ones), median(ratios), max(ratios))]
        lines.append("| " + " | ".join([device, degree, str(count), *cells]) + " |")
    lines += ["", "| attention: device | points | median error | predicted too low by at most | too high by at most |"]
    lines.append("|" + " --- |" * 5)
    for device in dict.fromkeys(row["device"] for row in ATTENTION):
        errors = attention_errors(device)
        cells = [f"{100 * v:.0f}%" for v in (median(map(abs, errors)), -min(errors), max(errors))]
        lines.append("| " + " | ".join([device, str(len(errors)), *cells]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
