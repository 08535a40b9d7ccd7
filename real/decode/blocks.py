"""Predictions of the blocks of a text from its scores, without a model: the acceptance half of a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import NamedTuple

import numpy as np

from real.decode.given_text import Along, windows
from specsim.base import check
from specsim.base.results import result
from specsim.discover import Rule, facts, name_of
from specsim.lengths.blocks import Renewal, renewal, text_survival
from specsim.types import Array
from specsim.verify.chain import tokenwise
from specsim.verify.lookup import decoding_rule
from specsim.verify.raced import Raced
from specsim.verify.stepwise import Stepwise


class StepScore(NamedTuple):
    """The score of a text under a step rule: acceptance at each position, and b of each token (see `Stepwise`)."""

    acceptance: Array
    posterior: Array


@result("positions", "mean_acceptance")
class Score(NamedTuple):
    """A text under target and draft: p and q of its own tokens, and the acceptance at each position; all (T,).

    `steps` has the scores under step rules, which need more than these numbers.
    """

    p: Array
    q: Array
    acceptance: Array
    steps: Mapping[Stepwise | Raced, StepScore] = MappingProxyType({})

    def of(self, rule: ModuleType | Stepwise | Raced) -> StepScore:
        """Acceptance at each position, and the number of each token that the rule's `survival` takes."""
        if not isinstance(rule, (Stepwise, Raced)):
            return StepScore(self.acceptance, self.ratio)
        if rule not in self.steps:
            name, kind = name_of(rule[0]), facts(rule[0]).family
            raise ValueError(f"rule {name!r} is a {kind} rule: its tau needs whole rows, which were not scored for it")
        return self.steps[rule]

    @property
    def positions(self) -> int:
        """Return how many tokens the text has."""
        return len(self.p)

    @property
    def mean_acceptance(self) -> float:
        """Return the mean over positions of the probability that one draft there is accepted."""
        return float(np.mean(self.acceptance))

    @property
    def ratio(self) -> Array:
        """q/p of each token.

        One that the target wrote in another block size can round to p = 0 here: then 1 if the draft knows it, else 0.
        """
        is_positive = self.p > 0
        return np.where(is_positive, self.q / np.where(is_positive, self.p, 1), np.where(self.q > 0, 1.0, 0.0))

    def tau(self, gamma: int, rule: Rule = "tokenwise") -> float:
        """Predicted tokens per target call when the target writes this text with `gamma` drafts per block.

        Parameters
        ----------
        gamma : int
            Drafts per block, at least 0.
        rule : str
            Chain rule.

        Returns
        -------
        float
            In [1, gamma + 1].

        Raises
        ------
        ValueError
            If the target would never write this text: it gives one of its tokens no probability; or for a step rule.
        """
        check.integer(gamma, "gamma", 0)
        if (self.p == 0).any():
            i = int(np.argmax(self.p == 0))
            raise ValueError(f"token {i} of the text has probability 0 under the target: it would not write this text")
        return float(predict_blocks(self, gamma, decoding_rule(rule)).tau)


@result("positions")
class DrafterScore(NamedTuple):
    """A text under a target and a drafter whose probabilities may depend on where a block starts.

    q: shape (T, n), the drafter's probability of token t + i of the text as draft i of a block that starts at t; p:
    shape (T,), the target's of each token.
    """

    q: Array
    p: Array

    @property
    def positions(self) -> int:
        """Return how many tokens the text has."""
        return len(self.p)

    def tau(self, gamma: int, rule: Rule = "tokenwise") -> float:
        """Predicted tokens per target call when the target writes this text with `gamma` drafts per block.

        Parameters
        ----------
        gamma : int
            Drafts per block, from 0 to those that the text was scored for.
        rule : str
            Chain rule.

        Returns
        -------
        float
            In [1, gamma + 1].

        Raises
        ------
        ValueError
            More drafts than the text was scored for, a rule that needs whole rows, or a text that the target would
            never write: it gives one of its tokens no probability.
        """
        check.integer(gamma, "gamma", 0)
        most = self.q.shape[1]
        if gamma > most:
            raise ValueError(f"gamma={gamma} is above the {most} drafts that the text was scored for: score it with it")
        found = decoding_rule(rule)
        if isinstance(found, (Stepwise, Raced)):
            name, kind = name_of(found[0]), facts(found[0]).family
            raise ValueError(f"rule {name!r} is a {kind} rule: its tau needs whole rows, which were not scored for it")
        return float(predict_along(Along(self.q[:, :gamma], self.p), found).tau)


def predict_along(along: Along, rule: ModuleType = tokenwise, *, ended: bool = False) -> Renewal:
    """Expected target calls to write a text that a drafter was taken along, with as many drafts as `along.q` has.

    Parameters
    ----------
    along : Along
        Its q may depend on where a block starts.
    rule : module
        A chain rule with a `survival`.
    ended : bool
        The text ended with a stop token of its own.

    Returns
    -------
    Renewal
        tau among others.

    Raises
    ------
    ValueError
        If the target would never write this text.
    """
    if (along.p == 0).any():
        i = int(np.argmax(along.p == 0))
        raise ValueError(f"token {i} of the text has probability 0 under the target: it would not write this text")
    p = windows(along.p, along.q.shape[1])
    return renewal(rule.survival(along.q / np.where(p > 0, p, 1)), ended=ended)


def predict_blocks(scores: Score, gamma: int, rule: ModuleType | Stepwise | Raced, *, ended: bool = False) -> Renewal:
    """Expected target calls to write the text with this rule and gamma, by the renewal law of block starts.

    `ended`: the text ended with a stop token of its own.
    """
    return renewal(text_survival(rule.survival, scores.of(rule).posterior, gamma), ended=ended)
