r"""The transport problem of several drafts as a linear program, for any law D of the tuple of drafts.

.. math::

    \max \sum_{y,t} S(y,t), \qquad S(y,t) = 0 \text{ if } y \notin t, \qquad
    \sum_t S(y,t) \le p_y, \qquad \sum_y S(y,t) \le D(t)

S(y, t) is the probability that t is drafted and its token y emitted. What S leaves of p and of D is coupled at random,
which makes the output law p (T03, 2). The program meets a tuple only through its set of tokens: S of tuples with one
set add up to a solution for the set, and a set's solution is split again in proportion to D. So tuples are merged.

The solver is trusted with nothing: its flows are cut until they obey every limit, so their sum is a lower bound, and
its prices only sort the tokens: each prefix H of that order bounds every lossless rule by 1 + p(H) - D(all in H) (T03).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check, limits
from specsim.base.results import result
from specsim.bounds._program import solved
from specsim.types import Array, Draws

# Most tuples of drafts that are enumerated: half a minute and 2 GB.
MAX_TUPLES = 2**22
# Most variables of the program: a minute and more.
MAX_FLOWS = 2**21
# Tuples times tokens that are worked on at a time: a scheme may hold a row for each tuple.
CELLS = 2**22


@result("value", "dual")
class Coupling(NamedTuple):
    """An optimal coupling of drafts and token, and its proof: ``value <= optimum <= dual``, both up to rounding.

    ``sets`` (n, min(K, V)) are the sets of tokens that can be drafted, ascending and filled up with -1, ``mass`` (n,)
    their probabilities; ``flow``, of the shape of ``sets``, is the probability that the set is drafted and that token
    of it emitted, and ``rest`` (V,) what the flow leaves of p. ``certificate`` is the indicator (V,) of a set H, and
    ``dual`` what H proves.
    """

    value: float
    dual: float
    certificate: Array
    sets: Array
    mass: Array
    flow: Array
    rest: Array

    @property
    def gap(self) -> float:
        """The largest distance of the value from the optimum: two sums prove it, whatever the solver did."""
        return self.dual - self.value

    def transition(self, drafts: Array) -> Array:
        """Law of the token (..., V) given drafts (..., K): a lossless rule that hits with at least ``value``."""
        # The set of each tuple of drafts.
        vocab = len(self.rest)
        x = check.tokens(drafts, "drafts", vocab, self.rest)
        width = self.sets.shape[-1]
        keys, wanted = _keys(self.sets, vocab), _keys(_sets(x, vocab, width), vocab)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        if (keys[place] != wanted).any():
            raise ValueError(f"drafts {x[keys[place] != wanted][0].tolist()} have probability 0")
        # Its flow; the rest of its mass goes to the rest of p. The last column takes the -1 of short sets.
        law = np.zeros((*place.shape, vocab + 1))
        np.put_along_axis(law, self.sets[place], self.flow[place], axis=-1)
        spare = np.maximum(self.mass - self.flow.sum(axis=-1), 0)[place]
        total = self.rest.sum()
        law[..., :vocab] += spare[..., None] * (self.rest / total if total > 0 else 0)
        return law[..., :vocab] / law[..., :vocab].sum(axis=-1, keepdims=True)


@np.errstate(under="ignore")
def optimal_coupling(
    p: Array,
    q: Array = None,
    *,
    num_drafts: int | None = None,
    scheme: str = "iid",
    draft_law: Array = None,
    solver: str = "HIGHS",
) -> Coupling:
    r"""Best coupling of several drafts with a token of law p, for any law of the drafts, by linear programming.

    .. math:: \alpha^* = \max_\pi \Pr[y \in \{x_1,\dots,x_K\}], \quad (x_1,\dots,x_K) \sim D, \quad y \sim p

    For small problems and for laws without a formula; `optimal_acceptance` needs one sort at any size. Needs the extra
    ``solve`` (cvxpy). Runs in float64 on NumPy: Fractions and other libraries' arrays are converted.

    Parameters
    ----------
    p : array_like, shape (V,)
        Target law.
    q : array_like, shape (V,)
        Draft law; (K, V) for ``scheme="independent"``. Not with draft_law.
    num_drafts : int, optional
        Candidates K; 1 if not given, or as many as draft_law has axes.
    scheme : str
        How the candidates are drawn from q: any draft scheme whose tuples can be enumerated.
    draft_law : array_like, shape (V,) * K, optional
        Probability of each ordered tuple of drafts, instead of q.
    solver : str
        One of ``cvxpy.installed_solvers()``. "HIGHS" (simplex) and "CLARABEL" (interior point) come with cvxpy.

    Returns
    -------
    Coupling
        value, the probability of a hit; dual, an upper bound of every lossless rule; gap, their difference;
        certificate, the set H that proves it; sets, mass, flow, rest and transition(drafts), the coupling itself.

    Raises
    ------
    ValueError
        A row or draft_law is not a law, shapes do not fit together, the solver is unknown, or there are too many
        tuples to enumerate (the error says how many).
    ImportError
        cvxpy is not installed.
    RuntimeError
        The solver stops without a solution.

    References
    ----------
    Sun et al. 2023, SpecTr, arXiv:2310.15141 (the transport problem); Hu et al. 2025, arXiv:2502.18779 (sets H).

    Examples
    --------
    >>> best = optimal_coupling([.5, .3, .2], [.1, .3, .6], num_drafts=2)
    >>> round(best.value, 6), bool(best.gap < 1e-6), best.certificate.tolist()
    (0.69, True, [False, True, True])
    >>> pairs = [[0, .1, .2], [.1, 0, .3], [.3, 0, 0]]  # a law of two drafts, from no scheme
    >>> round(optimal_coupling([.5, .3, .2], draft_law=pairs).value, 6)
    1.0
    """
    target = _row(p, "p")
    if (q is None) == (draft_law is None):
        raise ValueError("give either q or draft_law")
    # Tuples of drafts with their probabilities, merged by their sets; then the program.
    if draft_law is not None:
        tuples, mass = _tuples_of_table(draft_law, len(target), num_drafts)
    else:
        count = 1 if num_drafts is None else num_drafts
        tuples, mass = _tuples_of_scheme(q, len(target), count, scheme)
    sets, mass = _merged(tuples, mass, len(target))
    instead = _remedy("" if draft_law is not None else scheme, num_drafts or 1)
    num_flows = int((sets >= 0).sum())
    _require_size(num_flows, MAX_FLOWS, f"{num_flows} flows from sets of drafts to tokens", instead)
    return _solve(target, sets, mass, solver)


def _solve(p: Array, sets: Array, mass: Array, solver: str) -> Coupling:
    """Solve the program over sets (n, K) of probability mass (n,), and certify the result."""
    from scipy import sparse

    # A variable for each set and each token of it; limits p_y for each token and D(t) for each set.
    vocab, is_token = len(p), sets >= 0
    set_number, token = is_token.nonzero()[0], sets[is_token]
    count = len(token)
    rows, columns = np.concatenate([token, vocab + set_number]), np.tile(np.arange(count), 2)
    limits = sparse.csr_array((np.ones(2 * count), (rows, columns)), shape=(vocab + len(mass), count))
    # Solvers allow errors of 1e-7 in each limit, which is not small beside a set's own probability: scale it up.
    scale = len(mass)
    most = scale * np.concatenate([p, mass])
    flows, (price,) = solved("optimal_coupling", solver, count, np.ones(count), lambda flow: [limits @ flow <= most])
    # A flow that obeys every limit, what it leaves of p, and the bound by the prices of tokens.
    flow = np.zeros(sets.shape)
    flow[is_token] = _feasible(flows / scale, (token, p), (set_number, mass))
    rest = np.maximum(p - np.bincount(token, weights=flow[is_token], minlength=vocab), 0)
    dual, certificate = _bound(p, sets, mass, price[:vocab])
    return Coupling(float(flow.sum()), dual, certificate, sets, mass, flow, rest)


def _feasible(flow: Array, *limits: tuple[Array, Array]) -> Array:
    """Scale flows down wherever those of one index together exceed its limit."""
    for index, limit in limits:
        total = np.bincount(index, weights=flow, minlength=len(limit))
        flow = flow * np.where(total > limit, limit / np.where(total > 0, total, 1), 1)[index]
    return flow


def _bound(p: Array, sets: Array, mass: Array, price: Array) -> tuple[float, Array]:
    """The least 1 + p(H) - Pr[all drafts in H] over prefixes H of the order of price, highest first, and that H."""
    order = np.argsort(-price, kind="stable")
    # The -1 that fills up a set has rank -1, below all tokens.
    rank = np.append(np.argsort(order), -1)
    within = np.bincount(rank[sets].max(axis=-1), weights=mass, minlength=len(p)).cumsum()
    slack = p[order].cumsum() - within
    last = int(slack.argmin()) if slack.min() < 0 else -1
    return float(mass.sum() + min(slack.min(), 0)), rank[:-1] <= last


def _tuples_of_scheme(q: Array, vocab: int, num_drafts: int, scheme: str) -> tuple[Array, Array]:
    """Tuples (n, K) of a scheme and their probabilities (n,), over the support of q."""
    scheme_module = discover.find("draft", scheme)
    count: Any = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    facts = discover.scheme_facts(scheme_module)
    q = _row(q, "q", (count,) if facts.per_draft else ())
    if q.shape[-1] != vocab:
        raise ValueError(f"p has {vocab} tokens and q has {q.shape[-1]}: the vocabularies differ")
    support = np.flatnonzero(q.reshape(-1, vocab).any(axis=0))
    # A scheme with a random number of draws has as many places as may be filled, -1 where none is.
    q, length, pads = q[..., support], count, 0
    if facts.random_number:
        draws = scheme_module.draws(q, count)
        length, pads = int(draws.least) + 1, 1
        count = Draws(draws.least, draws.extra, length)
    # All tuples in blocks, in the order of their digits; those of probability 0 are left out.
    base = len(support) + pads
    instead = _remedy(scheme, num_drafts)
    _require_size(base**length, MAX_TUPLES, f"{base}^{length} draft tuples", instead)
    step = max(CELLS // base, 1)
    blocks = []
    for start in range(0, base**length, step):
        index = np.arange(start, min(start + step, base**length))
        tuples = np.stack(np.unravel_index(index, (base,) * length), axis=-1) - pads
        mass = scheme_module.probability(q, tuples, count)
        blocks.append((tuples[mass > 0], mass[mass > 0]))
    tuples, mass = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return np.where(tuples < 0, -1, support[tuples]), mass


def _tuples_of_table(draft_law: Array, vocab: int, num_drafts: int | None) -> tuple[Array, Array]:
    """Tuples (n, K) of positive probability in a table (V,) * K, and their probabilities (n,)."""
    table = _host(check.real_values(draft_law, "draft_law", 0, 1))
    if not table.ndim or set(table.shape) != {vocab}:
        raise ValueError(f"draft_law has shape {table.shape}; with {vocab} tokens every axis must have {vocab} entries")
    if num_drafts not in (None, table.ndim):
        raise ValueError(f"draft_law has {table.ndim} axes, one for each draft, but num_drafts is {num_drafts}")
    if abs(table.sum() - 1) > check.TOLERANCE:
        raise ValueError(f"draft_law sums to {table.sum():.9g}; probabilities must sum to 1 within {check.TOLERANCE:g}")
    tuples = np.argwhere(table > 0)
    return tuples, table[tuple(tuples.T)]


def _require_size(size: int, limit: int, what: str, instead: str) -> None:
    """Raise ValueError, with the remedy `instead`, if a size of the program is above its limit."""
    if size > limit:
        raise ValueError(f"the transport program over {what} is too large (at most {limit}); {instead}")


def _remedy(scheme: str, num_drafts: Any) -> str:
    """The remedy for a program that is too large: a closed form, if one is known."""
    if scheme in ("independent", ""):
        return "give fewer tokens or drafts"
    call = f"optimal_acceptance(p, q, num_drafts={num_drafts}, scheme={scheme!r})"
    return f"{call} gives the value and a certificate without it"


def _row(value: Any, name: str, leading: tuple[int, ...] = ()) -> Array:
    """One law (*leading, V) as float64 on the host; ValueError for any other shape."""
    w = check.law(value, name)
    if tuple(w.shape[:-1]) != leading:
        raise ValueError(f"{name} has shape {tuple(w.shape)}; a coupling is of one row, {(*leading, w.shape[-1])}")
    return _host(w)


def _host(w: Array) -> Array:
    """The array as NumPy's float64."""
    return check.like(w, np.empty(0)).astype(np.float64)


