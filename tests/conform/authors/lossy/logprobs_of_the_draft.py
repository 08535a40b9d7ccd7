"""Lossy: kept drafts are reported with the draft's log-probabilities."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    kept = 0
    while kept < len(drafts) and torch.rand((), dtype=p.dtype) * q[kept, drafts[kept]] < p[kept, drafts[kept]]:
        kept += 1
    law = p[kept] if kept == len(drafts) else (p[kept] - q[kept]).clamp(min=0)
    text = torch.cat([drafts[:kept], torch.multinomial(law, 1)])
    rows = torch.cat([q[:kept], p[kept : kept + 1]])
    return text, rows.log().gather(1, text[:, None])[:, 0]


def subject():
    return Subject(
        "logprobs_of_the_draft",
        "chain",
        verify,
        arrays="torch",
        randomness="global",
        returns="tokens",
        logprobs="raw",
        sizes=(1, 2),
    )
