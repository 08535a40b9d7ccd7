"""specsim on real language models: the same rule files, run, counted and timed (torch, transformers)."""

from real.pair import Generation, Pair, load
from real.warp import Sampling

__all__ = ["Generation", "Pair", "Sampling", "load"]
