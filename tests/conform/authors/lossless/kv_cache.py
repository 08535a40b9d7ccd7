"""Lossless: a decoder with a KV cache, cut back after a rejection, and a carried token that is not in it yet."""

import numpy as np

from specsim.conform import Subject


class Cache:
    """Rows by position; a pass feeds only what is not cached."""

    def __init__(self, model):
        self.model, self.tokens, self.rows = model, [], []

    def feed(self, text):
        first = len(self.tokens) + 1
        self.rows += list(self.model.rows(text, first))
        self.tokens = list(text)

    def crop(self, length):
        del self.tokens[length:], self.rows[length:]


def norm(law):
    return law / law.sum()


def generate(target, draft, prompt, n, sampling_params, random):
    big, small = Cache(target), Cache(draft)
    text = list(prompt)
    first = target(text)
    text.append(int(random.choice(len(first), p=first)))
    big.tokens, big.rows = list(text[:-1]), [None] * len(text[:-1])
    small.tokens, small.rows = [], []
    while len(text) < len(prompt) + n:
        guess = []
        for _ in range(2):
            small.feed(text + guess)
            guess.append(int(random.choice(draft.vocab, p=small.rows[-1])))
        big.feed(text + guess)
        for x in guess:
            at = len(text) - 1
            p, q = big.rows[at], small.rows[at]
            if random.random() * q[x] < p[x]:
                text.append(x)
                continue
            text.append(int(random.choice(len(p), p=norm(np.maximum(p - q, 0)))))
            break
        else:
            p = big.rows[len(text) - 1]
            text.append(int(random.choice(len(p), p=p)))
        big.crop(len(text) - 1)
        small.crop(len(text) - 1)
    return text[len(prompt) : len(prompt) + n]


def subject():
    return Subject("kv_cache", "decoder", generate, sizes=(1, 2))
