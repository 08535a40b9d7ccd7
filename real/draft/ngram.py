"""STAND: what followed the last four to one tokens before, as a law: tables of n-grams that need no
model.

A table maps an n-gram to the 10 largest probabilities of the target's law after it, averaged over
its visits: after k of them, k/(k+1) of the old and 1/(k+1) of the new. A draft is drawn from the
entry of the longest n-gram that is known, renormalised; where none is, the last token is drafted
again. Beside each law a table averages the same law before warping: its confidence, which a
controller reads. Where no n-gram is known, the confidence is that of an even law. Trajectories of
one prompt share a table: `learn` takes in one that is finished. While a text is written, a copy of
its own learns from its finished blocks, and never from what comes after them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.decode.given_text import Along
from real.decode.proposer import Drafter, Draw, More, Proposed
from real.decode.warp import Warping, probabilities
from real.draft._contract import target_laws, target_probabilities
from real.draft._table import EMPTY, EMPTY_LAW, ORDERS, Entry, Gram, Table, tops, visit
from real.models import llama
from real.models.cache import fit_logits
from real.models.model import LanguageModel
from specsim.base.arrays import at

NAME = "STAND"
PAPER = "arXiv:2506.04708"


def layers(target: LanguageModel, own: bool = True) -> tuple[int, ...]:
    """The target's last layer, from whose states a drafter that learns makes laws; else none."""
    return (len(target.weights.layers),) if own and target.weights is not None else ()


LAYERS = layers


def drafter(target: LanguageModel, table: Table = EMPTY, *, own: bool = True, stochastic: bool = True) -> Drafter:
    """Draft from a table.

    Parameters
    ----------
    target : LanguageModel
        The model that it drafts for; on the fast path if `own`.
    table : Table
        From trajectories that are finished; none of them may be the one that is written now.
    own : bool
        Learn from the finished blocks of the text itself, too.
    stochastic : bool
        False: the likeliest token of the entry, with probability 1.

    Returns
    -------
    Drafter
        It may stop after any draft.

    Raises
    ------
    ValueError
        `own` with a target that is not on the fast path.

    References
    ----------
    STAND, arXiv:2506.04708.

    Examples
    --------
    >>> from real import TINY, load
    >>> target = load(TINY / "target", TINY / "draft").target
    >>> drafter(target).along(target, [5, 6], [7, 8, 9], 2, Warping()).q.shape
    (3, 2)
    """
    if own and target.weights is None:
        raise ValueError("own=True reads the target's laws as it writes, and this target is not on the fast path")
    options = Options(table, own, stochastic)
    return Drafter(
        layers(target, own),
        lambda target, warping, draw, batch, mark: NGrams(options, target, warping, draw, batch, mark),
        partial(_along, options),
        None if own else partial(_rows, options),
        stepwise=True,
    )


def learn(
    table: Table, prompt: Sequence[int], text: Sequence[int], laws: Tensor, unwarped: Tensor | None = None
) -> Table:
    """Take in a trajectory that is finished.

    Parameters
    ----------
    table : Table
        What is known so far; it stays as it is.
    prompt, text : sequence of int
        The trajectory.
    laws : Tensor, shape (T, V)
        The target's laws at the positions of the text.
    unwarped : Tensor, shape (T, V), optional
        The same before warping, from which confidences are made; by default `laws`.

    Returns
    -------
    Table
        One with more visits.

    Raises
    ------
    ValueError
        Not a law for each token.
    """
    if len(laws) != len(text):
        raise ValueError(f"laws has {len(laws)} rows for a text of {len(text)} tokens")
    whole = [*prompt, *text]
    learned = dict(table)
    confidences = tops(laws if unwarped is None else unwarped)
    for i, new in enumerate(zip(tops(laws), confidences, strict=True)):
        visit(learned, EMPTY, whole[: len(prompt) + i], *new)
    return MappingProxyType(learned)


class Options(NamedTuple):
    """Options of `drafter`; `learns` is its argument `own`."""

    table: Table
    learns: bool
    stochastic: bool

    def entry(self, known: Table, text: Sequence[int]) -> Entry | None:
        """The entry of the longest n-gram at the end of a text, None if none is known."""
        grams = (tuple(text[-n:]) for n in ORDERS if n <= len(text))
        entries = (known.get(gram) or self.table.get(gram) for gram in grams)
        return next((entry for entry in entries if entry is not None), None)

    def law(self, known: Table, text: Sequence[int]) -> dict[int, float]:
        """The law of the next draft, from `entry`: the text's table `known` goes before the shared table."""
        entry = self.entry(known, text)
        if entry is None:
            return {text[-1]: 1.0}
        if not self.stochastic:
            return {next(iter(entry.law)): 1.0}
        total = sum(entry.law.values())
        return {x: value / total for x, value in entry.law.items()}


