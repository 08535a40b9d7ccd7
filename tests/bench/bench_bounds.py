"""optimal_acceptance against one np.argsort of the same ratios, in one run: `python tests/bench/bench_bounds.py`.

One thread, calls alternating, medians. The target is a ratio of at most 1.6 at V = 152,000 and K = 8.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from timing import DRAFTS, KINDS, ROUNDS, SIZES, laws, machine, medians  # isort: skip (sets the number of threads)

import numpy as np

from specsim import optimal_acceptance, optimal_coupling

Array = Any


def plain_loop(p: Array, q: Array, num_drafts: int) -> float:
    """The sorting formula, one token at a time."""
    a, b = p.tolist(), q.tolist()
    low = p_mass = q_mass = 0.0
    for i in sorted(range(len(a)), key=lambda i: a[i] / b[i] if b[i] else math.inf):
        p_mass, q_mass = p_mass + a[i], q_mass + b[i]
        low = min(low, p_mass - q_mass**num_drafts)
    return 1 + low


def transport(p: Array, q: Array, num_drafts: int) -> float:
    """The transport program over sets of drafts, by HiGHS."""
    return optimal_coupling(p, q, num_drafts=num_drafts).value


def main() -> None:
    print(machine() + "\n")
    header = f"{'laws':<16}{'V':>8}{'K':>4}{'argsort(p/q) ms':>17}{'optimal_acceptance ms':>23}{'ratio':>8}"
    print(header, "-" * len(header), sep="\n")
    for kind, vocab, k in itertools.product(KINDS, SIZES, DRAFTS):
        p, q = laws(kind, vocab)
        ratio = p / q
        sort, ours = medians(
            lambda ratio=ratio: np.argsort(ratio),
            lambda p=p, q=q, k=k: optimal_acceptance(p, q, num_drafts=k),
            rounds=ROUNDS,
        )
        print(f"{kind:<16}{vocab:>8}{k:>4}{sort:>17.2f}{ours:>23.2f}{ours / sort:>8.2f}")

    header = f"{'against':<32}{'V':>8}{'K':>4}{'theirs ms':>13}{'ours ms':>11}{'difference':>13}{'ratio':>8}"
    print("", header, "-" * len(header), sep="\n")
    others: list[tuple[str, Callable[[Array, Array, int], float], int, int]] = [
        ("plain Python loop", plain_loop, 152_000, 2),
        ("plain Python loop", plain_loop, 152_000, 8),
        ("optimal_coupling, an LP", transport, 150, 2),
        ("optimal_coupling, an LP", transport, 30, 3),
    ]
    for name, other, vocab, k in others:
        p, q = laws("softmax", vocab)
        theirs, ours = medians(
            lambda other=other, p=p, q=q, k=k: other(p, q, k),
            lambda p=p, q=q, k=k: optimal_acceptance(p, q, num_drafts=k),
            rounds=3,
        )
        difference = abs(other(p, q, k) - float(optimal_acceptance(p, q, num_drafts=k)))
        print(f"{name:<32}{vocab:>8}{k:>4}{theirs:>13.2f}{ours:>11.3f}{difference:>13.1e}{ours / theirs:>8.4f}")


if __name__ == "__main__":
    main()
