"""The optimal rule's plan of one long NumPy row: the numbers of `optimal.prepare`, in a third of its time.

The order of p/q is one sort of words, each the leading bits of a ratio and a token; neighbours that these bits cannot
tell apart are looked at again. What is asked of all prefixes is asked of pieces first, by bounds from their ends. And
where most tokens are never drafted, they share the last place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.base.arrays import noise
from specsim.draft.distinct import inside, mean_slope
from specsim.types import Array, Draws
from specsim.verify.step import _bins

CHUNK = 1 << 13  # tokens worked on at a time: temporaries stay in cache
INFINITY = 2.0**60  # the p/q of tokens that are never drafted: a place at the end of the order


def serves(p: Array) -> bool:
    """Whether p is a row for this file."""
    return type(p) is np.ndarray and p.ndim == 1 and p.dtype == np.float64 and len(p) > CHUNK


def planned(p: Array, q: Array, draws: Draws, grid: float | None) -> tuple[Array, ...]:
    """The fields of `optimal.Plan` for one row p, q (V,)."""
    if grid is None:
        place, p_part, q_part = _stretches(p, q)
        pooled = p
    else:
        place, pooled, p_part, q_part = _bins.pooled_row(p, q, draws.limit, grid)
    p_mass, q_mass = np.cumsum(p_part), np.cumsum(q_part)
    loss, fill, cut = _levels(p_part, q_part, p_mass, q_mass, draws)
    exchanged = _exchanged(p_part, q_part, q_mass, fill, cut, draws)
    left_over = np.empty(len(p))
    for s in _pieces(len(p)):
        w = np.maximum(fill * q[s], np.minimum(pooled[s], cut * q[s]))
        np.subtract(p[s], np.minimum(p[s], w, out=w), out=left_over[s])
    total = left_over.sum(keepdims=True)
    left_over = np.cumsum(left_over if total > noise(p) else p, out=left_over)
    wanted, own, gains, losses = exchanged
    columns = (np.array([w]) for w in (fill, cut))
    return (
        p,
        q,
        pooled,
        *columns,
        np.array([loss]) if grid is None else total,
        place,
        wanted,
        q_part,
        own,
        gains,
        losses,
        left_over,
    )


def _stretches(p: Array, q: Array) -> tuple[Array, Array, Array]:
    """The place of each token; by place, the masses of p and of q."""
    vocab, some = len(q), q > 0
    count = int(np.count_nonzero(some))
    if 2 * count >= vocab:
        order = ordered(p, q)
        place = np.empty(vocab, dtype=np.int64)
        place[order] = np.arange(vocab)
        return place, p.take(order), q.take(order)
    drafted = np.flatnonzero(some)
    p_some, q_some = p.take(drafted), q.take(drafted)
    order = ordered(p_some, q_some)
    place = np.full(vocab, count)
    place[drafted.take(order)] = np.arange(count)
    rest = max(0.0, p.sum() - p_some.sum())
    return place, np.append(p_some.take(order), rest), np.append(q_some.take(order), 0.0)


def ordered(p: Array, q: Array) -> Array:
    """Tokens by p/q; neighbours that rounding may have told apart by their ids, as equal numbers are."""
    vocab = len(p)
    bits = np.uint64(vocab.bit_length())
    ratio, words = np.empty(vocab), np.empty(vocab, dtype=np.uint64)
    ids, one = np.arange(vocab, dtype=np.uint64), np.uint64(1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for s in _pieces(vocab):
            part = np.divide(p[s], q[s], out=ratio[s])
            part[~(part < INFINITY)] = INFINITY  # 0/0 is not
            part += 0.0  # no -0.0
            np.left_shift(part.view(np.uint64), one, out=words[s])  # no number here has a sign
            words[s] >>= bits
            words[s] <<= bits
            words[s] |= ids[s]
    words.sort()
    order = (words & ((one << bits) - one)).view(np.int64)
    words >>= bits
    near = np.flatnonzero(words[1:] - words[:-1] <= one)
    differ = ratio.take(order.take(near)) != ratio.take(order.take(near + 1))
    return _settled(order, ratio, near, near[differ]) if differ.any() else order


def _settled(order: Array, ratio: Array, near: Array, differ: Array) -> Array:
    """The order where `near` places are close to the next one's, and `differ` of them not equal: runs sorted anew."""
    apart = np.ones(len(order), dtype=bool)
    apart[near + 1] = False
    run = np.cumsum(apart)
    uncertain = np.zeros(run[-1] + 1, dtype=bool)
    uncertain[run.take(differ)] = True
    places = np.flatnonzero(uncertain.take(run))
    tokens, run = order.take(places), run.take(places)
    by_ratio = np.lexsort((ratio.take(tokens), run))
    tokens = tokens.take(by_ratio)
    value = ratio.take(tokens)
    new = (run[1:] != run[:-1]) | (value[:-1] < (1 - noise(ratio)) * value[1:])
    group = np.concatenate([[0], np.cumsum(new)])
    order[places] = tokens.take(np.lexsort((tokens, group)))
    return order


