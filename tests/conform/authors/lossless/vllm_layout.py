"""Lossless: the layout of vLLM, float64 uniforms, recovered tokens by a race drawn once for each row."""

import torch

LAYOUT = "vllm"


def verify(drafts, counts, longest, ends, q, p, bonus):
    out = torch.full((len(counts), longest + 1), -1, dtype=torch.int64)
    uniform = torch.rand(len(drafts), dtype=torch.float64)
    start = 0
    for n, count in enumerate(counts):
        noise = torch.empty(p.shape[1]).exponential_()
        for k in range(count):
            t = start + k
            x = drafts[t]
            if q[t, x] > 0 and p[t, x] / q[t, x] >= uniform[t]:
                out[n, k] = x
            else:
                out[n, k] = ((p[t] - q[t]).clamp(min=0) / noise).argmax()
                break
        else:
            out[n, count] = bonus[n, 0]
        start += count
    return out
