"""The token comes from the races that drafted what the first one did: it depends on who drafted."""

from specsim.verify.coupled.list_race import *

KILLED_BY = "drafter_invariant"


def verify(p, drafts, e):
    xp = array_namespace(p, e)
    return first(p, xp.min(xp.where((drafts == drafts[..., :1])[..., None], e, 2 * e), axis=-2))
