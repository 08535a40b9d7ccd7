"""The price of a lossy configuration: what it costs and gains, on rows of a target and its draft."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from specsim import discover
from specsim.base.arrays import one_hot, overlap
from specsim.conform.configs.record import Law
from specsim.trees import depths
from specsim.types import Array, TokenTree
from specsim.verify.lossy import fly
from specsim.verify.lossy_tree import accept_threshold

REFERENCE = Path(__file__).with_name("reference_rows.npz")
REFERENCE_WORDS = "the reference rows: 128 of the bundled pair, each on its likeliest tokens, temperature 1"


class NotPriced(ValueError):
    """The rows are too few for the rule; the message says how many it needs."""


class Price(NamedTuple):
    """Means over rows."""

    # Where the rows are from, and how many of them the means are over.
    source: str
    rows: int
    # What begins at each of these rows, and what the means are of: a token, or the first of a block.
    unit: Literal["tokens", "blocks"]
    # Probability that a draft is accepted, with the configuration and without what is lossy in it.
    acceptance: float
    acceptance_lossless: float
    # Total variation distance of a token's law from what it is compared with.
    total_variation: float
    against: str
    draft: str


def price(law: Law, p: Array, q: Array, source: str) -> Price:
    """Return the price of a law on rows p and q (..., V) in float64; NotPriced if they are too few for it.

    A rule that looks at several drafts is priced on blocks of rows that follow each other, as if no
    row depended on the drafts before it; its price is that of the first token of a block, for which
    the drafts behind the window decide nothing.
    """
    if law.children > 1:
        return _first_of_siblings(law, p, q, source)
    words = "its likeliest token" if law.draft == "greedy" else "a draw from its law"
    if law.draft == "greedy":
        q = one_hot(np.argmax(q, axis=-1), q)
    if law.rule == "fly":
        lossless, distance = _first_of_blocks(law, p, q)
        kept, before, far = (float(np.mean(values)) for values in (lossless + distance, lossless, distance))
        return Price(source, distance.size, "blocks", kept, before, far, "the target's law at these rows", words)
    rule = discover.find("step", law.rule)
    plan = rule.prepare(p, q, 1, **law.params)
    acceptance = rule.acceptance(plan)
    if law.against == "greedy":
        # Against the likeliest token the distance is the acceptance that is gained (T50).
        lossless = overlap(one_hot(np.argmax(p, axis=-1), p), q)
        distance, against = acceptance - lossless, "the target's likeliest token"
    else:
        lossless, distance, against = overlap(p, q), rule.bias(plan), "the target's law at these rows"
    kept, before, far = (float(np.mean(values)) for values in (acceptance, lossless, distance))
    return Price(source, int(np.prod(p.shape[:-1])), "tokens", kept, before, far, against, words)


def _first_of_siblings(law: Law, p: Array, q: Array, source: str) -> Price:
    """Return the price of SGLang's thresholds where the draft's likeliest tokens are siblings, likeliest first."""
    children = min(law.children, q.shape[-1])
    tokens = np.argsort(-q, axis=-1, kind="stable")[..., :children]
    parents = np.full(children, -1)
    laws = np.broadcast_to(p[..., None, :], (*p.shape[:-1], children + 1, p.shape[-1]))
    tree = TokenTree(parents, tokens, depths(parents), "deterministic")
    plan = accept_threshold.prepare(laws, laws, tree, **law.params)
    # No lossless rule keeps a sibling more often than the target draws one (T20).
    lossless = np.take_along_axis(p, tokens, axis=-1).sum(axis=-1)
    values = accept_threshold.acceptance(plan), lossless, accept_threshold.bias(plan)
    kept, before, far = (float(np.mean(w)) for w in values)
    words = f"one of its {children} likeliest tokens, siblings"
    rows = int(np.prod(p.shape[:-1]))
    return Price(source, rows, "tokens", kept, before, far, "the target's law at these rows", words)


def _first_of_blocks(law: Law, p: Array, q: Array) -> tuple[Array, Array]:
    """Return the acceptance of a lossless rule and the bias of FLy, for each row with a window of rows behind it.

    NotPriced if no row has so many behind it.
    """
    drafts = law.params["fly_window_size"] + 1
    starts = range(p.shape[-2] - drafts)
    if not starts:
        needed, given = drafts + 1, p.shape[-2]
        raise NotPriced(
            f"a window of {drafts - 1} drafts needs {needed} rows in a row, got {given}; give more by --rows"
        )
    blocks = [(p[..., i : i + drafts + 1, :], q[..., i : i + drafts, :]) for i in starts]
    distance = np.stack([fly.bias(fly.prepare(*rows, **law.params)) for rows in blocks])
    lossless = np.stack([overlap(rows[0][..., 0, :], rows[1][..., 0, :]) for rows in blocks])
    return lossless, distance


def reference_rows() -> tuple[Array, Array]:
    """Return p and q (texts, tokens, V) of the reference rows."""
    with np.load(REFERENCE) as held:
        found: Any = (held[name].astype(np.float64) for name in ("p", "q"))
        p, q = (w / w.sum(axis=-1, keepdims=True) for w in found)
    return p, q
