"""The main job: predict what speculation does on a pair, then measure it, side by side.

1. The target writes a text after each prompt. 2. Both models score it; the renewal law of block starts turns the scores
into tokens per target call for every gamma, without decoding speculatively once. 3. The phases of a cycle are timed for
a few short lengths, which gives the predicted speedup of every length. 4. Plain and speculative decoding run in turn on
the same prompts, with randomness of their own, and are counted and timed.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np

from real import intervals
from real.calibrate import Calibration, Costs, copy_bandwidth
from real.clock import PHASES, Clock, silent
from real.decode import Decoded, check_fit, decode, keyed
from real.pair import Pair
from real.record import Acceptance, Bandwidth, Row
from real.score import Score, predict_blocks, score
from real.warp import Sampling
from specsim import _check
from specsim.guarantee import require_lossless
from specsim.lengths import text_survival
from specsim.types import Array
from specsim.verify import chain_rule

WRITE, MEASURE = 0, 1  # streams of randomness: the texts scored, and the decoding measured


@dataclass(frozen=True)
class Settings:
    """What `compare` runs: gammas, those timed in advance, tokens per text, sampling, the chain rule, seed."""

    gammas: tuple[int, ...] = tuple(range(1, 9))
    calibrated: tuple[int, ...] = (1, 2, 3)
    max_tokens: int = 64
    sampling: Sampling = Sampling()  # noqa: RUF009 - frozen
    rule: str = "tokenwise"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("gammas", "calibrated"):
            for gamma in getattr(self, name):
                _check.integer(gamma, name, 1)
            if not getattr(self, name):
                raise ValueError(f"{name} is empty: give at least one speculation length")
        _check.integer(self.max_tokens, "max_tokens", 1)
        _check.integer(self.seed, "seed", 0)
        if self.seed >= 1 << 63:
            raise ValueError(f"seed must be below 2^63, got {self.seed}")
        chain_rule(self.rule)
        require_lossless(self.rule, temperature=self.sampling.temperature)


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
) -> Iterator[Acceptance | Costs | Bandwidth | Row]:
    """Run the comparison; yields what the texts say, the costs, then one row per gamma.

    Calibration, plain decoding and every gamma take turns prompt by prompt. A run that is stopped yields the rows of
    the prompts that were finished, then raises what stopped it.

    Parameters
    ----------
    pair : Pair
        Target and draft.
    prompts : sequence of lists of int
        Token ids; intervals treat prompts as the independent units.
    settings : Settings
        What to run.
    step : callable
        Called with the stage before each text is written or decoded; for progress.

    Yields
    ------
    Acceptance, Costs, Bandwidth, Row
        In that order, one Row for each gamma.

    Raises
    ------
    ValueError
        A prompt is empty, has foreign ids or does not fit the context; the rule is unknown or lossy here.
    """
    check_prompts(pair, prompts, settings.max_tokens)
    if (room := min(pair.target.context, pair.draft.context) - max(settings.calibrated) - 1) < 1:
        raise ValueError(f"calibrated {max(settings.calibrated)} needs blocks longer than the models' context")
    rule = chain_rule(settings.rule)
    stop = frozenset(t for t in [pair.tokenizer.eos_token_id] if t is not None)

    on_cpu = pair.target.device.type == "cpu"

    def run(i: int, gamma: int, stream: int, mark: Callable[[str], None] = silent) -> Decoded:
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
            mark=mark,
        )

    texts: list[Text] = []
    for i, prompt in enumerate(prompts):
        step("writing and scoring")
        written = run(i, 0, WRITE).tokens
        found = score(pair.target, pair.draft, prompt, written, settings.sampling)
        texts.append(Text(found, len(written) < settings.max_tokens))
    yield acceptance(texts, rule, max(settings.gammas))

    copied = copy_bandwidth(pair.target.device)
    middle = sorted(prompts, key=len)[len(prompts) // 2]
    half = settings.max_tokens // 2
    text = (middle * (1 + half // len(middle)))[: min(len(middle) + half, room)]
    calibration = Calibration(
        pair.target, pair.draft, [text], sampling=settings.sampling, rule=rule, gammas=settings.calibrated,
        max_tokens=max(settings.max_tokens - half, max(settings.calibrated) + 1),
    )  # fmt: skip
    phases: dict[int, dict[str, float]] = {g: defaultdict(float) for g in settings.gammas}
    runs: list[dict[int, Decoded]] = []
    stopped: BaseException | None = None
    try:
        for i in range(len(prompts)):
            for _ in range(3):
                calibration.sample()
            done, clocks = {}, {g: Clock(pair.target.device) for g in settings.gammas}
            for g in (0, *settings.gammas)[:: 1 if i % 2 else -1]:  # in turn, and in turned order
                step(f"decoding, gamma {g}")
                done[g] = run(i, g, MEASURE, clocks[g].mark if g and on_cpu else silent)
            runs.append(done)
            for g, name in itertools.product(settings.gammas, PHASES):
                phases[g][name] += clocks[g].seconds[name]
    except (KeyboardInterrupt, RuntimeError, MemoryError, ValueError) as error:
        if not runs:
            raise
        stopped = error  # after the rows of the prompts that were finished
    costs = calibration.costs()
    yield costs
    yield Bandwidth(pair.target.weight_bytes / costs.cycle(0), copied)
    level = 1 - (1 - SIMULTANEOUS) / len(settings.gammas)
    for g in settings.gammas:
        pairs = [(done[0], done[g]) for done in runs]
        yield row(g, texts[: len(runs)], rule, costs, pairs, phases[g] if on_cpu else {}, level)
    if stopped is not None:
        raise stopped


class Text(NamedTuple):
    """A text that the target wrote: its scores, and whether it ended of itself."""

    score: Score
    ended: bool


def acceptance(texts: list[Text], rule: ModuleType, gamma: int) -> Acceptance:
    """Mean acceptance over positions, and the hazards a decoder with this gamma meets."""
    lengths = np.array([len(text.score.p) for text in texts])
    sums = np.array([text.score.acceptance.sum() for text in texts])
    runs = [predict_blocks(text.score, gamma, rule, ended=text.ended) for text in texts]
    tried = sum(r.tried for r in runs)
    hazards = sum(r.hazards * r.tried for r in runs) / np.where(tried > 0, tried, 1)
    return Acceptance(intervals.ratio(sums, lengths), [float(h) for h in hazards], len(texts), int(lengths.sum()))


def row(
    gamma: int,
    texts: list[Text],
    rule: ModuleType,
    costs: Costs,
    pairs: list[tuple[Decoded, Decoded]],
    phases: dict[str, float],
    level: float,
) -> Row:
    """Put prediction and measurement of one gamma together."""
    text = np.array([len(one.score.p) for one in texts])
    renewals = [predict_blocks(one.score, gamma, rule, ended=one.ended) for one in texts]
    expected = np.array([float(r.blocks) for r in renewals])
    plain = _seconds_and_tokens([a for a, _ in pairs])
    spec = _seconds_and_tokens([b for _, b in pairs])
    blocks = np.array([len(b.blocks) for _, b in pairs])
    tau = intervals.ratio(text, expected)
    cycle = costs.cycle(gamma)
    steps, cycles = (np.array([np.median(run.cycles) for run in side]) for side in zip(*pairs, strict=True))
    accepted = np.array([block.accepted for _, b in pairs for block in b.blocks])
    return Row(
        gamma=gamma,
        tau_predicted=tau,
        tau_over_positions=over_positions([one.score for one in texts], rule, gamma),
        tau_measured=intervals.ratio(spec[1], blocks),
        tau_difference=intervals.ratio_difference(spec[1], blocks, text, expected, level=level),
        calls_predicted=float(spec[1].sum()) / tau.value,
        calls_measured=int(blocks.sum()),
        tokens=int(spec[1].sum()),
        tokens_per_s_predicted=tau.value / cycle,
        tokens_per_s_measured=intervals.ratio(spec[1], spec[0]),
        plain_tokens_per_s=intervals.ratio(plain[1], plain[0]),
        speedup_predicted=tau.value * costs.cycle(0) / cycle,
        speedup_measured=intervals.speedup(spec[1], blocks, steps, cycles),
        cycle_s_predicted=cycle,
        cycle_s_measured=float(np.median(cycles)),
        plain_s_predicted=costs.cycle(0),
        plain_s_measured=float(np.median(steps)),
        kept_predicted=sum(r.hazards * r.tried for r in renewals).tolist(),
        kept_measured=[int((accepted >= n).sum()) for n in range(1, gamma + 1)],
        phases_s={name: phases[name] / float(blocks.sum()) for name in PHASES if name in phases},
    )


def over_positions(scores: list[Score], rule: ModuleType, gamma: int) -> float | None:
    """tau if a block started at every position equally often: what averaging acceptance amounts to.

    None where every text is shorter than a block.
    """
    totals, positions = 0.0, 0
    for s in scores:
        survival = text_survival(rule.survival, s.q / s.p, gamma)
        full = survival[: max(len(survival) - gamma + 1, 0)]  # windows that end inside the text
        totals, positions = totals + float(full.sum()), positions + len(full)
    return 1 + totals / positions if positions else None


def _seconds_and_tokens(runs: list[Decoded]) -> tuple[Array, Array]:
    return np.array([r.seconds for r in runs]), np.array([len(r.tokens) for r in runs])
