"""Every drafter of `real.draft` for a tiny target, for tests of what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from helpers.tiny_models import tiny_llama
from real.decode.proposer import Drafter
from real.decode.warp import Warping
from real.draft import exit, feature, heads, lm, lowrank, ngram, one_pass, restricted, trigram
from real.draft._contract import target_laws
from real.models.model import LanguageModel, from_hf
from specsim.base.arrays import pick


def _lm(target: LanguageModel) -> Drafter:
    """Return a random draft model as a drafter."""
    return lm.drafter(from_hf(tiny_llama(target.vocab_size, seed=7, dtype=target.dtype)))


def table(target: LanguageModel, texts: int = 2, length: int = 12) -> ngram.Table:
    """Return the table of n-grams that some texts of the target leave."""
    memory = ngram.EMPTY
    for k in range(texts):
        text = [(3 * k + i * i) % target.vocab_size for i in range(length)]
        memory = ngram.learn(memory, [0, 1], text, target_laws(target, [0, 1], text, Warping()))
    return memory


def _cut(inner: Drafter, target: LanguageModel) -> Drafter:
    """Return a drafter restricted to every other token, and the last."""
    end = target.vocab_size - 1
    return restricted.drafter(inner, [*range(0, end, 2), end], end)


Net = TypeVar("Net", bound=nn.Module)
# The width of `helpers.decoding.models`, which have 2 heads.
HIDDEN = 8


def random(net: Net, seed: int = 0) -> Net:
    """Return the network with large weights, so that its laws depend on all that it reads."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for w in net.parameters():
            w.copy_(torch.randn(w.shape, generator=rng) * (0.5 if w.ndim > 1 else 1.0))
    return net.eval()


def block() -> exit.Block:
    """Return the block of an exit."""
    return random(exit.Block(HIDDEN, 3 * HIDDEN))


def small_lm() -> lowrank.Small:
    """Return a small language model on the target's embedding and head."""
    return random(lowrank.Small(HIDDEN, 6, 3, 5, 2))


def of_few_tokens(net: Net, target: LanguageModel) -> Net:
    """Return a network whose head has every other token of the target, and the last."""
    end = target.vocab_size - 1
    net.tokens = torch.tensor([*range(0, end, 2), end], dtype=torch.int32)
    return net


def networks() -> dict[str, nn.Module]:
    """Return the networks that read the target's last states, by name."""
    return {
        "heads": random(heads.Heads(HIDDEN, 5, 6)),
        "trigram": random(trigram.Trigram(HIDDEN, 3, 4, 5)),
        "feature": random(feature.Feature(HIDDEN, 4, 5)),
        "feature, both": random(feature.Feature(HIDDEN, 4, 5, fuse=3, pad=True)),
        "feature, control": random(feature.Feature(HIDDEN, 4, 5, extra=6)),
        "one_pass": random(one_pass.OnePass(HIDDEN, 4, 5, 6, 3)),
        "one_pass, corrected": random(one_pass.OnePass(HIDDEN, 4, 5, 6, 3, correction=4)),
    }


SMALL: dict[str, Callable[[LanguageModel], Drafter]] = {
    "lm": _lm,
    "ngram": lambda target: ngram.drafter(target),
    "ngram, shared": lambda target: ngram.drafter(target, table(target)),
    "ngram, shared only": lambda target: ngram.drafter(target, table(target), own=False),
    "ngram, likeliest": lambda target: ngram.drafter(target, table(target), stochastic=False),
    "exit": lambda target: exit.drafter(block(), 0),
    "exit, few tokens": lambda target: exit.drafter(of_few_tokens(block(), target), 0),
    "lowrank": lambda target: lowrank.drafter(small_lm(), target),
    "lowrank, few tokens": lambda target: lowrank.drafter(of_few_tokens(small_lm(), target), target),
    "heads": lambda target: heads.drafter(networks()["heads"], target),
    "trigram": lambda target: trigram.drafter(networks()["trigram"], target),
    "feature": lambda target: feature.drafter(networks()["feature"], target),
    "feature, few tokens": lambda target: feature.drafter(of_few_tokens(networks()["feature"], target), target),
    "feature, both": lambda target: feature.drafter(networks()["feature, both"], target),
    "one_pass": lambda target: one_pass.drafter(networks()["one_pass"], target),
    "one_pass, corrected": lambda target: one_pass.drafter(networks()["one_pass, corrected"], target),
    "restricted": lambda target: _cut(_lm(target), target),
    "restricted, ngram": lambda target: _cut(ngram.drafter(target, table(target)), target),
}


def written(target: LanguageModel, prompt: list[int], length: int, warping: Warping, seed: int) -> list[int]:
    """Return a text of the target, by plain decoding."""
    from real.decode.loop import decode, keyed

    return decode(
        target, None, prompt, max_tokens=length, gamma=0, uniforms=keyed(seed, 0), warping=warping, draw=pick
    ).tokens
