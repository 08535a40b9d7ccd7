"""What to accept: the public samplers, and the look-up of a rule by name."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array

from specsim import _check, _dist, _sparse, discover
from specsim.draft import distinct
from specsim.types import Array, ChainResult, Draws, StepResult
from specsim.verify._tree import step_params as step_params
from specsim.verify._tree import tree_rule as tree_rule
from specsim.verify._tree import verify_tree as verify_tree


def step_rule(name: str, num_drafts: int | Draws, sampling: str | None = None) -> ModuleType:
    """The step rule called `name`; ValueError if it cannot verify that many drafts, or drafts of that scheme."""
    rule = discover.find("step", name)
    if sampling is not None:
        discover.find("draft", sampling)  # an unknown scheme gets the list of known ones
        if sampling not in (rule.DRAFTS, *getattr(rule, "ALSO", ()), "iid" if rule.DRAFTS == "single" else None):
            raise ValueError(f"rule {name!r} expects drafts drawn {rule.DRAFTS!r}, not {sampling!r}: not lossless")
    if rule.DRAFTS == "single" and num_drafts != 1:
        multi = [n for n, r in discover.rules("step").items() if r.DRAFTS != "single"]
        raise ValueError(
            f"rule {name!r} verifies one draft, got num_drafts={num_drafts}; multi-draft rules: {', '.join(multi)}"
        )
    if not takes(rule, num_drafts):
        allowed = " or ".join(map(str, discover.find("draft", rule.DRAFTS).COUNTS))
        raise ValueError(f"rule {name!r} verifies {allowed} drafts drawn {rule.DRAFTS!r}, got num_drafts={num_drafts}")
    return rule


def takes(rule: ModuleType, num_drafts: int | Draws) -> bool:
    """Whether a step rule verifies that many drafts: its draft scheme may name in COUNTS the numbers it draws."""
    if rule.DRAFTS == "single":
        return num_drafts == 1
    return num_drafts in getattr(discover.find("draft", rule.DRAFTS), "COUNTS", (num_drafts,))


def candidates(num_drafts: Any, sampling: str | None, q: Array) -> int | Draws:
    """What `prepare` takes: the number of drafts; of distinct drafts the law of N, for each row of q."""
    if sampling == "distinct" and isinstance(num_drafts, Draws):
        return _checked(num_drafts, q)
    num_drafts = _check.integer(num_drafts, "num_drafts", 1)
    return distinct.draws(q, num_drafts) if sampling == "distinct" else num_drafts


def _checked(draws: Draws, q: Array) -> Draws:
    """A law of N given by hand, moved to the library of q; ValueError unless 1 <= N <= limit."""
    limit = _check.integer(draws.limit, "num_drafts.limit", 1)
    least = _check.real_values(draws.least, "num_drafts.least", 1, limit)
    extra = _check.real_values(draws.extra, "num_drafts.extra", 0, 1)
    for name, part in (("least", least), ("extra", extra)):
        if part.ndim and tuple(part.shape) != tuple(q.shape[:-1]):
            raise ValueError(f"num_drafts.{name} has shape {tuple(part.shape)}; q has rows {tuple(q.shape[:-1])}")
    if extra.ndim and (extra.dtype == object) != (q.dtype == object):
        raise TypeError("one of num_drafts.extra, q holds Fractions and the other floats; use one kind")
    if _check.concrete(least) and _check.concrete(extra):
        for bad, why in (
            (least % 1 != 0, "it is a number of draws"),
            ((least == limit) & (extra > 0), "so is limit, and extra > 0"),
        ):
            if bool(array_namespace(bad).any(bad)):
                where, entry = _check._first(least, bad)
                raise ValueError(f"num_drafts.least{where} is {entry}: {why}")
    least, extra = (v if isinstance(v, distinct.PLAIN) else _check.like(v, q) for v in (draws.least, draws.extra))
    return Draws(least, extra, limit)


def chain_rule(name: str) -> ModuleType:
    """The chain rule called `name`; ValueError if a decode loop that goes on from the target cannot run it."""
    rule = discover.find("chain", name)
    if hasattr(rule, "continuation"):
        plain = [n for n, r in discover.rules("chain").items() if hasattr(r, "survival")]
        raise ValueError(
            f"rule {name!r} changes the target for some tokens after a block, which only specsim.simulate follows; "
            f"rules that leave it as it is: {', '.join(plain)}"
        )
    return rule


def verify_step(
    p: Array,
    q: Array,
    drafts: Array,
    u: Array,
    *,
    rule: str = "rejection",
    sampling: str | None = None,
    num_drafts: int | Draws | None = None,
) -> StepResult:
    """Run a step rule: candidates for one position in, one token out.

    Deterministic: the randomness is the argument `u`.

    Parameters
    ----------
    p, q : array_like, shape (..., V), or Law
        Target law, and the law the drafts were drawn from. Two of `Law` (top-k rows) are never made dense.
    drafts : integer array, shape (..., K)
        Candidate tokens, drawn from q as the rule's DRAFTS says; leading axes broadcast against p and q. Distinct
        drafts have `limit` places, of which those after the last draw hold -1; repeated draws must not be left out.
    u : array, shape (..., rule.uniforms(K)), in [0, 1)
        Uniforms, with the broadcast leading axes of p, q and drafts.
    rule : str
        Name of a step rule (see `algorithms`).
    sampling : str, optional
        How the drafts were drawn; by default as the rule's DRAFTS says.
    num_drafts : int or Draws, optional
        K, when it is not the number of places: distinct drafts need what `specsim.draft.distinct.draw` was given, the
        expected number of distinct tokens or the law of N itself.

    Returns
    -------
    StepResult
        token, shape (...): the emitted token; hit, shape (...): whether it is one of the drafts.

    Raises
    ------
    ValueError
        A row is not a law, a token lies outside the vocabulary, u or drafts have the wrong shape, the drafts were not
        drawn as `sampling` says, or the rule is unknown or not for such drafts.

    References
    ----------
    The paper of the rule, see `algorithms`.

    Examples
    --------
    >>> result = verify_step([0.5, 0.5], [0.9, 0.1], [0], [0.7, 0.0])
    >>> int(result.token), bool(result.hit)  # 0.7 * 0.9 >= 0.5: rejected, and token 1 is all that is left over
    (1, False)
    """
    p, q, union = _sparse.rows(p, q)
    low = -1 if sampling == "distinct" else 0
    drafts = _sparse.places(union, drafts, low)
    p, q = _check.laws(p, q)
    x, u, p, q = _one_library(drafts, u, p, q, low)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"drafts must have a last axis of at least one candidate, got shape {tuple(x.shape)}")
    if num_drafts is None and sampling == "distinct":
        raise ValueError("sampling='distinct' needs num_drafts: what the drafts were drawn with")
    num_drafts = x.shape[-1] if num_drafts is None else num_drafts
    module = step_rule(rule, num_drafts, sampling)
    xp = array_namespace(p)
    batch = _check.leading("p, q and drafts", p.shape[:-1], q.shape[:-1], x.shape[:-1])
    p, q = (xp.broadcast_to(w, (*batch, w.shape[-1])) for w in (p, q))
    x = xp.broadcast_to(x, (*batch, x.shape[-1]))
    count = candidates(num_drafts, sampling, q)
    _all_there(x, count)
    known = xp.where(x < 0, 0, x)
    _can_be_drawn(q, known, xp.where(x < 0, x, _sparse.tokens(union, known, 1)), rule, sampling or module.DRAFTS)
    u = _check.uniforms(u, module.uniforms(count), batch, p)
    token = module.verify(module.prepare(p, q, count), x, u)
    return StepResult(_sparse.tokens(union, token), xp.any(x == token[..., None], axis=-1))


def verify_chain(p: Array, q: Array, drafts: Array, u: Array, *, rule: str = "tokenwise") -> ChainResult:
    """Run a chain rule: a block of drafted tokens in, the kept prefix and one more token out.

    Parameters
    ----------
    p : array_like, shape (..., gamma+1, V), or Law
        Target laws at every position of the block and after it.
    q : array_like, shape (..., gamma, V), or Law
        The laws the drafts were drawn from.
    drafts : integer array, shape (..., gamma)
        Drafted tokens.
    u : array, shape (..., rule.uniforms(gamma)), in [0, 1)
        Uniforms.
    rule : str
        Name of a chain rule (see `algorithms`).

    Returns
    -------
    ChainResult
        num_accepted, shape (...), 0..gamma; token, shape (...), the token that follows the kept drafts.

    Raises
    ------
    ValueError
        A row is not a law, shapes do not fit together, a token lies outside the vocabulary, or the rule is unknown.

    References
    ----------
    The paper of the rule, see `algorithms`.

    Examples
    --------
    >>> p, q = [[0.5, 0.5]] * 3, [[0.9, 0.1]] * 2
    >>> result = verify_chain(p, q, [0, 0], [0.1, 0.7, 0.0])
    >>> int(result.num_accepted), int(result.token)
    (1, 1)
    """
    module = discover.find("chain", rule)
    p, q, union = _sparse.rows(p, q, axes=2)
    drafts = _sparse.places(union, drafts)
    p, q = _check.laws(p, q)
    if p.ndim < 2 or q.ndim < 2 or p.shape[-2] != q.shape[-2] + 1:
        raise ValueError(
            f"p must have one row more than q on the axis before the last, got {tuple(p.shape)}, {tuple(q.shape)}"
        )
    gamma = q.shape[-2]
    x, u, p, q = _one_library(drafts, u, p, q)
    if x.shape[-1:] != (gamma,):
        raise ValueError(f"drafts must end in an axis of gamma={gamma} tokens, got shape {tuple(x.shape)}")
    xp = array_namespace(p)
    batch = _check.leading("p, q and drafts", p.shape[:-2], q.shape[:-2], x.shape[:-1])
    p, q = (xp.broadcast_to(w, (*batch, *w.shape[-2:])) for w in (p, q))
    x = xp.broadcast_to(x, (*batch, gamma))
    u = _check.uniforms(u, module.uniforms(gamma), batch, p)
    kept, token = module.verify(module.prepare(p, q), x, u)
    return ChainResult(kept, _sparse.tokens(union, token))


def _one_library(drafts: Array, u: Array, p: Array, q: Array, low: int = 0) -> tuple[Array, Array, Array, Array]:
    """Token ids checked; NumPy rows follow drafts or uniforms that are JAX or torch arrays."""
    for other in (drafts, u):
        if is_numpy_array(p) and p.dtype != object and is_array_api_obj(other):
            p, q = _check.like(p, other), _check.like(q, other)
    return _check.tokens(drafts, "drafts", p.shape[-1], p, low), u, p, q


def _all_there(drafts: Array, count: int | Draws) -> None:
    """ValueError unless as many tokens are there as can have been drawn, with the empty places after them."""
    xp, places = array_namespace(drafts), count.limit if isinstance(count, Draws) else count
    if drafts.shape[-1] != places:
        raise ValueError(f"drafts has {drafts.shape[-1]} places in a row; num_drafts asks for {places}")
    if not isinstance(count, Draws) or not all(_check.concrete(w) for w in (drafts, count.least, count.extra)):
        return
    empty = drafts < 0
    gap = xp.any(empty[..., :-1] & ~empty[..., 1:], axis=-1)
    if bool(xp.any(gap)):
        row, _ = _check._first(gap, gap)
        raise ValueError(f"drafts{row} has -1 in front of a token; empty places come last")
    number = xp.sum(xp.where(empty, 0, 1), axis=-1)
    wrong = (number < count.least) | (number > count.least + (count.extra > 0))
    if bool(xp.any(wrong)):
        row, found = _check._first(number, wrong)
        raise ValueError(
            f"drafts{row} has {found} tokens, which num_drafts rules out; all draws count, repeated ones too"
        )


def _can_be_drawn(q: Array, places: Array, drafts: Array, rule: str, sampling: str) -> None:
    """ValueError for a draft that q excludes, or one drawn twice without replacement; drafts -1 are none."""
    if not (_check.concrete(q) and _check.concrete(places)):
        return
    xp, count = array_namespace(drafts), drafts.shape[-1]
    absent = (drafts >= 0) & ~(_dist.at(q[..., None, :], places) > 0)
    if bool(xp.any(absent)):
        where, token = _check._first(drafts, absent)
        raise ValueError(f"drafts{where} is token {token}, which its row of q lacks: it cannot have been drafted")
    if sampling in ("greedy", "hub"):  # whose tuples are not all that q allows, one by one
        never = xp.asarray(discover.find("draft", sampling).probability(q, places, count) <= 0)
        if bool(xp.any(never)):
            row, _ = _check._first(never, never)
            raise ValueError(f"drafts{row} cannot have been drawn {sampling!r} from its row of q, as {rule!r} expects")
    ascending = xp.sort(drafts, axis=-1)
    again = (ascending[..., 1:] == ascending[..., :-1]) & (ascending[..., 1:] >= 0)
    if sampling == "without_replacement" and bool(xp.any(again)):
        _, token = _check._first(ascending[..., 1:], again)
        row, support = _check._first(xp.sum(xp.where(q > 0, 1, 0), axis=-1), xp.any(again, axis=-1))
        few = f"; q{row} has {support} tokens, fewer than num_drafts={count}" if support < count else ""
        raise ValueError(f"drafts{row} has token {token} twice, but {rule!r} verifies drafts without replacement{few}")
