"""Drafters that read the target's states: a network at many block starts of a text, or in the loop.

A block begins after place u of the text: the token there is known and read by nobody yet, so the
newest state that the target has made is the one *before* it. That state is called `before[u]`,
zeros at the first place. Step j of the block reads the token at u + j, and gives a law to the one
at u + 1 + j.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from real.decode.draft import readable
from real.decode.given_text import Along
from real.decode.proposer import Drafter, Draw, More, Proposed
from real.decode.warp import Warping, probabilities
from real.draft._contract import seen_along, target_probabilities
from real.draft._parts import Frozen, Look, frozen, weights_of
from real.models.model import LanguageModel, full_states
from specsim.base.arrays import at as entries_at


class Step(NamedTuple):
    """A step of blocks: `read` (b, k, hidden) is the input of the target's head.

    `carried` (b, k, hidden) is the state that the next step reads; `block_keys`, each (b, k, w),
    are the attention's keys of the block's steps so far.
    """

    read: Tensor
    carried: Tensor
    block_keys: list[Tensor]


class Network(Protocol):
    """A network that is trained. `steps` is how many drafts a block may have, None for any number.

    `tokens` (k,) are those of its head, of `with_tokens`; None for all.
    """

    hidden: int
    steps: int | None
    tokens: Tensor | None

    def keys(self, three: Tensor, before: Tensor) -> Tensor:
        """Keys (b, m, w) of places of the text, from the tokens that end there (b, m, 3 hidden) and `before`."""

    def step(self, j: int, three: Tensor, carried: Tensor, block_keys: list[Tensor], look: Look) -> Step:
        """Step j of blocks at k places: tokens (b, k, 3 hidden), `before` of the block or what step j - 1 carried."""


def triples(tokens: Tensor) -> Tensor:
    """The three tokens (b, m, 3) that end at each place of (b, m); -1 before the text."""
    return F.pad(tokens, (2, 0), value=-1).unfold(1, 3, 1)


def shifted(states: Tensor) -> Tensor:
    """`before` (b, m, hidden) of every place, from the states (b, m or more, hidden) after it."""
    return F.pad(states, (0, 0, 1, 0))[:, : states.shape[1]]


def rolled(net: Any, ends: Frozen, tokens: Tensor, before: Tensor, at: Tensor, gamma: int) -> Iterator[Step]:
    """Steps of blocks that begin after places `at`, whose drafts are the text's own tokens.

    Parameters
    ----------
    net : Network
        The drafter.
    ends : Frozen
        Of its target.
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
    """The last layer of a target."""
    return (len(weights_of(target).layers),)


def drafter(net: Any, target: LanguageModel) -> Drafter:
    """The drafter of a network that reads the last states of a target.

    ValueError if it cannot read this one's.
    """
    (layer,) = last(target)
    frozen(target, net.hidden, net.tokens)
    return Drafter((layer,), partial(Reader, net), partial(_along, net, layer), stepwise=True)


