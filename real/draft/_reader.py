"""A network in the decode loop: it reads the target's states, and drafts for a batch of texts.

Places, states and steps are those of `real.draft._rollout`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from real.decode.draft import readable
from real.decode.proposer import Draw, More, Proposed
from real.decode.warp import Warping, probabilities
from real.draft._parts import Look, frozen
from real.models.model import LanguageModel


def check_steps(net: Any, gamma: int) -> None:
    """Raise ValueError if the network has no heads for blocks of gamma drafts."""
    if net.steps is not None and gamma > net.steps:
        raise ValueError(f"gamma={gamma} is too long: the drafter has heads for {net.steps} drafts")


class Reader:
    """A network that drafts for a batch of texts; see `real.decode.proposer.Proposer`.

    Parameters are the network, then those of `Drafter.start`.
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

        # The width of the network's keys, from those of one place.
        head = self._ends.head
        with torch.no_grad():
            three, before = head.new_zeros(1, 1, 3 * net.hidden), head.new_zeros(1, 1, net.hidden)
            width = self._net.keys(three, before).shape[-1]

        # For each text `before` of its places, (batch, n, hidden), and their keys (batch, n, w), of
        # which the first `_lengths` are valid. There may be room for more places than a text has.
        self._before = head.new_zeros(batch, 1, net.hidden)
        self._keys, self._lengths = head.new_zeros(batch, 0, width), [0] * batch

    def read(self, i: int, text: Sequence[int]) -> None:
        """Do nothing: `propose` receives the text, and `told` the target's states of it."""

    def told(self, which: list[int], starts: list[int], tokens: Tensor, states: Tensor) -> None:
        """Store the target's states, and discard the keys made from the states that they replace."""
        # Make room for at least twice as many places, so that long texts are copied rarely.
        num_states, room = tokens.shape[1], self._before.shape[1]
        end = max(starts) + num_states + 1
        if end > room:
            self._before = F.pad(self._before, (0, 0, 0, max(end, 2 * room) - room))

        # The state after the token at a place is `before` of the next place.
        for row, (i, start) in enumerate(zip(which, starts, strict=True)):
            self._before[i, start + 1 : start + 1 + num_states] = states[row, :, 0]
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
        # The last place (b, 1) of each text, the keys of all places, and the state before the last.
        device = self._target.device
        rows = torch.tensor(which, device=device)
        last = torch.tensor([[len(text) - 1] for text in texts], device=device)
        look = Look(self._keys_of(texts, which, rows, last), last)
        carried = self._before[rows[:, None], last]
        block_keys: list[Tensor] = []

        # Draft after draft. Each step reads the three tokens (b, 3) before its draft; a text may
        # have fewer, with -1 before them.
        recent = torch.tensor([[-1, -1, *text[-3:]][-3:] for text in texts], device=device)
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

    def _keys_of(self, texts: Sequence[Sequence[int]], which: list[int], rows: Tensor, last: Tensor) -> Tensor:
        """Return the keys (b, n, w) of all places of the texts, after computing those that are missing.

        n is the length of the longest text. rows: (b,), the numbers of the texts in the batch, as
        `which`; last: (b, 1), their last places.
        """
        # Make room for at least twice as many keys, so that long texts are copied rarely.
        end, room = max(map(len, texts)), self._keys.shape[1]
        if end > room:
            self._keys = F.pad(self._keys, (0, 0, 0, max(end, 2 * room) - room))

        # Missing are the last places of each text. Equally many are computed of every text, so that
        # some texts compute keys again: a short text those of its first place, several times.
        num_missing = max(len(text) - self._lengths[i] for text, i in zip(texts, which, strict=True))
        if num_missing > 0:
            new_places = (last - torch.arange(num_missing - 1, -1, -1, device=last.device)).clamp(min=0)

            # The three tokens (b, missing, 3) that end at each of these places. They are in the
            # last tokens of the text, two more than places, with -1 before the text; there the
            # text's last token is in column num_missing + 1.
            width = num_missing + 2
            tails = [list(text[-width:]) for text in texts]
            padded = torch.tensor([[-1] * (width - len(tail)) + tail for tail in tails], device=last.device)
            columns = new_places - last + width - 1
            recent = torch.stack([padded.gather(1, columns - age) for age in (2, 1, 0)], -1)

            # Their keys.
            three = self._ends.three(readable(self._target, recent))
            self._keys[rows[:, None], new_places] = self._net.keys(three, self._before[rows[:, None], new_places])
        for text, i in zip(texts, which, strict=True):
            self._lengths[i] = len(text)
        return self._keys[rows, :end]
