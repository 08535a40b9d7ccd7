"""Made-up records of comparisons, with numbers as wide as those that are measured."""

from __future__ import annotations

from typing import Any

from specsim.trees import chain, depths, k_ary

PHASES = ("draft", "sample", "verify", "rule", "host")


def _row(name: str, rule: str, parents: list[int], tau: float, *, predicted: bool = True) -> dict[str, Any]:
    """Return one row of a record: a rule on a tree, with or without predictions."""
    # Costs that grow with the tree's size and depth.
    nodes, levels, tree = len(parents), int(depths(parents).max()), not name.startswith("chain")
    steps = 1 + nodes / 12
    speed = tau / (steps + 0.1 * levels)
    seconds = {f"{phase}_s": [0.001, 0.001 * (levels if phase in ("draft", "sample") else steps)] for phase in PHASES}
    cycle = sum(second for _, second in seconds.values())
    return {
        "name": name,
        "rule": rule,
        "tree": tree,
        "parents": parents,
        "nodes": nodes,
        "levels": levels,
        "tau": {
            "predicted": tau - 0.04 if predicted else None,
            "predicted_interval": [tau - 0.1, tau + 0.03] if predicted else None,
            "predicted_error": 0.0123 * predicted,
            "measured": tau,
            "interval": [tau - 0.056, tau + 0.067],
            "difference_interval": [-0.12, 0.21] if predicted else None,
        },
        "target_calls": {"measured": round(10_000 / tau), "tokens": 10_000},
        "speedup": {
            "predicted": 1.02 * speed if predicted else None,
            "measured": speed,
            "interval": [speed - 0.078, speed + 0.089],
        },
        "cycle_s": {
            "predicted": cycle,
            "measured": 1.01 * cycle,
            "plain_predicted": 0.005,
            "plain_measured": 0.0051,
            "phases_measured": {phase: seconds[f"{phase}_s"][1] for phase in PHASES},
        },
        "pass": {"tokens": nodes + 1, "plain_steps": steps},
        "costs": {"gammas": [0, levels], **seconds, "cycle_s": [0.005, cycle], "spread": [0.02, 0.03]},
    }


def of_trees() -> dict[str, Any]:
    """Return a record of chains, trees by level and a tree of sixteen nodes.

    Two of its rules are predicted, one is not.
    """
    # The rows.
    rows = [_row(f"chain of {g}", "block", chain(g).tolist(), 1.5 + 0.1 * g) for g in (1, 2, 3, 4, 8, 16)]
    for name, branching in (("2,1,1,1", (2, 1, 1, 1)), ("4,2,1", (4, 2, 1)), ("sequoia:16", (3, 2, 1))):
        for rule in ("tokenwise", "traversal", "multipath_block"):
            parents = k_ary(branching).tolist()
            tau = 2.1 + 0.04 * len(parents)
            rows.append(_row(name, rule, parents, tau, predicted=rule != "multipath_block"))

    # The fastest tree and the fastest chain.
    best = {
        tree: max((r for r in rows if r["tree"] == tree), key=lambda r: r["speedup"]["measured"]) for tree in (0, 1)
    }
    ratio = best[1]["speedup"]["measured"] / best[0]["speedup"]["measured"]
    return {
        "schema": "specsim-compare-trees/1",
        "complete": True,
        "provenance": {
            "date": "2026-01-02T03:04:05",
            "command": "specsim-real compare tiny --tree 2,1,1,1 --tree 4,2,1 --tree sequoia:16 --out trees.json",
            "target": "bundled",
            "draft": "bundled",
            "device": "cpu",
            "dtype": "float32",
            "threads": 1,
            "machine": {"processor": "a processor with a long name, eight cores", "cores": 8},
            "versions": {"python": "3.11.7", "torch": "2.13.0", "transformers": "5.23.0"},
            "prompts": 128,
            "max_tokens": 64,
            "widened_to_millions": 100,
            "warping": {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
            | {"logit_bias": []},
            "trees": ["2,1,1,1", "4,2,1", "sequoia:16"],
            "scheme": "without_replacement",
            "chains": [1, 2, 3, 4, 8, 16],
            "shape_texts": 16,
        },
        "rows": rows,
        "fastest": {
            "tree": rows.index(best[1]),
            "chain": rows.index(best[0]),
            "measured": ratio,
            "interval": [ratio - 0.0123, ratio + 0.0234],
        },
        "shape_ranks": [0.553, 0.112, 0.058, 0.037, 0.027, 0.020, 0.015, 0.011],
        "acceptance": {"mean": 0.553, "ranks": [0.55, 0.11, 0.06, 0.04], "texts": 128, "tokens": 8192},
        "bandwidth": {"baseline": 12.3e9, "copy": 15.6e9},
    }
