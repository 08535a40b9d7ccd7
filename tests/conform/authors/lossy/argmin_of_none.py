"""Lossy: the first rejection is an argmin, which is 0 where there is none: whole blocks are cut."""

import torch

LAYOUT = "flat"


def verify(p, q, drafts, ends, bonus):
    out = torch.full((len(ends), int(ends.diff(prepend=ends[:1] * 0).max()) + 1), -1)
    begin = 0
    for n, end in enumerate(ends.tolist()):
        at = torch.arange(begin, end)
        x = drafts[begin:end]
        passed = torch.rand(len(at)) * q[at, x] < p[at, x]
        first = int(passed.int().argmin())
        if passed.all() and len(at) == 1:
            out[n, 0], out[n, 1] = x[0], bonus[n]
        else:
            out[n, :first] = x[:first]
            law = (p[begin + first] - q[begin + first]).clamp(min=0)
            out[n, first] = torch.multinomial(law if law.sum() > 0 else p[begin + first], 1)
        begin = end
    return out