def _merged(tuples: Array, mass: Array, vocab: int) -> tuple[Array, Array]:
    """The sets of tokens (n, min(K, V)) of tuples, filled up with -1, and their probabilities."""
    width = min(vocab, tuples.shape[-1])
    keys, inverse = np.unique(_keys(_sets(tuples, vocab, width), vocab), return_inverse=True)
    digits = keys[:, None] // (vocab + 1) ** np.arange(width)[::-1] % (vocab + 1)
    return np.where(digits == vocab, -1, digits), np.bincount(inverse, weights=mass)


def _sets(tuples: Array, vocab: int, width: int) -> Array:
    """The set of tokens of each tuple, ascending, filled up with `vocab` to the width.

    A tuple has -1 for no draft. Of 5 tokens, with width 3: (2, 0, 2) gives (0, 2, 5), and (1, -1) gives (1, 5, 5).
    """
    # Sort; a token that occurs twice becomes `vocab` and is sorted to the end.
    tokens = np.sort(np.where(tuples < 0, vocab, tuples), axis=-1)
    again = np.concatenate([np.zeros_like(tokens[..., :1], dtype=bool), tokens[..., 1:] == tokens[..., :-1]], axis=-1)
    sets = np.sort(np.where(again, vocab, tokens), axis=-1)[..., :width]
    fill = np.full((*sets.shape[:-1], width - sets.shape[-1]), vocab)
    return np.concatenate([sets, fill], axis=-1)


def _keys(sets: Array, vocab: int) -> Array:
    """One integer for each set (..., width): its tokens are the digits in base V + 1.

    Both -1 and V, which fill up a set, become the digit V.
    """
    return np.where(sets < 0, vocab, sets) @ (vocab + 1) ** np.arange(sets.shape[-1])[::-1]
