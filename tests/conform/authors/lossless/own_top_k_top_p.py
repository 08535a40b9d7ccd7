"""Lossless: it applies temperature, top-k and top-p itself, by sorting, to target, draft, residual and bonus."""

import torch

from specsim.conform import Subject


def warp(rows, s):
    logits = rows.log()
    if s.temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), rows.shape[-1]).to(rows)
    logits = logits / s.temperature
    if s.top_k:
        kth = logits.topk(min(s.top_k, rows.shape[-1])).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -torch.inf)
    if s.top_p < 1:
        ordered, index = logits.sort(descending=True, stable=True)
        probs = ordered.softmax(-1)
        remove = probs.cumsum(-1) - probs >= s.top_p
        logits = logits.masked_fill(remove.scatter(-1, index, remove), -torch.inf)
    return logits.softmax(-1)


def verify(p, q, drafts, *, sampling_params):
    p, q = warp(p, sampling_params), warp(q, sampling_params)
    for i, x in enumerate(drafts):
        if torch.rand((), dtype=p.dtype) * q[i, x] >= p[i, x]:
            return i, torch.multinomial((p[i] - q[i]).clamp(min=0), 1)[0]
    return len(drafts), torch.multinomial(p[-1], 1)[0]


def subject():
    return Subject("own_top_k_top_p", "chain", verify, arrays="torch", randomness="global", warps=True, sizes=(1, 2))
