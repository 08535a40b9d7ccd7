"""specsim: the exact theory of speculative decoding, as a library.

p is always the target law and q the draft law, both after warping, with the vocabulary on the last axis.
"""

from specsim._random import keyed_uniforms
from specsim.bounds import optimal_acceptance, optimum
from specsim.discover import algorithms
from specsim.exact import acceptance_rate, output_law
from specsim.guarantee import guarantee
from specsim.laws import normalize, residual, total_variation
from specsim.lengths import accepted_length_law, block_efficiency, renewal
from specsim.planner import optimal_gamma, speedup
from specsim.verify import verify_chain, verify_step
from specsim.warp import warp

__all__ = [
    "acceptance_rate",
    "accepted_length_law",
    "algorithms",
    "block_efficiency",
    "guarantee",
    "keyed_uniforms",
    "normalize",
    "optimal_acceptance",
    "optimal_gamma",
    "optimum",
    "output_law",
    "renewal",
    "residual",
    "speedup",
    "total_variation",
    "verify_chain",
    "verify_step",
    "warp",
]
