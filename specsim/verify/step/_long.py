"""The optimal rule's plan of one long NumPy row: the numbers of `optimal.prepare`, in a third of its time.

Four things save the time. One sort of words gives the order of p/q: a word holds the leading bits
of a ratio, then the token; neighbours whose leading bits agree are sorted again. A maximum over all
prefixes is taken piece by piece, and a piece is skipped if a bound from its two ends is not above
the largest value so far. Where most tokens are never drafted, they share the last place. The plan
has four rows, and temporary rows are used again by the next plan: new memory costs
more than sums.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from specsim.base.arrays import noise
from specsim.draft.distinct import inside, mean_slope
from specsim.types import Array, Draws
from specsim.verify.step import _bins
from specsim.verify.step._plan import INFINITY, PIECE, LongPlan, Plan, left_over

# Tokens worked on at a time: temporaries stay in cache. A multiple of PIECE.
CHUNK = 1 << 13
# Places of which a maximum is taken at a time.
FINE = 1 << 10
# Rows of at most so many tokens share their temporary rows, 14 MiB a thread.
SHARED = 1 << 18
_kept = threading.local()


def serves(p: Array) -> bool:
    """True if p is one long NumPy row of float64, which this file handles."""
    return type(p) is np.ndarray and p.ndim == 1 and p.dtype == np.float64 and len(p) > CHUNK


def planned(p: Array, q: Array, draws: Draws, grid: float | None) -> Plan | LongPlan:
    """The plan of one row p, q (V,): `Plan` for bins, else `LongPlan`."""
    if grid is not None:
        return _binned(p, q, draws, grid)
    vocab, is_drafted = len(p), q > 0
    temporary, tokens = _temporary(vocab)
    # Sort all tokens, or, if most cannot be drafted, the others; then one place more for all that cannot.
    p_sorted, q_sorted, shared = p, q, 0
    if 2 * np.count_nonzero(is_drafted) < vocab:
        tokens = np.flatnonzero(is_drafted).view(np.uint64)
        p_sorted, q_sorted, shared = p.take(tokens), q.take(tokens), 1
    count = len(tokens)
    block = np.empty((3, count + shared))
    slope, gains, losses = block
    words, order = (row[:count].view(kind) for row, kind in zip(temporary, (np.uint64, np.int64), strict=False))
    p_part, q_part, p_mass, q_mass = temporary[2:, : count + shared]
    _write_words(p_sorted, q_sorted, tokens, vocab, words)
    _order(p, q, words, order, p_part[:count].view(np.uint64))
    place = np.full(vocab, count)
    place[order] = np.arange(count)
    # p and q of each place, and their sums over the first places.
    np.take(p, order, out=p_part[:count], mode="clip")
    np.take(q, order, out=q_part[:count], mode="clip")
    if shared:
        p_part[-1], q_part[-1] = max(0.0, p.sum() - p_sorted.sum()), 0.0
    np.cumsum(p_part, out=p_mass)
    np.cumsum(q_part, out=q_mass)
    # The levels c and d, and what tokens exchange.
    loss, fill, cut = _levels(p_part, q_part, p_mass, q_mass, draws)
    for s in _pieces(len(q_mass), CHUNK):
        slope[s] = mean_slope(q_mass[s] - q_part[s], q_mass[s], draws)
        _exchange(p_part[s], q_part[s], slope[s], fill, cut, gains[s], losses[s])
    np.cumsum(gains, out=gains)
    np.cumsum(losses, out=losses)
    # Sums of (p - w)+, or of p if that is only rounding.
    rest = [_sums(left_over(p[s], p[s], q[s], fill, cut)) for s in _pieces(vocab, CHUNK)]
    is_rounding = not sum(part.sum() for part in rest) > noise(p)
    if is_rounding:
        rest = [_sums(p[s]) for s in _pieces(vocab, CHUNK)]
    levels = (np.array([fill]), np.array([cut]), np.array([loss]))
    rows = (place, slope, gains, losses)
    return LongPlan(p, q, *levels, *rows, is_rounding, np.cumsum(np.concatenate(rest)))


def _binned(p: Array, q: Array, draws: Draws, grid: float) -> Plan:
    """The plan of one row p, q (V,) for bins of p/q."""
    place, pooled, p_part, q_part = _bins.pooled_row(p, q, draws.limit, grid)
    # The levels c and d, and what bins exchange.
    p_mass, q_mass = np.cumsum(p_part), np.cumsum(q_part)
    _, fill, cut = _levels(p_part, q_part, p_mass, q_mass, draws)
    slope, gains, losses = mean_slope(q_mass - q_part, q_mass, draws), np.empty_like(q_mass), np.empty_like(q_mass)
    wanted = _exchange(p_part, q_part, slope, fill, cut, gains, losses)
    # Sums of (p - w)+, or of p if that is only rounding.
    rest = np.empty(len(p))
    for s in _pieces(len(p), CHUNK):
        rest[s] = left_over(p[s], pooled[s], q[s], fill, cut)
    total = rest.sum(keepdims=True)
    rest = np.cumsum(rest if total > noise(p) else p, out=rest)
    levels = (np.array([fill]), np.array([cut]), total)
    return Plan(p, q, pooled, *levels, place, wanted, q_part, slope, np.cumsum(gains), np.cumsum(losses), rest)


def _temporary(vocab: int) -> tuple[Array, Array]:
    """Six rows (6, V) for the numbers of one call, and the tokens 0..V-1; kept by each thread."""
    rows = getattr(_kept, "rows", None)
    if rows is None or rows.shape[1] < vocab:
        rows, tokens = np.empty((6, vocab)), np.arange(vocab, dtype=np.uint64)
        if vocab > SHARED:
            return rows, tokens
        _kept.rows, _kept.tokens = rows, tokens
    return _kept.rows[:, :vocab], _kept.tokens[:vocab]


def _write_words(p: Array, q: Array, tokens: Array, vocab: int, words: Array) -> None:
    """Write the words of tokens with laws p, q (n,) in order of p/q, as far as the leading bits tell."""
    bits, unit = np.uint64(vocab.bit_length()), np.uint64(1)
    for s in _pieces(len(p), CHUNK):
        # Bits of floats that are not negative ascend as the floats do; their sign bit is 0 and is
        # shifted out.
        np.left_shift(_ratio(p[s], q[s]).view(np.uint64), unit, out=words[s])
        words[s] >>= bits
        words[s] <<= bits
        words[s] |= tokens[s]
    words.sort()


def _ratio(p: Array, q: Array) -> Array:
    """Return p/q, at most INFINITY, which also stands for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        ratio = p / q
    return np.fmin(ratio, INFINITY, out=ratio)


