"""Lossless: laws come as bfloat16, the arithmetic is float32."""

import torch

from specsim.conform import Subject


@torch.inference_mode()
def verify(p, q, drafts):
    p, q = p.float(), q.float()
    p, q = p / p.sum(-1, keepdim=True), q / q.sum(-1, keepdim=True)
    for i, x in enumerate(drafts):
        if torch.rand((), device=p.device) >= p[i, x] / q[i, x]:
            res = (p[i] - q[i]).clamp(min=0)
            return i, torch.multinomial(res if res.sum() > 0 else p[i], 1)
    return len(drafts), torch.multinomial(p[-1], 1)


def subject():
    return Subject(
        "half_precision_laws", "chain", verify, arrays="torch", dtype="bfloat16", randomness="global", sizes=(1, 2)
    )