class NGrams:
    """Tables at work on a batch of texts, each with a copy of its own.

    See `real.decode.proposer.Proposer`.
    """

    def __init__(
        self,
        options: Options,
        target: LanguageModel,
        warping: Warping,
        draw: Draw,
        batch: int,
        mark: Callable[[str], None],
    ) -> None:
        self._options, self._target, self._draw, self._mark = options, target, draw, mark
        # Tables hold laws without the penalty: a draft may come from any law.
        self._warping = replace(warping, repetition_penalty=1.0)
        self._tables: list[dict[Gram, Entry]] = [{} for _ in range(batch)]
        # Law and confidence of the token at each position.
        self._laws: list[dict[int, tuple[dict[int, float], dict[int, float]]]] = [{} for _ in range(batch)]
        # Position of each text's first token after its prompt, and of its first token not yet
        # learned.
        self._first = [1] * batch
        self._learned = [1] * batch

    def read(self, i: int, text: Sequence[int]) -> None:
        """Note where the prompt ends: nothing is learned from it."""
        self._first[i] = self._learned[i] = len(text) + 1

    def told(self, which: list[int], starts: list[int], tokens: Tensor, states: Tensor) -> None:
        """Store the target's laws after these tokens; `propose` learns those of accepted tokens."""
        weights = self._target.weights
        assert weights is not None  # `drafter` refuses such a target
        head_rows = llama.linear(states[..., 0, :], weights.head, weights.head_bias)
        logits = fit_logits(head_rows, self._target.vocab_size)
        laws, unwarped = probabilities(logits, self._warping), probabilities(logits, Warping())
        for i, start, rows, confidences in zip(which, starts, laws, unwarped, strict=True):
            visits = zip(tops(rows), tops(confidences), strict=True)
            self._laws[i] |= {start + 1 + j: visit for j, visit in enumerate(visits)}

    def propose(
        self,
        texts: Sequence[Sequence[int]],
        gamma: int,
        u: Tensor,
        which: list[int],
        seen: Tensor | None = None,
        more: More | None = None,
    ) -> Proposed:
        """Learn from the tokens accepted since the last block, then draw up to gamma drafts after each text."""
        for i, text in zip(which, texts, strict=True):
            self._learn(i, text)
        drafted = [list(text) for text in texts]
        tokens, laws, logits = [], [], []
        for k in range(gamma):
            # Laws and confidences (b, V) after the drafts so far.
            pairs = [(self._tables[i], text) for i, text in zip(which, drafted, strict=True)]
            drafts = [self._options.law(table, text) for table, text in pairs]
            entries = [self._options.entry(table, text) for table, text in pairs]
            law = torch.stack([_dense(draft, self._target) for draft in drafts])
            confidence = torch.stack([_confidence(entry, self._target) for entry in entries])
            self._mark("draft")

            # Draw one draft of each text.
            new = self._draw(law, u[:, k]).clamp(max=law.shape[-1] - 1)
            for text, token in zip(drafted, new.tolist(), strict=True):
                text.append(token)
            tokens.append(new)
            laws.append(law)
            logits.append(confidence)
            self._mark("sample")
            if more is not None and k + 1 < gamma and not more(new, confidence):
                break
        return Proposed(torch.stack(tokens, 1), torch.stack(laws, 1), torch.stack(logits, 1))

    def _learn(self, i: int, text: Sequence[int]) -> None:
        """Visit the n-grams before each token of text i that was not learned yet."""
        if not self._options.learns:
            return
        # A text that became shorter is learned again from its prompt on.
        if len(text) < self._learned[i]:
            self._tables[i], self._learned[i] = {}, self._first[i]
        for position in range(self._learned[i], len(text)):
            visit(self._tables[i], self._options.table, text[:position], *self._laws[i][position])
        self._learned[i] = max(len(text), self._first[i])


def _dense(law: Mapping[int, float], target: LanguageModel) -> Tensor:
    """A law as a row (V,), with zeros for tokens that it lacks."""
    dtype = torch.float64 if target.dtype == torch.float64 else torch.float32
    row = torch.zeros(target.vocab_size, dtype=dtype, device=target.device)
    row[list(law)] = torch.tensor(list(law.values()), dtype=dtype, device=row.device)
    return row


def _confidence(entry: Entry | None, target: LanguageModel) -> Tensor:
    """Logits (V,) of an entry's confidence; all zero, an even law, where no n-gram is known."""
    row = _dense({}, target)
    if entry is None:
        return row
    # Other tokens have probability 0. An entry without warping holds its law alone, which serves.
    confidence = entry.confidence or entry.law
    row.fill_(-torch.inf)
    row[list(confidence)] = torch.tensor(list(confidence.values()), dtype=row.dtype, device=row.device).log()
    return row


def _rows(options: Options, target: LanguageModel, prompt: list[int], text: list[int], warping: Warping) -> Tensor:
    """Laws (T, V) at the positions of the text, from the shared table alone.

    The laws of a table are warped already, so `warping` is not used.
    """
    whole = prompt + text
    return torch.stack([_dense(options.law({}, whole[: len(prompt) + t]), target) for t in range(len(text))])


def _along(
    options: Options, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> Along:
    """Probabilities q (T, gamma) of the text's tokens as drafts, and the target's p (T,), as `Drafter.along`."""
    # What the text's own table can learn: the largest probabilities of the target's laws.
    laws = target_laws(target, prompt, text, replace(warping, repetition_penalty=1.0))
    top_laws = tops(laws) if options.learns else []

    # The block that begins at t reads what was learned before t.
    learned: dict[Gram, Entry] = {}
    whole = prompt + text
    q = np.zeros((len(text), gamma))
    for t in range(len(text)):
        for i in range(min(gamma, len(text) - t)):
            place = len(prompt) + t + i
            law = options.law(learned, whole[:place])
            q[t, i] = law.get(whole[place], 0.0)
        # No controller reads confidences along a text: they stay empty.
        if options.learns:
            visit(learned, options.table, whole[: len(prompt) + t], top_laws[t], EMPTY_LAW)

    # With a penalty the target's p differs from the laws that the table learns.
    if warping.repetition_penalty != 1:
        return Along(q, target_probabilities(target, prompt, text, warping))
    return Along(q, at(laws, torch.tensor(text, device=target.device)).double().cpu().numpy())