def _order(p: Array, q: Array, words: Array, order: Array, temporary: Array) -> None:
    """Write the tokens in order of p/q; those that differ by rounding only go by id, as ties do."""
    bits, unit = np.uint64(len(p).bit_length()), np.uint64(1)
    np.bitwise_and(words, (unit << bits) - unit, out=order.view(np.uint64))
    # Sort again where the leading bits agree, or nearly, and the ratios do not.
    gaps = np.subtract(words[1:], words[:-1], out=temporary[1:])
    near = np.flatnonzero(gaps < np.uint64(2) << bits)
    first, second = order.take(near), order.take(near + 1)
    differ = _ratio(p.take(first), q.take(first)) != _ratio(p.take(second), q.take(second))
    if differ.any():
        _settle(order, p, q, near, near[differ])


def _settle(order: Array, p: Array, q: Array, near: Array, differ: Array) -> None:
    """Sort the uncertain runs of the order again, in place, by the whole ratio.

    A place of `near` agrees with the next place in the leading bits of p/q: both are in one run. A
    run is uncertain if it holds a place of `differ`, where the ratios themselves differ.
    """
    # Number the runs, and mark those that are uncertain.
    begins = np.ones(len(order), dtype=bool)
    begins[near + 1] = False
    run = np.cumsum(begins)
    uncertain = np.zeros(run[-1] + 1, dtype=bool)
    uncertain[run.take(differ)] = True
    # Order each uncertain run by the whole ratio.
    places = np.flatnonzero(uncertain.take(run))
    tokens, run = order.take(places), run.take(places)
    ratio = _ratio(p.take(tokens), q.take(tokens))
    by_ratio = np.lexsort((ratio, run))
    tokens, value = tokens.take(by_ratio), ratio.take(by_ratio)
    # Inside a group tokens go by id. A new group begins with a run, and where the ratio rises by
    # more than rounding.
    begins_group = (run[1:] != run[:-1]) | (value[:-1] < (1 - noise(ratio)) * value[1:])
    group = np.concatenate([[0], np.cumsum(begins_group)])
    order[places] = tokens.take(np.lexsort((tokens, group)))


