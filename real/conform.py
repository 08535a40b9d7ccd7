"""The decode loop as a subject of our own judge: `specsim conform real/conform.py`.

The models look laws up, so that what is judged is all that stands around a model: prompts, cycles,
the rollback of what was read, the draws, the rule, sampling parameters, end tokens and limits. The
loop takes its uniforms as an argument: it is handed those of the judge, which are followed exactly.
That `Pair.generate` gives every block of every text uniforms of its own is tested in
tests/real/decode/test_uniforms.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.decode.chain_cycle import Verifier
from real.decode.loop import Uniforms, decode
from real.decode.verifier import RuleOptions, verifier_of
from real.decode.warping import Warping
from real.models.model import LanguageModel
from specsim.base.arrays import pick
from specsim.conform import Model, SamplingParams, Subject
from specsim.types import Array

GAMMA = 2
RULES = ("tokenwise", "block")
CONTEXT = 64


def subjects() -> list[Subject]:
    """Return the decode loop as a subject under each of the rules."""
    base = Subject("", "decoder", print, sizes=(1, 2), warps=True, stops=True)
    return [base._replace(name=f"real.decode.loop.decode, {rule}", run=partial(written, rule)) for rule in RULES]


def written(
    rule: str,
    target: Model,
    draft: Model,
    prompt: tuple[int, ...],
    n: int,
    sampling_params: SamplingParams,
    random: Any,
    *,
    end: int | None = None,
) -> list[int]:
    """Return the text that the loop writes on tables with the uniforms of a generator."""
    # A text needs a token before the first; the models do not look at it.
    return followed_text(rule, table(target), table(draft), [0, *prompt], n, Warping(*sampling_params), random, end)


def followed_text(
    rule: str,
    target: LanguageModel,
    draft: LanguageModel,
    prompt: list[int],
    n: int,
    warping: Warping,
    random: Any,
    end: int | None = None,
) -> list[int]:
    """Return the text that the loop writes with the uniforms of a generator."""
    return decode(
        target,
        draft,
        prompt,
        max_tokens=n,
        gamma=GAMMA,
        uniforms=by_position(random),
        warping=warping,
        stop=frozenset() if end is None else frozenset([end]),
        rule=followed(rule),
        draw=lambda rows, u: torch.from_numpy(np.asarray(pick(rows.numpy(), numbers(u)))),
    ).tokens


def by_position(random: Any) -> Uniforms:
    """Return the uniforms of a text by position: the same position has the same ones, as by `keyed`."""
    drawn: dict[int, Tensor] = {}

    def uniforms(position: int, count: int) -> Tensor:
        """Return the first `count` uniforms of a position, drawn when they are first needed."""
        if position not in drawn:
            drawn[position] = torch.from_numpy(random.random(2 * GAMMA + 1))
        return drawn[position][:count]

    return uniforms


@cache
def followed(rule: str) -> Followed:
    """Return the rule of this name, as `Pair.generate` finds it, for uniforms as objects."""
    verifier, _ = verifier_of(RuleOptions(rule, gamma=GAMMA), temperature=1.0)
    return Followed(verifier)


class Followed(NamedTuple):
    """A rule that takes its uniforms as an array of objects, on which every rule runs."""

    rule: Verifier

    def prepare(self, p: Array, q: Array) -> Any:
        """Return the rule's own plan."""
        return self.rule.prepare(p, q)

    def uniforms(self, gamma: int) -> int:
        """Return how many uniforms the rule takes."""
        return self.rule.uniforms(gamma)

    def verify(self, plan: Any, drafts: Array, u: Array) -> tuple[Array, Array]:
        """Return what the rule decides."""
        return self.rule.verify(plan, drafts, numbers(u))


def numbers(u: Any) -> Array:
    """Return uniforms as an array of objects, so that NumPy leaves the arithmetic to each of them."""
    out = np.empty(u.shape, dtype=object)
    for place in np.ndindex(*u.shape):
        out[place] = u[place].item()
    return out


def table(model: Model) -> LanguageModel:
    """Return a model whose logits are the logarithms of the laws in a table."""
    rows = cache(lambda text: torch.from_numpy(model.law(text)).log())
    kind, place = torch.float64, torch.device("cpu")
    return LanguageModel(model.vocab, CONTEXT, kind, place, model.vocab, partial(Store, rows, model.vocab), 0)


class Store:
    """A cache of the tokens that each sequence has read."""

    def __init__(self, rows: Callable[[tuple[int, ...]], Tensor], vocab: int, batch: int) -> None:
        """Begin with empty sequences; `rows` are the logits (V,) after a text."""
        self.rows, self.vocab, self.texts = rows, vocab, [list[int]() for _ in range(batch)]

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        """Return logits after each of the last `rows` tokens, which replace what stood from `starts` on."""
        out = []
        for row, i, start in zip(tokens.tolist(), which, starts, strict=True):
            text = self.texts[i] = [*self.texts[i][:start], *row]
            out += [self.rows(tuple(text[1:end])) for end in range(len(text) - rows + 1, len(text) + 1)]
        return torch.stack(out).view(len(which), rows, -1) if out else torch.empty(len(which), 0, self.vocab)
