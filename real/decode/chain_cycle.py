"""One cycle on the device: draft, run the target once, let the rule decide, copy the outcome to the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from array_api_compat import array_namespace
from torch import Tensor

from real.decode.control import Control, Growing
from real.decode.draft import LMDraft, readable
from real.decode.options import DecodeOptions
from real.decode.proposer import Proposed, Proposer
from real.decode.warp import probabilities, seen_rows
from real.models.model import LanguageModel
from real.signals import BlockSignals, logit_signals
from specsim.base.arrays import at
from specsim.types import Array, Signals
from specsim.verify.raced import Raced


class Verifier(Protocol):
    """The interface of a chain rule in the loop; lossless ones are in `specsim.verify.chain`."""

    def prepare(self, p: Array, q: Array) -> Any: ...
    def uniforms(self, gamma: int) -> int: ...
    def verify(self, plan: Any, drafts: Array, u: Array) -> tuple[Array, Array]: ...


class Cycle(Protocol):
    """Runs blocks of a batch of texts, and rolls back rejected drafts."""

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i: all but its last token."""
        ...

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft and verify for the texts of a group, uniforms (b, n) on the host: for each, the row of `outcome`."""
        ...

    def rollback(self, i: int, length: int) -> None:
        """Forget the tokens of text i from a position on."""
        ...


def outcome(accepted: Array, token: Array, drafts: Array, largest: Array) -> Array:
    """The result of a cycle for the host, one array (b, 3 + 3 gamma): drafts accepted, next token, drafts, flags.

    A flag for each row of logits, the target's then the draft's: is its `largest` finite? NaN anywhere makes it NaN.
    """
    xp = array_namespace(drafts)
    fine = xp.astype(xp.isfinite(largest), drafts.dtype)
    return xp.concat([accepted[:, None], token[:, None], drafts, fine], axis=1)


def plain(w: Tensor) -> Array:
    """Return the numbers in the library that is fastest on few of them: NumPy on a CPU, without a copy."""
    return w if w.is_cuda else w.numpy()


class Drafts(NamedTuple):
    """Blocks: the last token of each text (b, 1), drafts (b, n), their laws and logits (b, n, V) (see `Proposed`)."""

    last: Tensor
    tokens: Tensor
    laws: Tensor
    logits: Tensor

    def cut(self, rows: list[int], n: int) -> Drafts:
        """The first n drafts of some of the texts."""
        return Drafts(self.last[rows], *(w[rows, :n] for w in self[1:]))


class Eager:
    """A cycle of ordinary calls: any model, any warping, any drafter, any controller.

    The rule is a chain rule or a coupled rule; the draft model is a drafter, too.
    """

    def __init__(self, target: LanguageModel, draft: LanguageModel | None, batch: int, options: DecodeOptions) -> None:
        self._target, self._warping, self._mark = target, options.warping, options.mark
        self._rule: Verifier | Raced = options.rule
        self._cache = target.cache(batch)
        self._log = options.log

        # A drafter, or the draft model, or neither in plain decoding.
        drafter = options.proposer
        self._proposer: Proposer | None = None
        if drafter is not None:
            self._proposer = drafter.start(target, options.warping, options.draw, batch, options.mark)
        elif draft is not None:
            self._proposer = LMDraft(draft, options.warping, options.draw, batch, options.mark)
        self._layers = () if drafter is None else drafter.layers
        self._stepwise = drafter is None or drafter.stepwise
        self._control = None if options.controller is None else Control(options.controller, batch)

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i."""
        if text:
            tokens = torch.tensor([text], device=self._target.device)
            if self._proposer is not None:
                self._proposer.read(i, text)
            self._pass(tokens, 0, [i])

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft and verify for the texts of a group."""
        target, group_texts = self._target, [texts[i] for i in group]
        last = torch.tensor([text[-1:] for text in group_texts], device=target.device)
        seen = _seen(group_texts, target) if self._warping.repetition_penalty != 1 else None
        u = u.to(target.device)
        self._mark("host")
        if self._proposer is None or not length:
            drafts, q = last[:, :0], torch.empty(len(group), 0, target.vocab_size, device=target.device)
            return self._verify(group_texts, group, Drafts(last, drafts, q, q), length, u, seen)
        propose: Callable[..., Proposed] = partial(
            self._proposer.propose, group_texts, length, u[:, :length], group, seen
        )
        if self._control is None:
            return self._verify(group_texts, group, Drafts(last, *propose()), length, u, seen)
        growing = Growing(self._control, group, length)
        made = Drafts(last, *(propose(more=growing) if self._stepwise else propose()))
        growing.rest(made.tokens, made.logits)
        rows: dict[int, list[int]] = {}
        # A target pass for the texts of each length.
        for n in sorted(set(growing.lengths)):
            places = [row for row, drafted in enumerate(growing.lengths) if drafted == n]
            which, rule_uniforms = [group[row] for row in places], u[places]
            known = None if seen is None else seen[places]
            out = self._verify(
                [group_texts[row] for row in places], which, made.cut(places, n), length, rule_uniforms, known
            )
            for place, i, row in zip(places, which, out, strict=True):
                rows[place] = row
                self._control.learn(i, row[0], n)
        return [rows[row] for row in range(len(group))]

    def _verify(
        self, texts: list[list[int]], group: list[int], made: Drafts, length: int, u: Tensor, seen: Tensor | None
    ) -> list[list[int]]:
        """Verify equally many drafts of each text, at most `length`: one target pass over last tokens and drafts."""
        drafts, q = made.tokens, made.laws
        read = torch.cat([made.last, drafts], 1)
        # A draft may know tokens that the target cannot read; it never accepts them, whatever it reads instead.
        logits = self._pass(readable(self._target, read), read.shape[1], group)
        self._mark("verify")
        p = probabilities(logits, self._warping, None if seen is None else seen_rows(seen, read))
        # The rule, on the host if the models are on a CPU.
        logged = [] if self._log is None else _blocks(texts, p, made)
        p, q, drafts, u = (
            plain(w) for w in (p, q.to(p.dtype), drafts, self._rule_uniforms(u, length, drafts.shape[1]))
        )
        accepted, token = self._rule.verify(self._rule.prepare(p, q), drafts, u)
        tops = torch.cat([logits.amax(-1), made.logits.amax(-1).to(logits.dtype)], 1).float()
        rows: list[list[int]] = outcome(accepted, token, drafts, plain(tops)).tolist()
        self._mark("rule")
        for i, row, signals in zip(group, rows, logged, strict=False):
            if self._log is not None:
                self._log(i, signals._replace(kept=row[0]))
        return rows

    def _rule_uniforms(self, u: Tensor, length: int, drafted: int) -> Tensor:
        """The uniforms of the rule: those behind the drafts', or for a coupled rule those of every position."""
        if isinstance(self._rule, Raced):
            return u[:, : drafted + 1]
        return u[:, length : length + self._rule.uniforms(drafted)]

    def _pass(self, tokens: Tensor, rows: int, group: list[int]) -> Tensor:
        """Run the target; return logits of the last rows, and pass its states to a drafter that reads its layers."""
        if self._proposer is None or not self._layers:
            return self._cache.forward(tokens, rows, group)
        starts = [self._cache.lengths[i] for i in group]
        logits, states = self._cache.states(tokens, group, self._layers)
        self._proposer.told(group, starts, tokens, states)
        return logits[:, logits.shape[1] - rows :]

    def rollback(self, i: int, length: int) -> None:
        """Forget positions of text i; the draft's are forgotten when it next reads."""
        self._cache.rollback(i, length)


def _blocks(texts: list[list[int]], p: Tensor, made: Drafts) -> list[BlockSignals]:
    """The signals of each text's drafts (b, n) for a log; the number of accepted drafts is set later."""
    drafts = made.tokens
    if not drafts.shape[1]:
        return []
    signals = logit_signals(made.logits, drafts, np.arange(1, drafts.shape[1] + 1))
    ratio = (at(p[:, :-1], drafts).double() / at(made.laws, drafts).double()).cpu().numpy()
    rows = enumerate(texts)
    return [BlockSignals(len(text), Signals(*(w[b] for w in signals)), ratio[b], 0) for b, text in rows]


def _seen(texts: list[list[int]], model: LanguageModel) -> Tensor:
    """Whether each text holds each token, (b, V)."""
    seen = torch.zeros(len(texts), model.vocab_size, dtype=torch.bool, device=model.device)
    for row, text in zip(seen, texts, strict=True):
        row[text] = True
    return seen
