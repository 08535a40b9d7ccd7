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

# mask(text, V) returns which tokens may follow a text, as bool (V,).
Mask = Callable[[Text, int], Array]
# Seed of one-hot drafts: the first two of a block are equal in one case, and differ in the other.
CERTAIN = 39
# Kinds of subjects that take a prompt.
PROMPTED = ("decoder", "drafter")
# Kinds of subjects that are handed laws, so that every vocabulary can be tried; a model may have
# one of its own.
ROWS = ("step", "chain", "tree")
# The usual prompt; both end tokens of `truncation` are in it.
PROMPT = (0, 1)
# A prompt of 21 tokens, whose first token stands nowhere else in it.
LONG = (2, *(0, 1, 1, 0, 1, 0, 0, 1, 1, 0) * 2)
# From so many drafts on, laws are on two tokens only: the paths are too many otherwise.
FOUR = 4
# Most nodes of a tree that is drafted on eight tokens.
FEW_NODES = 2
# Vocabularies between those of the other cases, one of which is drawn from each range.
BETWEEN = (range(9, 17), range(17, 33), range(33, 65))


class Case(NamedTuple):
    """Two models, a number of drafts (or a tree's parents), and sampling parameters."""

    target: Toy
    draft: Toy
    size: int
    # The drafted tree; a chain or siblings where the subject takes no tree.
    parents: Text
    sampling_params: SamplingParams
    # Tokens of the joint law that is compared: one more than can be accepted.
    length: int
    # The case in words, as a verdict shows it.
    words: str
    # Tokens before the first round.
    prompt: Text = ()
    # Most tokens of a text; None: as many as a block can have.
    limit: int | None = None
    # The token that a text stops after.
    end: int | None = None
    mask: Mask | None = None
    # The order in which the sampling parameters are applied.
    order: tuple[str, ...] = ORDER
    # Frequencies would not show the error that the case is for: it is left out where there is no
    # exact law.
    exact_only: bool = False

    def p(self, text: Text) -> Array:
        """Return the law that a lossless subject follows after the prompt and a text."""
        law = self.target.law(self.prompt + text)
        if self.mask is not None:
            law = law * self.mask(self.prompt + text, len(law))
            law = law / law.sum()
        return warped(law, self.sampling_params, self.order)

    def q(self, text: Text) -> Array:
        """Return the law that drafts come from."""
        return warped(self.draft.law(self.prompt + text), self.sampling_params, self.order)


def warped(law: Array, sampling_params: SamplingParams, order: tuple[str, ...] = ORDER) -> Array:
    """Return a law under sampling parameters."""
    if sampling_params == UNCHANGED:
        return law
    settings = sampling_params._asdict()
    for step in [settings] if order == ORDER else [{name: settings[name]} for name in order]:
        law = np.asarray(warp(logits(law), **step))
    return law


def logits(law: Array) -> Array:
    """Return log p, -inf where p is 0."""
    with np.errstate(divide="ignore"):
        return np.log(law)


def large(subject: Subject) -> Iterator[Case]:
    """Yield single drafts on more tokens, each of which is drafted too often in one of the cases.

    They are for subjects that are handed laws. A certain draft is each token in turn. Trees: the
    smallest shape, on eight tokens.
    """
    # A small tree on eight tokens.
    size, evens = sizes(subject)[0], tuple(range(0, EIGHT, 2))
    if subject.kind == "tree" and len(subject.shapes[0]) <= FEW_NODES and subject.takes_q:
        for often in (evens, tuple(token + 1 for token in evens)):
            yield make(subject, *eight(*often), size, "")

    # A single draft on eight tokens: one half of the tokens is drafted too often, then the other.
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
    """Yield cases of some 13, 25 and 50 tokens, all but one of which are drafted too often.

    They are for subjects that are handed laws. A certain draft, or one of several, is the likeliest
    token. JAX compiles anew for each vocabulary, so that it has only the last.
    """
    vocabs = drawn_vocabs(subject)
    single = subject.kind in ("step", "chain") and sizes(subject)[0] == 1 and subject.takes_q
    for vocab in vocabs[-1:] if subject.arrays == "jax" else vocabs:
        target, draft = halved(vocab)
        draft = draft if single else certain(vocab, int(target.law(()).argmax()))
        yield make(subject, target, draft, sizes(subject)[0], "")._replace(exact_only=True)


