"""Laws of whole texts: of the real decode loop, every run forked, and of the target alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from real.decode.loop import Decoded, decode
from real.decode.warp import Warping, probabilities
from real.models.model import LanguageModel
from specsim.base.arrays import pick
from specsim.forking import rational
from specsim.verify.chain import tokenwise

# Tokens whose joint law is summed.
TEXT = 3
Law = dict[tuple[int, ...], float]


def exact(w: Any) -> np.ndarray:
    """Return numbers as Fractions: every float is a rational."""
    host = np.asarray(w.cpu() if isinstance(w, torch.Tensor) else w)
    return np.array([Fraction(v) for v in host.ravel().tolist()], dtype=object).reshape(host.shape)


def forked_runs(
    target: LanguageModel,
    draft: LanguageModel,
    prompt: list[int],
    gamma: int,
    warping: Warping,
    max_tokens: int,
    stop: frozenset[int] = frozenset(),
    chain: Any = tokenwise,
) -> Iterator[tuple[Decoded, float]]:
    """Return every run of `decode` with its probability.

    Each draft drawn and each decision of the rule forks.
    """

    def program(fork: rational.Fork) -> Decoded:
        """Decode once, with uniforms that fork."""

        class Rule:
            """The chain rule in Fractions, on uniforms that fork."""

            prepare = staticmethod(lambda p, q: chain.prepare(exact(p), exact(q)))
            uniforms = staticmethod(chain.uniforms)

            @staticmethod
            def verify(plan: Any, drafts: Any, u: Any) -> tuple[Any, ...]:
                host = drafts if isinstance(drafts, np.ndarray) else drafts.cpu().numpy()
                decided = chain.verify(plan, host, fork.uniforms(*u.shape))
                if isinstance(drafts, np.ndarray):
                    return tuple(w.astype(np.int64) for w in decided)
                return tuple(torch.tensor(w.tolist(), device=target.device) for w in decided)

        # The loop's own uniforms are not read.
        return decode(
            target,
            draft,
            prompt,
            max_tokens=max_tokens,
            gamma=gamma,
            uniforms=lambda position, count: torch.zeros(count, dtype=torch.float64),
            warping=warping,
            stop=stop,
            rule=Rule,
            draw=lambda law, u: torch.tensor(pick(exact(law), fork.uniforms(*u.shape)).tolist(), device=law.device),
        )

    return ((run, float(weight)) for run, weight in rational.runs(program))


def forked_text_law(
    target: LanguageModel,
    draft: LanguageModel,
    prompt: list[int],
    gamma: int,
    warping: Warping,
    stop: frozenset[int] = frozenset(),
    chain: Any = tokenwise,
) -> Law:
    """Law of the next TEXT tokens of `decode`, summed over every run."""
    # A block of gamma drafts happens only where gamma + 1 tokens are wanted.
    law: Law = {}
    length = max(TEXT, gamma + 1)
    for run, weight in forked_runs(target, draft, prompt, gamma, warping, length, stop, chain):
        text = tuple(run.tokens[:TEXT])
        law[text] = law.get(text, 0.0) + weight
    return law


def text_law(
    rows: Callable[[list[int]], torch.Tensor],
    prompt: list[int],
    vocab: int,
    warping: Warping,
    stop: frozenset[int] = frozenset(),
) -> Law:
    """Law of the next TEXT tokens by ancestral sampling from an uncached forward."""
    # Extend every text by every token; texts that have stopped stay.
    law: Law = {(): 1.0}
    for _ in range(TEXT):
        longer: Law = {}
        for text, mass in law.items():
            if text and text[-1] in stop:
                longer[text] = mass
                continue
            p = probabilities(rows([*prompt, *text])[-1], warping)
            longer |= {(*text, y): mass * float(p[y]) for y in range(vocab) if p[y] > 0}
        law = longer
    return law


def difference(a: Law, b: Law) -> float:
    """Return the largest difference of two laws."""
    return max(abs(a.get(text, 0.0) - b.get(text, 0.0)) for text in a.keys() | b.keys())
