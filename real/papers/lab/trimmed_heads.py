"""Heads of fewer tokens for EAGLE's layer of a pair's target: which tokens, what a step reads, what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from real.draft import feature
from real.draft.restricted import most_frequent
from real.models.model import LanguageModel
from real.models.names import SMOLLM2, TINY_PAIR
from real.pair import Pair
from real.papers.lab.answers import texts_of
from real.papers.lab.contract import Lab
from real.papers.lab.pairs import ends, pair_named
from real.studies.costs import Costs
from real.studies.intervals import Estimate
from specsim.types import Array

# EAGLE's layer of a pair's target.
LAYER = {TINY_PAIR: "feature", SMOLLM2: "smollm2/feature"}


def whole(lab: Lab) -> Any:
    """Return EAGLE's layer of the pair's target with a head of all tokens."""
    net: Any = feature.shipped(LAYER[lab.pair])
    net.tokens = None
    return net


def counts(lab: Lab, count: int) -> Array:
    """Return how often each token stands in so many calibration texts of the target, (V,)."""
    rows = texts_of(lab, 1.0, "calibration", count).rows
    return np.bincount(np.concatenate(rows), minlength=pair_named(lab.pair).target.vocab_size)


def trimmed(lab: Lab, token_counts: Array, size: int) -> Any:
    """Return EAGLE's layer with a head of the most frequent tokens, the end token among them."""
    net = whole(lab)
    end = min(ends(lab.pair), default=None)
    net.tokens = torch.tensor(most_frequent(token_counts, size, end), dtype=torch.int32)
    return net


def scored(net: Any, target: LanguageModel) -> int:
    """Return how many tokens the head of a layer has."""
    return target.vocab_size if net.tokens is None else len(net.tokens)


def weights_read(net: Any, target: LanguageModel) -> float:
    """Return the weights that a draft step reads, the layer's and its head's, over those of a target step."""
    of_layer = sum(w.numel() for w in net.parameters())
    share: float = (of_layer + scored(net, target) * net.hidden) / of_model(target)
    return share


def of_model(model: LanguageModel) -> int:
    """Return how many weights a step of a model reads: its layers and its head."""
    weights = model.weights
    assert weights is not None
    return sum(w.numel() for layer in weights.layers for w in layer if isinstance(w, Tensor)) + weights.head.numel()


def cost(share: float, steps: int) -> float:
    """Return the weights read in a cycle of so many draft steps over those of a plain step."""
    return 1 + steps * share


def draft_s(both: Pair, costs: Costs, share: float, steps: int) -> float:
    """Return predicted seconds of draft steps: those of the pair's draft model, by the weights that are read."""
    step_bytes = share * of_model(both.target) * both.draft.dtype.itemsize
    return costs.phase("draft", steps) * step_bytes / both.draft.weight_bytes


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """Return a number times a factor."""
    return Estimate(*(factor * value for value in estimate))


def gained(gain: Estimate, factor: float) -> Estimate:
    """Return the gain in speed where tokens a call gain so much, and cycles are cheaper by a factor."""
    return Estimate(*((1 + value) * factor - 1 for value in gain))
