"""How to draw several drafts, and which rule to verify them with: acceptance on the rows of a pair of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from real.decode.score import laws
from real.decode.warp import Warping
from real.pair import Pair
from real.studies.plain import plain_texts
from specsim.bounds.curves import acceptance_curves
from specsim.draft import distinct
from specsim.types import Array

DRAWS = 1024  # at most, for as many distinct drafts as asked for
NEVER = 1e-9  # numbers of distinct drafts beyond those that come more often than this are left out
SYNTHETIC = {  # name: (vocabulary, sd of the logits that both share, sd of what the draft adds)
    "synthetic, V = 300": (300, 1.5, 1.0),
    "synthetic and peaked, V = 300": (300, 4.0, 2.0),
}


class Rows(NamedTuple):
    """Target and draft laws (n, V) at n positions."""

    name: str
    p: Array
    q: Array


def written(
    pair: Pair, prompts: list[list[int]], *, rows: int, max_tokens: int, warping: Warping, seed: int, name: str
) -> Rows:
    """Laws at `rows` positions, evenly spaced along texts that the target writes after the prompts."""
    texts = plain_texts(pair, prompts, max_tokens=max_tokens, warping=warping, seed=seed)
    found = []
    for prompt, tokens in zip(prompts, texts, strict=True):
        if tokens:
            both = laws(pair.target, pair.draft, prompt, tokens, warping)
            found.append([np.asarray(w.double().cpu()) for w in both])
    p, q = (np.concatenate(both) for both in zip(*found, strict=True))
    chosen = np.unique(np.linspace(0, len(p) - 1, min(rows, len(p))).astype(np.int64))
    return Rows(name, *(w[chosen] / w[chosen].sum(axis=-1, keepdims=True) for w in (p, q)))  # sums of float32 rows


def synthetic(name: str, rows: int, seed: int) -> Rows:
    """Softmax laws whose logits are normal; the draft's are the target's with normal noise."""
    vocab, shared, noise = SYNTHETIC[name]
    rng = np.random.default_rng(seed)
    logits = shared * rng.standard_normal((rows, vocab))
    weights = [
        np.exp(w - w.max(axis=-1, keepdims=True)) for w in (logits, logits + noise * rng.standard_normal(logits.shape))
    ]
    return Rows(name, *(w / w.sum(axis=-1, keepdims=True) for w in weights))


def measure(rows: Rows, num_drafts: Sequence[int], *, samples: int, seed: int) -> dict[str, Any]:
    """One group of a record: acceptance of every rule, the optima, and the law of the number of distinct drafts."""
    points = acceptance_curves(rows.p, rows.q, num_drafts=num_drafts, samples=samples, seed=seed)
    return {
        "name": rows.name, "positions": len(rows.p), "vocab": rows.p.shape[-1],
        "rows": [point._asdict() for point in points],
        "distinct": [numbers(rows.q, k) for k in num_drafts],
    }  # fmt: skip


def numbers(q: Array, num_drafts: int) -> dict[str, Any]:
    """How many distinct tokens `distinct` draws: the exact mean, and how often it draws each number, over the rows."""
    law = distinct.draws(q, num_drafts, DRAWS)
    shares = distinct.distinct_law(q, law).mean(axis=0)
    return {
        "num_drafts": num_drafts,
        "expected": float(np.mean(distinct.expected_distinct(q, law))),
        "frequencies": shares[: np.max(np.flatnonzero(shares > NEVER)) + 1].tolist(),
        "draws_median_most": [float(np.median(law.least + law.extra)), float(np.max(law.least + law.extra))],
    }
