"""The inputs of a judgement: pairs of toy models with exact laws, and how many drafts; the simplest come first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations as pairs
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
ROWS = ("step", "chain", "tree")  # kinds that are handed laws; a vocabulary that comes with models may be their own
SHRUNKEN = 3  # tokens of a counterexample at most
PROMPT = (0, 1)  # of whoever takes one; both end tokens are in it


class Toy(NamedTuple):
    """A model: a table of rationals for every text of up to `depth` tokens; of a longer one the last of them count."""

    table: dict[Text, Array]
    depth: int

    @property
    def vocab(self) -> int:
        """Number of tokens."""
        return len(self.table[()])

    def law(self, text: Text) -> Array:
        """The law after a text, float64 (V,)."""
        return self.table[text[-self.depth :] if self.depth else ()].astype(np.float64)


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
def peaked(vocab: int, shift: int, *, one_hot: bool = False) -> Toy:
    """A model nearly certain of one token, which moves on with the last one; of two shifts no peaks are shared."""
    weights = [97 if i == 0 else 0 if one_hot else i for i in range(vocab)]
    row = np.array(_row(*weights), dtype=object)
    texts: list[Text] = [(), *((x,) for x in range(vocab))]
    return Toy({text: np.roll(row, shift + sum(text)) for text in texts}, 1)


@cache
def wide(one_hot: bool) -> tuple[Toy, Toy]:
    """Target and draft on five tokens: three may be all that a rule sorts or keeps; the last is drafted too often."""
    return plain(_row(30, 25, 20, 18, 7)), plain(_row(0, 0, 0, 0, 1) if one_hot else _row(12, 10, 8, 6, 64))


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


def prompted(subject: Subject, case: Case) -> Case:
    """The same after a prompt, if the subject is told of one."""
    if subject.kind not in ("decoder", "drafter"):
        return case
    return case._replace(prompt=PROMPT, words=f"{case.words}{', ' if case.words else ''}after {PROMPT}")


def rolled(case: Case) -> Case:
    """The same with every token called by the next one's number."""
    vocab = case.target.vocab

    def called(text: Text) -> Text:
        return tuple((token + 1) % vocab for token in text)

    def roll(model: Toy) -> Toy:
        return model._replace(table={called(text): np.roll(law, 1) for text, law in model.table.items()})

    return case._replace(target=roll(case.target), draft=roll(case.draft), prompt=called(case.prompt))


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
    """What `make` takes, smallest first."""
    return range(len(subject.shapes)) if subject.kind == "tree" else tuple(sorted(subject.sizes))


def standard(subject: Subject, sampling_params: SamplingParams = UNCHANGED, words: str = "") -> Iterator[Case]:
    """Laws on three tokens that depend on the text: all positive, others with zeros; without warping, peaks apart.

    Those with zeros follow a prompt, if the subject is told of one. Where laws are handed over, one is on five tokens.
    """
    untied = truncates(sampling_params)
    for size in sizes(subject):
        for vocab, seed, positive in ((3, 0, True), (3, 1, False)):
            one_hot, target = not subject.takes_q, toy(vocab, seed, positive=positive, untied=untied)
            other = seed + (CERTAIN if one_hot else 10)
            draft = toy(vocab, other, one_hot=one_hot, positive=positive and not one_hot, untied=untied)
            made = make(subject, target, draft, size, words, sampling_params)
            yield made if positive else prompted(subject, made)
    if sampling_params == UNCHANGED:
        one_hot = not subject.takes_q
        yield make(subject, peaked(3, 0), peaked(3, 1, one_hot=one_hot), sizes(subject)[0], "peaked")
        if subject.kind in ROWS:
            yield make(subject, *wide(one_hot), sizes(subject)[0], "")


def truncates(sampling_params: SamplingParams) -> bool:
    """Whether it takes tokens away; which of equals go is nobody's error."""
    return sampling_params.temperature == 0 or sampling_params.top_k > 0 or sampling_params.top_p < 1


def simple(subject: Subject, case: Case) -> Iterator[Case]:
    """What a counterexample may shrink to: models without memory, few tokens, simple rationals."""
    rows: dict[int, list[tuple[Fraction, ...]]] = {
        2: [_row(1, 1), _row(1, 2), _row(2, 1), _row(1, 3), _row(3, 1), _row(1, 0), _row(0, 1)],
        3: [_row(1, 1, 1), _row(1, 1, 2), _row(2, 1, 1), _row(3, 2, 1), _row(1, 2, 3), _row(1, 1, 0), _row(0, 1, 1)],
    }
    size = case.size if subject.kind != "tree" else subject.shapes.index(case.parents)
    for vocab in range(
        2, min(case.target.vocab, SHRUNKEN) + 1
    ):  # fewer drafts were acquitted before: the smallest come first
        for p in rows[vocab]:
            for q in rows[vocab] if subject.takes_q else np.eye(vocab, dtype=int).tolist():
                if truncates(case.sampling_params) and any(0 < a == b for row in (p, q) for a, b in pairs(row, 2)):
                    continue
                if case.mask is not None and 0 in p:
                    continue  # the mask might leave nothing
                made = make(subject, plain(p), plain(q), size, "", case.sampling_params)
                shown = prompted(subject, made) if case.prompt else made
                yield restricted(shown, limit=case.limit, end=case.end, mask=case.mask)


def _row(*weights: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(w, sum(weights)) for w in weights)
