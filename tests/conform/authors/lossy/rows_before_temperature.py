"""Lossy: a drafter that draws with the temperature and returns rows without it."""

import numpy as np

from specsim import warp
from specsim.conform import Subject


def propose(draft, prompt, gamma, sampling_params, random):
    text, rows = list(prompt), []
    for _ in range(gamma):
        raw = draft(text)
        law = warp(raw, sampling_params.temperature, sampling_params.top_k, sampling_params.top_p)
        text.append(int(random.choice(len(law), p=law)))
        rows.append(warp(raw, 1.0, sampling_params.top_k, sampling_params.top_p))
    return text[len(prompt) :], np.stack(rows)


def subject():
    return Subject("rows_before_temperature", "drafter", propose, sizes=(1, 2))
