"""The generalised divergence whose mixture forgets beta."""

from specsim.objective import jsd
from specsim.objective._parts import log_or, mass, where_positive
from specsim.objective.jsd import *

KILLED_BY = "gradient_is_exact"


def loss(p, log_q, tokens=None, *, beta: Fraction | float = 0.5):
    xp, q, share = array_namespace(p, log_q), mass(log_q), jsd._share(p, beta)
    mixed = log_or((p + q) / 2, 1)
    of_p = xp.sum(p * (log_or(p, 1) - mixed), axis=-1)
    return share * of_p + (1 - share) * xp.sum(q * (where_positive(q, log_q) - mixed), axis=-1)
