"""Lossy: drafts come from the warped q, but the test divides by q before it (temperature reaches one side only)."""

import torch

from specsim.conform import Subject


def warp(rows, s):
    if s.temperature == 0:
        return torch.nn.functional.one_hot(rows.argmax(-1), rows.shape[-1]).to(rows)
    rows = (rows.log() / s.temperature).softmax(-1)
    if s.top_k:
        kth = rows.topk(min(s.top_k, rows.shape[-1])).values[..., -1:]
        rows = torch.where(rows < kth, 0, rows)
    if s.top_p < 1:
        rows = rows / rows.sum(-1, keepdim=True)
        ordered, index = rows.sort(descending=True, stable=True)
        remove = ordered.cumsum(-1) - ordered >= s.top_p
        rows = rows.masked_fill(remove.scatter(-1, index, remove), 0)
    return rows / rows.sum(-1, keepdim=True)


def verify(p, q, drafts, *, sampling_params):
    p = warp(p, sampling_params)
    for i, x in enumerate(drafts):
        if torch.rand((), dtype=p.dtype) * q[i, x] >= p[i, x]:
            res = (p[i] - q[i]).clamp(min=0)
            return i, torch.multinomial(res if res.sum() > 0 else p[i], 1)[0]
    return len(drafts), torch.multinomial(p[-1], 1)[0]


def subject():
    return Subject(
        "q_renormalised_after_top_k", "chain", verify, arrays="torch", randomness="global", warps=True, sizes=(1, 2)
    )
