"""Rules of K independent paths at equal nodes: `python tests/bench/table_paths.py`, some minutes on one thread.

On the toy models of the bundled pair that `specsim-real trees` measures: its trigrams and its recorded rows. tau of
every rule on every shape that has the budget's nodes, the best shape measured again; beside it, on trigrams of so few
characters that the program fits, the exact values and the optimum of all lossless rules. Full information is what no
verifier exceeds, on the texts and shapes of `lifted`. Writes paths.json and paths.txt beside this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from real import TINY
from real.decode.warping import Warping
from real.load_pair import load
from real.options import read_prompts
from real.studies.drafts.measure import written
from real.studies.trees.measure import Models, recited, trigrams
from specsim import expected_kept, path_bound, path_optimum
from specsim.base.files import write_bytes, write_json
from specsim.simulation import conditional_tau
from specsim.trees import paths
from specsim.verify.lossy_tree import spectr_gbv

HERE = Path(__file__).parent
RULES: dict[str, Any] = {
    "traversal": "traversal",
    "multipath_block": "multipath_block",
    "lifted": "lifted",  # with the optimal step rule: `univer`
    "spectr_gbv (lossy)": spectr_gbv,
}
BUDGETS = (4, 8, 16, 32)
BLOCKS, TRIED, SEQUENCES = 40, 8, 256  # blocks of each text, those of a shape that is tried, and texts
SYMBOLS = 48
SMALL = ((4, 2, 2), (4, 2, 3), (3, 2, 4), (3, 3, 2))  # characters, paths, tokens of a path


def models() -> tuple[str, str, Models]:
    """What the bundled target and draft write, as `specsim-real trees` has it, and the recorded rows."""
    prompts = read_prompts(TINY / "prompts.json")
    pair, own = load(TINY / "target", TINY / "draft"), load(TINY / "draft", TINY / "draft")
    texts = []
    for model in (pair, own):
        found: Any = model.generate(prompts[:64], gamma=0, max_tokens=128, seed=0)
        texts.append("".join(model.tokenizer.decode(text.tokens) for text in found))
    warping = Warping(top_k=40)
    ids = [list(pair.tokenizer(prompt)["input_ids"]) for prompt in prompts[:8]]
    rows = written(pair, ids, rows=10**9, max_tokens=64, warping=warping, seed=0, name="recorded rows")
    return texts[0], texts[1], recited(rows)


def shapes(budget: int) -> list[tuple[int, int]]:
    """K and L with as many nodes as the budget, one path and paths of one token left out."""
    return [(k, budget // k) for k in (2, 3, 4, 8) if budget // k > 1]


def measured(pair: Models) -> Iterator[dict[str, Any]]:
    """tau with an interval of 99 % for each rule and budget, on the best of its shapes."""
    starts = pair.starts(SEQUENCES)
    run = partial(conditional_tau, pair.target, pair.draft, scheme="paths", sequences=SEQUENCES, starts=starts)
    for name, rule in RULES.items():
        for budget in BUDGETS:
            some = shapes(budget)
            tried = [
                run(rule=rule, parents=paths(*each), blocks=TRIED * SEQUENCES, seed=1).tau
                for each in (some if len(some) > 1 else [])
            ]
            best = some[tried.index(max(tried))] if tried else some[0]
            found = run(rule=rule, parents=paths(*best), blocks=BLOCKS * SEQUENCES, seed=0)
            yield {
                "rule": name,
                "budget": budget,
                "paths": best[0],
                "tokens": best[1],
                "tau": found.tau,
                "interval": [found.low, found.high],
                "nodes": found.nodes,
                "bound": list(found.bound),
            }


def exact(written: str, drafted: str) -> Iterator[dict[str, Any]]:
    """tau of the first block of each rule, the optimum of lossless rules and the bound of all, without chance."""
    for symbols, count, length in SMALL:
        pair = trigrams(written, drafted, symbols)
        target, draft = pair.target, pair.draft
        row = {"symbols": symbols, "paths": count, "tokens": length}
        for name, rule in RULES.items():
            row[name] = 1 + float(expected_kept(target, draft, rule=rule, scheme="paths", parents=paths(count, length)))
        best = path_optimum(target, draft, num_paths=count, gamma=length)
        bound = float(path_bound(target, draft, num_paths=count, gamma=length))
        yield row | {"optimum": 1 + best.value, "gap": best.gap, "F_K": 1 + bound}


def shown(record: dict[str, Any]) -> str:
    lines = []
    for run in record["runs"]:
        lines += [f"{run['name']}: tau, half of the 99 % interval (paths x tokens)", _head("rule", BUDGETS)]
        for rule in RULES:
            cells = [_cell(row) for row in run["rows"] if row["rule"] == rule]
            lines.append(f"{rule:<20}" + "".join(f"{cell:>24}" for cell in cells))
        most = {row["budget"]: row["bound"][0] for row in run["rows"] if row["rule"] == "lifted"}
        lines += [f"{'full information':<20}" + "".join(f"{f'{most[n]:.3f}':>24}" for n in BUDGETS), ""]
    lines += ["first block, exact: trigrams of few characters", "symbols  paths x tokens" + _names()]
    for row in record["exact"]:
        values = "".join(f"{row[name]:>20.4f}" for name in (*RULES, "optimum", "F_K"))
        lines.append(f"{row['symbols']:>7}  {row['paths']:>5} x {row['tokens']:<6}" + values)
    return "\n".join(lines) + "\n"


def _head(first: str, budgets: tuple[int, ...]) -> str:
    return f"{first:<20}" + "".join(f"{f'{budget} nodes':>24}" for budget in budgets)


def _names() -> str:
    return "".join(f"{name:>20}" for name in (*RULES, "optimum", "F_K"))


def _cell(row: dict[str, Any]) -> str:
    half = (row["interval"][1] - row["interval"][0]) / 2
    return f"{row['tau']:.3f} ±{half:.3f} ({row['paths']} x {row['tokens']})"


if __name__ == "__main__":
    torch.set_num_threads(1)
    of_target, of_draft, rows = models()
    record: dict[str, Any] = {"blocks": BLOCKS * SEQUENCES, "exact": list(exact(of_target, of_draft)), "runs": []}
    for pair in (trigrams(of_target, of_draft, SYMBOLS), rows):
        record["runs"].append({"name": pair.name, "rows": list(measured(pair))})
        write_json(HERE / "paths.json", record)
    write_bytes(HERE / "paths.txt", shown(record).encode())
    print(shown(record))
