"""With more candidates than support, goes on drawing: uniformly from the tokens that q excludes."""

from array_api_compat import array_namespace

from specsim.base.arrays import ids, pick
from specsim.draft.without_replacement import *

KILLED_BY = "edges"


def draw(q, u, num_drafts):
    xp = array_namespace(q)
    tokens, taken = [], ids(q) < 0
    for k in range(u.shape[-1]):
        rest = xp.where(taken, 0, q)
        spare = xp.where(taken, 0 * q, 1 + 0 * q)
        tokens.append(pick(xp.where(xp.sum(rest, axis=-1, keepdims=True) > 0, rest, spare), u[..., k]))
        taken = taken | (ids(q) == tokens[-1][..., None])
    return xp.stack(tokens, axis=-1)
