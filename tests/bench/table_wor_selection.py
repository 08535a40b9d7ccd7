"""What drafts without replacement gain by tiers and weights: `python tests/bench/table_wor_selection.py`.

Random pairs (uniform over all laws): mean acceptance of recursive rejection without replacement, of the selection of
T38, and of the optimum, which it reaches; every set is enumerated. And the drafts kept by lifted rules in a tree of two
children a node, two levels deep, four tokens, laws that depend on the last token. Writes wor_selection.txt beside this
file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from helpers.wor_selection import chosen_law, selection, set_law, wanted

from specsim import acceptance_rate, expected_kept, optimum
from specsim.base.files import write_bytes
from specsim.trees import k_ary

HERE = Path(__file__).parent
SETTINGS = ((3, 2), (5, 2), (5, 3), (7, 3), (7, 4))  # tokens, drafts
PAIRS = 100
Array = Any


def accepted(vocab: int, num_drafts: int, seed: int) -> tuple[float, float, float]:
    """By recursive rejection, by the selection, by the best of all."""
    p, q = np.random.default_rng(seed).dirichlet(np.ones(vocab), 2)
    law = set_law(q, num_drafts)
    found = chosen_law(law, selection(wanted(p, q, law), law))
    recursive = acceptance_rate(p, q, rule="recursive_wor", num_drafts=num_drafts)
    best = optimum(p, q, num_drafts=num_drafts, scheme="without_replacement").value
    return float(recursive), float(np.minimum(p, found).sum()), float(best)


def kept(seed: int, rule: str, scheme: str, step: str) -> float:
    rng = np.random.default_rng(seed)
    target, draft = rng.dirichlet(np.ones(4), (5, 2)).swapaxes(0, 1)

    def after(laws: Array) -> Any:
        return lambda text: laws[text[-1] if text else 4]

    shape = k_ary((2, 2))
    return float(expected_kept(after(target), after(draft), rule=rule, scheme=scheme, step=step, parents=shape))


def shown() -> str:
    lines = ["tokens  drafts  recursive_wor  tiers and weights  optimum  furthest from it"]
    for vocab, num_drafts in SETTINGS:
        rows = np.array([accepted(vocab, num_drafts, seed) for seed in range(PAIRS)])
        recursive, reached, best = rows.mean(axis=0)
        gap = abs(rows[:, 2] - rows[:, 1]).max()
        lines.append(f"{vocab:>6}  {num_drafts:>6}  {recursive:>13.4f}  {reached:>17.4f}  {best:>7.4f}  {gap:>16.0e}")
    lines += ["", "drafts kept in a tree of 6 nodes: mean [least, most] above recursive_wor, 20 tables"]
    steps = [("without_replacement", "recursive_wor"), ("without_replacement", "optimal_wor"), ("iid", "optimal")]
    found = np.array([[kept(seed, "lifted", *step) for step in steps] for seed in range(20)])
    for (scheme, step), column in zip(steps, found.T, strict=True):
        above = column - found[:, 0]
        lines.append(f"{step + ', ' + scheme:<36}{column.mean():.4f}  [{above.min():+.4f}, {above.max():+.4f}]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    table = shown()
    write_bytes(HERE / "wor_selection.txt", table.encode())
    print(table, end="")
