"""Lossy: after a rejection the draft's cache keeps the row of the rejected token, and the test reads what it kept."""

import numpy as np

from specsim.conform import Subject


def generate(target, draft, prompt, n, sampling_params, random):
    text, cached = list(prompt), {}
    while len(text) < len(prompt) + n:
        guess = []
        for _ in range(2):
            at = len(text) + len(guess)
            if at not in cached:
                cached[at] = target.rows([*text, *guess], at)[0]
            law = draft([*text, *guess])
            guess.append(int(random.choice(len(law), p=law)))
        for x in guess:
            p, q = cached[len(text)], draft(text)
            if random.random() * q[x] < p[x]:
                text.append(x)
                continue
            res = np.maximum(p - q, 0)
            text.append(int(random.choice(len(res), p=res / res.sum())))
            break
    return text[len(prompt) : len(prompt) + n]


def subject():
    return Subject("cache_not_rolled_back", "decoder", generate, sizes=(1, 2))
