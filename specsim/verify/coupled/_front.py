"""Public functions of coupled rules: check laws and uniforms, then run the rule's functions."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

from specsim import discover
from specsim.base import check, limits
from specsim.base.arrays import array_namespace
from specsim.discover import Rule
from specsim.types import Array
from specsim.verify.coupled._race import exponentials

# Terms of sums of exponentials that one row may take.
MAX_TERMS = 1 << 20


class Emitted(NamedTuple):
    """The drafts and the token that a coupled rule makes from the same variates."""

    drafts: Array  # (..., K)
    token: Array  # (...)
    hit: Array  # (...): True where the token is one of the drafts


def emit(rule: Rule, p: Any, q: Any, u: Any, num_drafts: int = 1) -> Emitted:
    """Run both halves of a coupled rule on the same uniforms.

    Parameters
    ----------
    rule : str, path or module
        A file of `specsim.verify.coupled`, or one's own.
    p, q : array_like, shape (..., V)
        Target and draft law. The token depends on p and u alone.
    u : array_like, shape (..., races * V)
        Uniforms in [0, 1), V for each race; leading axes are those of p and q together.
    num_drafts : int
        Drafts for the position.

    Returns
    -------
    Emitted
        drafts (..., K), the token (...), and whether it is one of them.

    Raises
    ------
    ValueError
        The rule is unknown or drafts another number, a row is no law, u has another shape.

    References
    ----------
    proofs/T37_coupled.md.

    Examples
    --------
    >>> u = [0.5, 0.3, 0.2]
    >>> both = emit("race", [0.2, 0.3, 0.5], [0.6, 0.3, 0.1], u)
    >>> both.drafts.tolist(), int(both.token), bool(both.hit)
    ([0], 2, False)
    >>> int(emit("race", [0.2, 0.3, 0.5], [0.1, 0.1, 0.8], u).token)  # another drafter, the same text
    2
    """
    module = coupled_rule(rule, num_drafts)
    p, q = check.pair(p, q)
    xp, vocab, races = array_namespace(p), p.shape[-1], module.races(num_drafts)
    if p.dtype == object:
        raise TypeError("p and q hold Fractions, and variates are logarithms: give floats, or ask for the acceptance")
    batch = check.leading("p and q", p.shape[:-1], q.shape[:-1])
    e = exponentials(check.uniforms(u, races * vocab, batch, p))
    e = xp.reshape(e, (*batch, races, vocab))
    drafts = module.propose(xp.broadcast_to(q, (*batch, vocab)), e, num_drafts)
    token = module.verify(xp.broadcast_to(p, (*batch, vocab)), drafts, e)
    return Emitted(drafts, token, xp.any(drafts == token[..., None], axis=-1))


def acceptance(rule: Rule, p: Any, q: Any, num_drafts: int = 1) -> Array:
    """The exact probability that the token of a coupled rule is one of its drafts.

    Parameters
    ----------
    rule : str, path or module
        A file of `specsim.verify.coupled`, or one's own.
    p, q : array_like, shape (..., V)
        Target and draft law; Fractions stay exact.
    num_drafts : int
        Drafts for the position.

    Returns
    -------
    array, shape (...)
        Probability of a hit, for each row.

    Raises
    ------
    ValueError
        The rule is unknown or drafts another number, a row is no law, or V^num_drafts is more than 2^20: then too many
        exponentials would have to be summed.

    References
    ----------
    proofs/T37_coupled.md.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(1, 3), F(1, 3), F(1, 3), F(0)], [F(0), F(1, 3), F(1, 3), F(1, 3)]
    >>> print(acceptance("race", p, q))  # of 2/3 that a coupling with communication has
    1/2
    >>> print(acceptance("list_race", p, q, num_drafts=2), acceptance("ranked_race", p, q, num_drafts=2))
    25/42 2/3
    """
    module = coupled_rule(rule, num_drafts)
    p, q = check.pair(p, q)
    if num_drafts > 1 and p.shape[-1] ** num_drafts > MAX_TERMS:
        raise ValueError(f"num_drafts is {num_drafts} at {p.shape[-1]} tokens: more than {MAX_TERMS} exponentials")
    return array_namespace(p, q).sum(module.hits(p, q, num_drafts), axis=-1)


def coupled_rule(rule: Rule, num_drafts: Any) -> ModuleType:
    """Find a coupled rule that drafts so many tokens.

    Parameters
    ----------
    rule : str, path or module
        A file of `specsim.verify.coupled`, or one's own.
    num_drafts : int
        Drafts for the position.

    Returns
    -------
    module
        The rule's file: its laws, and both halves of it.

    Raises
    ------
    ValueError
        The rule is unknown, or drafts another number.

    References
    ----------
    proofs/T37_coupled.md.

    Examples
    --------
    >>> coupled_rule("race", 1).races(1)  # a variate for every token, once
    1
    """
    module = discover.find("coupled", rule)
    num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    counts = discover.facts(module).counts
    if counts is not None and num_drafts not in counts:
        allowed = " or ".join(map(str, counts))
        raise ValueError(f"rule {discover.name_of(module)!r} drafts {allowed}, got num_drafts={num_drafts}")
    return module
