"""The main job: predict what speculation does on a pair, then measure it, side by side.

1. The target writes a text after each prompt. 2. Both models score it; the renewal law of block starts turns the scores
into tokens per target call for every gamma, without decoding speculatively once. 3. Plain and speculative decoding run
in turn on the same prompts, with randomness of their own, and are counted and timed. 4. Between them the phases of a
cycle are timed on a text of its own: for every length, or for a few, from which those of the others are extrapolated.
Times and acceptance give the predicted speedup. Several chain rules are compared in one run: they take turns, on the
same prompts and with the same uniforms, and are predicted from the same texts.

Tau needs many prompts and times need few. With `Settings.timed_prompts` all prompts are decoded in one batch, which
counts tokens and target calls, and the first ones alone, which is timed; the measured speedup has its tau from the
former and its cycles from the latter.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from real.decode.blocks import predict_blocks
from real.decode.clock import PHASES, Clock, silent
from real.decode.graphs import Kept
from real.decode.loop import Decoded, Uniforms, decode, decode_batch, keyed
from real.decode.score import score
from real.decode.text_length import check_fit
from real.pair import Pair
from real.studies.calibrate import Calibration, copy_bandwidth
from real.studies.compare.record import Bandwidth, Found, Job, Run, Turn, run_of
from real.studies.compare.rows import Side, Text, acceptance, gain, row
from real.studies.compare.settings import Settings
from real.studies.costs import costs_of

WRITE, MEASURE = 0, 1  # streams of randomness: the texts scored, and the decoding measured
# Prompts that are decoded in one batch where they are counted: laws over a large vocabulary fill the memory of more.
_TOGETHER = 32
SIMULTANEOUS = 0.99  # level at which all intervals of differences hold at once


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


def check_models(pair: Pair, prompts: Sequence[list[int]], settings: Settings) -> None:
    """ValueError where a prompt or a length cannot run on these models, before anything is computed."""
    check_prompts(pair, prompts, settings.max_tokens)
    if min(pair.target.context, pair.draft.context) - max(settings.timed) < 2:
        raise ValueError(f"calibrated {max(settings.timed)} needs blocks longer than the models' context")


def compare(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: Settings,
    *,
    step: Callable[[str], None] = lambda what: None,
    finished: Sequence[Turn] = (),
    keep: Callable[[Turn], None] = lambda turn: None,
) -> Iterator[tuple[str, Found]]:
    """Run the comparison; yields what the texts say, the costs, then one row per rule and gamma, and what rules gain.

    Timing, plain decoding and every gamma and rule take turns prompt by prompt. A run that is stopped yields the
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
    finished : sequence of Turn
        Turns of an earlier run of the same study, of the first prompts: they are not run again.
    keep : callable
        Called with each new turn, as soon as it is finished.

    Yields
    ------
    (str, Scored or Costs or Bandwidth or Row or Gain)
        In that order, with the rule concerned: Scored and Costs for each rule, one Row for each rule and gamma, one
        Gain for each gamma and rule after the first. The bandwidth is the plain decoder's, and comes with the first.

    Raises
    ------
    ValueError
        A prompt is empty, has foreign ids or does not fit the context; the rule is unknown or lossy here.
    """
    check_models(pair, prompts, settings)
    count = settings.count_timed(len(prompts))
    texts = write_and_score(pair, prompts, settings, step)
    for name in settings.rules:
        yield name, acceptance(texts, settings.verifier(name), max(settings.gammas))
    counted = count_in_batch(pair, prompts, settings, step) if count < len(prompts) else None
    copied = copy_bandwidth(pair.target.device)
    turns, stopped = list(finished), None
    try:
        for turn in take_turns(pair, prompts[:count], settings, len(turns), step):
            keep(turn)
            turns.append(turn)
    except (KeyboardInterrupt, RuntimeError, MemoryError, ValueError) as error:
        if not turns:
            raise
        stopped = error  # after the rows of the prompts that were finished
    scored = texts[: len(turns)] if counted is None else texts
    yield from rows_of(scored, turns, settings, pair.target.weight_bytes, copied, counted)
    if stopped is not None:
        raise stopped


def write_and_score(
    pair: Pair, prompts: Sequence[list[int]], settings: Settings, step: Callable[[str], None]
) -> list[Text]:
    """Let the target write a text after each prompt, and score it under both models."""
    in_batch = settings.count_timed(len(prompts)) < len(prompts)
    batch = _decode_all(pair, prompts, settings, settings.plain, WRITE) if in_batch else []
    texts = []
    for i, prompt in enumerate(prompts):
        step("writing and scoring")
        alone = batch[i] if batch else _decode(pair, prompt, settings, settings.plain, i, WRITE, silent, pair.kept)
        written = alone.tokens
        scored = score(pair.target, pair.draft, prompt, written, settings.warping, settings.step_rules)
        texts.append(Text(scored, len(written) < settings.max_tokens))
    return texts


def count_in_batch(
    pair: Pair, prompts: Sequence[list[int]], settings: Settings, step: Callable[[str], None]
) -> dict[Job, list[Run]]:
    """Return what every speculative job counts on each prompt, all prompts in one batch; its times say nothing."""
    counted = {}
    for job in settings.jobs:
        step(f"counting, gamma {job.gamma}")
        counted[job] = [run_of(decoded) for decoded in _decode_all(pair, prompts, settings, job, MEASURE)]
    return counted


def stages(settings: Settings, prompts: int, finished: int) -> int:
    """Return how many stages `compare` names for so many prompts, of which some turns are finished."""
    count = settings.count_timed(prompts)
    batches = len(settings.jobs) if count < prompts else 0
    return prompts + batches + (count - finished) * (1 + len(settings.jobs))


def take_turns(
    pair: Pair, prompts: Sequence[list[int]], settings: Settings, first: int, step: Callable[[str], None]
) -> Iterator[Turn]:
    """Decode each prompt, from the `first` on, with every job, and visit each length that is timed beside its job."""
    calibrations = _calibrations(pair, prompts, settings)
    jobs, timed = [settings.plain, *settings.jobs], {0, *settings.timed}
    order = [Job(g, rule) for g in sorted({*timed, *settings.gammas}) for rule in settings.rules]
    kept = Kept(len(order))  # what a prompt has captured serves the next one
    for i in range(first, len(prompts)):
        turn = Turn({}, {}, {})
        for job in order if i % 2 else reversed(order):
            if job.gamma in timed:
                turn.visits[job] = calibrations[job.rule].visit(job.gamma)
            if job in jobs:
                step(f"decoding, gamma {job.gamma}")
                clock = Clock(pair.target.device)
                on_clock = job.gamma and pair.target.device.type == "cpu"
                mark = clock.mark if on_clock else silent
                turn.runs[job] = run_of(_decode(pair, prompts[i], settings, job, i, MEASURE, mark, kept))
                if on_clock:
                    turn.phases[job] = {name: clock.seconds[name] for name in PHASES}
        yield turn


def rows_of(
    texts: list[Text],
    turns: Sequence[Turn],
    settings: Settings,
    weight_bytes: int,
    copied: float,
    counted: dict[Job, list[Run]] | None = None,
) -> Iterator[tuple[str, Found]]:
    """Yield costs, bandwidth, rows and gains of finished turns, and of the texts of the same prompts.

    With `counted` the texts and the counts are those of all prompts, of which the turns are the first.
    """
    costs = {
        name: costs_of({g: [turn.visits[Job(g, name)] for turn in turns] for g in (0, *settings.timed)})
        for name in settings.rules
    }
    yield from costs.items()
    yield settings.plain.rule, Bandwidth(weight_bytes / costs[settings.plain.rule].cycle(0), copied)
    level = 1 - (1 - SIMULTANEOUS) / settings.intervals
    plain = [turn.runs[settings.plain] for turn in turns]
    sides = {
        job: Side(
            [predict_blocks(one.score, job.gamma, settings.verifier(job.rule), ended=one.ended) for one in texts],
            [turn.runs[job] for turn in turns] if counted is None else counted[job],
            [turn.runs[job] for turn in turns],
            costs[job.rule],
        )
        for job in settings.jobs
    }
    for name, g in itertools.product(settings.rules, settings.gammas):
        job = Job(g, name)
        seconds = [turn.phases[job] for turn in turns if job in turn.phases]
        phases = {phase: sum(each[phase] for each in seconds) for phase in PHASES if seconds}
        yield name, row(g, texts, settings.verifier(name), sides[job], plain, phases, level)
    for name, g in itertools.product(settings.rules[1:], settings.gammas):
        yield name, gain(g, sides[Job(g, settings.rules[0])], sides[Job(g, name)], level)


def _decode_all(pair: Pair, prompts: Sequence[list[int]], settings: Settings, job: Job, stream: int) -> list[Decoded]:
    """Decode all prompts in batches, each with the key that it has alone."""
    end = pair.tokenizer.eos_token_id
    runs: list[Decoded] = []
    for first in range(0, len(prompts), _TOGETHER):
        some = prompts[first : first + _TOGETHER]
        runs += decode_batch(
            pair.target,
            pair.draft if job.gamma else None,
            some,
            max_tokens=settings.max_tokens,
            gamma=job.gamma,
            uniforms=[_key(settings, first + i, job, stream) for i in range(len(some))],
            warping=settings.warping,
            stop=frozenset() if end is None else frozenset([end]),
            rule=settings.verifier(job.rule),
            kept=pair.kept,
        )
    return runs


def _key(settings: Settings, i: int, job: Job, stream: int) -> Uniforms:
    """Return the uniforms of prompt i: a key of its own for every job but for its rule."""
    return keyed(settings.seed, (i << 20) + 2 * job.gamma + stream)


def _decode(
    pair: Pair,
    prompt: list[int],
    settings: Settings,
    job: Job,
    i: int,
    stream: int,
    mark: Callable[[str], None],
    kept: Kept,
) -> Decoded:
    """Decode prompt i; a key of its own for every run but for the rule, so that what rules gain comes out sharply."""
    end = pair.tokenizer.eos_token_id
    return decode(
        pair.target,
        pair.draft if job.gamma else None,
        prompt,
        max_tokens=settings.max_tokens,
        gamma=job.gamma,
        uniforms=_key(settings, i, job, stream),
        warping=settings.warping,
        stop=frozenset() if end is None else frozenset([end]),
        rule=settings.verifier(job.rule),
        mark=mark,
        kept=kept,
    )


def _calibrations(pair: Pair, prompts: Sequence[list[int]], settings: Settings) -> dict[str, Calibration]:
    """A calibration for each rule, after a text of the length that decoding has halfway."""
    middle = sorted(prompts, key=len)[len(prompts) // 2]
    half, longest = settings.max_tokens // 2, max(settings.timed)
    room = min(pair.target.context, pair.draft.context) - longest - 1
    text = (middle * (1 + half // len(middle)))[: min(len(middle) + half, room)]
    return {
        name: Calibration(
            pair.target,
            pair.draft,
            [text],
            warping=settings.warping,
            rule=settings.verifier(name),
            gammas=settings.timed,
            max_tokens=max(settings.max_tokens - half, longest + 1),
        )
        for name in settings.rules
    }
