"""A small draft trained or tuned: by objectives of `specsim.objective`, on texts of the corpus, the target or itself.

Objectives that are compared learn side by side: one pass of the target over a batch serves all of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from real import TINY
from real.papers.lab.texts import Texts
from real.papers.lab.writing import pair
from real.train import corpus
from real.train.evaluate import write
from real.train.recipe import learning_rate
from real.train.step import batch_at, optimizers
from specsim import discover
from specsim.base.arrays import at, overlap
from specsim.base.unknown import unknown
from specsim.types import Array

Source = Literal["corpus", "target", "draft", "mixed"]
Optimizer = Literal["Muon and AdamW", "AdamW", "SGD"]
FRESH = 8  # steps after which a draft writes anew what it learns from
OPENING = 24  # tokens of the texts that it continues
WARMUP = 4


class Plan(NamedTuple):
    """How long, on how much, and how fast."""

    steps: int
    batch: int  # windows a step
    window: int  # tokens of each
    rate: float  # highest, of `Optimizer`
    optimizer: Optimizer = "Muon and AdamW"


class Rows(NamedTuple):
    """Texts to be judged on: ids (n, prompt + length), the target's laws along the texts (n, length, V), float32."""

    texts: Texts
    ids: Tensor
    laws: Tensor


@lru_cache(maxsize=2)
def model(name: str) -> Any:
    """The bundled target or draft as it can be trained; copy it before."""
    return AutoModelForCausalLM.from_pretrained(TINY / name, dtype=torch.float32)


@lru_cache(maxsize=2)
def stream(documents: int) -> Tensor:
    """So many files of the running Python's library, evenly spaced among those that nothing is held out from."""
    learned = corpus.split(corpus.stdlib_documents()).train
    names = sorted(learned)
    some = {names[i]: learned[names[i]] for i in np.linspace(0, len(names) - 1, documents).astype(int)}
    return torch.from_numpy(corpus.token_stream(pair().tokenizer, some))


def joined(texts: Texts) -> Tensor:
    """Prompts and texts as one tensor (n, prompt + length); ValueError for prompts of different lengths."""
    if len({len(prompt) for prompt in texts.prompts}) != 1:
        raise ValueError("prompts have different lengths; a batch has one")
    return torch.from_numpy(np.concatenate([np.array(texts.prompts), texts.tokens], axis=1))


@torch.no_grad()
def rows(texts: Texts) -> Rows:
    """The target's laws along texts, computed once for all drafts that are judged."""
    ids = joined(texts)
    found = [_laws(model("target"), part, texts.tokens.shape[1]) for part in torch.split(ids, 8)]
    return Rows(texts, ids, torch.cat(found))


@torch.no_grad()
def acceptance(draft: Any, on: Rows) -> Array:
    """Mean of sum min(p, q) (n,) over the positions of each text."""
    draft.eval()
    parts = zip(torch.split(on.ids, 8), torch.split(on.laws, 8), strict=True)
    return torch.cat([overlap(p, _laws(draft, ids, p.shape[1])).mean(-1) for ids, p in parts]).double().numpy()


@torch.no_grad()
def agreement(draft: Any, on: Rows) -> Array:
    """How often (n,) both models hold the same token for the likeliest: acceptance at T = 0, along greedy texts."""
    return (laws(draft, on).argmax(-1) == on.laws.argmax(-1)).double().mean(-1).numpy()


@torch.no_grad()
def laws(draft: Any, on: Rows) -> Tensor:
    """The draft's laws (n, length, V) along the texts."""
    draft.eval()
    return torch.cat([_laws(draft, ids, on.laws.shape[1]) for ids in torch.split(on.ids, 8)])


@torch.no_grad()
def own(draft: Any, on: Rows) -> Array:
    """The draft's probability of each token of the texts, (n, length), float64."""
    draft.eval()
    length = on.laws.shape[1]
    found = [at(_laws(draft, ids, length), ids[:, -length:]) for ids in torch.split(on.ids, 8)]
    return torch.cat(found).double().numpy()


