"""Chains of eight additions modulo 10 in exchangeable words, and two small models of them.

A text is a problem, nine digits, and its solution: sum by sum the two numbers and their sum;
between two sums one of six connectives without meaning; at the end the answer, which is the last
sum again. The target's sums are right. The draft has other connective habits, and was taught some
wrong sums, which a rule that looks at words alone would accept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from real.papers.models import store
from real.train.loop import Schedule, fit, silent
from real.train.recipe import Shape
from real.train.step import build
from specsim.types import Array

UNIT = "nats a token"
SUMS = 8
# Tokens after those of the digits, which are the digits themselves.
PLUS, EQUALS, START, END, ASK, ANSWER = range(10, 16)
CONNECTIVES = range(16, 22)
VOCAB = 22
# Tokens of a problem: START, nine digits, ASK.
HEAD = SUMS + 3
LENGTH = HEAD + 6 * SUMS + 2
# Places of the sums' results.
RESULTS = HEAD + 4 + 6 * np.arange(SUMS)
_ALIKE = {"batch": 48, "rate": 8e-3, "order": 1, "sums": SUMS}
RECIPES: dict[str, dict[str, Any]] = {
    "sums_target": {
        "shape": [2, 64, 176, 4],
        "steps": 700,
        # Frequency of each connective.
        "habit": [0.5, 0.2, 0.1, 0.1, 0.05, 0.05],
        # Share of wrong sums in its training texts.
        "wrong": 0.0,
        "seed": 1,
    }
    | _ALIKE,
    "sums_draft": {
        "shape": [2, 48, 132, 4],
        "steps": 700,
        "habit": [0.1, 0.1, 0.3, 0.3, 0.1, 0.1],
        "wrong": 0.07,
        "seed": 2,
    }
    | _ALIKE,
}


def problems(count: int, rng: np.random.Generator) -> Tensor:
    """Problems (count, HEAD), evenly drawn."""
    digits = rng.integers(10, size=(count, SUMS + 1))
    ends = np.full((count, 1), START), np.full((count, 1), ASK)
    return torch.from_numpy(np.concatenate([ends[0], digits, ends[1]], axis=1))


def solved(asked: Tensor, habit: list[float], rng: np.random.Generator) -> Tensor:
    """Problems (n, HEAD) with a solution each, (n, LENGTH): every sum right, connectives drawn by `habit`."""
    digits = asked[:, 1 : HEAD - 1].numpy()
    made = np.cumsum(digits, axis=1) % 10
    words = rng.choice(np.array(CONNECTIVES), p=habit, size=(len(digits), SUMS))
    words[:, -1] = ANSWER
    signs = [np.full_like(words, sign) for sign in (PLUS, EQUALS)]
    lines = np.stack([made[:, :-1], signs[0], digits[:, 1:], signs[1], made[:, 1:], words], axis=-1)
    end = np.stack([made[:, -1], np.full(len(made), END)], axis=1)
    return torch.cat([asked, torch.from_numpy(np.concatenate([lines.reshape(len(made), -1), end], axis=1))], 1)


def right(texts: Tensor) -> Array:
    """Whether the answer of each text (n, LENGTH) is that of its problem (n,)."""
    is_right: Array = (texts[:, LENGTH - 2] == texts[:, 1 : HEAD - 1].sum(1) % 10).numpy()
    return is_right


def read(model: Any, texts: Tensor) -> tuple[Tensor, Tensor]:
    """Laws of the token after each of texts (n, t) in float64, (n, t, VOCAB), and the last states, (n, t, hidden)."""
    with torch.no_grad():
        states = model.model(texts, use_cache=False).last_hidden_state
        return model.lm_head(states).double().softmax(-1), states


def finished(model: Any, texts: Tensor) -> Tensor:
    """Texts (n, t) continued by the model's likeliest tokens, (n, LENGTH)."""
    while texts.shape[1] < LENGTH:
        texts = torch.cat([texts, read(model, texts)[0][:, -1:].argmax(-1)], 1)
    return texts


def _loss(model: Any, texts: Tensor, wrong: float, drawn: torch.Generator) -> Tensor:
    """Cross-entropy of solutions, of whose sums a share `wrong` is replaced by random digits."""
    taught = texts.clone()
    other = torch.rand(len(texts), SUMS, generator=drawn) < wrong
    digits = torch.randint(10, other.shape, generator=drawn)
    taught[:, RESULTS] = torch.where(other, digits, texts[:, RESULTS])
    logits = model(texts[:, :-1], use_cache=False).logits[:, HEAD - 1 :]
    return F.cross_entropy(logits.flatten(0, 1), taught[:, HEAD:].flatten())


def _untrained(name: str) -> Any:
    """The model of a recipe, untrained."""
    if name not in RECIPES:
        raise ValueError(f"name {name!r} is no model of sums; known: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    return build(Shape(*recipe["shape"]), VOCAB, LENGTH, recipe["seed"])


def train(name: str, show_stage: Callable[[str], None] = silent) -> Any:
    """Train one of them, each step on problems that were not seen before."""
    model, recipe = _untrained(name), RECIPES[name]
    rng, drawn = np.random.default_rng(recipe["order"]), torch.Generator().manual_seed(recipe["order"])

    def loss(step: int) -> Tensor:
        """The loss of new problems."""
        texts = solved(problems(recipe["batch"], rng), recipe["habit"], rng)
        return _loss(model, texts, recipe["wrong"], drawn)

    fit(model, loss, Schedule(recipe["steps"], recipe["rate"]), show_stage=show_stage)
    return model


def held_out(name: str, module: Any) -> float:
    """Cross-entropy of its own texts on problems of another seed."""
    recipe, rng = RECIPES[name], np.random.default_rng(1_000 + RECIPES[name]["order"])
    texts = solved(problems(200, rng), recipe["habit"], rng)
    with torch.no_grad():
        return float(_loss(module, texts, recipe["wrong"], torch.Generator().manual_seed(0)))


def model(name: str) -> Any:
    """The model with the weights that are shipped: a causal language model of Hugging Face's, in float32."""
    return store.load(name, _untrained(name), RECIPES[name])
