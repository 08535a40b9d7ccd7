"""Drafters that read the target's states: a network at many block starts of a text.

In the decode loop the network is run by `real.draft._reader`.

A block begins after place u of the text. The target has not read the token there, so that its
newest state is the one after the token *before*. That state is called `before[u]`; at the first
place it is zeros. Step j of the block reads the token at u + j, and gives a law to the token at
u + 1 + j.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from real.decode.draft import readable
from real.decode.given_text import Along
from real.decode.proposer import Drafter
from real.decode.warp import Warping, probabilities
from real.draft._contract import seen_along, target_probabilities
from real.draft._parts import Frozen, Look, frozen, weights_of
from real.draft._reader import Reader, check_steps
from real.models.model import LanguageModel, full_states
from specsim.base.arrays import at as entries_at


class Step(NamedTuple):
    """What one step of k blocks in each of b texts returns.

    `read` (b, k, hidden) is the input of the target's head; `carried` (b, k, hidden) the state that
    the next step reads; `block_keys` has the attention's keys (b, k, w) of each step so far.
    """

    read: Tensor
    carried: Tensor
    block_keys: list[Tensor]


class Network(Protocol):
    """A network that is trained.

    `hidden` is the width of the target's states; `steps` the most drafts of a block, None for any
    number; `tokens` (k,) are the tokens of its head (see `with_tokens`), None for all.
    """

    hidden: int
    steps: int | None
    tokens: Tensor | None

    def keys(self, three: Tensor, before: Tensor) -> Tensor:
        """Return keys (b, m, w) of m places of the text.

        three: embeddings (b, m, 3 hidden) of the three tokens that end at each place. before:
        (b, m, hidden).
        """

    def step(self, j: int, three: Tensor, carried: Tensor, block_keys: list[Tensor], look: Look) -> Step:
        """Return step j of blocks at k places.

        three: embeddings (b, k, 3 hidden) of the three tokens that end where the step reads.
        carried: (b, k, hidden), what step j - 1 carried; `before` of the block at step 0.
        """


def triples(tokens: Tensor) -> Tensor:
    """Return the three tokens (b, m, 3) that end at each place of texts (b, m); -1 before the text.

    Tokens [7, 8] give [[-1, -1, 7], [-1, 7, 8]].
    """
    return F.pad(tokens, (2, 0), value=-1).unfold(1, 3, 1)


def shifted(states: Tensor) -> Tensor:
    """Return `before` (b, m, hidden) of every place, from the states (b, m, hidden) after each token."""
    return F.pad(states, (0, 0, 1, 0))[:, : states.shape[1]]


def rolled(net: Any, ends: Frozen, tokens: Tensor, before: Tensor, at: Tensor, gamma: int) -> Iterator[Step]:
    """Yield the steps of blocks that begin after places `at` and whose drafts are the text's tokens.

    Parameters
    ----------
    net : Network
        The drafter.
    ends : Frozen
        Embedding and head of its target.
    tokens : Tensor, shape (b, n), int64
        Texts.
    before : Tensor, shape (b, n, hidden)
        The target's state before each place.
    at : Tensor, shape (k,), int64
        Places, the same in every text.
    gamma : int
        Steps; those past the end of the text read its last token again, and mean nothing.

    Yields
    ------
    Step
        Of shapes (b, k, ...).
    """
    three = ends.three(triples(tokens))
    look = Look(net.keys(three, before), at[None])
    carried = before[:, at]
    block_keys: list[Tensor] = []
    for j in range(gamma):
        # Steps past the end of the text read its last token again.
        places_of_step = (at + j).clamp(max=tokens.shape[1] - 1)
        step = net.step(j, three[:, places_of_step], carried, block_keys, look)
        carried, block_keys = step.carried, step.block_keys
        yield step


def last(target: LanguageModel) -> tuple[int, ...]:
    """Return the number of the target's last layer, in a tuple."""
    return (len(weights_of(target).layers),)


def drafter(net: Any, target: LanguageModel, *, one_pass: bool = False) -> Drafter:
    """Return the drafter of a network that reads the states after the target's last layer.

    `one_pass` says that the drafts of a block do not see each other. ValueError if the network
    cannot read the states of this target.
    """
    (layer,) = last(target)
    frozen(target, net.hidden, net.tokens)
    block_rows = partial(_block_rows, net, layer) if one_pass else None
    return Drafter((layer,), partial(Reader, net), partial(_along, net, layer), block_rows=block_rows, stepwise=True)


