"""Ways to decode on a server whose passes cost a step and their tokens, and random settings of loads."""

from __future__ import annotations

import random

import numpy as np

from specsim.speed.load.request_lengths import LengthLaw, Lengths
from specsim.speed.load.ways import Server, Way, alike


def fixed(prompt: int, output: int) -> Lengths:
    return Lengths(*(LengthLaw(np.array([n]), np.ones(1), "") for n in (prompt, output)))


def a_way(alpha: float, gamma: int, *, step: float = 0.01, per_token: float = 2e-5, draft: float = 0.001) -> Way:
    """A server whose cycle costs a step, drafts, and its tokens; whose passes cost a step or their tokens."""
    law = np.array([alpha**i * (1 - alpha) for i in range(gamma)] + [alpha**gamma])

    def cycle_s(batch: int) -> float:
        return step + gamma * draft + per_token * batch * (gamma + 1)

    return Way(gamma, alike(law), cycle_s, lambda tokens: step + per_token * tokens, 0.1 if gamma else 0.0, 0.001, 1e-9)


def settings(count: int) -> list[tuple[Way, Server, int, Lengths]]:
    rng = random.Random(1)
    cases = []
    for _ in range(count):
        gamma = rng.choice([0, 0, 1, 2, 4, 8])
        way = a_way(rng.uniform(0.2, 0.9), gamma, step=rng.uniform(0.005, 0.03), per_token=rng.uniform(1e-6, 1e-4))
        server = Server(cached_share=rng.choice([0.0, 0.5]), chunked=rng.random() < 0.8)
        cases.append((way, server, rng.choice([1, 2, 5, 16, 40]), fixed(rng.randint(20, 1500), rng.randint(40, 400))))
    return cases
