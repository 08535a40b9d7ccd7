"""Plans for a draft that is chosen by its score: places of the tokens, and the law that they give.

Rows are planned one by one on NumPy, wherever they are: JAX calls back, also under jit. Equal short rows are planned
once. Fractions get the places that floats have; their law is then a sum over all sets of drafts.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
from array_api_compat import device, is_jax_array, is_numpy_array

from specsim.base.arrays import array_namespace, ids, is_exact, overlap, prefix_scan, residual
from specsim.types import Array
from specsim.verify.step import _aim, _heights, _race, _scores

# Most tokens of Fractions of which all sets are tried.
EXACT_TOKENS = 12
# Plans of rows of at most this many bytes are remembered, and how many of them.
SHORT, HELD = 4096, 4096


class Planned(NamedTuple):
    """The answer of `planned`: rows (..., V), then numbers (...)."""

    level: Array
    share: Array
    winners: Array  # w
    rate: Array  # the acceptance
    gap: Array  # the optimum less sum min(p, w)


def planned(p: Array, q: Array, num_drafts: int) -> Planned:
    """Places of the tokens of rows p and q (..., V), the law of the chosen draft, and what it accepts."""
    if is_jax_array(p):
        jax = sys.modules["jax"]
        row, number = (jax.ShapeDtypeStruct(shape, p.dtype) for shape in (p.shape, p.shape[:-1]))
        level = jax.ShapeDtypeStruct(p.shape, ids(p).dtype)
        shapes = Planned(level, row, row, number, number)
        asked = partial(_cast, num_drafts=num_drafts, whole=level.dtype, real=p.dtype)
        return Planned(*jax.pure_callback(asked, shapes, p, q, vmap_method="broadcast_all"))
    if is_numpy_array(p):
        return _rows(p, q, num_drafts)
    # Torch: no gradient runs through the search.
    xp = array_namespace(p)
    found = _rows(p.detach().cpu().numpy(), q.detach().cpu().numpy(), num_drafts)
    return Planned(*(xp.asarray(w, device=device(p)) for w in found))


def _cast(p: Array, q: Array, num_drafts: int, whole: Array, real: Array) -> Planned:
    """Plans of rows in the types that JAX was told."""
    found = _rows(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64), num_drafts)
    return Planned(found.level.astype(whole), *(w.astype(real) for w in found[1:]))


def _rows(p: Array, q: Array, num_drafts: int) -> Planned:
    """Plans of NumPy rows (..., V), one by one."""
    batch = p.shape[:-1]
    if not is_exact(p):
        rows = zip(p.reshape(-1, p.shape[-1]), q.reshape(-1, p.shape[-1]), strict=True)
        plans = [_row(one, other, num_drafts) for one, other in rows]
    else:
        plans = [_exact(p[row] * Fraction(1), q[row] * Fraction(1), num_drafts) for row in np.ndindex(batch)]
    if not plans:
        return Planned(np.zeros(p.shape, dtype=np.int64), p, p, p.sum(axis=-1), p.sum(axis=-1))
    columns = [np.stack(column) for column in zip(*plans, strict=True)]
    return Planned(*(w.reshape(batch + w.shape[1:]) for w in columns))


def _row(p: Array, q: Array, num_drafts: int) -> Planned:
    """The plan of one row of floats; equal short rows share it."""
    if p.nbytes > SHORT:
        return _searched(p, q, num_drafts)
    return _remembered(p.tobytes(), q.tobytes(), num_drafts)


@lru_cache(maxsize=HELD)
def _remembered(p: bytes, q: bytes, num_drafts: int) -> Planned:
    """The plan of one short row, given by the bytes of its float64."""
    return _searched(np.frombuffer(p), np.frombuffer(q), num_drafts)


def _searched(p: Array, q: Array, num_drafts: int) -> Planned:
    """The plan of one row of floats (V,)."""
    level, share, winners = np.zeros(len(p), dtype=np.int64), 0 * p, 0 * p
    live = np.flatnonzero(q > 0)
    # All that can be drafted is drafted.
    if len(live) <= num_drafts:
        covered = p[live].sum()
        return Planned(level, share, np.where(q > 0, p, 0), covered, 0 * covered)
    # The wanted law, from the probabilities that all drafts are among the first tokens.
    order, p_mass, q_mass = prefix_scan(p, q)
    run = _race.race(q[live] / q[live].sum(), num_drafts)
    is_live = q[order] > 0
    number = np.full(len(q), -1)
    number[live] = np.arange(len(live))
    among = _race_prefixes(run, number[order[is_live]])
    within = np.concatenate([[0.0], among])[np.cumsum(is_live)]
    wanted, tier, best = _aim.wanted(p, q, order, p_mass, q_mass, within)
    # Places that give it, and the law that they do give.
    found = _heights.places(wanted[live], tier[live], run)
    levels = _heights.count_levels(len(live))
    law = np.maximum(_heights.law(run, found, levels), 0)
    level[live], share[live], winners[live] = found.level, found.share, law
    # A refused draft is replaced by another one: the law's growth as sets with the replacement do.
    accepted = overlap(p, winners)
    refused = np.where(law > 0, np.maximum(law - p[live], 0) / np.where(law > 0, law, 1), 0)
    drawn = residual(p, winners)[live]
    again = _heights.law(run, found, levels, 1 + 1j * _heights.TINY * drawn).imag / _heights.TINY
    return Planned(level, share, winners, accepted + refused @ again, best - accepted)


def _race_prefixes(run: _race.Race, order: Array) -> Array:
    """Probability (V,) that all drafts are among the first tokens; 1 for all of them."""
    among = np.minimum(_scores.prefixes(run, order), 1)
    among[-1] = 1
    return among


def _exact(p: Array, q: Array, num_drafts: int) -> Planned:
    """The plan of one row of Fractions: places of floats, and sums over all sets of drafts."""
    level, share, winners = np.zeros(len(p), dtype=np.int64), 0 * p, 0 * p
    live = np.flatnonzero(q > 0)
    if len(live) <= num_drafts:
        covered = p[live].sum()
        return Planned(level, share, np.where(q > 0, p, 0 * p), covered, 0 * covered)
    if len(live) > EXACT_TOKENS:
        raise ValueError(
            f"num_drafts={num_drafts} without replacement on Fractions sums over all sets of at most {EXACT_TOKENS} "
            f"tokens with q > 0, not {len(live)}; give floats, or num_drafts=2 (rule 'optimal_wor')"
        )
    found = _row(p.astype(float), q.astype(float), num_drafts)
    level, share = found.level, np.array([Fraction(w) for w in found.share.tolist()], dtype=object)
    # Probabilities of all sets, and of their tokens to be chosen.
    sets = np.array(list(combinations(live.tolist(), num_drafts)))
    chance = np.array([_of_set(q, tokens) for tokens in sets.tolist()], dtype=object)
    is_won = np.stack(_scores.chosen(level, share, sets), axis=-1)
    np.add.at(winners, sets, chance[:, None] * is_won)
    # What is accepted: the chosen draft, or a replacement that is another one.
    accepted = np.array([min(Fraction(1), a / b) if b else Fraction(1) for a, b in zip(p, winners, strict=True)])
    drawn = residual(p, winners)
    hit = (is_won * (accepted[sets] + (1 - accepted[sets]) * drawn[sets].sum(axis=-1)[:, None])).sum(axis=-1)
    # The gap: the excess of the most demanding first tokens.
    order, p_mass, _ = prefix_scan(p, q)
    last = np.argsort(order)[sets].max(axis=-1)
    within = 0 * p
    np.add.at(within, last, chance)
    loss = max(Fraction(0), *(np.cumsum(within) - p_mass))
    return Planned(level, share, winners, (chance * hit).sum(), 1 - loss - overlap(p, winners))


def _of_set(q: Array, tokens: list[int]) -> Fraction:
    """Probability that these tokens are the drafts, in any order."""
    total = Fraction(0)
    for drafts in permutations(tokens):
        chance, left = Fraction(1), q.sum()
        for token in drafts:
            chance, left = chance * q[token] / left, left - q[token]
        total += chance
    return total
