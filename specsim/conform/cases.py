"""The inputs of a judgement: pairs of toy models with exact laws, and how many drafts; the simplest come first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from specsim.conform.subject import ORDER, UNCHANGED, SamplingParams, Subject
from specsim.conform.toys import (
    Text,
    Toy,
    toy,
)
from specsim.laws.warp import warp
from specsim.trees import topology
from specsim.types import Array

# mask(text, V) returns which tokens may follow a text, as bool (V,).
Mask = Callable[[Text, int], Array]
# Kinds of subjects that take a prompt.
PROMPTED = ("decoder", "drafter")
# Kinds of subjects that are handed laws, so that every vocabulary can be tried; a model may have
# one of its own.
ROWS = ("step", "chain", "tree")
# The usual prompt; both end tokens of `truncation` are in it.
PROMPT = (0, 1)
# A prompt of 21 tokens, whose first token stands nowhere else in it.
LONG = (2, *(0, 1, 1, 0, 1, 0, 0, 1, 1, 0) * 2)


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
    drafts = "1 draft" if size == 1 else f"{size} drafts"
    if subject.kind == "tree":
        drafts = f"tree {list(parents)}"
    label = f"V={target.vocab}, {drafts}"
    if words:
        label = f"{label}: {words}"
    length = 1 if subject.kind == "step" else max(topology.depths(parents), default=0) + 1
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


def truncates(sampling_params: SamplingParams) -> bool:
    """Return whether sampling parameters take tokens away: laws must have no ties then, which may go either way."""
    return sampling_params.temperature == 0 or sampling_params.top_k > 0 or sampling_params.top_p < 1
