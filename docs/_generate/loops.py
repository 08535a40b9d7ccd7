"""The table of measured closed loops beside what `specsim plan --concurrency` predicts."""

from __future__ import annotations

import json
from typing import NamedTuple

from specsim.commands.plan import command
from specsim.commands.plan.options import PlanOptions
from specsim.report.text import markdown


class Cell(NamedTuple):
    """One measured cell: clients, tokens per target step, tokens per second without and with drafts."""

    clients: int
    tau: float
    plain: float
    drafted: float


# vLLM 0.24, A100-SXM4-80GB, Llama-3.1-8B with EAGLE-3 (5 drafts), GSM8K, 256 tokens; means of three repeats.
CELLS = (
    Cell(1, 2.8672, 90.7159, 194.1432),
    Cell(8, 2.8825, 627.1035, 1099.6575),
    Cell(32, 2.8911, 1588.308, 1934.0957),
    Cell(64, 2.8859, 2227.0977, 2152.3151),
)
# Time to the first token of one request alone, in ms.
TTFT_MS = 58.1731


def table() -> str:
    """Return predicted beside measured, one row for each cell."""
    rows = [
        [
            *("clients", "tau, measured", "plain tokens/s, predicted", "plain, measured", "with drafts, predicted"),
            *("with drafts, measured", "speedup, predicted", "speedup, measured", "error of the speedup"),
        ]
    ]
    for cell in CELLS:
        options = PlanOptions(
            tau=cell.tau,
            gamma=5,
            target="llama-3.1-8b",
            draft="eagle3",
            hardware="a100-sxm4-80gb",
            concurrency=str(cell.clients),
            ttft_ms=TTFT_MS,
            as_json=True,
        )
        (answer,) = json.loads(command.run(options).text)["loop"]
        speedup, measured = answer["speedup"], cell.drafted / cell.plain
        interval = f"{speedup['value']:.2f} [{speedup['low']:.2f}, {speedup['high']:.2f}]"
        rows.append(
            [
                str(cell.clients),
                f"{cell.tau:.2f}",
                f"{answer['plain_tokens_per_s']:.0f}",
                f"{cell.plain:.0f}",
                f"{answer['speculative_tokens_per_s']:.0f}",
                f"{cell.drafted:.0f}",
                interval,
                f"{measured:.2f}",
                f"{speedup['value'] / measured - 1:+.1%}",
            ]
        )
    return markdown(rows)
