"""Lossless: numbers of the operating system, by `secrets`."""

import secrets

from specsim.conform import Subject


def uniform():
    return secrets.randbelow(1 << 53) / (1 << 53)


def verify(p, q, drafts):
    p, q, x = p.tolist(), q.tolist(), int(drafts[0])
    if uniform() * q[x] < p[x]:
        return x
    res = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
    u = uniform() * sum(res)
    for token, mass in enumerate(res):
        if u < mass:
            return token
        u -= mass
    return max(i for i, mass in enumerate(res) if mass > 0)


def subject():
    return Subject("secrets_of_the_system", "step", verify, randomness="global", sizes=(1,))
