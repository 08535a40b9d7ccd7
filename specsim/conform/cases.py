"""The inputs of a judgement: pairs of toy models with exact laws, and how many drafts; the simplest come first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from specsim.conform.subject import ORDER, UNCHANGED, SamplingParams, Subject
from specsim.exact.small_laws import rational_table
from specsim.laws.warp import warp
from specsim.trees import topology
from specsim.types import Array

Text = tuple[int, ...]
Mask = Callable[[Text, int], Array]  # (a text, V) -> which tokens may follow it, bool (V,)
DEPTH = 3  # laws depend on the last three tokens
CERTAIN = 39  # of one-hot drafts: the first two of a block are alike in one case, and differ in the other
PROMPTED = ("decoder", "drafter")  # kinds that are told of a prompt
ROWS = ("step", "chain", "tree")  # kinds that are handed laws; a vocabulary that comes with models may be their own
PROMPT = (0, 1)  # of whoever takes one; both end tokens are in it
LONG = (2, *(0, 1, 1, 0, 1, 0, 0, 1, 1, 0) * 2)  # one of 21 tokens, whose first token stands nowhere else in it
FOUR = 4  # from so many drafts on there are two tokens only
FEW_NODES = 2  # of a tree that is drafted on eight tokens
EIGHT = 8  # tokens of the cases in which each is drafted too often in turn
LARGE = 300  # tokens, of which four are live: the first, the last, and the two where tiles of 128 meet
PLACES = (0, 127, 128, LARGE - 1)


class Toy(NamedTuple):
    """A model: a table of rationals for every text of up to `depth` tokens; of a longer one the last of them count."""

    table: dict[Text, Array]
    depth: int
    first: int | None = None  # token that texts begin with: the laws are others where the beginning was cut off

    @property
    def vocab(self) -> int:
        """Number of tokens."""
        return len(self.table[()])

    def law(self, text: Text) -> Array:
        """The law after a text, float64 (V,)."""
        law = self.table[text[-self.depth :] if self.depth else ()].astype(np.float64)
        return law if self.first is None or text[:1] == (self.first,) else np.roll(law, 1)


class Case(NamedTuple):
    """Two models, a number of drafts (or a tree's parents), and sampling parameters."""

    target: Toy
    draft: Toy
    size: int
    parents: Text  # of the drafted tree; a chain or siblings where the subject takes no tree
    sampling_params: SamplingParams
    length: int  # tokens of the joint law that is compared: one more than can be kept
    words: str
    prompt: Text = ()  # what is written before the first round
    limit: int | None = None  # tokens at most; None: as many as a block can have
    end: int | None = None  # the token that a text stops after
    mask: Mask | None = None
    order: tuple[str, ...] = ORDER  # of the sampling parameters

    def p(self, text: Text) -> Array:
        """The law that a lossless subject follows after the prompt and a text."""
        law = self.target.law(self.prompt + text)
        if self.mask is not None:
            law = law * self.mask(self.prompt + text, len(law))
            law = law / law.sum()
        return warped(law, self.sampling_params, self.order)

    def q(self, text: Text) -> Array:
        """The law that drafts come from."""
        return warped(self.draft.law(self.prompt + text), self.sampling_params, self.order)


def warped(law: Array, sampling_params: SamplingParams, order: tuple[str, ...] = ORDER) -> Array:
    """A law under sampling parameters."""
    if sampling_params == UNCHANGED:
        return law
    given = sampling_params._asdict()
    for step in [given] if order == ORDER else [{name: given[name]} for name in order]:
        law = np.asarray(warp(logits(law), **step))
    return law


def logits(law: Array) -> Array:
    """log p, -inf where p is 0."""
    with np.errstate(divide="ignore"):
        return np.log(law)


def plain(row: Any, vocab: int = 0) -> Toy:
    """A model without memory."""
    return Toy({(): np.array([Fraction(v) for v in row], dtype=object)}, 0)


@cache  # the same models, so that an observation of them is not made twice
def toy(vocab: int, seed: int, *, one_hot: bool = False, positive: bool = False, untied: bool = False) -> Toy:
    """A random model; with zeros among its probabilities unless `positive`; without equals beside them if `untied`."""
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
    """A model nearly certain of one token, which moves on with the last one; of two shifts no peaks are shared."""
    weights = [97 if i == 0 else 0 if one_hot else i for i in range(vocab)]
    row = np.array(row_of(*weights), dtype=object)
    texts: list[Text] = [(), *((x,) for x in range(vocab))]
    return Toy({text: np.roll(row, shift + sum(text)) for text in texts}, 1, first)


@cache
def wide(one_hot: bool) -> tuple[Toy, Toy]:
    """Target and draft on five tokens: three may be all that a rule sorts or keeps; the last is drafted too often."""
    return plain(row_of(30, 25, 20, 18, 7)), plain(row_of(0, 0, 0, 0, 1) if one_hot else row_of(12, 10, 8, 6, 64))


@cache
def eight(*often: int) -> tuple[Toy, Toy]:
    """Target and draft on eight tokens, some of which are drafted too often, the others too rarely.

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
def sparse(*drafted: int) -> tuple[Toy, Toy]:
    """Target and draft, of such weights, on a large vocabulary of four live tokens, in three tiles."""

    def spread(*weights: int) -> Toy:
        row = np.zeros(LARGE, dtype=int)
        row[list(PLACES)] = weights
        return plain(row_of(*row.tolist()))

    return spread(30, 15, 35, 20), spread(*drafted)


def large(subject: Subject) -> Iterator[Case]:
    """Single drafts on more tokens, each of which is drafted too often in one of the cases; where laws are handed over.

    A draft that is certain is one of them in turn. Of a tree its smallest shape is drafted, on eight tokens.
    """
    size, evens = sizes(subject)[0], tuple(range(0, EIGHT, 2))
    if subject.kind == "tree" and len(subject.shapes[0]) <= FEW_NODES and subject.takes_q:
        for often in (evens, tuple(token + 1 for token in evens)):
            yield make(subject, *eight(*often), size, "")
    if subject.kind not in ("step", "chain") or size != 1:
        return
    if subject.takes_q:
        for often in (evens, tuple(token + 1 for token in evens)):
            yield make(subject, *eight(*often), size, "")
    else:
        target, _ = eight(*evens)
        for token in range(EIGHT):
            yield make(subject, target, certain(EIGHT, token), size, "")
    for weights in ((10, 35, 15, 40), (45, 10, 40, 5)) if subject.takes_q else ((0, 0, 0, 1), (0, 0, 1, 0)):
        yield make(subject, *sparse(*weights), size, "")


@cache
def certain(vocab: int, token: int) -> Toy:
    """A model that always says one token."""
    return plain(np.eye(vocab, dtype=int)[token].tolist())


def turning(subject: Subject) -> tuple[Toy, Toy]:
    """Target and draft on two tokens; the one that is drafted too often changes with the text."""
    one_hot = not subject.takes_q
    return toy(2, 3, positive=True), toy(2, 17, one_hot=one_hot, positive=not one_hot)


def restricted(case: Case, *, limit: int | None = None, end: int | None = None, mask: Mask | None = None) -> Case:
    """A case with a length limit, an end token, or a mask, and words that say so."""
    said = [case.words]
    if limit is not None:
        said.append(f"limit {limit}")
    if end is not None:
        said.append(f"end token {end}")
    if mask is not None:
        said.append("masked")
    return case._replace(limit=limit, end=end, mask=mask, length=limit or case.length, words=", ".join(said))


def prompted(subject: Subject, case: Case, prompt: Text = PROMPT) -> Case:
    """The same after a prompt, if the subject is told of one."""
    if subject.kind not in PROMPTED:
        return case
    shown = str(prompt) if prompt == PROMPT else f"{len(prompt)} tokens"
    return case._replace(prompt=prompt, words=f"{case.words}{', ' if case.words else ''}after {shown}")


def make(
    subject: Subject, target: Toy, draft: Toy, size: int, words: str, sampling_params: SamplingParams = UNCHANGED
) -> Case:
    """A case of a subject; `size` numbers its shapes where it takes trees."""
    parents: tuple[int, ...] = tuple(range(-1, size - 1))
    if subject.kind == "tree":
        parents, size = tuple(subject.shapes[size]), len(subject.shapes[size])
    elif subject.kind == "step":
        parents = (-1,) * size
    drafts = f"{size} draft" + "s" * (size != 1) if subject.kind != "tree" else f"tree {list(parents)}"
    what = f"V={target.vocab}, {drafts}"
    length = 1 if subject.kind == "step" else max(topology.depths(parents), default=0) + 1
    said = f"{what}: {words}" if words else what
    return Case(target, draft, size, parents, sampling_params, int(length), said, order=subject.order)


def sizes(subject: Subject) -> range | Text:
    """What `make` takes where there are drafts, smallest first."""
    if subject.kind == "tree":
        return range(len(subject.shapes))
    return tuple(size for size in sorted(subject.sizes) if size > 0)


def undrafted(
    subject: Subject, words: str = "", sampling_params: SamplingParams = UNCHANGED, target: Toy | None = None
) -> Iterator[Case]:
    """Yield the case of a chain without drafts, if the subject takes such ones: it emits one token of the target."""
    if subject.kind == "chain" and 0 in subject.sizes:
        model = target or toy(3, 0, positive=True, untied=truncates(sampling_params))
        yield make(subject, model, model, 0, words, sampling_params)


def standard(subject: Subject, sampling_params: SamplingParams = UNCHANGED, words: str = "") -> Iterator[Case]:
    """Laws on three tokens that depend on the text: all positive, others with zeros; without warping, peaks apart.

    Those with zeros follow a prompt, if the subject is told of one, and peaks a long one. Of four drafts or nodes and
    more there are two tokens only. Where laws are handed over, one is on five tokens, two on eight, and one on many;
    of a chain that takes 0 drafts, one without.
    """
    untied = truncates(sampling_params)
    for size in sizes(subject):
        for vocab, seed, positive in (
            ((3, 0, True), (3, 1, False)) if not _are_many(subject, size) else (_few(subject),)
        ):
            one_hot, target = not subject.takes_q, toy(vocab, seed, positive=positive, untied=untied)
            other = seed + (CERTAIN if one_hot else 10)
            draft = toy(vocab, other, one_hot=one_hot, positive=positive and not one_hot, untied=untied)
            made = make(subject, target, draft, size, words, sampling_params)
            yield made if positive else prompted(subject, made)
        if size == sizes(subject)[0]:
            yield from undrafted(subject, words, sampling_params)
    if sampling_params == UNCHANGED:
        one_hot = not subject.takes_q
        first = LONG[0] if subject.kind in PROMPTED else None
        models = peaked(3, 0, first=first), peaked(3, 1, one_hot=one_hot, first=first)
        yield prompted(subject, make(subject, *models, sizes(subject)[0], "peaked"), LONG)
        if subject.kind in ROWS:
            yield make(subject, *wide(one_hot), sizes(subject)[0], "")
            yield from large(subject)


def _are_many(subject: Subject, size: int) -> bool:
    """Whether there are so many drafts that laws on three tokens take too long."""
    return (len(subject.shapes[size]) if subject.kind == "tree" else size) >= FOUR


def _few(subject: Subject) -> tuple[int, int, bool]:
    """Two tokens, and a seed of positive laws; three, where three siblings of a tree are to differ."""
    differ = subject.kind == "tree" and subject.scheme not in ("iid", "paths", "independent")
    return (3 if differ else 2), 0, True


def truncates(sampling_params: SamplingParams) -> bool:
    """Whether it takes tokens away; which of equals go is nobody's error."""
    return sampling_params.temperature == 0 or sampling_params.top_k > 0 or sampling_params.top_p < 1


def row_of(*weights: int) -> tuple[Fraction, ...]:
    """A law in proportion to whole numbers."""
    return tuple(Fraction(w, sum(weights)) for w in weights)
