"""Decoding with rules that accept more than the standard test, and may look at the target's states at drafts.

The target's rows are those of T = 1 also where drafts are greedy: a rule for greedy decoding needs to
know how likely a token is that is not the likeliest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from real.decode.loop import Uniforms, decode_batch
from real.decode.proposer import Proposed
from real.decode.warp import Warping
from real.draft import lm
from real.pair import Pair
from real.papers.lab.judging import Head, sure
from specsim.base import check
from specsim.base.arrays import at, pick, residual
from specsim.types import Array


class Drafts(NamedTuple):
    """Drafts (b, n) as a rule sees them.

    rows: shape (b, n, V), the target's at T = 1. p, q: shape (b, n), the target's and the draft's
    probability. u: shape (b, n), uniforms; None if decoding is greedy. states: shape (b, n, hidden),
    the target's last after it has read each draft.
    """

    rows: Array
    p: Array
    q: Array
    u: Array | None
    states: Array


# Drafts -> which are accepted (b, n) if those before them are.
Rule = Callable[[Drafts], Array]


def lenient(epsilon: float) -> Rule:
    """Return lenience: p / epsilon passes the standard test; if greedy, it is at least the likeliest token's p."""
    epsilon = check.scalar(epsilon, "epsilon", "[1e-6, 1]")

    def rule(drafts: Drafts) -> Array:
        """The standard test with p / epsilon."""
        if drafts.u is None:
            return drafts.p >= epsilon * drafts.rows.max(axis=-1)
        return epsilon * drafts.u * drafts.q < drafts.p

    return rule


standard = lenient(1.0)


def top(k: int) -> Rule:
    """Return the standard test, or a place among the target's k likeliest tokens."""
    return lambda drafts: standard(drafts) | ((drafts.rows > drafts.p[..., None]).sum(axis=-1) < k)


def judged_by(head: Head, delta: float) -> Rule:
    """Return the standard test, or a judge that is surer than delta that the draft is unimportant."""
    delta = check.scalar(delta, "delta", "[0, 1]")
    return lambda drafts: standard(drafts) | (sure(head, drafts.states) > delta)


class Answers(NamedTuple):
    """Answers with the numbers of each (n,): target calls, drafts made, drafts accepted, log-probability of a token."""

    tokens: list[list[int]]
    calls: Array
    drafted: Array
    accepted: Array
    # Nats, by the target at T = 1, mean over the tokens.
    log_p: Array


class _Relaxed:
    """The verifier of the loop, and the drafter that hears the states for it: a draft model."""

    def __init__(self, rule: Rule, is_greedy: bool, texts: int) -> None:
        self._rule, self._is_greedy = rule, is_greedy
        self.log_p: list[list[float]] = [[] for _ in range(texts)]

    def started(self, start: Callable[..., Any], *args: Any) -> _Relaxed:
        """Start the draft model, and stand for it."""
        self._model = start(*args)
        return self

    def read(self, i: int, text: Sequence[int]) -> None:
        """Let the draft model read a prompt."""
        self._model.read(i, text)

    def propose(self, *args: Any, **more: Any) -> Proposed:
        """Let the draft model draft."""
        drafts: Proposed = self._model.propose(*args, **more)
        return drafts

    def told(self, which: list[int], starts: list[int], tokens: Tensor, states: Tensor) -> None:
        """Hold the states at a pass's tokens until the rule is asked, just after it."""
        self._which, self._states = which, states[:, 1:, 0].numpy().astype(np.float64)

    def prepare(self, p: Array, q: Array) -> tuple[Array, Array]:
        """Return the rows."""
        return p, q

    def uniforms(self, gamma: int) -> int:
        """One for each draft, one for the token after those that are accepted."""
        return gamma + 1

    def verify(self, plan: tuple[Array, Array], drafts: Array, u: Array) -> tuple[Array, Array]:
        """Return how many drafts of each text are accepted, and the token after them."""
        (p, q), n, row = plan, drafts.shape[1], np.arange(len(drafts))
        of_drafts = at(p[:, :n], drafts)
        tests = None if self._is_greedy else u[:, :n]
        passes = self._rule(Drafts(p[:, :n], of_drafts, at(q, drafts), tests, self._states))
        number = np.cumprod(passes, axis=1).sum(axis=1)

        # The target's own token, or after a refusal one of the residual.
        law = p[row, number]
        if self._is_greedy:
            token = law.argmax(axis=-1)
        else:
            refused = number < n
            if refused.any():
                law = law.copy()
                law[refused] = residual(law[refused], q[row[refused], number[refused]])
            token = pick(law, u[:, n])
        for k, i in enumerate(self._which):
            chances = np.append(of_drafts[k, : number[k]], p[k, number[k], token[k]])
            self.log_p[i] += np.log(np.maximum(chances, 1e-30)).tolist()
        return number, token


def decoded(
    both: Pair,
    prompts: Sequence[list[int]],
    rule: Rule,
    uniforms: Sequence[Uniforms],
    *,
    is_greedy: bool,
    gamma: int,
    max_tokens: int,
    ends: Collection[int],
) -> Answers:
    """Let a pair write answers by a rule, greedy or at T = 1."""
    relaxed, inner, weights = _Relaxed(rule, is_greedy, len(prompts)), lm.drafter(both.draft), both.target.weights
    assert weights is not None
    runs = decode_batch(
        both.target,
        None,
        prompts,
        max_tokens=max_tokens,
        gamma=gamma,
        uniforms=uniforms,
        warping=Warping(),
        stop=frozenset(ends),
        rule=relaxed,
        draw=_likeliest if is_greedy else pick,
        proposer=replace(inner, layers=(len(weights.layers),), start=lambda *args: relaxed.started(inner.start, *args)),
    )
    blocks = [np.array(run.blocks) for run in runs]
    log_p = [np.mean(of_text[: len(run.tokens)]) for of_text, run in zip(relaxed.log_p, runs, strict=True)]
    counts = (
        [len(of_text) for of_text in blocks],
        [of_text[:, 1].sum() for of_text in blocks],
        [of_text[:, 2].sum() for of_text in blocks],
    )
    calls, drafted, accepted = map(np.array, counts)
    return Answers([run.tokens for run in runs], calls, drafted, accepted, np.array(log_p))


def _likeliest(laws: Tensor, u: Tensor) -> Tensor:
    """Return the likeliest token of each law; `u` is ignored, so that this takes the place of `pick`."""
    return laws.argmax(-1)
