"""The main job: predict what speculation does on a pair, then measure it, side by side.

1. The target writes a text after each prompt. 2. Both models score it; the renewal law of block starts turns the scores
into tokens per target call for every gamma, without decoding speculatively once. 3. The parts of a cycle are timed,
which gives the predicted speedup. 4. Plain and speculative decoding run alternately on the same prompts, with
randomness of their own, and are counted and timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from real import intervals
from real.calibrate import Costs, calibrate
from real.decode import Decoded, check_fit, decode, keyed
from real.intervals import Estimate
from real.load import Pair
from real.score import Score, predict_blocks, score
from real.warp import Sampling
from specsim import _check, discover
from specsim.guarantee import require_lossless
from specsim.lengths import text_survival
from specsim.types import Array, ChainRule

WRITE, MEASURE = 0, 1  # streams of randomness: the texts scored, and the decoding measured


@dataclass(frozen=True)
class Settings:
    """What `compare` runs: gammas, tokens per text, sampling, the chain rule, seed."""

    gammas: tuple[int, ...] = tuple(range(1, 9))
    max_tokens: int = 64
    sampling: Sampling = Sampling()  # noqa: RUF009 - frozen
    rule: str = "tokenwise"
    seed: int = 0

    def __post_init__(self) -> None:
        for gamma in self.gammas:
            _check.integer(gamma, "gamma", 1)
        if not self.gammas:
            raise ValueError("gammas is empty: give at least one speculation length")
        _check.integer(self.max_tokens, "max_tokens", 1)
        _check.integer(self.seed, "seed", 0)
        discover.find("chain", self.rule)
        require_lossless(self.rule, temperature=self.sampling.temperature)


@dataclass(frozen=True)
class Acceptance:
    """What the scored texts say: mean acceptance per position, hazards at the largest gamma, texts and tokens."""

    mean: Estimate
    hazards: list[float]
    texts: int
    tokens: int


@dataclass(frozen=True)
class Row:
    """One gamma: predictions, measurements, and their difference in tau."""

    gamma: int
    tau_predicted: Estimate
    tau_over_positions: float  # every position counted alike: biased, shown to show it
    tau_measured: Estimate
    tau_difference: Estimate  # measured - predicted, simultaneous over all gammas of the run
    calls_predicted: float
    calls_measured: int
    tokens: int
    tokens_per_s_predicted: float
    tokens_per_s_measured: Estimate
    plain_tokens_per_s: Estimate
    speedup_predicted: float
    speedup_measured: Estimate


SIMULTANEOUS = 0.99


def check_prompts(pair: Pair, prompts: Sequence[list[int]], max_tokens: int) -> None:
    """ValueError naming the first prompt that cannot be used."""
    if not prompts:
        raise ValueError("no prompts: give at least one")
    for i, prompt in enumerate(prompts):
        for name, model in (("target", pair.target), ("draft", pair.draft)):
            try:
                check_fit(model, prompt, max_tokens, name)
            except ValueError as error:
                raise ValueError(f"prompt {i}: {error}") from None


def compare(
    pair: Pair, prompts: Sequence[list[int]], settings: Settings, *, step: Callable[[str], None] = lambda what: None
) -> Iterator[Acceptance | Costs | Row]:
    """Run the comparison; yields what the texts say, the costs, then one row per gamma as it is finished.

    Parameters
    ----------
    pair : Pair
        Target and draft.
    prompts : sequence of lists of int
        Token ids; intervals treat prompts as the independent units.
    settings : Settings
        What to run.
    step : callable
        Called with the stage before each text that is written, scored or decoded; for progress.

    Yields
    ------
    Acceptance, Costs, Row
        In that order, one Row for each gamma.

    Raises
    ------
    ValueError
        A prompt is empty, has foreign ids or does not fit the context; the rule is unknown or lossy here.
    """
    check_prompts(pair, prompts, settings.max_tokens)
    rule = discover.find("chain", settings.rule)
    stop = frozenset(t for t in [pair.tokenizer.eos_token_id] if t is not None)

    def run(i: int, gamma: int, stream: int) -> Decoded:
        uniforms = keyed(settings.seed, (i << 20) + 2 * gamma + stream)  # a key of its own for every run
        return decode(
            pair.target,
            pair.draft if gamma else None,
            prompts[i],
            max_tokens=settings.max_tokens,
            gamma=gamma,
            uniforms=uniforms,
            sampling=settings.sampling,
            stop=stop,
            rule=rule,
        )

    scores = []
    for i, prompt in enumerate(prompts):
        step("writing and scoring")
        scores.append(score(pair.target, pair.draft, prompt, run(i, 0, WRITE).tokens, settings.sampling))
    yield acceptance(scores, rule, max(settings.gammas))

    step("calibrating")
    middle = sorted(prompts, key=len)[len(prompts) // 2]
    text = (middle * (1 + settings.max_tokens // (2 * len(middle))))[: len(middle) + settings.max_tokens // 2]
    costs = calibrate(pair, text, sampling=settings.sampling, rule=rule, max_gamma=max(settings.gammas))
    yield costs

    for gamma in settings.gammas:
        pairs = []
        for i in range(len(prompts)):
            step(f"decoding, gamma {gamma}")
            both = {g: run(i, g, MEASURE) for g in ((0, gamma) if i % 2 else (gamma, 0))}  # alternate which goes first
            pairs.append((both[0], both[gamma]))
        yield row(gamma, scores, rule, costs, pairs, 1 - (1 - SIMULTANEOUS) / len(settings.gammas))


def acceptance(scores: list[Score], rule: ChainRule, gamma: int) -> Acceptance:
    """Mean acceptance over positions, and the hazards a decoder with this gamma meets."""
    lengths = np.array([len(s.p) for s in scores])
    sums = np.array([s.acceptance.sum() for s in scores])
    runs = [predict_blocks(s, gamma, rule) for s in scores]
    tried = sum(r.tried for r in runs)
    hazards = sum(r.hazards * r.tried for r in runs) / np.where(tried > 0, tried, 1)
    return Acceptance(intervals.ratio(sums, lengths), [float(h) for h in hazards], len(scores), int(lengths.sum()))


def row(
    gamma: int,
    scores: list[Score],
    rule: ChainRule,
    costs: Costs,
    pairs: list[tuple[Decoded, Decoded]],
    level: float,
) -> Row:
    """Put prediction and measurement of one gamma together."""
    text = np.array([len(s.p) for s in scores])
    expected = np.array([float(predict_blocks(s, gamma, rule).blocks) for s in scores])
    plain = _seconds_and_tokens([a for a, _ in pairs])
    spec = _seconds_and_tokens([b for _, b in pairs])
    blocks = np.array([len(b.blocks) for _, b in pairs])
    tau = intervals.ratio(text, expected)
    cycle = costs.cycle_s(gamma)
    return Row(
        gamma=gamma,
        tau_predicted=tau,
        tau_over_positions=over_positions(scores, rule, gamma),
        tau_measured=intervals.ratio(spec[1], blocks),
        tau_difference=intervals.ratio_difference(spec[1], blocks, text, expected, level=level),
        calls_predicted=float(spec[1].sum()) / tau.value,
        calls_measured=int(blocks.sum()),
        tokens=int(spec[1].sum()),
        tokens_per_s_predicted=tau.value / cycle,
        tokens_per_s_measured=intervals.ratio(spec[1], spec[0]),
        plain_tokens_per_s=intervals.ratio(plain[1], plain[0]),
        speedup_predicted=tau.value * costs.cycle_s(0) / cycle,
        speedup_measured=intervals.speedup(plain, spec),
    )


def over_positions(scores: list[Score], rule: ChainRule, gamma: int) -> float:
    """tau if a block started at every position equally often: what averaging acceptance amounts to."""
    totals, positions = 0.0, 0
    for s in scores:
        survival = text_survival(rule.survival, s.q / s.p, gamma)
        full = survival[: max(len(survival) - gamma + 1, 0)]  # windows that end inside the text
        totals, positions = totals + float(full.sum()), positions + len(full)
    return 1 + totals / positions if positions else float("nan")


def _seconds_and_tokens(runs: list[Decoded]) -> tuple[Array, Array]:
    return np.array([r.seconds for r in runs]), np.array([len(r.tokens) for r in runs])


def as_json(found: Acceptance | Costs | Row) -> dict[str, Any]:
    """The JSON form of what `compare` yields; see real/results/README.md for the schema."""
    if isinstance(found, Acceptance):
        return asdict(found) | {"mean": {"predicted": found.mean.value, "interval": _span(found.mean)}}
    if isinstance(found, Costs):
        return found._asdict()
    return {
        "gamma": found.gamma,
        "tau": {
            "predicted": found.tau_predicted.value,
            "predicted_interval": _span(found.tau_predicted),
            "predicted_over_positions": found.tau_over_positions,
            "measured": found.tau_measured.value,
            "interval": _span(found.tau_measured),
            "difference_interval": _span(found.tau_difference),
        },
        "target_calls": {"predicted": found.calls_predicted, "measured": found.calls_measured, "tokens": found.tokens},
        "tokens_per_s": {
            "predicted": found.tokens_per_s_predicted,
            "measured": found.tokens_per_s_measured.value,
            "interval": _span(found.tokens_per_s_measured),
            "plain_measured": found.plain_tokens_per_s.value,
        },
        "speedup": {
            "predicted": found.speedup_predicted,
            "measured": found.speedup_measured.value,
            "interval": _span(found.speedup_measured),
        },
    }


def _span(e: Estimate) -> list[float] | None:
    return [e.low, e.high] if np.isfinite([e.low, e.high]).all() else None
