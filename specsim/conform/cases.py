"""The inputs of a judgement: pairs of toy models with exact laws, and how many drafts; the simplest come first."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations as pairs
from typing import Any, NamedTuple

import numpy as np

from specsim.conform.subject import UNCHANGED, SamplingParams, Subject
from specsim.exact.small_laws import rational_table
from specsim.laws.warp import warp
from specsim.trees import topology
from specsim.types import Array

Text = tuple[int, ...]
DEPTH = 2  # laws depend on the last two tokens


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

    def p(self, text: Text) -> Array:
        """The law that a lossless subject follows."""
        return warped(self.target.law(text), self.sampling_params)

    def q(self, text: Text) -> Array:
        """The law that drafts come from."""
        return warped(self.draft.law(text), self.sampling_params)


def warped(law: Array, sampling_params: SamplingParams) -> Array:
    """A law under sampling parameters."""
    if sampling_params == UNCHANGED:
        return law
    return np.asarray(warp(logits(law), **sampling_params._asdict()))


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
    return Case(target, draft, size, parents, sampling_params, int(length), f"{what}: {words}" if words else what)


def sizes(subject: Subject) -> range | Text:
    """What `make` takes, smallest first."""
    return range(len(subject.shapes)) if subject.kind == "tree" else tuple(sorted(subject.sizes))


def standard(subject: Subject, sampling_params: SamplingParams = UNCHANGED, words: str = "") -> Iterator[Case]:
    """Laws that depend on the text: all positive on three tokens, then others with zeros."""
    untied = truncates(sampling_params)
    for size in sizes(subject):
        for vocab, seed, positive in ((3, 0, True), (3, 1, False)):
            one_hot, target = not subject.takes_q, toy(vocab, seed, positive=positive, untied=untied)
            draft = toy(vocab, seed + 10, one_hot=one_hot, positive=positive and not one_hot, untied=untied)
            yield make(subject, target, draft, size, words, sampling_params)


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
    for vocab in (2, 3):  # a case of fewer drafts was acquitted before, as the smallest come first
        for p in rows[vocab]:
            for q in rows[vocab] if subject.takes_q else np.eye(vocab, dtype=int).tolist():
                if truncates(case.sampling_params) and any(0 < a == b for row in (p, q) for a, b in pairs(row, 2)):
                    continue
                yield make(subject, plain(p), plain(q), size, "", case.sampling_params)


def _row(*weights: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(w, sum(weights)) for w in weights)
