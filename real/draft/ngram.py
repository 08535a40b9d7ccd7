"""STAND: drafts from tables of n-grams, which hold the target's laws after the last one to four tokens.

A table maps an n-gram to the 10 largest probabilities of the target's law after it, averaged over
its visits: after k visits the average counts k/(k+1) and a new law 1/(k+1). A draft is drawn from
the entry of the longest n-gram that is known, renormalised; where none is known, the last token is
drafted again. Beside each law a table averages the same law before warping: its confidence, which a
controller reads. Where no n-gram is known, the confidence is that of an even law. Trajectories of
one prompt share a table: `learn` adds a finished one. While a text is written, a table of that text
alone learns from its finished blocks, and never from what comes after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from real.draft._table import EMPTY, EMPTY_LAW, ORDERS, Entry, Gram, Table, confidence_logits, dense_law, tops, visit
from real.models import llama
from real.models.cache import fit_logits
from real.models.model import LanguageModel
from specsim.base.arrays import at

NAME = "STAND"
PAPER = "arXiv:2506.04708"


def layers(target: LanguageModel, own: bool = True) -> tuple[int, ...]:
    """Return the number of the target's last layer, in a tuple, for a drafter that learns; else ().

    Such a drafter computes laws from the states after that layer.
    """
    return (len(target.weights.layers),) if own and target.weights is not None else ()


LAYERS = layers


def drafter(target: LanguageModel, table: Table = EMPTY, *, own: bool = True, stochastic: bool = True) -> Drafter:
    """Return the drafter that drafts from a table.

    Parameters
    ----------
    target : LanguageModel
        The model that the drafter is for; on the fast path if `own`.
    table : Table
        Made of finished trajectories. The text that will be written may not be one of them.
    own : bool
        Learn from the finished blocks of the text itself, too.
    stochastic : bool
        Draw from the entry; if False, draft its likeliest token with probability 1.

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
        raise ValueError(
            "own=True learns n-grams from the target's laws, which only targets on the fast path show (Llama, Qwen2, "
            "Qwen3, Mistral): load a draft model, by real.load(target, draft), or give a table and own=False"
        )
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
    """Return a table that has also learned from a finished trajectory.

    Parameters
    ----------
    table : Table
        The table so far, which is not changed.
    prompt, text : sequence of int
        The trajectory.
    laws : Tensor, shape (T, V)
        The target's laws at the positions of the text.
    unwarped : Tensor, shape (T, V), optional
        The laws before warping, from which confidences are made; by default `laws`.

    Returns
    -------
    Table
        The table with more visits.

    Raises
    ------
    ValueError
        The number of laws is not that of the text's tokens.
    """
    if len(laws) != len(text):
        raise ValueError(f"laws has {len(laws)} rows for a text of {len(text)} tokens")

    whole = [*prompt, *text]
    learned = dict(table)
    confidences = tops(laws if unwarped is None else unwarped)
    for i, (law, confidence) in enumerate(zip(tops(laws), confidences, strict=True)):
        visit(learned, EMPTY, whole[: len(prompt) + i], law, confidence)
    return MappingProxyType(learned)


class Options(NamedTuple):
    """Options of `drafter`: the shared table; `learns`, its argument `own`; `stochastic`."""

    table: Table
    learns: bool
    stochastic: bool

    def entry(self, known: Table, text: Sequence[int]) -> Entry | None:
        """Return the entry of the longest n-gram at the end of a text; None if no n-gram is known.

        An n-gram is looked up in `known`, the text's table, and then in the shared table.
        """
        grams = (tuple(text[-n:]) for n in ORDERS if n <= len(text))
        entries = (known.get(gram) or self.table.get(gram) for gram in grams)
        return next((entry for entry in entries if entry is not None), None)

    def law(self, known: Table, text: Sequence[int]) -> dict[int, float]:
        """Return the law of the next draft as token -> probability, from `entry`."""
        entry = self.entry(known, text)
        if entry is None:
            return {text[-1]: 1.0}
        if not self.stochastic:
            return {next(iter(entry.law)): 1.0}
        total = sum(entry.law.values())
        return {x: value / total for x, value in entry.law.items()}


class NGrams:
    """A drafter from tables for a batch of texts; see `real.decode.proposer.Proposer`.

    Each text has a table that learns from it alone, beside the shared one.
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
        # For each text: law and confidence of the token at each position.
        self._laws: list[dict[int, tuple[dict[int, float], dict[int, float]]]] = [{} for _ in range(batch)]
        # For each text: position of the first token after its prompt, and of the first token that
        # is not learned yet.
        self._first = [1] * batch
        self._learned = [1] * batch

    def read(self, i: int, text: Sequence[int]) -> None:
        """Note where the prompt ends, from which nothing is learned; its last token is not in `text`."""
        self._first[i] = self._learned[i] = len(text) + 1

    def told(self, which: list[int], starts: list[int], tokens: Tensor, states: Tensor) -> None:
        """Store the target's laws after these tokens; `propose` learns those of accepted tokens."""
        # Laws (b, n, V) from the states after the only layer that the drafter reads.
        weights = self._target.weights
        assert weights is not None  # `drafter` refuses such a target
        last_states = states[..., 0, :]
        head_rows = llama.linear(last_states, weights.head, weights.head_bias)
        logits = fit_logits(head_rows, self._target.vocab_size)
        laws, unwarped = probabilities(logits, self._warping), probabilities(logits, Warping())

        # The law after the token at a position is that of the token at the next one.
        for i, start, text_laws, text_unwarped in zip(which, starts, laws, unwarped, strict=True):
            pairs = zip(tops(text_laws), tops(text_unwarped), strict=True)
            self._laws[i] |= {start + 1 + j: pair for j, pair in enumerate(pairs)}

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

        # Draft after draft, in all texts at once.
        drafted = [list(text) for text in texts]
        tokens, laws, logits = [], [], []
        for k in range(gamma):
            # Laws and confidences (b, V) after the drafts so far.
            pairs = [(self._tables[i], text) for i, text in zip(which, drafted, strict=True)]
            sparse_laws = [self._options.law(table, text) for table, text in pairs]
            entries = [self._options.entry(table, text) for table, text in pairs]
            law = torch.stack([dense_law(sparse, self._target) for sparse in sparse_laws])
            confidence = torch.stack([confidence_logits(entry, self._target) for entry in entries])
            self._mark("draft")

            # Draw a draft for each text.
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
        """Add visits to the n-grams before each token of text i that is not learned yet."""
        if not self._options.learns:
            return
        # A text that became shorter is learned again from its prompt on.
        if len(text) < self._learned[i]:
            self._tables[i], self._learned[i] = {}, self._first[i]
        for position in range(self._learned[i], len(text)):
            law, confidence = self._laws[i][position]
            visit(self._tables[i], self._options.table, text[:position], law, confidence)
        self._learned[i] = max(len(text), self._first[i])


def _rows(options: Options, target: LanguageModel, prompt: list[int], text: list[int], warping: Warping) -> Tensor:
    """Return laws (T, V) at the positions of the text, from the shared table alone.

    The laws of a table are warped already, so `warping` is not used.
    """
    whole = prompt + text
    laws = [options.law({}, whole[: len(prompt) + t]) for t in range(len(text))]
    return torch.stack([dense_law(law, target) for law in laws])


def _along(
    options: Options, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> Along:
    """Return q (T, gamma), the probabilities of the text's tokens as drafts, and the target's p (T,)."""
    # What the text's table learns: the largest probabilities of the target's laws.
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
