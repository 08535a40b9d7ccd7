"""A rejected token stays in the cache."""

from typing import Any

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams

WRONG = (
    "The target's state is not rolled back after a rejection: later tokens are conditioned on the rejected draft, too."
)
THREAD = "https://github.com/ml-explore/mlx-lm/pull/1109"
EXPECTED = "convicted"
PROPERTY = "joint"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft; both models read everything that was ever fed."""
    fed = list(prompt)

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(fed), sampling_params), warped(draft(fed), sampling_params)
        x = draw(random, q)
        fed.append(x)
        if random.random() * q[x] < p[x]:
            return (x,)
        fed.append(draw(random, residual(p, q)))
        return (fed[-1],)

    return rounds(prompt, n, block)


subject = decoder(__name__, run, sizes=(1, 2))
