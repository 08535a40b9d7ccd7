"""One cycle on the device: draft, run the target once, let the rule decide, copy the outcome to the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from array_api_compat import array_namespace
from torch import Tensor

from real.decode.draft import Draw, LMDraft, readable
from real.decode.warp import Warping, probabilities, seen_rows
from real.models.model import LanguageModel
from specsim.types import Array


class Verifier(Protocol):
    """What the loop asks of a chain rule; lossless ones are in `specsim.verify.chain`."""

    def prepare(self, p: Array, q: Array) -> Any: ...
    def uniforms(self, gamma: int) -> int: ...
    def verify(self, plan: Any, drafts: Array, u: Array) -> tuple[Array, Array]: ...


class Cycle(Protocol):
    """Runs blocks of a batch of texts, and forgets what was not kept."""

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i: all but its last token."""
        ...

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft and verify for the texts of a group, uniforms (b, n) on the host: for each, the row of `outcome`."""
        ...

    def rollback(self, i: int, length: int) -> None:
        """Forget what was read of text i from a position on."""
        ...


def outcome(kept: Array, token: Array, drafts: Array, largest: Array) -> Array:
    """All that the host needs of a cycle in one array (b, 3 + 3 gamma): drafts kept, next token, drafts, flags.

    The flags say of each row of logits, the target's then the draft's, whether it has a law: NaN reaches its `largest`.
    """
    xp = array_namespace(drafts)
    fine = xp.astype(xp.isfinite(largest), drafts.dtype)
    return xp.concat([kept[:, None], token[:, None], drafts, fine], axis=1)


def plain(w: Tensor) -> Array:
    """The same numbers in the library that is quickest on few of them: NumPy on a CPU, without a copy."""
    return w if w.is_cuda else w.numpy()


class Eager:
    """A cycle of ordinary calls: any model, any sampling.

    Parameters are those of `real.decode.loop.decode_batch`.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel | None,
        batch: int,
        warping: Warping,
        rule: Verifier,
        draw: Draw,
        mark: Callable[[str], None],
    ) -> None:
        self._target, self._warping, self._rule, self._mark = target, warping, rule, mark
        self._cache = target.cache(batch)
        self._proposer = None if draft is None else LMDraft(draft, warping, draw, batch, mark)

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i."""
        if text:
            self._cache.forward(torch.tensor([text], device=self._target.device), 0, [i])
            if self._proposer is not None:
                self._proposer.read(i, text)

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft and verify for the texts of a group."""
        target, mine = self._target, [texts[i] for i in group]
        last = torch.tensor([text[-1:] for text in mine], device=target.device)
        seen = _seen(mine, target) if self._warping.repetition_penalty != 1 else None
        u = u.to(target.device)
        self._mark("host")
        if self._proposer is not None and length:
            drafts, q, largest = self._proposer.propose(mine, length, u[:, :length], group, seen)
        else:
            drafts, q = last[:, :0], torch.empty(len(group), 0, target.vocab_size, device=target.device)
            largest = q[..., 0]
        read = torch.cat([last, drafts], 1)
        # A draft may know tokens that the target cannot read; it never keeps them, whatever it reads instead.
        logits = self._cache.forward(readable(target, read), length + 1, group)
        self._mark("verify")
        p = probabilities(logits, self._warping, None if seen is None else seen_rows(seen, read))
        p, q, drafts, u = (plain(w) for w in (p, q.to(p.dtype), drafts, u[:, length:]))
        kept, token = self._rule.verify(self._rule.prepare(p, q), drafts, u)
        tops = torch.cat([logits.amax(-1), largest.to(logits.dtype)], 1).float()
        rows: list[list[int]] = outcome(kept, token, drafts, plain(tops)).tolist()
        self._mark("rule")
        return rows

    def rollback(self, i: int, length: int) -> None:
        """Forget positions of text i; the draft's are forgotten when it next reads."""
        self._cache.rollback(i, length)


def _seen(texts: list[list[int]], model: LanguageModel) -> Tensor:
    """Which tokens each text holds, (b, V)."""
    seen = torch.zeros(len(texts), model.vocab_size, dtype=torch.bool, device=model.device)
    for row, text in zip(seen, texts, strict=True):
        row[text] = True
    return seen
