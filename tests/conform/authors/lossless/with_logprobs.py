"""Lossless: it returns the log-probabilities of the target, as a float32 tensor."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    kept = 0
    while kept < len(drafts) and torch.rand((), dtype=p.dtype) * q[kept, drafts[kept]] < p[kept, drafts[kept]]:
        kept += 1
    law = p[kept] if kept == len(drafts) else (p[kept] - q[kept]).clamp(min=0)
    token = torch.multinomial(law, 1)
    text = torch.cat([drafts[:kept], token])
    return text, p[: kept + 1].log().gather(1, text[:, None])[:, 0].float()


def subject():
    return Subject(
        "with_logprobs",
        "chain",
        verify,
        arrays="torch",
        randomness="global",
        returns="tokens",
        logprobs="raw",
        sizes=(1, 2),
    )