def _levels(p_part: Array, q_part: Array, p_mass: Array, q_mass: Array, draws: Draws) -> tuple[float, float, float]:
    """1 - acceptance, c and d."""
    pieces, tiny = _pieces(len(p_mass)), noise(p_mass)
    first = np.arange(0, len(p_mass), CHUNK)
    last = np.minimum(first + CHUNK, len(p_mass)) - 1

    def excess(s: slice) -> Array:  # of tuples inside the first tokens over what p has there; rounding is no excess
        more = inside(q_mass[s], draws) - p_mass[s]
        return more[more > draws.limit * tiny * p_mass[s]]

    def level(s: slice) -> Array:  # that fills the first tokens by the loss; its negative
        some = q_mass[s] > tiny
        return -(p_mass[s][some] + loss) / q_mass[s][some]

    def lid(s: slice) -> Array:  # that cuts the tokens from here on by the loss
        q_after = q_mass[-1] - q_mass[s] + q_part[s]
        some = q_after > tiny
        return ((p_mass[-1] - p_mass[s] + p_part[s] - loss)[some]) / q_after[some]

    loss = _most(excess, inside(q_mass[last], draws) - p_mass[first], pieces, 0.0)
    fill = -_most(level, -(p_mass[first] + loss) / np.maximum(q_mass[last], tiny), pieces, -INFINITY)
    q_after = q_mass[-1] - q_mass[last] + q_part[last] - tiny
    p_after = p_mass[-1] - p_mass[first] + p_part[first] - loss + tiny
    bound = np.where(q_after > 0, p_after / np.where(q_after > 0, q_after, 1), np.inf)
    return loss, fill, max(_most(lid, bound, pieces, 0.0), fill)  # what no draft reaches is cut at any level


def _most(f: Callable[[slice], Array], bound: Array, pieces: list[slice], least: float) -> float:
    """The largest value of f, or `least`: pieces whose bound is not above what was found are left out."""
    found = least
    for i in np.argsort(-bound):
        if not bound[i] > found:
            break
        found = max(found, float(f(pieces[i]).max(initial=least)))
    return found


def _exchanged(
    p_part: Array, q_part: Array, q_mass: Array, fill: float, cut: float, draws: Draws
) -> tuple[Array, Array, Array, Array]:
    """By place: wanted, own, and the sums of gains and of losses."""
    wanted, own, gains, losses = (np.empty(len(q_mass)) for _ in range(4))
    for s in _pieces(len(q_mass)):
        own[s] = mean_slope(q_mass[s] - q_part[s], q_mass[s], draws)
        has, w = q_part[s] * own[s], wanted[s]
        np.minimum(p_part[s], cut * q_part[s], out=w)
        np.maximum(fill * q_part[s], w, out=w)
        most = np.maximum(has, w)
        np.subtract(most, has, out=gains[s])
        np.subtract(most, w, out=losses[s])
    return wanted, own, np.cumsum(gains, out=gains), np.cumsum(losses, out=losses)


def _pieces(size: int) -> list[slice]:
    return [slice(i, min(i + CHUNK, size)) for i in range(0, size, CHUNK)]
