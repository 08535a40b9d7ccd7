"""Greedy multi-path block verification, against block verification, on recorded pairs."""

from __future__ import annotations

from specsim.claims.statements._records import best, recorded
from specsim.claims.statements._verdict import UNDECIDED, UNDER, Settled

SOURCE = "arXiv:2602.16961"
STATEMENT = "Greedy multi-path block verification has 30 % more block efficiency than block verification."


def settle() -> Settled:
    """Compute the verdict on the statement."""
    gains, numbers = [], {}
    for run in recorded("trees.json")["runs"]:
        for nodes in (8, 16, 32):
            paths = best(run, nodes, "multipath_block")
            block = best(run, nodes, "traversal", "chain")
            gains.append(paths / block - 1)
            numbers[f"{run['name']}, {nodes} nodes"] = f"{paths:.3f} / {block:.3f}"
    most = max(gains)
    return Settled(
        UNDER if most >= 0.3 else UNDECIDED,
        f"the gain depends on the pair and the nodes: here, at equal nodes, {100 * min(gains):+.0f} to "
        f"{100 * most:+.0f} %; the paper's own pairs of models are not run.",
        numbers,
    )
