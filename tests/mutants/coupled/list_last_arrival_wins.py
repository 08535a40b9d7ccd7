"""The list race whose token looks at the last arrival in its races: no longer a race of rate p."""

from specsim.verify.coupled.list_race import *

KILLED_BY = "output_is_target"


def verify(p, drafts, e):
    return first(p, array_namespace(p, e).max(e, axis=-2))
