"""Lossy: a drafter that draws with the temperature and returns rows without it."""

import numpy as np

from specsim import warp
from specsim.conform import Subject


def warped(law, s, temperature):
    with np.errstate(divide="ignore"):
        return warp(np.log(law), temperature=temperature, top_k=s.top_k, top_p=s.top_p)


def propose(draft, prompt, gamma, sampling_params, random):
    text, rows = list(prompt), []
    for _ in range(gamma):
        raw = draft(text)
        law = warped(raw, sampling_params, sampling_params.temperature)
        text.append(int(random.choice(len(law), p=law)))
        rows.append(warped(raw, sampling_params, 1.0))
    return text[len(prompt) :], np.stack(rows)


def subject():
    return Subject("rows_before_temperature", "drafter", propose, warps=True, sizes=(1, 2))