def drawn_vocabs(subject: Subject) -> tuple[int, ...]:
    """Return a vocabulary of each range of BETWEEN, which the name of the subject decides.

    >>> drawn_vocabs(Subject("mine", "step", print)), drawn_vocabs(Subject("yours", "step", print))
    ((14, 23, 38), (11, 29, 59))
    """
    rng = np.random.default_rng(zlib.crc32(subject.name.encode()))
    return tuple(int(rng.choice(vocabs)) for vocabs in BETWEEN)


def turning(subject: Subject) -> tuple[Toy, Toy]:
    """Return target and draft on two tokens; the token that is drafted too often changes with the text."""
    one_hot = not subject.takes_q
    return toy(2, 3, positive=True), toy(2, 17, one_hot=one_hot, positive=not one_hot)


def restricted(case: Case, *, limit: int | None = None, end: int | None = None, mask: Mask | None = None) -> Case:
    """Return a case with a length limit, an end token, or a mask, and words that say so."""
    parts = [case.words]
    if limit is not None:
        parts.append(f"limit {limit}")
    if end is not None:
        parts.append(f"end token {end}")
    if mask is not None:
        parts.append("masked")
    return case._replace(limit=limit, end=end, mask=mask, length=limit or case.length, words=", ".join(parts))


def prompted(subject: Subject, case: Case, prompt: Text = PROMPT) -> Case:
    """Return the case after a prompt, if the subject takes one."""
    if subject.kind not in PROMPTED:
        return case
    shown = str(prompt) if prompt == PROMPT else f"{len(prompt)} tokens"
    comma = ", " if case.words else ""
    return case._replace(prompt=prompt, words=f"{case.words}{comma}after {shown}")


def make(
    subject: Subject, target: Toy, draft: Toy, size: int, words: str, sampling_params: SamplingParams = UNCHANGED
) -> Case:
    """Return a case of a subject; `size` is the number of drafts, or the number of one of its trees' shapes."""
    # The shape of the drafts: siblings, a path or a tree.
    parents: tuple[int, ...] = tuple(range(-1, size - 1))
    if subject.kind == "tree":
        parents, size = tuple(subject.shapes[size]), len(subject.shapes[size])
    elif subject.kind == "step":
        parents = (-1,) * size

    # The case in words.
    drafts = f"{size} draft" + "s" * (size != 1) if subject.kind != "tree" else f"tree {list(parents)}"
    what = f"V={target.vocab}, {drafts}"
    length = 1 if subject.kind == "step" else max(topology.depths(parents), default=0) + 1
    label = f"{what}: {words}" if words else what
    return Case(target, draft, size, parents, sampling_params, int(length), label, order=subject.order)


def sizes(subject: Subject) -> range | Text:
    """Return the sizes that `make` takes where there are drafts, smallest first."""
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
    """Yield laws on three tokens that depend on the text: positive ones, some with zeros; without warping, peaked ones.

    Laws with zeros follow a prompt, if the subject takes one, and peaked laws a long one. Four
    drafts or nodes and more are on two tokens only. Where laws are handed over, one is on five
    tokens, two on eight, one on many, and three on numbers of tokens that the subject's name
    decides; a chain that takes 0 drafts has a case without drafts.
    """
    # Positive laws, and laws with zeros, at every size.
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

    # Without warping: peaked laws, and larger vocabularies where laws are handed over.
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
    """Return whether there are so many drafts that laws on three tokens take too long."""
    return (len(subject.shapes[size]) if subject.kind == "tree" else size) >= FOUR


def _few(subject: Subject) -> tuple[int, int, bool]:
    """Return two tokens, and a seed of positive laws; three tokens where three siblings of a tree must differ."""
    differ = subject.kind == "tree" and subject.scheme not in ("iid", "paths", "independent")
    return (3 if differ else 2), 0, True


def truncates(sampling_params: SamplingParams) -> bool:
    """Return whether sampling parameters take tokens away: laws must have no ties then, which may go either way."""
    return sampling_params.temperature == 0 or sampling_params.top_k > 0 or sampling_params.top_p < 1
