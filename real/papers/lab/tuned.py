"""Experiments on objectives: the draft that they start from, their corpus and sizes, and gains."""

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

# Cross-entropy on the corpus, which undoes the draft's last stage.
UNDONE = Plan(steps=40, batch=8, window=128, rate=3e-3)
# Files of the corpus.
DOCUMENTS = 200


def plain(lab: Lab) -> Any:
    """The draft that all experiments start from.

    It is the bundled one, after cross-entropy on the corpus has undone its distillation.
    """
    lab.said("the draft's last stage undone")
    plan = shorter(UNDONE, lab)
    batches = on.batches_of("corpus", training_texts(lab), corpus_of(lab), plan, lab.seed)
    tuned = on.tune(on.model("draft"), ("cross_entropy",), batches, plan, lab.seed)
    return tuned["cross_entropy"]


def corpus_of(lab: Lab) -> Tensor:
    """The corpus as tokens; in a trial a little of it."""
    return on.stream(DOCUMENTS if lab.share >= 0.1 else 4)


def shorter(plan: Plan, lab: Lab) -> Plan:
    """The plan, or in a trial two steps of small batches."""
    return plan if lab.share >= 0.1 else plan._replace(steps=2, batch=2, window=32)


def judging(lab: Lab, part: Part, count: int) -> Texts:
    """The first texts of a part at T = 1 whose prompts have the most common length.

    In a trial the texts are shorter.
    """
    of_part = texts(1.0).of(part)
    lengths = [len(prompt) for prompt in of_part.prompts]
    most_common = max(set(lengths), key=lengths.count)
    which = np.flatnonzero(np.array(lengths) == most_common)[: lab.texts(count, 2)]
    tokens = of_part.tokens[which] if lab.share >= 0.1 else of_part.tokens[which, :32]
    prompts = [of_part.prompts[i] for i in which]
    return Texts(prompts, tokens, of_part.part[which], of_part.group[which])


def added(texts: Texts, new: Array, old: Array, level: float = 0.95) -> Estimate:
    """The mean over texts of new values less old ones, with an interval over prompts."""
    sums, counts = by_prompt(texts, new - old), by_prompt(texts, np.ones(len(new)))
    return bootstrap((sums, counts), lambda a, b: a.sum(-1) / b.sum(-1), level)


def correlation(a: Array, b: Array) -> Array:
    """Spearman's correlation along the last axis; 0 where one of the two is constant."""
    ranks = [stats.rankdata(values, axis=-1) for values in np.broadcast_arrays(a, b)]
    of_a, of_b = (rank - rank.mean(axis=-1, keepdims=True) for rank in ranks)
    size = np.sqrt((of_a**2).sum(-1) * (of_b**2).sum(-1))
    products = (of_a * of_b).sum(-1)
    correlations: Array = np.divide(products, size, out=np.zeros_like(size), where=size > 0)
    return correlations
