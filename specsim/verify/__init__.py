"""What to accept: the public samplers, and the look-up of a rule by name."""

from __future__ import annotations

from types import ModuleType

from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array

from specsim import _check, discover
from specsim.types import Array, ChainResult, StepResult


def step_rule(name: str, num_drafts: int) -> ModuleType:
    """The step rule called `name`; ValueError if it cannot verify that many drafts."""
    rule = discover.find("step", name)
    if rule.DRAFTS == "single" and num_drafts != 1:
        multi = [n for n, r in discover.rules("step").items() if r.DRAFTS != "single"]
        raise ValueError(
            f"rule {name!r} verifies one draft, got num_drafts={num_drafts}; multi-draft rules: {', '.join(multi)}"
        )
    return rule


def verify_step(p: Array, q: Array, drafts: Array, u: Array, *, rule: str = "rejection") -> StepResult:
    """Run a step rule: candidates for one position in, one token out.

    Deterministic: the randomness is the argument `u`.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Target law, and the law the drafts were drawn from.
    drafts : integer array, shape (..., K)
        Candidate tokens, drawn from q as the rule's DRAFTS says; leading axes broadcast against p and q.
    u : array, shape (..., rule.uniforms(K)), in [0, 1)
        Uniforms, with the broadcast leading axes of p, q and drafts.
    rule : str
        Name of a step rule (see `algorithms`).

    Returns
    -------
    StepResult
        token, shape (...): the emitted token; hit, shape (...): whether it is one of the drafts.

    Raises
    ------
    ValueError
        A row is not a law, a token lies outside the vocabulary, u has the wrong shape, or the rule is unknown.

    References
    ----------
    The paper of the rule, see `algorithms`.

    Examples
    --------
    >>> result = verify_step([0.5, 0.5], [0.9, 0.1], [0], [0.7, 0.0])
    >>> int(result.token), bool(result.hit)  # 0.7 * 0.9 >= 0.5: rejected, and token 1 is all that is left over
    (1, False)
    """
    p, q = _check.laws(p, q)
    x, u, p, q = _one_library(drafts, u, p, q)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"drafts must have a last axis of at least one candidate, got shape {tuple(x.shape)}")
    module = step_rule(rule, x.shape[-1])
    xp = array_namespace(p)
    batch = _check.leading("p, q and drafts", p.shape[:-1], q.shape[:-1], x.shape[:-1])
    p, q = (xp.broadcast_to(w, (*batch, w.shape[-1])) for w in (p, q))
    x = xp.broadcast_to(x, (*batch, x.shape[-1]))
    u = _check.uniforms(u, module.uniforms(x.shape[-1]), batch, p)
    token = module.verify(module.prepare(p, q, x.shape[-1]), x, u)
    return StepResult(token, xp.any(x == token[..., None], axis=-1))


def verify_chain(p: Array, q: Array, drafts: Array, u: Array, *, rule: str = "tokenwise") -> ChainResult:
    """Run a chain rule: a block of drafted tokens in, the kept prefix and one more token out.

    Parameters
    ----------
    p : array_like, shape (..., gamma+1, V)
        Target laws at every position of the block and after it.
    q : array_like, shape (..., gamma, V)
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
    return ChainResult(*module.verify(module.prepare(p, q), x, u))


def _one_library(drafts: Array, u: Array, p: Array, q: Array) -> tuple[Array, Array, Array, Array]:
    """Token ids checked; NumPy rows follow drafts or uniforms that are JAX or torch arrays."""
    for other in (drafts, u):
        if is_numpy_array(p) and p.dtype != object and is_array_api_obj(other):
            p, q = _check.like(p, other), _check.like(q, other)
    return _check.tokens(drafts, "drafts", p.shape[-1], p), u, p, q
