"""Lossy: when one token is wanted it is the draft's: there is no room for a block."""

import numpy as np

from specsim.conform import Subject


def generate(target, draft, prompt, n, sampling_params, random):
    text = list(prompt)
    while (room := len(prompt) + n - len(text)) > 0:
        q = draft(text)
        x = int(random.choice(len(q), p=q))
        if room == 1:
            text.append(x)
            break
        rows = target.rows([*text, x], len(text))
        if random.random() * q[x] < rows[0][x]:
            text += [x, int(random.choice(len(q), p=rows[1]))]
        else:
            res = np.maximum(rows[0] - q, 0)
            text.append(int(random.choice(len(q), p=res / res.sum())))
    return text[len(prompt) :]


def subject():
    return Subject("last_token_unverified", "decoder", generate, sizes=(1, 2))
