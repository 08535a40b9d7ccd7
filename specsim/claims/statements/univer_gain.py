"""Conditional transport across a tree's levels, against recursive rejection without replacement."""

from __future__ import annotations

from specsim.claims.statements._records import best, recorded
from specsim.claims.statements._verdict import UNDECIDED, Settled

SOURCE = "arXiv:2605.04543"
STATEMENT = "UniVer keeps 4.2 to 8.5 % more tokens than recursive rejection sampling without replacement."


def settle() -> Settled:
    """Compute the verdict on the statement."""
    gains, numbers = [], {}
    for run in recorded("trees.json")["runs"]:
        for nodes in (8, 16, 32):
            lifted, walk = (best(run, nodes, rule) for rule in ("lifted", "tokenwise, recursive_wor"))
            gains.append(lifted / walk - 1)
            numbers[f"{run['name']}, {nodes} nodes"] = f"{lifted:.3f} / {walk:.3f}"
    return Settled(
        UNDECIDED,
        f"the gain depends on the pair: {100 * min(gains):+.1f} to {100 * max(gains):+.1f} % here, best recorded "
        "shapes at equal nodes, by `lifted`, which is the paper's plan as far as its abstract tells it; the paper's "
        "pairs are not run.",
        numbers,
    )
