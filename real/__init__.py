"""specsim on real language models: the same rule files, run, counted and timed (torch, transformers)."""

from real.decode.warp import Warping
from real.pair import Generation, Pair, load

__all__ = ["Generation", "Pair", "Warping", "load"]
