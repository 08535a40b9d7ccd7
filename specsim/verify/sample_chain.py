"""Run a chain rule on given drafts and uniforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import check, sparse
from specsim.base.arrays import array_namespace
from specsim.discover import Rule
from specsim.types import Array, ChainResult
from specsim.verify._inputs import one_library
from specsim.verify.lookup import _in_support


@np.errstate(under="ignore")
def verify_chain(
    p: Array,
    q: Array,
    drafts: Array,
    u: Array,
    *,
    rule: Rule = "tokenwise",
    params: Mapping[str, Any] | None = None,
) -> ChainResult:
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
    rule : str, path or module
        Name of a chain rule (see `algorithms`), the path of its file, or itself.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.

    Returns
    -------
    ChainResult
        num_accepted, shape (...), 0..gamma; token, shape (...), the token that follows the kept drafts.

    Raises
    ------
    ValueError
        A row is not a law, shapes do not fit together, a token lies outside the vocabulary or has q = 0 where it is
        said to be drawn, or the rule is unknown.

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
    module = discover.with_params(discover.find("chain", rule), params)
    # Check laws and drafts; sparse laws become rows over their common support.
    p, q, union = sparse.rows(p, q, axes=2)
    drafts = sparse.places(union, drafts)
    p, q = check.laws(p, q)
    if p.ndim < 2 or q.ndim < 2 or p.shape[-2] != q.shape[-2] + 1:
        raise ValueError(
            f"p must have one row more than q on the axis before the last, got {tuple(p.shape)}, {tuple(q.shape)}"
        )
    gamma = q.shape[-2]
    x, u, p, q = one_library(drafts, u, p, q)
    if x.shape[-1:] != (gamma,):
        raise ValueError(f"drafts must end in an axis of gamma={gamma} tokens, got shape {tuple(x.shape)}")
    # Broadcast everything to one batch, and check what needs it.
    xp = array_namespace(p)
    batch = check.leading("p, q and drafts", p.shape[:-2], q.shape[:-2], x.shape[:-1])
    p, q = (xp.broadcast_to(w, (*batch, *w.shape[-2:])) for w in (p, q))
    x = xp.broadcast_to(x, (*batch, gamma))
    _in_support(q, x, sparse.tokens(union, x, 1))
    u = check.uniforms(u, module.uniforms(gamma), batch, p)
    num_accepted, token = module.verify(module.prepare(p, q), x, u)
    return ChainResult(num_accepted, sparse.tokens(union, token))