def crossed(ends: Frozen, states: Tensor, read: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return the mean cross-entropy of the drafter's laws with the target's, on the head's tokens.

    Parameters
    ----------
    ends : Frozen
        Embedding and head.
    states, read : Tensor, shape (b, k, hidden)
        What the head reads for the target's laws and for the drafter's.
    weight : Tensor, shape (b, k), optional
        Of each place in the mean.

    Returns
    -------
    Tensor
        Nats, a scalar.
    """
    with torch.no_grad():
        law = ends.rows(states).softmax(-1)
    return mean(-(law * ends.rows(read).log_softmax(-1)).sum(-1), weight)


def mean(values: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean of values (b, k) or (b, k, n), weighted where there are weights (b, k)."""
    if weight is None:
        return values.mean()
    each = values.flatten(2).mean(-1) if values.ndim > 2 else values
    return (each * weight).sum() / weight.sum().clamp(min=1)


def places(length: int, count: int, gamma: int, rng: torch.Generator) -> Tensor:
    """Places (count,) in texts of a length after which blocks of gamma steps begin that end within them."""
    return torch.randperm(length - gamma, generator=rng)[:count]


def check_steps(net: Any, gamma: int) -> None:
    """Raise ValueError if the network has no heads for blocks of gamma drafts."""
    if net.steps is not None and gamma > net.steps:
        raise ValueError(f"gamma={gamma} is too long: the drafter has heads for {net.steps} drafts")


@torch.no_grad()
def _along(
    net: Any, layer: int, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> Along:
    """Probabilities (T, gamma) of the text's tokens as drafts, and the target's, as `Drafter.along`.

    One block begins before each token of the text; step i of all blocks is computed at once.
    """
    check_steps(net, gamma)
    ends = frozen(target, net.hidden, net.tokens)
    net = deepcopy(net).to(target.device, target.dtype)

    # The target's states (1, n, hidden) after each token of prompt and text.
    tokens = readable(target, torch.tensor([prompt + text], device=target.device))
    _, states = full_states(target, tokens[0], (layer,))
    last_states = states[None, :, 0]

    # Block t begins after the token before text token t: the first after the prompt's last token.
    starts = torch.arange(len(prompt) - 1, tokens.shape[1] - 1, device=target.device)
    steps = rolled(net, ends, tokens, shifted(last_states), starts, min(gamma, len(text)))

    # q[t, i] is the probability of text token t + i, which only blocks up to T - i reach.
    seen = seen_along(target, prompt, text, warping)
    q = np.zeros((len(text), gamma))
    for i, step in enumerate(steps):
        num_blocks = len(text) - i
        seen_before = None if seen is None else seen[i:]
        laws = probabilities(ends.logits(step.read[0, :num_blocks]), warping, seen_before)
        chances = entries_at(laws, torch.tensor(text[i:], device=target.device))
        q[:num_blocks, i] = chances.double().cpu().numpy()
    return Along(q, target_probabilities(target, prompt, text, warping))


class Reader:
    """A network at work on a batch of texts.

    Parameters are those of `Drafter.start`, the network before them.
    """

    def __init__(
        self,
        net: Any,
        target: LanguageModel,
        warping: Warping,
        draw: Draw,
        batch: int,
        mark: Callable[[str], None],
    ) -> None:
        self._net, self._target = deepcopy(net).to(target.device, target.dtype), target
        self._ends = frozen(target, net.hidden, net.tokens)
        self._warping, self._draw, self._mark = warping, draw, mark
        head = self._ends.head
        # The width of the network's keys, from those of one place.
        with torch.no_grad():
            three, before = head.new_zeros(1, 1, 3 * net.hidden), head.new_zeros(1, 1, net.hidden)
            width = self._net.keys(three, before).shape[-1]
        # The target's state before each place of each text, and keys (batch, n, w) of the first
        # `_lengths` places.
        self._before = head.new_zeros(batch, 1, net.hidden)
        self._keys, self._lengths = head.new_zeros(batch, 0, width), [0] * batch

    def read(self, i: int, text: Sequence[int]) -> None:
        """Do nothing: `propose` receives the text, and `told` the target's states of it."""

    def told(self, which: list[int], starts: list[int], tokens: Tensor, states: Tensor) -> None:
        """Store the target's states, and discard the keys made from the states that they replace."""
        end = max(starts) + tokens.shape[1] + 1
        if end > self._before.shape[1]:
            more = max(end, 2 * self._before.shape[1]) - self._before.shape[1]
            self._before = F.pad(self._before, (0, 0, 0, more))
        for row, (i, start) in enumerate(zip(which, starts, strict=True)):
            self._before[i, start + 1 : start + 1 + tokens.shape[1]] = states[row, :, 0]
            self._lengths[i] = min(self._lengths[i], start + 1)

    @torch.no_grad()
    def propose(
        self,
        texts: Sequence[Sequence[int]],
        gamma: int,
        u: Tensor,
        which: list[int],
        seen: Tensor | None = None,
        more: More | None = None,
    ) -> Proposed:
        """Draw gamma tokens after each text, or fewer if `more` says so; as `LMDraft.propose`."""
        check_steps(self._net, gamma)
        # Keys of the texts, and the state before each text's last token.
        device = self._target.device
        rows = torch.tensor(which, device=device)
        last = torch.tensor([[len(text) - 1] for text in texts], device=device)
        look = Look(self._extended(texts, which, rows, last), last)
        carried = self._before[rows[:, None], last]
        block_keys: list[Tensor] = []

        # Draft after draft: each step reads the three tokens before its draft.
        recent = torch.tensor([([-1, -1, *text[-3:]])[-3:] for text in texts], device=device)
        tokens, laws, rows_of_logits = [], [], []
        for j in range(gamma):
            three = self._ends.three(readable(self._target, recent))
            step = self._net.step(j, three[:, None], carried, block_keys, look)
            carried, block_keys = step.carried, step.block_keys
            logits = self._ends.logits(step.read[:, 0])
            self._mark("draft")
            law = probabilities(logits, self._warping, seen)
            new = self._draw(law, u[:, j]).clamp(max=law.shape[-1] - 1)[:, None]
            if seen is not None:
                seen = seen.scatter(-1, new, True)
            recent = torch.cat([recent[:, 1:], new], 1)
            tokens.append(new)
            laws.append(law)
            rows_of_logits.append(logits)
            self._mark("sample")
            if more is not None and j + 1 < gamma and not more(new[:, 0], logits):
                break
        return Proposed(torch.cat(tokens, 1), torch.stack(laws, 1), torch.stack(rows_of_logits, 1))

    def _extended(self, texts: Sequence[Sequence[int]], which: list[int], rows: Tensor, last: Tensor) -> Tensor:
        """Return the keys (b, n, w) of these texts; compute those of places that were not read yet."""
        unread = max(len(text) - self._lengths[i] for text, i in zip(texts, which, strict=True))
        end = max(map(len, texts))

        # Make room for at least twice as many keys, so that long texts are copied rarely.
        room = self._keys.shape[1]
        if end > room:
            self._keys = F.pad(self._keys, (0, 0, 0, max(end, 2 * room) - room))
        if unread > 0:
            # Texts of one batch read equally many: a short one reads its first place again.
            where = (last - torch.arange(unread - 1, -1, -1, device=last.device)).clamp(min=0)
            # The three tokens that end at each of these places; -1 before the text.
            ends = [list(text[-unread - 2 :]) for text in texts]
            padded = torch.tensor([[-1] * (unread + 2 - len(row)) + row for row in ends], device=last.device)
            at = where - last + unread + 1  # the same places in `padded`
            recent = torch.stack([padded.gather(1, at - back) for back in (2, 1, 0)], -1)
            three = self._ends.three(readable(self._target, recent))
            self._keys[rows[:, None], where] = self._net.keys(three, self._before[rows[:, None], where])
        for text, i in zip(texts, which, strict=True):
            self._lengths[i] = len(text)
        return self._keys[rows, :end]
