"""How near `optimal_wor` is to the optimum of two drafts, by tokens: `python tests/bench/table_wor_levels.py`.

Means over pairs of laws: recursive rejection without replacement, `optimal_wor`, and the optimum (a bound by one set of
tokens, T15); then the largest `gap` of any pair, which is that bound less a value that the rule reaches, so no more is
lost. Rows of the bundled pair are at temperature 1, along texts that its target writes. Writes wor_levels.txt beside
this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from specsim import acceptance_rate, optimum
from specsim.base.files import write_bytes
from specsim.verify.step import optimal_wor

HERE = Path(__file__).parent
VOCABULARIES = (64, 512, 2048, 32_000)
PAIRS = 4
HEAD = "laws            tokens  pairs  recursive_wor  optimal_wor  optimum  largest gap"
Array = Any


def dirichlet(rng: Any, vocab: int) -> Array:
    """Uniform over all laws."""
    return rng.dirichlet(np.ones(vocab), 2)


def softmax(rng: Any, vocab: int) -> Array:
    """Logits N(0, 2) at temperature 0.3; those of the draft differ by N(0, 0.5)."""
    logits = rng.normal(0, 2, vocab)
    weights = np.exp(np.stack([logits, logits + rng.normal(0, 0.5, vocab)]) / 0.3)
    return weights / weights.sum(axis=-1, keepdims=True)


def zipf(rng: Any, vocab: int) -> Array:
    """One over the rank; ranks of the draft differ by about a third."""
    rank = np.arange(1, vocab + 1.0)
    moved = np.argsort(rank * np.exp(rng.normal(0, 0.3, vocab)))
    weights = np.stack([1 / rank, 1 / rank[moved]])
    return weights / weights.sum(axis=-1, keepdims=True)


LAWS = {"uniform": dirichlet, "softmax": softmax, "zipf": zipf}


def drawn(name: str, vocab: int) -> tuple[Array, Array]:
    """Rows of both laws (PAIRS, V)."""
    p, q = np.stack([LAWS[name](np.random.default_rng(seed), vocab) for seed in range(PAIRS)], axis=1)
    return p, q


def line(name: str, p: Array, q: Array) -> str:
    recursive, reached = (
        acceptance_rate(p, q, rule=rule, num_drafts=2).mean() for rule in ("recursive_wor", "optimal_wor")
    )
    best = optimum(p, q, num_drafts=2, scheme="without_replacement").value.mean()
    gap = optimal_wor.prepare(p, q, 2).gap.max()
    # Rounding alone is shown as such: it differs between processors.
    shown = f"{gap:.0e}" if gap > 1e-13 else "< 1e-13"
    return f"{name:<14}{p.shape[-1]:>8}{len(p):>7}{recursive:>15.4f}{reached:>13.4f}{best:>9.4f}{shown:>13}"


def bundled() -> tuple[Array, Array]:
    """Rows of the bundled pair (PAIRS, V)."""
    from real import TINY, Warping, load
    from real.studies.drafts.measure import written

    pair = load(TINY / "target", TINY / "draft")
    prompts = [pair.tokenizer.encode(text) for text in ("Once upon a time", "The little dog", "One day, Tom")]
    p, q = written(pair, prompts, rows=PAIRS, max_tokens=16, warping=Warping(1.0), seed=0, name="")[1:]
    return p, q


def shown() -> str:
    lines = [HEAD, *(line(name, *drawn(name, vocab)) for name in LAWS for vocab in VOCABULARIES)]
    return "\n".join([*lines, line("bundled pair", *bundled())]) + "\n"


if __name__ == "__main__":
    table = shown()
    write_bytes(HERE / "wor_levels.txt", table.encode())
    print(table, end="")
