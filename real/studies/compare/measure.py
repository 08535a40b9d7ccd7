"""The main job: predict tau and speedup on a pair, then measure both, side by side.

1. The target writes a text after each prompt. 2. Both models score it; the renewal law of block starts turns the scores
into tokens per target call for every gamma, without decoding speculatively once. 3. Plain and
speculative decoding run in turn on the same prompts, with randomness of their own, and are counted
and timed. 4. Between them the phases of a cycle are timed on a text of its own: for every length,
or for a few, from which those of the others are extrapolated. Times and acceptance give the
predicted speedup. Several chain rules are compared in one run: they take turns, on the same prompts
and with the same uniforms, and are predicted from the same texts.

Tau needs many prompts and times need few. With `Settings.timed_prompts` all prompts are decoded in
one batch, which counts tokens and target calls, and the first ones alone, which is timed; the
measured speedup has its tau from the former and its cycles from the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from real.decode.clock import PHASES, Clock, silent
from real.decode.graphs import Kept
from real.decode.loop import Decoded, Uniforms, decode, decode_batch, keyed
from real.decode.score import score
from real.decode.text_length import check_fit
from real.pair import Pair
from real.studies.calibrate import Calibration, copy_bandwidth
from real.studies.compare.record import Job, Result, Run, Turn, run_of
from real.studies.compare.rows import Text, acceptance, rows_of
from real.studies.compare.settings import Settings

# Streams of randomness: of the texts that are scored, and of the decoding that is measured.
WRITE, MEASURE = 0, 1
# Prompts that are decoded in one batch where they are counted: laws over a large vocabulary fill
# the memory of more.
_TOGETHER = 32


def check_prompts(pair: Pair, prompts: Sequence[list[int]], max_tokens: int) -> None:
    """Refuse prompts that cannot be used, with the number of the first one."""
    if not prompts:
        raise ValueError("no prompts: give at least one")
    for i, prompt in enumerate(prompts):
        for name, model in (("target", pair.target), ("draft", pair.draft)):
            try:
                check_fit(model, prompt, max_tokens, name)
            except ValueError as error:
                raise ValueError(f"prompt {i}: {error}") from None


def check_models(pair: Pair, prompts: Sequence[list[int]], settings: Settings) -> None:
    """Refuse a prompt or a length that cannot run on these models, before anything is computed."""
    check_prompts(pair, prompts, settings.max_tokens)
    if min(pair.target.context, pair.draft.context) - max(settings.timed) < 2:
        longest = max(settings.timed)
        raise ValueError(f"calibrated {longest} needs blocks longer than the models' context")


def compare(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: Settings,
    *,
    step: Callable[[str], None] = lambda stage: None,
    finished: Sequence[Turn] = (),
    keep: Callable[[Turn], None] = lambda turn: None,
) -> Iterator[tuple[str, Result]]:
    """Run the comparison; yield acceptance, costs, a row per rule and gamma, and gains of rules.

    Timing, plain decoding and every gamma and rule take turns prompt by prompt. A run that is
    stopped yields the rows of the prompts that were finished, then raises what stopped it.

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
        In that order, with the rule concerned: Scored and Costs for each rule, one Row for each
        rule and gamma, one Gain for each gamma and rule after the first. The bandwidth is the plain
        decoder's, and comes with the first.

    Raises
    ------
    ValueError
        A prompt is empty, has foreign ids or does not fit the context; the rule is unknown or lossy
        here.
    """
    # Acceptance, from texts that the target writes; counts of all prompts, if not all are timed.
    check_models(pair, prompts, settings)
    count = settings.count_timed(len(prompts))
    texts = write_and_score(pair, prompts, settings, step)
    for name in settings.rules:
        yield name, acceptance(texts, settings.verifier(name), max(settings.gammas))
    counted = count_in_batch(pair, prompts, settings, step) if count < len(prompts) else None

    # Decode prompt by prompt. If that is stopped, the finished prompts have rows all the same.
    copied = copy_bandwidth(pair.target.device)
    turns, stopped = list(finished), None
    try:
        for turn in take_turns(pair, prompts[:count], settings, len(turns), step):
            keep(turn)
            turns.append(turn)
    except (KeyboardInterrupt, RuntimeError, MemoryError, ValueError) as error:
        if not turns:
            raise
        stopped = error
    scored = texts[: len(turns)] if counted is None else texts
    yield from rows_of(scored, turns, settings, pair.target.weight_bytes, copied, counted)
    if stopped is not None:
        raise stopped


def write_and_score(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: Settings,
    step: Callable[[str], None],
) -> list[Text]:
    """Let the target write a text after each prompt, and score it under both models."""
    # If not all prompts are timed, texts are written in batches: the same texts, in less time.
    in_batch = settings.count_timed(len(prompts)) < len(prompts)
    plain = settings.plain
    batch = _decode_all(pair, prompts, settings, plain, WRITE) if in_batch else []
    texts = []
    for i, prompt in enumerate(prompts):
        step("writing and scoring")
        if batch:
            tokens = batch[i].tokens
        else:
            tokens = _decode(pair, prompt, settings, plain, i, WRITE, silent, pair.kept).tokens
        warping, step_rules = settings.warping, settings.step_rules
        scored = score(pair.target, pair.draft, prompt, tokens, warping, step_rules)
        texts.append(Text(scored, len(tokens) < settings.max_tokens))
    return texts


def count_in_batch(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: Settings,
    step: Callable[[str], None],
) -> dict[Job, list[Run]]:
    """Return the run of every speculative job on each prompt, all prompts in one batch.

    Its counts are those of a prompt alone; its times are not.
    """
    counted = {}
    for job in settings.jobs:
        step(f"counting, gamma {job.gamma}")
        decoded = _decode_all(pair, prompts, settings, job, MEASURE)
        counted[job] = [run_of(text) for text in decoded]
    return counted


def stages(settings: Settings, prompts: int, finished: int) -> int:
    """Return the number of stages that `compare` names; turns that are finished have none."""
    count = settings.count_timed(prompts)
    batches = len(settings.jobs) if count < prompts else 0
    return prompts + batches + (count - finished) * (1 + len(settings.jobs))


def take_turns(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: Settings,
    first: int,
    step: Callable[[str], None],
) -> Iterator[Turn]:
    """Decode each prompt, from the `first` on, with every job; time each length beside its job."""
    # Every other prompt takes the jobs in the reverse order.
    calibrations = _calibrations(pair, prompts, settings)
    jobs, timed = [settings.plain, *settings.jobs], {0, *settings.timed}
    order = [Job(g, rule) for g in sorted({*timed, *settings.gammas}) for rule in settings.rules]
    # Cycles that are captured for one prompt serve the next ones.
    captured_cycles = Kept(len(order))
    for i in range(first, len(prompts)):
        turn = Turn({}, {}, {})
        for job in order if i % 2 else reversed(order):
            if job.gamma in timed:
                turn.visits[job] = calibrations[job.rule].visit(job.gamma)
            if job in jobs:
                # Phases are timed on a CPU alone, and plain decoding has none.
                step(f"decoding, gamma {job.gamma}")
                clock = Clock(pair.target.device)
                on_clock = job.gamma and pair.target.device.type == "cpu"
                mark = clock.mark if on_clock else silent
                decoded = _decode(pair, prompts[i], settings, job, i, MEASURE, mark, captured_cycles)
                turn.runs[job] = run_of(decoded)
                if on_clock:
                    turn.phases[job] = {name: clock.seconds[name] for name in PHASES}
        yield turn


def _decode_all(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: Settings,
    job: Job,
    stream: int,
) -> list[Decoded]:
    """Decode all prompts in batches, each with the uniforms that it has when it is decoded alone.

    `stream` is WRITE or MEASURE.
    """
    # At most _TOGETHER prompts in a batch; plain decoding needs no draft model.
    runs: list[Decoded] = []
    for first in range(0, len(prompts), _TOGETHER):
        batch = prompts[first : first + _TOGETHER]
        runs += decode_batch(
            pair.target,
            pair.draft if job.gamma else None,
            batch,
            max_tokens=settings.max_tokens,
            gamma=job.gamma,
            uniforms=[_key(settings, first + i, job, stream) for i in range(len(batch))],
            warping=settings.warping,
            stop=ends_of(pair),
            rule=settings.verifier(job.rule),
            kept=pair.kept,
        )
    return runs


def ends_of(pair: Pair) -> frozenset[int]:
    """Return the token at which texts of a pair end, if its tokenizer has one."""
    end = pair.tokenizer.eos_token_id
    return frozenset() if end is None else frozenset([end])


def _key(settings: Settings, i: int, job: Job, stream: int) -> Uniforms:
    """Return the uniforms of prompt i for a job and a stream.

    Each gamma has uniforms of its own. All rules share them, so that differences between rules have
    narrow intervals.
    """
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
    """Decode prompt i alone, with its own uniforms.

    `mark` is called at the end of each phase of a cycle; `kept` holds captured cycles.
    """
    return decode(
        pair.target,
        pair.draft if job.gamma else None,
        prompt,
        max_tokens=settings.max_tokens,
        gamma=job.gamma,
        uniforms=_key(settings, i, job, stream),
        warping=settings.warping,
        stop=ends_of(pair),
        rule=settings.verifier(job.rule),
        mark=mark,
        kept=kept,
    )


def _calibrations(pair: Pair, prompts: Sequence[list[int]], settings: Settings) -> dict[str, Calibration]:
    """Return a calibration for each rule, after a text of the length that decoding has halfway."""
    # The text: the prompt of median length, repeated.
    middle = sorted(prompts, key=len)[len(prompts) // 2]
    half, longest = settings.max_tokens // 2, max(settings.timed)
    room = min(pair.target.context, pair.draft.context) - longest - 1
    text = (middle * (1 + half // len(middle)))[: min(len(middle) + half, room)]

    # Each rule decodes from there.
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
