"""Lossy: one row of Gumbel noise serves all corrections of a batch."""

import torch

LAYOUT = "padded"


def verify(p, q, drafts, counts):
    n, g, v = q.shape
    gumbel = -torch.empty(v).exponential_().log()
    out = torch.full((n, g + 1), -1)
    for b in range(n):
        for k in range(int(counts[b])):
            x = drafts[b, k]
            if torch.rand(()) * q[b, k, x] < p[b, k, x]:
                out[b, k] = x
            else:
                out[b, k] = ((p[b, k] - q[b, k]).clamp(min=0).log() + gumbel).argmax()
                break
        else:
            out[b, counts[b]] = torch.multinomial(p[b, counts[b]], 1)
    return out
