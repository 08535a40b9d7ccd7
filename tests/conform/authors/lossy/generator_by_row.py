"""Lossy: each row of a batch makes a generator from the batch's seed alone: rows draw the same numbers."""

import torch

LAYOUT = "padded"


def verify(p, q, drafts, counts):
    seed = int(torch.randint(2**31, ()))
    out = torch.full((len(p), q.shape[1] + 1), -1)
    for n, count in enumerate(counts.tolist()):
        g = torch.Generator().manual_seed(seed)
        for k in range(count):
            x = drafts[n, k]
            if torch.rand((), generator=g) * q[n, k, x] < p[n, k, x]:
                out[n, k] = x
            else:
                out[n, k] = torch.multinomial((p[n, k] - q[n, k]).clamp(min=0), 1, generator=g)
                break
        else:
            out[n, count] = torch.multinomial(p[n, count], 1, generator=g)
    return out
