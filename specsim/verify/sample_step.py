"""Run a step rule on given drafts and uniforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import check, sparse
from specsim.base.arrays import array_namespace
from specsim.discover import Rule
from specsim.types import Array, Draws, StepResult
from specsim.verify._inputs import all_there, can_be_drawn, one_library
from specsim.verify.lookup import candidates, step_rows, step_rule


@np.errstate(under="ignore")
def verify_step(
    p: Array,
    q: Array,
    drafts: Array,
    u: Array,
    *,
    rule: Rule = "rejection",
    num_drafts: int | Draws | None = None,
    scheme: str | None = None,
    params: Mapping[str, Any] | None = None,
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
    rule : str, path or module
        Name of a step rule (see `algorithms`), the path of its file, or itself.
    num_drafts : int or Draws, optional
        K, when it is not the number of places: distinct drafts need what `specsim.draft.distinct.draw` was given, the
        expected number of distinct tokens or the law of N itself.
    scheme : str, optional
        How the drafts were drawn; by default as the rule's DRAFTS says.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.

    Returns
    -------
    StepResult
        token, shape (...): the emitted token; hit, shape (...): whether it is one of the drafts.

    Raises
    ------
    ValueError
        A row is not a law, a token lies outside the vocabulary, u or drafts have the wrong shape, the drafts were not
        drawn as `scheme` says, or the rule is unknown or not for such drafts.

    References
    ----------
    The paper of the rule, see `algorithms`.

    Examples
    --------
    >>> result = verify_step([0.5, 0.5], [0.9, 0.1], [0], [0.7, 0.0])
    >>> int(result.token), bool(result.hit)  # 0.7 * 0.9 >= 0.5: rejected, and token 1 is all that is left over
    (1, False)
    """
    # Check laws and drafts; sparse laws become rows over their common support.
    p, q, union = step_rows(p, q, rule)
    low = -1 if scheme == "distinct" else 0
    drafts = sparse.places(union, drafts, low)
    p, q = check.laws(p, q)
    x, u, p, q = one_library(drafts, u, p, q, low)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"drafts must have a last axis of at least one candidate, got shape {tuple(x.shape)}")
    if num_drafts is None and scheme == "distinct":
        raise ValueError("scheme='distinct' needs num_drafts: what the drafts were drawn with")
    num_drafts = x.shape[-1] if num_drafts is None else num_drafts
    module = discover.with_params(step_rule(rule, num_drafts, scheme), params)
    # Broadcast everything to one batch.
    xp = array_namespace(p)
    batch = check.leading("p, q and drafts", p.shape[:-1], q.shape[:-1], x.shape[:-1])
    p, q = (xp.broadcast_to(w, (*batch, w.shape[-1])) for w in (p, q))
    x = xp.broadcast_to(x, (*batch, x.shape[-1]))
    # Check that these drafts can have been drawn.
    count = candidates(num_drafts, scheme, q)
    all_there(x, count)
    known = xp.where(x < 0, 0, x)
    named = xp.where(x < 0, x, sparse.tokens(union, known, 1))
    can_be_drawn(q, known, named, discover.name_of(module), scheme or discover.drafts_of(module))
    u = check.uniforms(u, module.uniforms(count), batch, p)
    token = module.verify(module.prepare(p, q, count), x, u)
    return StepResult(sparse.tokens(union, token), xp.any(x == token[..., None], axis=-1))
