"""The bonus token comes from the last draft row (bonus under other parameters: the EAGLE-1 copy, vllm#42744)."""

from specsim.verify.chain import tokenwise
from specsim.verify.chain.tokenwise import *

KILLED_BY = "strongly_lossless"


def prepare(p, q):
    p = p.copy() if hasattr(p, "copy") else p.clone()
    if q.shape[-2]:
        p[..., -1, :] = q[..., -1, :]
    return tokenwise.Plan(p, q)
