"""torch's searchsorted without `right=True`: at u = 0 the first token is drawn, also where it has no weight."""

import torch
from array_api_compat import array_namespace, is_torch_array

from specsim.base.arrays import at, pick
from specsim.verify.step.rejection import *

KILLED_BY = "edges"


def verify(plan, drafts, u):
    x, w = drafts[..., 0], plan.left_over
    kept = u[..., 0] * at(plan.q, x) < at(plan.p, x)
    if is_torch_array(w) and w.shape[:-1] == u.shape[:-1]:
        cdf = torch.cumsum(w.to(u.dtype), -1)
        token = torch.searchsorted(cdf, u[..., 1:] * cdf[..., -1:])[..., 0]
    else:
        token = pick(w, u[..., 1])
    return array_namespace(x).where(kept, x, token)
