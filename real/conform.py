"""`Pair.generate` as a subject of our own judge: `specsim conform real/conform.py`.

The models look laws up, so that what is judged is all that stands around a model: prompts, cycles, the rollback of what
was read, the rule, sampling parameters, end tokens, limits, and random numbers keyed by a seed: no script follows them.
A call of `generate` writes many texts, each of which is handed out once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from real.decode.warping import Warping
from real.models.model import LanguageModel
from real.pair import Pair
from specsim.conform import Model, SamplingParams, Subject

BATCH = 256  # texts of one call
GAMMA = 2
RULES = ("tokenwise", "block")
CONTEXT = 64


def subjects() -> list[Subject]:
    """The decode loop under each of the chain rules that it runs by name."""
    made = Subject("", "decoder", print, sizes=(1, 2), warps=True, stops=True)
    return [made._replace(name=f"real.pair.Pair.generate, {rule}", run=written(rule)) for rule in RULES]


def written(rule: str) -> Callable[..., list[int]]:
    """Texts of one rule: as many as a batch has are written at once."""
    held: dict[Any, list[list[int]]] = {}

    def run(
        target: Model,
        draft: Model,
        prompt: tuple[int, ...],
        n: int,
        sampling_params: SamplingParams,
        random: Any,
        *,
        end: int | None = None,
    ) -> list[int]:
        key = (target, draft, prompt, n, sampling_params, end)
        if not held.get(key):
            pair = Pair(table(target), table(draft), Digits(end))
            how: dict[str, Any] = {"rule": rule, "gamma": GAMMA, "max_tokens": n, "warping": Warping(*sampling_params)}
            texts: Any = pair.generate([spelled(prompt)] * BATCH, seed=int(random.integers(2**31)), **how)
            held.clear()
            held[key] = [one.tokens for one in texts]
        return held[key].pop()

    return run


def spelled(prompt: tuple[int, ...]) -> str:
    """A prompt as `Digits` reads it; a text needs a token before the first, which the models do not look at."""
    return "".join(map(str, (0, *prompt)))


class Digits:
    """A tokenizer: token 3 is the character 3."""

    def __init__(self, end: int | None) -> None:
        self.eos_token_id = end

    def __call__(self, text: str) -> dict[str, list[int]]:
        """Ids of a text."""
        return {"input_ids": [int(digit) for digit in text]}

    def decode(self, ids: list[int], **_: Any) -> str:
        """The text of ids."""
        return "".join(map(str, ids))


def table(model: Model) -> LanguageModel:
    """A model whose logits are the logarithms of the laws in a table."""
    rows = cache(lambda text: torch.from_numpy(model.law(text)).log())
    kind, place = torch.float64, torch.device("cpu")
    return LanguageModel(model.vocab, CONTEXT, kind, place, model.vocab, partial(Store, rows, model.vocab), 0)


class Store:
    """The tokens that each sequence has read."""

    def __init__(self, rows: Callable[[tuple[int, ...]], Tensor], vocab: int, batch: int) -> None:
        self.rows, self.vocab, self.texts = rows, vocab, [list[int]() for _ in range(batch)]

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        """Logits after each of the last `rows` tokens of some sequences, which forget what stood there."""
        out = []
        for row, i, start in zip(tokens.tolist(), which, starts, strict=True):
            text = self.texts[i] = [*self.texts[i][:start], *row]
            out += [self.rows(tuple(text[1:end])) for end in range(len(text) - rows + 1, len(text) + 1)]
        return torch.stack(out).view(len(which), rows, -1) if out else torch.empty(len(which), 0, self.vocab)
