"""Ways to draw several drafts and rules to verify them: acceptance on the rows of a pair of models."""

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

# Most draws for the number of distinct drafts that is asked for.
DRAWS = 1024
# Numbers of distinct drafts above the last one that has more than this probability are left out.
NEVER = 1e-9
# Name -> vocabulary, standard deviation of the shared logits, and of what the draft adds to them.
SYNTHETIC = {
    "synthetic, V = 300": (300, 1.5, 1.0),
    "synthetic and peaked, V = 300": (300, 4.0, 2.0),
}


class Rows(NamedTuple):
    """Target and draft laws (n, V) at n positions."""

    name: str
    p: Array
    q: Array


def written(
    pair: Pair,
    prompts: list[list[int]],
    *,
    rows: int,
    max_tokens: int,
    warping: Warping,
    seed: int,
    name: str,
) -> Rows:
    """Return laws at `rows` positions, evenly spaced along texts that the target writes after the prompts."""
    # Both models' laws along each text.
    texts = plain_texts(pair, prompts, max_tokens=max_tokens, warping=warping, seed=seed)
    along_texts = []
    for prompt, tokens in zip(prompts, texts, strict=True):
        if tokens:
            both_laws = laws(pair.target, pair.draft, prompt, tokens, warping)
            along_texts.append([np.asarray(law.double().cpu()) for law in both_laws])
    p, q = (np.concatenate(parts) for parts in zip(*along_texts, strict=True))

    # Laws are normalised again: float32 rows do not add up to 1 in float64.
    chosen = np.unique(np.linspace(0, len(p) - 1, min(rows, len(p))).astype(np.int64))
    return Rows(name, *(w[chosen] / w[chosen].sum(axis=-1, keepdims=True) for w in (p, q)))


def synthetic(name: str, rows: int, seed: int) -> Rows:
    """Return softmax laws whose logits are normal; the draft's are the target's with normal noise."""
    vocab, shared, noise = SYNTHETIC[name]
    rng = np.random.default_rng(seed)
    logits = shared * rng.standard_normal((rows, vocab))
    draft_logits = logits + noise * rng.standard_normal(logits.shape)
    weights = [np.exp(w - w.max(axis=-1, keepdims=True)) for w in (logits, draft_logits)]
    return Rows(name, *(w / w.sum(axis=-1, keepdims=True) for w in weights))


def measure(rows: Rows, num_drafts: Sequence[int], *, samples: int, seed: int) -> dict[str, Any]:
    """Return one group of a record: every rule's acceptance, the optima, and how many drafts are distinct."""
    points = acceptance_curves(rows.p, rows.q, num_drafts=num_drafts, samples=samples, seed=seed)
    return {
        "name": rows.name, "positions": len(rows.p), "vocab": rows.p.shape[-1],
        "rows": [point._asdict() for point in points],
        "distinct": [numbers(rows.q, k) for k in num_drafts],
    }  # fmt: skip


def numbers(q: Array, num_drafts: int) -> dict[str, Any]:
    """Return how many distinct tokens `distinct` draws: the exact mean and law of their number, over rows."""
    law = distinct.draws(q, num_drafts, DRAWS)
    shares = distinct.distinct_law(q, law).mean(axis=0)
    # The largest number that is drawn with more than next to no probability.
    largest = int(np.max(np.flatnonzero(shares > NEVER)))
    mean_draws = law.least + law.extra
    return {
        "num_drafts": num_drafts,
        "expected": float(np.mean(distinct.expected_distinct(q, law))),
        "frequencies": shares[: largest + 1].tolist(),
        "draws_median_most": [float(np.median(mean_draws)), float(np.max(mean_draws))],
    }
