"""Toy models with exact laws: tables of rationals, looked up by the last tokens of a text."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from specsim.exact.small_laws import LASTING, REPEATING, rational_table, row_of
from specsim.types import Array

Text = tuple[int, ...]
# Laws depend on so many of the last tokens.
DEPTH = 3
# Vocabulary of the models in which each token is drafted too often in turn.
EIGHT = 8
# A large vocabulary, and its live tokens: the first, the last, and the two where tiles of 128 meet.
LARGE = 300
PLACES = (0, 127, 128, LARGE - 1)
# Vocabularies of the models whose residual is faint, each with its live tokens; and how many times
# the likeliest token of it is likelier than the others: a power of two, so that no sum of
# probabilities is rounded.
FAINT = {64: 64, LARGE: LARGE // 2}
FAINTNESS = 2**14
# Weights of the drafted tokens of a place in long blocks, and of the two that are emitted instead.
KEPT, INSTEAD = 11, (3, 2)


class Toy(NamedTuple):
    """A model: a table of rationals for every text of up to `depth` tokens; only the last `depth` tokens count.

    `first` is the token that texts begin with: laws differ where the beginning was cut off.
    """

    table: dict[Text, Array]
    depth: int
    first: int | None = None

    @property
    def vocab(self) -> int:
        """Number of tokens."""
        return len(self.table[()])

    def law(self, text: Text) -> Array:
        """Return the law after a text, float64 (V,)."""
        law = self.table[text[-self.depth :] if self.depth else ()].astype(np.float64)
        return law if self.first is None or text[:1] == (self.first,) else np.roll(law, 1)


def plain(row: Any, vocab: int = 0) -> Toy:
    """Return a model without memory."""
    return Toy({(): np.array([Fraction(v) for v in row], dtype=object)}, 0)


# Equal arguments give the same model, so that it is not observed twice.
@cache
def toy(vocab: int, seed: int, *, one_hot: bool = False, positive: bool = False, untied: bool = False) -> Toy:
    """Return a random model.

    It has zeros among its probabilities unless `positive`, and no equal ones beside them if
    `untied`.
    """
    rng = np.random.default_rng([vocab, seed])
    table = rational_table(rng, vocab, DEPTH, one_hot=one_hot)
    if positive:
        table = {text: (law * 5 + 1) / (law * 5 + 1).sum() for text, law in table.items()}
    if untied:
        table = {text: law * (100 + np.arange(vocab)) for text, law in table.items()}
        table = {text: law / law.sum() for text, law in table.items()}
    return Toy(table, DEPTH)


@cache
def peaked(vocab: int, shift: int, *, one_hot: bool = False, first: int | None = None) -> Toy:
    """Return a model nearly certain of one token, which moves on with the last one; two shifts share no peaks."""
    others = [0] * (vocab - 1) if one_hot else list(range(1, vocab))
    weights = [97, *others]
    row = np.array(row_of(*weights), dtype=object)
    texts: list[Text] = [(), *((x,) for x in range(vocab))]
    return Toy({text: np.roll(row, shift + sum(text)) for text in texts}, 1, first)


@cache
def wide(one_hot: bool) -> tuple[Toy, Toy]:
    """Return target and draft on five tokens: rules may sort or keep only three; the last is drafted too often."""
    return plain(row_of(30, 25, 20, 18, 7)), plain(row_of(0, 0, 0, 0, 1) if one_hot else row_of(12, 10, 8, 6, 64))


def similar(one_hot: bool) -> tuple[Toy, Toy]:
    """Return target and draft on the same five tokens that are alike: a draft is accepted after any filter of both."""
    return plain(row_of(30, 25, 20, 18, 7)), plain(row_of(1, 0, 0, 0, 0) if one_hot else row_of(25, 30, 18, 20, 7))


@cache
def eight(*often: int) -> tuple[Toy, Toy]:
    """Return target and draft on eight tokens, some of which are drafted too often, the others too rarely.

    After a token the next one follows, so that there are few texts; after the last, any.
    """
    weights = np.arange(1, EIGHT + 1)
    drafted = np.where(np.isin(np.arange(EIGHT), often), 3, 1) * weights
    table: dict[Text, Array] = {(): np.array(row_of(*weights.tolist()), dtype=object)}
    for token in range(EIGHT):
        following = np.eye(EIGHT, dtype=int)[(token + 1) % EIGHT] if token < EIGHT - 1 else weights[::-1]
        table[token,] = np.array(row_of(*following.tolist()), dtype=object)
    return Toy(table, 1), plain(row_of(*drafted.tolist()))


@cache
def lasting(candidates: int, scheme: str, place: int = 0, depth: int = 1, others: int = 1) -> tuple[Toy, Toy]:
    """Return target and draft whose residual in one place, the number of tokens before it, lasts.

    After each refused candidate two tokens or more are left there, and one of them is to be kept at
    times only; the last token, of two more than candidates, is never drafted. Elsewhere the laws are
    on as many tokens as `others` says, so that there are few texts; each of them may be refused.
    """
    target_weights, draft_weights = LASTING[candidates, scheme in REPEATING]
    vocab = len(target_weights)
    rising = (*range(1, others + 1), *[0] * (vocab - others))
    falling = (*rising[others - 1 :: -1], *rising[others:])
    texts = [text for length in range(depth + 1) for text in itertools.product(range(vocab), repeat=length)]

    def placed(in_place: tuple[int, ...], elsewhere: tuple[int, ...]) -> Toy:
        """Return the model with some weights in the place, and others elsewhere."""
        law_in_place, law_elsewhere = (np.array(row_of(*row), dtype=object) for row in (in_place, elsewhere))
        return Toy({text: law_in_place if len(text) == place else law_elsewhere for text in texts}, depth)

    return placed(target_weights, rising), placed(draft_weights, falling)


@cache
def counting(widths: Text) -> tuple[Toy, Toy]:
    """Return target and draft for long blocks, of which `widths` are the most siblings in every place.

    In each place a few tokens are drafted, which tell the place, and two others are emitted instead,
    for good. So a block has few texts, however long it is.
    """
    starts = [0, *np.cumsum(widths).tolist()]
    vocab = starts[-1] + len(INSTEAD)
    target, draft = dict[Text, Array](), dict[Text, Array]()
    for place, width in enumerate((*widths, 0)):
        # The drafted tokens of the place, rarer under the draft the likelier under the target.
        p, q = np.zeros(vocab, dtype=int), np.zeros(vocab, dtype=int)
        here, total = slice(starts[place], starts[place] + width), width * (width + 1) // 2
        p[here], p[-len(INSTEAD) :] = np.arange(1, width + 1) * KEPT, np.multiply(INSTEAD, max(total, 1))
        q[here], q[-1] = np.arange(width, 0, -1), not width
        before = range(starts[place - 1], starts[place]) if place else [None]
        for token in before:
            text = () if token is None else (token,)
            target[text], draft[text] = (np.array(row_of(*row.tolist()), dtype=object) for row in (p, q))
    for token in range(starts[-1], vocab):
        target[token,] = draft[token,] = np.array(row_of(*np.eye(vocab, dtype=int)[token].tolist()), dtype=object)
    return Toy(target, 1), Toy(draft, 1)


@cache
def close() -> tuple[Toy, Toy]:
    """Return target and draft on three tokens: two are drafted a little too rarely; which, changes with the text."""
    texts: list[Text] = [(), (0,), (1,), (2,)]

    def turned(*weights: int) -> Toy:
        """Return a model whose rows are turns of these weights."""
        row = np.array(row_of(*weights), dtype=object)
        return Toy({text: np.roll(row, sum(text)) for text in texts}, 1)

    return turned(8, 7, 5), turned(6, 6, 8)


@cache
def sparse(*drafted: int) -> tuple[Toy, Toy]:
    """Return target and draft, of such weights, on a large vocabulary of four live tokens, in three tiles."""

    def spread(*weights: int) -> Toy:
        """Return a model with these weights on the live tokens."""
        row = np.zeros(LARGE, dtype=int)
        row[list(PLACES)] = weights
        return plain(row_of(*row.tolist()))

    return spread(30, 15, 35, 20), spread(*drafted)


@cache
def certain(vocab: int, token: int) -> Toy:
    """Return a model that always says one token."""
    return plain(np.eye(vocab, dtype=int)[token].tolist())


@cache
def faint(vocab: int) -> tuple[Toy, Toy]:
    """Return target and draft whose residual has one likely token, and many of about 1/16,000 of it.

    The draft is certain of a token that is emitted half of the time. The faint ones are so many
    that their sum shows.
    """
    live = np.linspace(0, vocab - 1, FAINT[vocab]).round().astype(int)
    drafted, likely = live[len(live) // 3], live[2 * len(live) // 3]
    weights = np.zeros(vocab, dtype=int)
    weights[live] = 1
    weights[drafted], weights[likely] = FAINTNESS, FAINTNESS - (len(live) - 2)
    return _counting_on(weights), certain(vocab, int(drafted))


@cache
def halved(vocab: int) -> tuple[Toy, Toy]:
    """Return target and draft: every token but one is drafted twice as often as it is emitted, and that one never.

    Weights are 1 or 2, and their sum is a power of two: no sum of probabilities is rounded.
    """
    order = np.random.default_rng(vocab).permutation(vocab)
    missing, total = int(order[0]), 1 << (vocab - 2).bit_length()
    weights = np.ones(vocab, dtype=int)
    weights[order[1 : total - vocab + 2]] = 2
    weights[missing] = 0
    drafted = plain(row_of(*weights.tolist()))
    weights[missing] = total
    return _counting_on(weights), drafted


def _counting_on(weights: Array) -> Toy:
    """Return a model in which the next token follows each, so that there are as many texts as first tokens."""
    rows = np.roll(np.eye(len(weights)), 1, axis=1)
    return Toy({(): np.array(row_of(*weights.tolist()), dtype=object)} | {(x,): row for x, row in enumerate(rows)}, 1)
