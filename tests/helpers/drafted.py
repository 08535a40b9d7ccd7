"""Texts of the decode loop with any drafter and controller: forked, and compared with the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from helpers.texts import TEXT, Law, difference, exact, text_law
from real.decode.blocks import predict_along
from real.decode.clock import silent
from real.decode.loop import Decoded, decode_batch, keyed
from real.decode.proposer import Drafter
from real.decode.warp import Warping
from real.draft._contract import block_by_block
from real.models.model import LanguageModel, full_logits, full_states
from specsim.base.arrays import pick
from specsim.forking import rational
from specsim.verify.chain import tokenwise

GREEDY = Warping(temperature=0)


class Uncached:
    """A store that keeps the tokens only, and reads each text from its beginning every time."""

    def __init__(self, model: LanguageModel, batch: int) -> None:
        self._model, self._texts = model, [torch.empty(0, dtype=torch.int64) for _ in range(batch)]

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        texts = self._read(tokens, which, starts)
        return torch.stack([full_logits(self._model, text)[len(text) - rows :] for text in texts])

    def states(self, tokens: Tensor, which: list[int], starts: list[int], layers: tuple[int, ...]) -> tuple[Any, Any]:
        m = tokens.shape[1]
        both = [full_states(self._model, text, layers) for text in self._read(tokens, which, starts)]
        return torch.stack([logits[-m:] for logits, _ in both]), torch.stack([states[-m:] for _, states in both])

    def _read(self, tokens: Tensor, which: list[int], starts: list[int]) -> list[Tensor]:
        for i, start, new in zip(which, starts, tokens, strict=True):
            self._texts[i] = torch.cat([self._texts[i][:start], new])
        return [self._texts[i] for i in which]


def uncached(model: LanguageModel) -> LanguageModel:
    return replace(model, new_store=lambda batch: Uncached(model, batch))


def forked_runs(
    target: LanguageModel,
    drafter: Drafter,
    prompt: list[int],
    gamma: int,
    warping: Warping,
    max_tokens: int,
    controller: Any = None,
) -> Iterator[tuple[Decoded, float]]:
    """Return every run of `decode_batch` with its probability.

    Each draft drawn and each decision of the rule forks.
    """

    def program(fork: rational.Fork) -> Decoded:
        """Decode once, with uniforms that fork."""

        class Rule:
            """Tokenwise verification in Fractions, on uniforms that fork."""

            prepare = staticmethod(lambda p, q: tokenwise.prepare(exact(p), exact(q)))
            uniforms = staticmethod(tokenwise.uniforms)

            @staticmethod
            def verify(plan: Any, drafts: Any, u: Any) -> tuple[Any, ...]:
                return tuple(w.astype(np.int64) for w in tokenwise.verify(plan, drafts, fork.uniforms(*u.shape)))

        # The loop's own uniforms are not read.
        return decode_batch(
            target,
            None,
            [prompt],
            max_tokens=max_tokens,
            gamma=gamma,
            uniforms=[lambda position, count: torch.zeros(count, dtype=torch.float64)],
            warping=warping,
            rule=Rule,
            draw=lambda law, u: torch.tensor(pick(exact(law), fork.uniforms(*u.shape)).tolist()),
            proposer=drafter,
            controller=controller,
        )[0]

    return ((run, float(weight)) for run, weight in rational.runs(program))


def forked_law(
    target: LanguageModel,
    drafter: Drafter,
    prompt: list[int],
    gamma: int,
    warping: Warping = Warping(),  # noqa: B008 - frozen
    controller: Any = None,
) -> Law:
    """Law of the next TEXT tokens of `decode_batch`, summed over every run."""
    # A block of gamma drafts happens only where gamma + 1 tokens are wanted.
    law: Law = {}
    length = max(TEXT, gamma + 1)
    for run, weight in forked_runs(target, drafter, prompt, gamma, warping, length, controller):
        text = tuple(run.tokens[:TEXT])
        law[text] = law.get(text, 0.0) + weight
    return law


def law_error(
    target: LanguageModel,
    drafter: Drafter,
    prompt: list[int],
    gamma: int,
    warping: Warping = Warping(),  # noqa: B008 - frozen
    controller: Any = None,
) -> float:
    """Largest difference of that law from the target's, by ancestral sampling from an uncached forward."""
    law = forked_law(target, drafter, prompt, gamma, warping, controller)
    assert abs(sum(law.values()) - 1) < 1e-12
    goal = text_law(lambda x: full_logits(target, torch.tensor(x)), prompt, target.vocab_size, warping)
    return difference(law, goal)


def greedy_texts(
    target: LanguageModel, drafter: Drafter | None, prompts: list[list[int]], gamma: int, **more: Any
) -> Any:
    """Return the texts written at temperature 0, in one batch; without a drafter by plain decoding."""
    options: dict[str, Any] = {"max_tokens": 16, "uniforms": [keyed(3, i) for i in range(len(prompts))], **more}
    runs = decode_batch(
        target, None, prompts, gamma=gamma if drafter else 0, warping=GREEDY, proposer=drafter, **options
    )  # fmt: skip
    return [run.tokens for run in runs]


def cache_error(
    drafter: Drafter, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> float:
    """Largest difference of the laws of blocks made one after another from those of a drafter started for each."""
    most = 0.0
    for t, laws in enumerate(block_by_block(drafter, target, prompt, text, gamma, warping)):
        alone = next(iter(block_by_block(drafter, target, prompt + text[:t], text[t:], gamma, warping)))
        most = max(most, float((laws - alone).abs().max()))
    return most


def started(drafter: Drafter, target: LanguageModel, warping: Warping = Warping()) -> Any:  # noqa: B008 - frozen
    """The drafter at work on one text, with draws by inversion."""
    return drafter.start(target, warping, pick, 1, silent)


class Tau(NamedTuple):
    """Tokens per target call: measured, and a simultaneous 99 % interval of six of what was predicted."""

    measured: float
    low: float
    high: float


def measured_and_predicted(
    target: LanguageModel, drafter: Drafter, predicted_by: Drafter, gamma: int, texts: int, length: int = 24
) -> Tau:
    """Write texts with a drafter, and predict along each of them how many calls it took.

    Given its text, the calls of a run have the renewal law: their differences from what is
    predicted have mean 0 and are independent, so that a t interval holds.
    """
    prompts = [[i % target.vocab_size, 1] for i in range(texts)]
    options: dict[str, Any] = {"max_tokens": length, "uniforms": [keyed(gamma, i) for i in range(texts)]}
    runs = decode_batch(target, None, prompts, gamma=gamma, proposer=drafter, **options)
    along = (predicted_by.along(target, at, r.tokens, gamma, Warping()) for at, r in zip(prompts, runs, strict=True))
    calls, predicted = np.array([len(run.blocks) for run in runs]), np.array([predict_along(a).blocks for a in along])
    half = stats.t.ppf(1 - 0.01 / 6 / 2, texts - 1) * (calls - predicted).std(ddof=1) * texts**0.5
    total = texts * length
    return Tau(total / calls.sum(), total / (predicted.sum() + half), total / max(predicted.sum() - half, 1e-9))
