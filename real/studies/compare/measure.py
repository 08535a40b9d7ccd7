"""The main job: predict what speculation does on a pair, then measure it, side by side.

1. The target writes a text after each prompt. 2. Both models score it; the renewal law of block starts turns the scores
into tokens per target call for every gamma, without decoding speculatively once. 3. The phases of a cycle are timed for
a few short lengths, which gives the predicted speedup of every length. 4. Plain and speculative decoding run in turn on
the same prompts, with randomness of their own, and are counted and timed. Several chain rules are compared in one run:
they take turns, on the same prompts and with the same uniforms, and are predicted from the same texts.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from real.decode.clock import PHASES, Clock, silent
from real.decode.loop import Decoded, check_fit, decode, keyed
from real.decode.score import predict_blocks, score
from real.decode.warp import Warping
from real.pair import Pair
from real.studies.calibrate import Calibration, copy_bandwidth
from real.studies.compare.record import Bandwidth, Found
from real.studies.compare.rows import Side, Text, acceptance, gain, row
from specsim.base import check
from specsim.exact.guarantee import require_lossless
from specsim.verify.lookup import chain_rule

WRITE, MEASURE = 0, 1  # streams of randomness: the texts scored, and the decoding measured


@dataclass(frozen=True)
class Settings:
    """What `compare` runs: gammas, those timed in advance, tokens per text, sampling, chain rules, seed."""

    gammas: tuple[int, ...] = tuple(range(1, 9))
    calibrated: tuple[int, ...] = (1, 2, 3)
    max_tokens: int = 64
    warping: Warping = Warping()  # noqa: RUF009 - frozen
    rules: tuple[str, ...] = ("tokenwise",)
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("gammas", "calibrated"):
            for gamma in getattr(self, name):
                check.integer(gamma, name, 1)
            if not getattr(self, name):
                raise ValueError(f"{name} is empty: give at least one speculation length")
        if not self.rules or len(set(self.rules)) < len(self.rules):
            raise ValueError(f"rules {', '.join(self.rules)!r}: give at least one, and none twice")
        check.integer(self.max_tokens, "max_tokens", 1)
        check.integer(self.seed, "seed", 0)
        if self.seed >= 1 << 63:
            raise ValueError(f"seed must be below 2^63, got {self.seed}")
        for rule in self.rules:
            chain_rule(rule)
            require_lossless(rule, temperature=self.warping.temperature)

    @property
    def intervals(self) -> int:
        """How many intervals of measured less predicted hold at once: of each rule's tau, and of gains in tau."""
        return len(self.gammas) * (2 * len(self.rules) - 1)


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
) -> Iterator[tuple[str, Found]]:
    """Run the comparison; yields what the texts say, the costs, then one row per rule and gamma, and what rules gain.

    Calibration, plain decoding and every gamma and rule take turns prompt by prompt. A run that is stopped yields the
    rows of the prompts that were finished, then raises what stopped it.

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
    (str, Acceptance or Costs or Bandwidth or Row or Gain)
        In that order, with the rule concerned: Acceptance and Costs for each rule, one Row for each rule and gamma, one
        Gain for each gamma and rule after the first. The bandwidth is the plain decoder's, and comes with the first.

    Raises
    ------
    ValueError
        A prompt is empty, has foreign ids or does not fit the context; the rule is unknown or lossy here.
    """
    check_prompts(pair, prompts, settings.max_tokens)
    if (room := min(pair.target.context, pair.draft.context) - max(settings.calibrated) - 1) < 1:
        raise ValueError(f"calibrated {max(settings.calibrated)} needs blocks longer than the models' context")
    rules = {name: chain_rule(name) for name in settings.rules}
    first = settings.rules[0]
    stop = frozenset(t for t in [pair.tokenizer.eos_token_id] if t is not None)

    on_cpu = pair.target.device.type == "cpu"

    def run(i: int, gamma: int, stream: int, rule: str = first, mark: Callable[[str], None] = silent) -> Decoded:
        # A key of its own for every run but for the rule: what rules gain over each other comes out more sharply.
        uniforms = keyed(settings.seed, (i << 20) + 2 * gamma + stream)
        return decode(
            pair.target,
            pair.draft if gamma else None,
            prompts[i],
            max_tokens=settings.max_tokens,
            gamma=gamma,
            uniforms=uniforms,
            warping=settings.warping,
            stop=stop,
            rule=rules[rule],
            mark=mark,
        )

    texts: list[Text] = []
    for i, prompt in enumerate(prompts):
        step("writing and scoring")
        written = run(i, 0, WRITE).tokens
        found = score(pair.target, pair.draft, prompt, written, settings.warping)
        texts.append(Text(found, len(written) < settings.max_tokens))
    for name, rule in rules.items():
        yield name, acceptance(texts, rule, max(settings.gammas))

    copied = copy_bandwidth(pair.target.device)
    middle = sorted(prompts, key=len)[len(prompts) // 2]
    half = settings.max_tokens // 2
    text = (middle * (1 + half // len(middle)))[: min(len(middle) + half, room)]
    calibrations = [
        Calibration(
            pair.target, pair.draft, [text], warping=settings.warping, rule=rule, gammas=settings.calibrated,
            max_tokens=max(settings.max_tokens - half, max(settings.calibrated) + 1),
        )
        for rule in rules.values()
    ]  # fmt: skip
    jobs = list(itertools.product(settings.gammas, settings.rules))
    phases: dict[tuple[int, str], dict[str, float]] = {job: defaultdict(float) for job in jobs}
    runs: list[dict[tuple[int, str], Decoded]] = []
    stopped: BaseException | None = None
    try:
        for i in range(len(prompts)):
            for calibration in calibrations * 3:
                calibration.sample()
            done, clocks = {}, {job: Clock(pair.target.device) for job in jobs}
            for g, name in [(0, first), *jobs][:: 1 if i % 2 else -1]:  # in turn, and in turned order
                step(f"decoding, gamma {g}")
                done[g, name] = run(i, g, MEASURE, name, clocks[g, name].mark if g and on_cpu else silent)
            runs.append(done)
            for job, phase in itertools.product(jobs, PHASES):
                phases[job][phase] += clocks[job].seconds[phase]
    except (KeyboardInterrupt, RuntimeError, MemoryError, ValueError) as error:
        if not runs:
            raise
        stopped = error  # after the rows of the prompts that were finished
    costs = {name: calibration.costs() for name, calibration in zip(rules, calibrations, strict=True)}
    yield from costs.items()
    yield first, Bandwidth(pair.target.weight_bytes / costs[first].cycle(0), copied)
    level = 1 - (1 - SIMULTANEOUS) / settings.intervals
    texts, plain = texts[: len(runs)], [done[0, first] for done in runs]
    sides = {
        (g, name): Side(
            [predict_blocks(one.score, g, rules[name], ended=one.ended) for one in texts],
            [done[g, name] for done in runs],
            costs[name],
        )
        for g, name in jobs
    }
    for name, g in itertools.product(rules, settings.gammas):
        yield name, row(g, texts, rules[name], sides[g, name], plain, phases[g, name] if on_cpu else {}, level)
    for name, g in itertools.product(settings.rules[1:], settings.gammas):
        yield name, gain(g, sides[g, first], sides[g, name], level)
    if stopped is not None:
        raise stopped
