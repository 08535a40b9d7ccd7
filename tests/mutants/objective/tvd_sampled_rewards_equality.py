"""The sampled distance with a reward where p = q, too: there nothing is gained."""

from specsim.objective._parts import drawn, mass
from specsim.objective.tvd_sampled import *

KILLED_BY = "gradient_is_exact"


def loss(p, log_q, tokens=None):
    said, likely = drawn(log_q, tokens, "own"), drawn(p, tokens, "own")
    xp = array_namespace(p, log_q)
    return xp.where(likely < mass(said), xp.zeros_like(said), -said)
