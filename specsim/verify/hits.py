"""How often a step rule's token is one of its drafts: as the rule states it, else counted by its `transition`.

On few tokens the drafts are enumerated, which is exact. On many they are sampled; the hit
probability of each sampled tuple is exact, and the interval is that of its mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device

from specsim import discover
from specsim.base.arrays import along, array_namespace, at_most, is_exact
from specsim.base.warned import warn
from specsim.types import Array, Draws, NoClosedForm

# Cells (rows x tuples of drafts x tokens) of one enumeration: 1 GiB of float64.
MAX_CELLS = 2**27
# Cells of a row whose drafts are enumerated where a rule
# states no acceptance: 1,000 tokens with one draft.
MAX_ENUMERATED = 2**20
# Cells that are worked on at a time: beyond that the temporaries cost five times the time.
PIECE = 2**20
# Cells of all rows whose drafts are sampled, seconds of work;
# and tuples of a row, at least and at most.
MAX_SAMPLED, LEAST, MOST = 2**26, 16, 4096
# Standard errors to each side of a 99 % interval.
SPREAD = 2.5758
# Seed of the sampled drafts: the same ones in every run.
SEED = 0


class Accepted(NamedTuple):
    """Acceptance (...) of rows, and the half-width of its 99 % interval: 0 where it is exact."""

    value: Array
    error: Array


def accepted(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws) -> Accepted:
    """The acceptance that a rule states, or else the one counted."""
    if discover.facts(rule).acceptance:
        rate = at_most(rule.acceptance(rule.prepare(p, q, num_drafts)), 1)
        return Accepted(rate, 0.0)
    return counted(rule, p, q, num_drafts)


def acceptance(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws) -> Array:
    """Return the acceptance alone; where drafts were sampled a UserWarning states the interval."""
    value, error = accepted(rule, p, q, num_drafts)
    widest = float(np.max(np.asarray(error))) if np.size(error) else 0.0
    if widest:
        warn(
            f"rule {discover.name_of(rule)!r} states no acceptance, and drafts of {p.shape[-1]} tokens are too many to "
            f"enumerate: they are sampled, each row is within {widest:.2g} (99 %)"
        )
    return value


def counted(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws) -> Accepted:
    """Acceptance by enumeration of the drafts if they are few, else from samples of them."""
    vocab, drafts = p.shape[-1], num_drafts.limit if isinstance(num_drafts, Draws) else num_drafts
    if vocab ** (drafts + 1) <= MAX_ENUMERATED:
        return Accepted(_enumerated(rule, p, q, num_drafts), 0.0)
    if isinstance(num_drafts, Draws):
        raise NoClosedForm(
            f"rule {discover.name_of(rule)!r} states no acceptance, and {vocab} tokens are too many to enumerate "
            f"{drafts} distinct drafts"
        )
    rows = math.prod(p.shape[:-1])
    samples = min(max(MAX_SAMPLED // max(rows * vocab, 1), LEAST), MOST)
    return sampled(rule, discover.drafts_of(rule), p, q, num_drafts, samples, SEED)


def _enumerated(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws) -> Array:
    """Hit probability of each row, over every tuple of drafts; as many rows at a time as fit."""
    xp = array_namespace(p, q)
    p, q = xp.broadcast_arrays(p, q)
    shape, vocab = p.shape[:-1], p.shape[-1]

    def hit_rate(p: Array, q: Array) -> Array:
        """Return the hit probability (...) of rows (..., V)."""
        _, drafted = hits(rule, p, q, num_drafts)
        return xp.sum(drafted, axis=-1)

    if isinstance(num_drafts, Draws) or not shape:
        return hit_rate(p, q)
    p, q = (xp.reshape(row, (-1, vocab)) for row in (p, q))
    size = max(1, PIECE // vocab ** (num_drafts + 1))
    rates = [hit_rate(p[i : i + size], q[i : i + size]) for i in range(0, max(len(p), 1), size)]
    return xp.reshape(xp.concat(rates, axis=0), shape)


def sampled(
    rule: ModuleType,
    scheme: str,
    p: Array,
    q: Array,
    num_drafts: int,
    samples: int,
    seed: int,
    tell: Callable[[int], None] = lambda rows: None,
) -> Accepted:
    """Mean hit probability over `samples` tuples of drafts for each row; `tell` is called with the rows done."""
    xp = array_namespace(p, q)
    rng, drawn = np.random.default_rng(seed), discover.find("draft", scheme)
    p, q = xp.broadcast_arrays(p, q)
    shape, vocab = p.shape[:-1], p.shape[-1]
    p, q = (xp.reshape(row, (-1, vocab)) for row in (p, q))
    size, means, errors = max(1, PIECE // vocab), [], []
    # Row after row: draw tuples, and take the mean of their hit probabilities.
    for row in range(len(p)):
        u = rng.random((samples, drawn.uniforms(num_drafts)))
        pieces = [u[start : start + size] for start in range(0, samples, size)]
        hit = xp.concat([_hit(rule, drawn, p[row], q[row], num_drafts, piece) for piece in pieces])
        means.append(xp.mean(hit) if not is_exact(hit) else np.sum(hit) / len(hit))
        errors.append(SPREAD * float(np.asarray(hit, dtype=float).std(ddof=1)) / math.sqrt(samples))
        tell(row + 1)
    return Accepted(xp.reshape(xp.stack(means), shape), np.array(errors).reshape(shape))


def _hit(rule: ModuleType, scheme: Any, p: Array, q: Array, num_drafts: int, u: Array) -> Array:
    """Probability (n,) that the token is a draft, given the drafts that uniforms (n, ...) draw."""
    xp = array_namespace(p, q)
    p, q = (xp.broadcast_to(row, (len(u), row.shape[-1])) for row in (p, q))
    x = scheme.draw(q, xp.asarray(u, device=device(q)), num_drafts)
    law = along(rule.transition(rule.prepare(p, q, num_drafts), x), x)
    # A token that was drafted twice is counted once.
    new = [~xp.any(x[:, :k] == x[:, k : k + 1], axis=-1) if k else x[:, 0] >= 0 for k in range(num_drafts)]
    return xp.sum(xp.where(xp.stack(new, axis=-1), law, 0 * law), axis=-1)


def scheme_of(rule: ModuleType, num_drafts: int | Draws) -> str:
    """How so many drafts of a rule are drawn: a law of N is that of distinct drafts."""
    return "distinct" if isinstance(num_drafts, Draws) else discover.drafts_of(rule)


def hits(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws) -> tuple[Array, Array]:
    """Output law, and the part of it that is emitted as a draft, both (..., V), by enumeration."""
    xp = array_namespace(p)
    tuples = xp.asarray(draft_tuples(p.shape[-1], num_drafts, p.shape[:-1]), device=device(p))
    p, q = p[..., None, :], q[..., None, :]
    law = rule.transition(rule.prepare(p, q, num_drafts), tuples)
    return summed(law, q, tuples, num_drafts, scheme_of(rule, num_drafts))


def summed(kernel: Array, q: Array, tuples: Array, num_drafts: int | Draws, scheme: str) -> tuple[Array, Array]:
    """`hits` from the law given each of n tuples (..., n, V), drawn from rows (..., 1, V) of q."""
    xp = array_namespace(q)
    probability = discover.find("draft", scheme).probability(q, tuples, num_drafts)
    joint = probability[..., None] * kernel
    drafted = xp.any(tuples[..., None] == xp.arange(q.shape[-1], device=device(q)), axis=-2)
    return xp.sum(joint, axis=-2), xp.sum(xp.where(drafted, joint, xp.zeros_like(joint)), axis=-2)


def draft_tuples(vocab: int, length: int | Draws, batch: tuple[int, ...] = ()) -> Array:
    """All token tuples, shape (vocab**length, length); ValueError if a law for each does not fit in memory.

    For a law of N those of every length that some row draws, -1 after the last token.
    """
    if isinstance(length, Draws):
        # Each row has `least` draws, or one more where it has an `extra`.
        most = np.where(length.extra > 0, length.least + 1, length.least)
        lengths = np.unique(np.stack([length.least + 0 * length.extra, most]))
        parts = [draft_tuples(vocab, int(n), batch) for n in lengths]
        return np.concatenate(
            [np.pad(x, ((0, 0), (0, int(lengths[-1]) - x.shape[1])), constant_values=-1) for x in parts]
        )
    cells = vocab ** (length + 1) * math.prod(batch)
    if cells > MAX_CELLS:
        size = f"{cells:.3g}" if cells < 1e300 else f"1e+{int(math.log10(cells))}"
        raise ValueError(
            f"exact enumeration over {vocab}^{length} draft tuples needs {size} cells, more than {MAX_CELLS:.3g}; "
            "use a smaller vocabulary (acceptance_rate and optimal_acceptance have closed forms at any size)"
        )
    return np.stack([g.ravel() for g in np.meshgrid(*[np.arange(vocab)] * length, indexing="ij")], axis=-1)
