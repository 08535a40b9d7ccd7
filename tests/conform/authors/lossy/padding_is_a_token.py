"""Lossy: the bonus of a short row is corrected by the padding's law, as if its draft had been rejected."""

import torch

LAYOUT = "padded"


def verify(p, q, drafts, counts):
    n, g, v = q.shape
    rows = torch.arange(n)
    px, qx = p[rows[:, None], torch.arange(g), drafts], q[rows[:, None], torch.arange(g), drafts]
    kept = (torch.rand(n, g) * qx < px).long().cumprod(1).sum(1).minimum(counts)
    row = p[rows, kept]
    sub = torch.cat([q, torch.zeros(n, 1, v)], 1)[rows, kept]
    res = (row - sub).clamp(min=0)
    token = torch.multinomial(torch.where(res.sum(1, keepdim=True) > 0, res, row), 1)
    out = torch.full((n, g + 1), -1)
    out[:, :g] = torch.where(torch.arange(g) < kept[:, None], drafts % v, -1)
    return out.scatter(1, kept[:, None], token)
