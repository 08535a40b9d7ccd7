"""How near lifted rules come to the optimum of K paths: `python tests/bench/table_tree_optimum.py`.

Random tables (rows uniform over all laws) of two levels: the share of `path_optimum` that `lifted` keeps with the
optimal step rule, which is blind to what a child is worth, and that of the best lifted rule of all. Writes
tree_optimum.json and tree_optimum.txt beside this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from helpers.best_lifted import best_lifted

from specsim import expected_kept, path_optimum
from specsim.base.files import write_bytes, write_json

HERE = Path(__file__).parent
SETTINGS = ((2, 2), (2, 3), (3, 2))  # tokens, paths
TABLES = 200
Array = Any


def table(vocab: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """Laws (V,) at the root and (V, V) below it, of target and draft."""
    rng = np.random.default_rng(seed)
    (p, q), (below, drafts) = rng.dirichlet(np.ones(vocab), 2), rng.dirichlet(np.ones(vocab), (2, vocab))
    return p, q, below, drafts


def kept(p: Array, q: Array, below: Array, drafts: Array, num_paths: int) -> tuple[float, float, float]:
    """Drafts that are kept: by `lifted`, by the best lifted rule, by the best of all."""

    def target(text: tuple[int, ...]) -> Array:
        return below[text[0]] if text else p

    def draft(text: tuple[int, ...]) -> Array:
        return drafts[text[0]] if text else q

    parents = [place for i in range(num_paths) for place in (-1, 2 * i)]
    own = expected_kept(target, draft, rule="lifted", scheme="paths", step="optimal", parents=parents)
    best = best_lifted(p, q, below, drafts, num_paths)
    return float(own), best, path_optimum(target, draft, num_paths=num_paths, gamma=2).value


def measured() -> list[dict[str, Any]]:
    rows = []
    for vocab, num_paths in SETTINGS:
        found = np.array([kept(*table(vocab, seed), num_paths) for seed in range(TABLES)])
        for name, share in (("lifted", found[:, 0] / found[:, 2]), ("best lifted", found[:, 1] / found[:, 2])):
            marks = dict(zip(("worst", "tenth", "median"), np.quantile(share, (0, 0.1, 0.5)).tolist(), strict=True))
            reached = float(np.mean(share > 1 - 1e-9))
            rows.append({"tokens": vocab, "paths": num_paths, "rule": name, **marks, "reached": reached})
    return rows


def shown(rows: list[dict[str, Any]]) -> str:
    head = "tokens  paths  rule           worst    tenth   median  optimum reached"
    return "\n".join([head, *map(_line, rows)]) + "\n"


def _line(row: dict[str, Any]) -> str:
    shares = "".join(f"{row[name]:>9.4f}" for name in ("worst", "tenth", "median"))
    return f"{row['tokens']:>6}  {row['paths']:>5}  {row['rule']:<11}{shares}{100 * row['reached']:>15.1f}%"


if __name__ == "__main__":
    write_json(HERE / "tree_optimum.json", {"tables": TABLES, "rows": (found := measured())})
    write_bytes(HERE / "tree_optimum.txt", shown(found).encode())
    print(shown(found))
