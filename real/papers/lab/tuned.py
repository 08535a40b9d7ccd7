"""The draft that experiments on objectives start from, their corpus and their sizes, and what tuning adds; ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from torch import Tensor

from real.papers.lab import tuning as on
from real.papers.lab.contract import Lab
from real.papers.lab.text_lab import by_prompt
from real.papers.lab.texts import Part, Texts, texts, training_texts
from real.papers.lab.tuning import Plan
from real.studies.intervals import Estimate, bootstrap
from specsim.types import Array

UNDONE = Plan(steps=40, batch=8, window=128, rate=3e-3)  # of cross-entropy on the corpus: the draft's last stage undone
DOCUMENTS = 200  # files of the corpus


def plain(lab: Lab) -> Any:
    """The draft that all start from: the bundled one, after cross-entropy on the corpus has undone its distillation."""
    lab.said("the draft's last stage undone")
    learned = on.batches_of("corpus", training_texts(lab), corpus_of(lab), shorter(UNDONE, lab), lab.seed)
    return on.tune(on.model("draft"), ("cross_entropy",), learned, shorter(UNDONE, lab), lab.seed)["cross_entropy"]


def corpus_of(lab: Lab) -> Tensor:
    """The corpus as tokens; in a trial a little of it."""
    return on.stream(DOCUMENTS if lab.share >= 0.1 else 4)


def shorter(plan: Plan, lab: Lab) -> Plan:
    """In a trial two steps of small batches."""
    return plan if lab.share >= 0.1 else plan._replace(steps=2, batch=2, window=32)


def judging(lab: Lab, part: Part, count: int) -> Texts:
    """The first texts of a part at T = 1 whose prompts have the length that most have; in a trial they are shorter."""
    told = texts(1.0).of(part)
    lengths = [len(prompt) for prompt in told.prompts]
    which = np.flatnonzero(np.array(lengths) == max(set(lengths), key=lengths.count))[: lab.texts(count, 2)]
    tokens = told.tokens[which] if lab.share >= 0.1 else told.tokens[which, :32]
    return Texts([told.prompts[i] for i in which], tokens, told.part[which], told.group[which])


def added(told: Texts, new: Array, old: Array, level: float = 0.95) -> Estimate:
    """The mean over texts of what the new adds, with an interval over prompts."""
    sums, counts = by_prompt(told, new - old), by_prompt(told, np.ones(len(new)))
    return bootstrap((sums, counts), lambda a, b: a.sum(-1) / b.sum(-1), level)


def correlation(a: Array, b: Array) -> Array:
    """Spearman's, along the last axis; 0 where one of them is constant."""
    ranks = [stats.rankdata(w, axis=-1) for w in np.broadcast_arrays(a, b)]
    ours, theirs = (w - w.mean(axis=-1, keepdims=True) for w in ranks)
    size = np.sqrt((ours**2).sum(-1) * (theirs**2).sum(-1))
    found: Array = np.divide((ours * theirs).sum(-1), size, out=np.zeros_like(size), where=size > 0)
    return found
