"""Lossless: the residual is drawn by rejection: tokens of p, kept with 1 - q/p."""

from specsim.conform import Subject


def verify(p, q, drafts, random):
    x = drafts[0]
    if random.random() * q[x] < p[x]:
        return x
    while True:
        y = random.choice(len(p), p=p)
        if random.random() * p[y] < max(p[y] - q[y], 0):
            return y


def subject():
    return Subject("until_it_fits", "step", verify, sizes=(1,))
