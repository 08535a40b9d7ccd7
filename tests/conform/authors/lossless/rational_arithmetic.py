"""Lossless: everything in Fractions, the uniform too."""

import random
from fractions import Fraction

from specsim.conform import Subject


def verify(p, q, drafts):
    p, q = [Fraction(float(a)) for a in p], [Fraction(float(a)) for a in q]
    x = int(drafts[0])
    if Fraction(random.getrandbits(60), 1 << 60) * q[x] < p[x]:
        return x
    rest = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
    at = Fraction(random.getrandbits(60), 1 << 60) * sum(rest)
    for token, mass in enumerate(rest):
        at -= mass
        if at < 0:
            return token
    raise AssertionError


def subject():
    return Subject("rational_arithmetic", "step", verify, randomness="global", sizes=(1,))