def crossed(ends: Frozen, states: Tensor, read: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return the mean cross-entropy of the drafter's laws with the target's, on the head's tokens.

    Parameters
    ----------
    ends : Frozen
        Embedding and head.
    states, read : Tensor, shape (b, k, hidden)
        What the head reads for the target's laws, and for the drafter's laws.
    weight : Tensor, shape (b, k), optional
        Weight of each place in the mean.

    Returns
    -------
    Tensor
        Nats, a scalar.
    """
    with torch.no_grad():
        p = ends.rows(states).softmax(-1)
    log_q = ends.rows(read).log_softmax(-1)
    return mean(-(p * log_q).sum(-1), weight)


def mean(values: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean of values (b, k) or (b, k, n), weighted where there are weights (b, k)."""
    if weight is None:
        return values.mean()
    by_place = values.flatten(2).mean(-1) if values.ndim > 2 else values
    return (by_place * weight).sum() / weight.sum().clamp(min=1)


def places(length: int, count: int, gamma: int, rng: torch.Generator) -> Tensor:
    """Return random places (count,) of texts, after which blocks of gamma steps begin.

    No place is drawn twice, and all blocks end within a text of `length` tokens.
    """
    return torch.randperm(length - gamma, generator=rng)[:count]


@torch.no_grad()
def _along(
    net: Any, layer: int, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> Along:
    """Return probabilities (T, gamma) of the text's tokens as drafts, and the target's (T,).

    It is `Drafter.along` of a network. One block begins before each token of the text; step i of
    all blocks is computed at once.
    """
    check_steps(net, gamma)
    ends, steps = _rolled_along(net, layer, target, prompt, text, min(gamma, len(text)))

    # q[t, i] is the probability of text token t + i, which only blocks up to T - i reach.
    seen = seen_along(target, prompt, text, warping)
    q = np.zeros((len(text), gamma))
    for i, step in enumerate(steps):
        num_blocks = len(text) - i
        seen_before = None if seen is None else seen[i:]
        laws = probabilities(ends.logits(step.read[0, :num_blocks]), warping, seen_before)
        drafts = torch.tensor(text[i:], device=target.device)
        q[:num_blocks, i] = entries_at(laws, drafts).double().cpu().numpy()
    return Along(q, target_probabilities(target, prompt, text, warping))


@torch.no_grad()
def _block_rows(
    net: Any, layer: int, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> Tensor:
    """Return laws (T, gamma, V) of the drafts of a block before each token of a text: `Drafter.block_rows`."""
    if warping.repetition_penalty != 1:
        raise ValueError(
            f"repetition_penalty is {warping.repetition_penalty:g}: it makes the law of a draft depend on the drafts "
            "before it, so that a block has no law for each position; leave it at 1"
        )
    check_steps(net, gamma)
    ends, steps = _rolled_along(net, layer, target, prompt, text, gamma)
    return torch.stack([probabilities(ends.logits(step.read[0]), warping, None) for step in steps], 1)


def _rolled_along(
    net: Any, layer: int, target: LanguageModel, prompt: list[int], text: list[int], gamma: int
) -> tuple[Frozen, Iterator[Step]]:
    """Return the target's ends, and the steps of the blocks that begin before each token of a text."""
    ends = frozen(target, net.hidden, net.tokens)
    net = deepcopy(net).to(target.device, target.dtype)

    # The target's states (1, n, hidden) after each token of prompt and text.
    tokens = readable(target, torch.tensor([prompt + text], device=target.device))
    _, states = full_states(target, tokens[0], (layer,))
    # States (n, 1, hidden) of the only layer become (1, n, hidden), those of the only text.
    last_states = states.transpose(0, 1)

    # Block t begins after the token before text token t: the first after the prompt's last token.
    starts = torch.arange(len(prompt) - 1, tokens.shape[1] - 1, device=target.device)
    return ends, rolled(net, ends, tokens, shifted(last_states), starts, gamma)
