"""Lossless: a drafter that warps, draws by inverse CDF and returns the rows it drew from."""

import numpy as np

from specsim import warp
from specsim.conform import Subject


def propose(draft, prompt, gamma, sampling_params, random):
    text, rows = list(prompt), []
    for _ in range(gamma):
        law = warp(draft(text), sampling_params.temperature, sampling_params.top_k, sampling_params.top_p)
        text.append(int(random.choice(len(law), p=law)))
        rows.append(law)
    return text[len(prompt) :], np.stack(rows)


def subject():
    return Subject("tempered_drafter", "drafter", propose, sizes=(1, 2))