def _levels(p_part: Array, q_part: Array, p_mass: Array, q_mass: Array, draws: Draws) -> tuple[float, float, float]:
    """Return (loss, c, d) of w = max(c q, min(p, d q)), each an extremum over places k.

    H_k are the places up to k in the order of p/q. Part and mass have p and q of each place (V,),
    and their sums over H_k.

    loss = max_k Pr[all drafts in H_k] - p(H_k)             is 1 - acceptance
    c    = min_k (p(H_k) + loss) / q(H_k)                   fills the first tokens by the loss
    d    = max_k (p(from k on) - loss) / q(from k on)       cuts the last tokens by the loss
    """
    pieces, tiny = _pieces(len(p_mass), FINE), noise(p_mass)
    # First and last place of each piece, for the bounds.
    first = np.arange(0, len(p_mass), FINE)
    last = np.minimum(first + FINE, len(p_mass)) - 1

    def excess(s: slice) -> Array:
        """Return Pr[all drafts in H_k] - p(H_k) for k in s, those above rounding."""
        excesses = inside(q_mass[s], draws) - p_mass[s]
        return excesses[excesses > draws.limit * tiny * p_mass[s]]

    def minus_level(s: slice) -> Array:
        """Return -(p(H_k) + loss) / q(H_k) for k in s, where q(H_k) is above rounding."""
        is_safe = q_mass[s] > tiny
        return -(p_mass[s][is_safe] + loss) / q_mass[s][is_safe]

    def lid(s: slice) -> Array:
        """Return (p(from k on) - loss) / q(from k on) for k in s, where q is above rounding."""
        q_after = q_mass[-1] - q_mass[s] + q_part[s]
        is_safe = q_after > tiny
        return ((p_mass[-1] - p_mass[s] + p_part[s] - loss)[is_safe]) / q_after[is_safe]

    # The loss. Masses grow from place to place, so the ends of a piece bound each of its values.
    bound = inside(q_mass[last], draws) - p_mass[first]
    loss = _most(excess, bound, pieces, 0.0)

    # c, a minimum: minus the maximum of minus the levels.
    bound = -(p_mass[first] + loss) / np.maximum(q_mass[last], tiny)
    fill = -_most(minus_level, bound, pieces, -INFINITY)

    # d, of which d >= c holds also where no place has draft mass from it on.
    q_after = q_mass[-1] - q_mass[last] + q_part[last] - tiny
    p_after = p_mass[-1] - p_mass[first] + p_part[first] - loss + tiny
    bound = np.where(q_after > 0, p_after / np.where(q_after > 0, q_after, 1), np.inf)
    cut = max(_most(lid, bound, pieces, 0.0), fill)
    return loss, fill, cut


def _most(f: Callable[[slice], Array], bound: Array, pieces: list[slice], least: float) -> float:
    """Return the largest value of f over all pieces, at least `least`.

    No value of f on piece i is above bound[i]. Pieces are evaluated from the highest bound down, and
    skipped once the bound is not above the largest value so far.
    """
    largest = least
    for i in np.argsort(-bound):
        if not bound[i] > largest:
            break
        largest = max(largest, float(f(pieces[i]).max(initial=least)))
    return largest


def _exchange(
    p_part: Array, q_part: Array, slope: Array, fill: float, cut: float, gains: Array, losses: Array
) -> Array:
    """Write (w - q slope)+ and (q slope - w)+ of some places; return w = max(c q, min(p, d q)).

    q slope is the probability that a place wins while no draft moves. A place gains where w is
    more than that, and loses where it is less. c is `fill`, d is `cut`.
    """
    unmoved, wanted = q_part * slope, cut * q_part
    np.minimum(p_part, wanted, out=wanted)
    np.maximum(fill * q_part, wanted, out=wanted)
    larger = np.maximum(unmoved, wanted)
    np.subtract(larger, unmoved, out=gains)
    np.subtract(larger, wanted, out=losses)
    return wanted


def _sums(row: Array) -> Array:
    """Return the sums of PIECE tokens each; the last piece may be shorter."""
    return np.add.reduceat(row, np.arange(0, len(row), PIECE))


def _pieces(size: int, length: int) -> list[slice]:
    """Slices of at most `length` places that cover `size` places in order."""
    return [slice(i, min(i + length, size)) for i in range(0, size, length)]
