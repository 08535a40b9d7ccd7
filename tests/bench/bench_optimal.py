"""The optimal rule against one np.argsort of the same ratios, in one run: `python tests/bench/bench_optimal.py`.

One thread, calls alternating, medians. The goals: prepare at most 4 sorts (aim: 2), in bins (grid 0.01) at most 2 (aim:
below 1), one verify with its plan at most 5 % of one. They are meant for rows without zeros: where top-p leaves a tenth
of a row, argsort has hardly anything to sort, while prepare still takes about as long.
"""

from __future__ import annotations

import itertools
from typing import Any

from timing import DRAFTS, KINDS, ROUNDS, SIZES, laws, machine, medians  # isort: skip (sets the number of threads)

import numpy as np

from specsim import optimal_acceptance
from specsim.verify.step import optimal

Array = Any
DRAWS, GRID = 200, 0.01


def kept(p: Array, plan: optimal.Plan) -> float:
    """The probability that the plan's winner is kept, from its law w and not from the formula of the optimum."""
    w = optimal.winners(plan)
    return float(np.minimum(p, w / w.sum()).sum())


def main() -> None:
    print(machine() + "\n")
    header = f"{'laws':<16}{'V':>8}{'K':>4}{'argsort(p/q) ms':>17}{'prepare ms':>12}{'ratio':>7}"
    header += f"{'in bins ms':>12}{'ratio':>7}{'verify ms':>11}{'share':>8}{'acceptance - optimum':>22}{'in bins':>10}"
    print(header, "-" * len(header), sep="\n")
    for kind, vocab, k in itertools.product((*KINDS, "top-p 0.95"), SIZES, DRAFTS):
        p, q = laws(kind, vocab)
        ratio = np.where(q > 0, p / np.where(q > 0, q, 1), np.inf)
        plan = optimal.prepare(p, q, k)
        rng = np.random.default_rng(k)
        x, u = rng.choice(vocab, (DRAWS, k), p=q), rng.random((DRAWS, optimal.uniforms(k)))

        def verify(plan: optimal.Plan = plan, x: Array = x, u: Array = u) -> None:
            for drafts, uniforms in zip(x, u, strict=True):
                optimal.verify(plan, drafts, uniforms)

        sort, ours, binned, draws = medians(
            lambda ratio=ratio: np.argsort(ratio),
            lambda p=p, q=q, k=k: optimal.prepare(p, q, k),
            lambda p=p, q=q, k=k: optimal.prepare(p, q, k, grid=GRID),
            verify,
            rounds=ROUNDS,
        )
        best = optimal_acceptance(p, q, num_drafts=k)
        off, off_in_bins = (kept(p, w) - float(best) for w in (plan, optimal.prepare(p, q, k, grid=GRID)))
        print(
            f"{kind:<16}{vocab:>8}{k:>4}{sort:>17.2f}{ours:>12.2f}{ours / sort:>6.2f}x"
            f"{binned:>12.2f}{binned / sort:>6.2f}x{draws / DRAWS:>11.4f}{draws / DRAWS / sort:>8.2%}"
            f"{off:>22.1e}{off_in_bins:>10.1e}"
        )


if __name__ == "__main__":
    main()
