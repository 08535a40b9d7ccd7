"""The optimum for any draft law, as the least of all 2^V sets (T03, 2): for schemes that have no file of their own."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from array_api_compat import device

from specsim.base import arrays
from specsim.base.arrays import array_namespace
from specsim.bounds.certified import Optimum
from specsim.bounds.schemes import _prefix
from specsim.types import Array

# Most tokens whose 2^V sets are tried.
MOST = 16


def value(p: Array, q: Array, num_drafts: int, scheme: ModuleType) -> Array:
    """The optimal acceptance (...) of rows p (..., V), the drafts being drawn from q as the scheme says."""
    return optimum(p, q, num_drafts, scheme).value


def optimum(p: Array, q: Array, num_drafts: int, scheme: ModuleType) -> Optimum:
    """The value with the set that attains it, row by row."""
    if p.shape[-1] > MOST:
        name = scheme.__name__.rpartition(".")[2]
        raise ValueError(
            f"no closed form is known for scheme {name!r}, and all sets of tokens are tried for at most {MOST}, "
            f"not {p.shape[-1]}"
        )
    xp = array_namespace(p)
    members = xp.asarray(all_sets(p.shape[-1]), device=device(p))
    rows = [lowest(p[r], scheme.within(q[r][None], members, num_drafts), members) for r in np.ndindex(*p.shape[:-1])]
    return gathered(rows, p.shape)


def all_sets(vocab: int) -> Array:
    """Indicators (2^V, V) of all sets of tokens; set number n holds the tokens of the bits of n."""
    return (np.arange(2**vocab)[:, None] >> np.arange(vocab)) % 2 == 1


def lowest(p: Array, within: Array, members: Array) -> tuple[Array, Array]:
    """The least p(H) - Pr[all in H] of one row, and its H."""
    xp = array_namespace(p)
    slack = xp.sum(xp.where(members, arrays.wide(p), 0), axis=-1) - within
    best = xp.argmin(slack)
    return slack[best], members[best]


def gathered(rows: list[tuple[Array, Array]], shape: tuple[int, ...]) -> Optimum:
    """Result of `lowest` for each row, in the shape (..., V) of the rows."""
    xp = array_namespace(rows[0][1])
    low, certificate = (xp.stack(w) for w in zip(*rows, strict=True))
    return _prefix.exact(1 + xp.reshape(low, shape[:-1]), xp.reshape(certificate, shape), None)
