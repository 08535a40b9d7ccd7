"""The outcome of a chain rule by its `scales` (`specsim.types.ChainRule`): accepted drafts and token of every row."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from specsim.base.arrays import at, normalize_or, pick, positive_part, row_at
from specsim.types import Array


def by_scales(rule: ModuleType, p: Array, q: Array, x: Array, u: Array) -> tuple[Array, Array]:
    """Return (accepted (B,), token (B,)) of rows p (B, gamma+1, V), q (B, gamma, V), drafts (B, gamma).

    The uniforms u have shape (B, gamma+1).
    """
    gamma = x.shape[-1]
    above, below = rule.scales(at(p[:, :gamma], x), at(q, x))
    assert above.shape == below.shape == u.shape, "scales must return two arrays (..., gamma+1)"
    assert (above[:, 0] == below[:, 0]).all(), "scales must be equal before the first draft"
    # Residuals (above p - below q)+ at each draft, their masses, and those of the other side.
    rows = positive_part(above[:, :gamma, None] * p[:, :gamma] - below[:, :gamma, None] * q)
    more = np.concatenate([rows.sum(axis=-1)[:, 1:], above[:, gamma:]], axis=-1)
    less = np.concatenate([more[:, :-1] + (below - above)[:, 1:gamma], below[:, gamma:]], axis=-1)
    # A block goes on to the last draft that passes, and is then corrected there.
    passes = (below <= above)[:, 1:] | (u[:, :gamma] * less < more)
    accepted = (passes * np.arange(1, gamma + 1)).max(axis=-1)
    after = np.concatenate([rows, p[:, gamma:]], axis=1)
    return accepted, pick(normalize_or(row_at(after, accepted), row_at(p, accepted)), u[:, gamma])
