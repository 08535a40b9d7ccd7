"""Lossless: an async engine, driven by asyncio.run."""

import asyncio
import random

from specsim.conform import Subject


class Target:
    async def accepts(self, p, q, x):
        await asyncio.sleep(0)
        return random.random() * q[x] < p[x]

    async def resample(self, law):
        await asyncio.sleep(0)
        return random.choices(range(len(law)), weights=law)[0]


async def verify(p, q, drafts):
    target = Target()
    for i, x in enumerate(drafts):
        if not await target.accepts(p[i], q[i], x):
            return i, await target.resample([max(a - b, 0.0) for a, b in zip(p[i], q[i], strict=True)])
    return len(drafts), await target.resample(list(p[-1]))


def run(p, q, drafts):
    return asyncio.run(verify(p.tolist(), q.tolist(), drafts.tolist()))


def subject():
    return Subject("coroutine", "chain", run, randomness="global", sizes=(1, 2))
