"""How far lifted rules can fall behind K paths (T40, 4): `python tests/bench/table_tree_family.py`.

Tables of two tokens on which the first token of the text is drafted almost surely, whichever it is; after token 0 all
drafts behind the next one are right, after token 1 all are wrong. `lifted` with the optimal step rule, which does not
know what a child is worth, beside the best verifier of all paths. Writes tree_family.txt beside this file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from specsim import expected_kept
from specsim.base.files import write_bytes

HERE = Path(__file__).parent
CASES = ((1, 2, 0.3), (1, 3, 0.3), (1, 5, 0.35), (2, 3, 0.3), (2, 4, 0.3), (3, 4, 0.25), (5, 4, 0.2), (9, 3, 0.2))
Array = Any
Law = Callable[[tuple[int, ...]], Array]


def models(first: float, second: float) -> tuple[Law, Law]:
    """Target and draft: token 0 has `first` in both, and `second` after itself in the draft."""
    law, right, wrong = np.array([first, 1 - first]), np.array([1.0, 0.0]), np.array([0.0, 1.0])

    def target(text: tuple[int, ...]) -> Array:
        return right if text else law

    def draft(text: tuple[int, ...]) -> Array:
        if not text:
            return law
        if text == (0,):
            return np.array([second, 1 - second])
        return right if text[:2] == (0, 0) else wrong

    return target, draft


def matching(first: float, num_paths: int) -> float:
    """The `second` at which some path begins with 0, 0 just as often as the text begins with 0."""
    return (1 - float((1 - first) ** (1 / num_paths))) / first


def lifted(first: float, second: float, levels: int, num_paths: int) -> float:
    """Drafts that `lifted` keeps, on paths of a first token and so many levels below it."""
    target, draft = models(first, second)
    depth = levels + 1
    parents = [-1 if level == 0 else depth * i + level - 1 for i in range(num_paths) for level in range(depth)]
    return float(expected_kept(target, draft, rule="lifted", scheme="paths", step="optimal", parents=parents))


def best(first: float, second: float, levels: int, num_paths: int) -> float:
    """Drafts that the best verifier keeps: the text begins with 0 where that keeps most, as far as 0 has mass."""
    some, ones, zeros = 1 - (1 - first * second) ** num_paths, (1 - first) ** num_paths, first**num_paths
    zeros_right = zeros - (first * (1 - second)) ** num_paths
    sets = [  # probability of the drafts, kept if the text is 0, ..., kept if it is 1, ...
        (zeros_right, 1 + levels, 0),
        (some - zeros_right, 1 + levels, 1),
        (zeros - zeros_right, 1, 0),
        (1 - ones - zeros - (some - zeros_right), 1, 1),
        (ones, 0, 1),
    ]
    left, kept = first, 0.0
    for chance, if_zero, if_one in sorted(sets, key=lambda drawn: drawn[2] - drawn[1]):
        taken = min(chance, left)
        left -= taken
        kept += taken * if_zero + (chance - taken) * if_one
    return kept


def shown() -> str:
    lines = ["levels  paths  Pr of 0  draft after 0   lifted     best    share"]
    for levels, num_paths, first in CASES:
        second = matching(first, num_paths)
        own, most = (rule(first, second, levels, num_paths) for rule in (lifted, best))
        lines.append(
            f"{1 + levels:>6}{num_paths:>7}{first:>9.2f}{second:>15.4f}{own:>9.4f}{most:>9.4f}{own / most:>9.4f}"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_bytes(HERE / "tree_family.txt", (found := shown()).encode())
    print(found)
