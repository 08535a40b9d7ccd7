"""Lossless: tests run in a pool of threads, each with a generator of its own."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from specsim.conform import Subject

POOL = ThreadPoolExecutor(2)
RNGS = [np.random.default_rng(s) for s in np.random.SeedSequence().spawn(2)]


def test(rng, p, q, x):
    return rng.random() * q[x] < p[x]


def verify(p, q, drafts):
    passed = list(POOL.map(test, RNGS, p, q, drafts))
    kept = passed.index(False) if False in passed else len(passed)
    law = p[kept] if kept == len(drafts) else np.clip(p[kept] - q[kept], 0, None)
    return kept, RNGS[0].choice(len(law), p=law / law.sum())


def subject():
    return Subject("in_threads", "chain", verify, randomness="global", sizes=(1, 2))
