"""Lossless: a flat batch in NumPy, row by row, with a generator that is passed."""

import numpy as np

LAYOUT = "flat"
FACTS = {"arrays": "numpy", "dtype": "float64", "randomness": "random"}


def verify(p, q, drafts, ends, bonus, rng):
    starts = np.concatenate([[0], ends[:-1]])
    out = np.full((len(ends), max(ends - starts) + 1), -1)
    for n, (a, b) in enumerate(zip(starts, ends, strict=True)):
        for t in range(a, b):
            x = drafts[t]
            if rng.random() * q[t, x] < p[t, x]:
                out[n, t - a] = x
                continue
            res = np.maximum(p[t] - q[t], 0)
            out[n, t - a] = rng.choice(len(res), p=res / res.sum())
            break
        else:
            out[n, b - a] = bonus[n]
    return out
