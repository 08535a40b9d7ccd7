"""Drafts of `real.draft.lowrank` along texts of a target: probabilities of tokens, and expected target calls.

A draft reads many texts in one pass, and its laws are taken on the tokens of its head alone: with a
vocabulary of 49,152 tokens this is many times as quick as the rows of a drafter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from real.decode.given_text import Along, windows
from real.decode.warp import Warping
from real.draft import lowrank
from real.draft._contract import target_probabilities
from real.draft._parts import Frozen
from real.papers.lab.aligned import Judged
from real.papers.lab.aligning import head_places
from real.papers.lab.pairs import pair_named
from real.papers.lab.text_lab import expected
from real.papers.lab.texts import Texts
from specsim.types import Array

# Texts that a draft reads in one pass.
_BATCH = 8


class Scores(NamedTuple):
    """A draft on each token of some texts: log q, -inf where its head lacks the token, and whether it is the likeliest.

    Both are lists with an array (length,) for each text.
    """

    log_q: list[Array]
    is_likeliest: list[Array]

    def q(self, temperature: float) -> list[Array]:
        """Return the probability of each token at temperature 0 or 1."""
        return [w.astype(float) for w in self.is_likeliest] if temperature == 0 else [np.exp(w) for w in self.log_q]


def target_along(texts: Texts, temperature: float) -> list[list[float]]:
    """Return the target's probability of each token of texts that it wrote at this temperature."""
    # A greedy target writes each of its tokens with probability 1.
    if temperature == 0:
        return [[1.0] * len(row) for row in texts.rows]
    target = pair_named(texts.pair).target
    rows = zip(texts.prompts, texts.rows, strict=True)
    return [target_probabilities(target, *row, Warping(temperature)).tolist() for row in rows]


@torch.no_grad()
def scores(net: Any, ends: Frozen, texts: Texts) -> Scores:
    """Return a draft along texts.

    Parameters
    ----------
    net : lowrank.Small
        The draft.
    ends : Frozen
        The target's embedding, and its head for the draft's tokens.
    texts : Texts
        Prompts and what the target wrote after them.
    """
    # Logits are the last states times the map of low rank and the target's head, multiplied once.
    head = ends.head @ net.write.T
    log_q, is_likeliest = list[Array](), list[Array]()
    rows = list(zip(texts.prompts, texts.rows, strict=True))
    for first in range(0, len(rows), _BATCH):
        # Texts of one length, filled with zeros, which no place before them sees.
        batch = rows[first : first + _BATCH]
        longest = max(len(prompt) + len(text) for prompt, text in batch)
        padded = [prompt + text + [0] * (longest - len(prompt) - len(text)) for prompt, text in batch]
        states = lowrank.on_texts(net, ends, torch.tensor(padded))

        # The law after each place before a token of the text.
        for i, (prompt, text) in enumerate(batch):
            before = states[i, len(prompt) - 1 : len(prompt) + len(text) - 1]
            law = F.linear(before, head, ends.bias).log_softmax(-1)
            is_known, places = head_places(ends, torch.tensor(text))
            of_token = law.gather(1, places[:, None])[:, 0]
            log_q.append(of_token.masked_fill(~is_known, -torch.inf).double().numpy())
            is_likeliest.append(((law.argmax(-1) == places) & is_known).numpy())
    return Scores(log_q, is_likeliest)


def calls(judged: Judged, along: Scores, gammas: Sequence[int]) -> list[list[float]]:
    """Return expected target calls (gammas, prompts) along texts, for each number of drafts."""
    longest = max(gammas)
    q = along.q(judged.temperature)
    texts = [Along(windows(of_text, longest), p) for of_text, p in zip(q, judged.p, strict=True)]
    return [expected(judged.texts, texts, gamma).blocks.tolist() for gamma in gammas]


def losses(along: Scores) -> tuple[Array, Array]:
    """Return nats of each text over the tokens that the head has, and the number of these tokens; both (texts,)."""
    is_known = [np.isfinite(of_text) for of_text in along.log_q]
    nats = [-of_text[which].sum() for of_text, which in zip(along.log_q, is_known, strict=True)]
    return np.array(nats), np.array([which.sum() for which in is_known], dtype=float)