def tune(
    start: Any,
    objectives: Sequence[str],
    batches: Callable[[Any, int], Tensor],
    plan: Plan,
    seed: int,
    said: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Tune a copy of a draft by each of the objectives, on the same batches.

    Parameters
    ----------
    start : causal language model
        The draft; not changed.
    objectives : sequence of str
        Names of files of `specsim.objective`. `cross_entropy` learns the tokens of the batch; other sampled ones get a
        token of the draft at each row.
    batches : callable
        Draft, step -> ids (batch, window); the draft is the first of those that are tuned.
    plan : Plan
        Steps and rates.
    seed : int
        Of sampled tokens.
    said : callable
        Told what runs.

    Returns
    -------
    dict
        Name -> tuned draft, in evaluation mode.

    Raises
    ------
    ValueError
        An unknown objective; a loss that is not finite, with its step.
    """
    losses = {name: discover.find("objective", name) for name in objectives}
    drafts = {name: copy.deepcopy(start).train() for name in objectives}
    steppers = {name: _optimizers(draft, plan.optimizer) for name, draft in drafts.items()}
    rng = torch.Generator().manual_seed(seed)
    for step in range(plan.steps):
        said(f"{', '.join(objectives)}: step {step + 1} of {plan.steps}")
        ids = batches(drafts[objectives[0]], step)
        with torch.no_grad():
            p = logits(model("target"), ids).softmax(-1) if set(objectives) != {"cross_entropy"} else None
        for name, draft in drafts.items():
            log_q = logits(draft, ids).log_softmax(-1)
            tokens = ids[:, 1:].flatten() if name == "cross_entropy" else None
            if tokens is None and losses[name].SAMPLED:
                tokens = torch.multinomial(log_q.detach().exp(), 1, generator=rng)[:, 0]
            loss = losses[name].loss(log_q.detach().exp() if p is None else p, log_q, tokens).mean()
            if not torch.isfinite(loss):
                raise ValueError(f"the loss {name} is {loss.item()} at step {step}")
            loss.backward()
            _step(draft, steppers[name], learning_rate(step, plan.steps, plan.rate, WARMUP))
    return {name: draft.eval() for name, draft in drafts.items()}


def batches_of(source: Source, texts: Texts, ids: Tensor, plan: Plan, seed: int) -> Callable[[Any, int], Tensor]:
    """Batches of a source for `tune`.

    Parameters
    ----------
    source : str
        "corpus"; "target", texts that it wrote; "draft", what the draft writes, anew every `FRESH` steps; "mixed", the
        latter two in halves.
    texts : Texts
        Those that the target wrote.
    ids : Tensor
        The corpus.
    plan : Plan
        Sizes of a batch.
    seed : int
        Of the choice.

    Returns
    -------
    callable
        Draft, step -> ids (batch, window).

    Raises
    ------
    ValueError
        An unknown source, or texts shorter than a window.
    """
    told = joined(texts)
    if told.shape[1] < plan.window:
        raise ValueError(f"texts of {told.shape[1]} tokens do not fill a window of {plan.window}")
    wrote: list[Tensor] = []

    def by_target(step: int) -> Tensor:
        rng = np.random.default_rng([seed, 1, step])
        first = rng.integers(told.shape[1] - plan.window + 1, size=plan.batch)
        chosen = rng.integers(len(told), size=plan.batch)
        return torch.stack([told[i, k : k + plan.window] for i, k in zip(chosen, first, strict=True)])

    def by_draft(draft: Any, step: int) -> Tensor:
        if step % FRESH == 0:
            rng = np.random.default_rng([seed, 2, step])
            opened = told[torch.from_numpy(rng.integers(len(told), size=FRESH * plan.batch)), :OPENING]
            draft.eval()
            wrote[:] = torch.split(write(draft, opened, plan.window, seed=seed + step), plan.batch)
            draft.train()
        return wrote[step % FRESH]

    makers: Mapping[str, Callable[[Any, int], Tensor]] = {
        "corpus": lambda draft, step: batch_at(ids, step, plan.batch, plan.window, seed),
        "target": lambda draft, step: by_target(step),
        "draft": by_draft,
        "mixed": lambda draft, step: torch.cat(
            [by_draft(draft, step)[: plan.batch // 2], by_target(step)[plan.batch // 2 :]]
        ),
    }
    if source not in makers:
        raise unknown("source", source, makers, "sources")
    return makers[source]


def _optimizers(draft: Any, kind: Optimizer) -> list[torch.optim.Optimizer]:
    if kind == "SGD":
        return [torch.optim.SGD([{"params": list(draft.parameters()), "scale": 1.0}], lr=1.0)]
    if kind == "AdamW":
        every = [{"params": list(draft.parameters()), "scale": 1.0}]
        return [torch.optim.AdamW(every, betas=(0.9, 0.95), weight_decay=0.0, fused=True)]
    return optimizers(draft, 0.0)


def _step(draft: Any, steppers: Sequence[torch.optim.Optimizer], rate: float) -> None:
    """One step of all its optimizers, with gradients of norm 1 at most."""
    torch.nn.utils.clip_grad_norm_(draft.parameters(), 1.0)
    for each in steppers:
        for group in each.param_groups:
            group["lr"] = rate * group["scale"]
        each.step()
        each.zero_grad()


def logits(any_model: Any, ids: Tensor) -> Tensor:
    """Of the token after every position but the last, as rows (n, V)."""
    found: Tensor = any_model(ids[:, :-1], use_cache=False).logits
    return found.flatten(0, 1).float()


def _laws(any_model: Any, ids: Tensor, length: int) -> Tensor:
    """Laws (n, length, V) of the last `length` tokens."""
    found: Tensor = any_model(ids[:, :-1], use_cache=False).logits
    return found[:, -length:].float().softmax(-1)
