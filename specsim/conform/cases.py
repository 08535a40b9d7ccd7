"""The inputs of a judgement: pairs of toy models with exact laws, and how many drafts; the simplest come first."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from specsim.conform.subject import ORDER, UNCHANGED, SamplingParams, Subject
from specsim.conform.toys import EIGHT, Text, Toy, certain, eight, halved, peaked, sparse, toy, wide
from specsim.laws.warp import warp
from specsim.trees import topology
from specsim.types import Array

Mask = Callable[[Text, int], Array]  # (a text, V) -> which tokens may follow it, bool (V,)
CERTAIN = 39  # of one-hot drafts: the first two of a block are alike in one case, and differ in the other
PROMPTED = ("decoder", "drafter")  # kinds that are told of a prompt
ROWS = ("step", "chain", "tree")  # kinds that are handed laws; a vocabulary that comes with models may be their own
PROMPT = (0, 1)  # of whoever takes one; both end tokens are in it
LONG = (2, *(0, 1, 1, 0, 1, 0, 0, 1, 1, 0) * 2)  # one of 21 tokens, whose first token stands nowhere else in it
FOUR = 4  # from so many drafts on there are two tokens only
FEW_NODES = 2  # of a tree that is drafted on eight tokens
# Vocabularies between those of the other cases, one of which is drawn from each range.
BETWEEN = (range(9, 17), range(17, 33), range(33, 65))


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
    exact_only: bool = False  # frequencies would not show what it is for: it is left out where there is no exact law

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


def between(subject: Subject) -> Iterator[Case]:
    """Yield cases of some 13, 25 and 50 tokens, all of which but one are drafted too often; where laws are handed over.

    A draft that is certain, or one of several, is the likeliest token. JAX, which compiles anew for each, has one.
    """
    vocabs = drawn_vocabs(subject)
    single = subject.kind in ("step", "chain") and sizes(subject)[0] == 1 and subject.takes_q
    for vocab in vocabs[-1:] if subject.arrays == "jax" else vocabs:
        target, draft = halved(vocab)
        draft = draft if single else certain(vocab, int(target.law(()).argmax()))
        yield make(subject, target, draft, sizes(subject)[0], "")._replace(exact_only=True)


def drawn_vocabs(subject: Subject) -> tuple[int, ...]:
    """Return a vocabulary of each range of BETWEEN: always the same of one subject, and others of another name.

    >>> drawn_vocabs(Subject("mine", "step", print)), drawn_vocabs(Subject("yours", "step", print))
    ((14, 23, 38), (11, 29, 59))
    """
    rng = np.random.default_rng(zlib.crc32(subject.name.encode()))
    return tuple(int(rng.choice(vocabs)) for vocabs in BETWEEN)


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
    more there are two tokens only. Where laws are handed over, one is on five tokens, two on eight, one on many, and
    three on numbers of tokens that the subject's name decides; of a chain that takes 0 drafts, one without.
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
            yield from between(subject)


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
