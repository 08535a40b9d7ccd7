"""specsim on real language models: the same rule files, run, counted and timed (torch, transformers)."""

from typing import NoReturn

from real.decode.warp import Warping
from real.pair import Generation, Pair, load

__all__ = ["Generation", "Pair", "Warping", "load"]


def __getattr__(name: str) -> NoReturn:
    if name == "Sampling":
        raise AttributeError("real.Sampling is now real.Warping")
    raise AttributeError(f"module 'real' has no attribute {name!r}")
