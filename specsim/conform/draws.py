"""Answers of a subject with real random numbers, and their frequencies: in batches where it can, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from specsim.base import clock
from specsim.conform.cases import ROWS, Case
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import Observation, continued, distance
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Answer, Input, inputs
from specsim.conform.timeout import OutOfTime
from specsim.conform.toys import Text, Toy
from specsim.conform.trial import Trial
from specsim.forking.programs import scripted, shared_generators
from specsim.trees import draw_tree, uniforms
from specsim.types import Array

# Runs that are timed, to know how long a first look would take.
PROBE = 20
# Tests of one observation: first token, joint law, accepted drafts, impossible tokens.
TESTS = 4
# draw(n) returns n answers.
Draw = Callable[[int], list[Answer]]


def frequencies(
    trial: Trial, case: Case, draws: Callable[[int], AbstractContextManager[Draw]], wanted: float | None = None
) -> Observation:
    """Return the frequencies of answers, as precise as `wanted`.

    They are less precise if they convict before, or if other cases need the time. `draws` opens the
    random answers of a seed.
    """
    budget, subject = trial.budget, trial.subject
    findings = trial.findings
    look = findings.begin_look()
    delta = findings.rate(look) / TESTS
    begun, fair = budget.begin_sampling(is_minor=findings.has_dependent_rows)

    # How many answers there may be, and with which frequencies.
    is_drafter, size = subject.kind == "drafter", len(case.parents)
    counted = size if subject.kind in ("chain", "tree") or subject.block else 0
    goal = {} if is_drafter else dict(continued(case.p, (), case.length, case.end))
    # The rows of a drafter are not known yet: it is as hard as any law of so many answers.
    kinds = case.draft.vocab**size + 1
    law = [1 / kinds] * kinds if is_drafter else list(goal.values())

    def precision(runs: int, rate: float) -> float:
        """Return the distance that so many runs would show."""
        return max(montecarlo.detectable(law, runs, rate), montecarlo.mean_allowed(counted, runs, rate))

    # With fewer than `least` runs nothing is decided.
    most = montecarlo.needed(precision, delta, wanted or montecarlo.WANTED)
    least = montecarlo.needed(precision, delta, montecarlo.UNDECIDED)

    def enough(counts: montecarlo.Counts) -> bool:
        """Return whether the counts convict, or those of the next look would come too late."""
        runs, rate = counts.runs, montecarlo.share(delta, counts.looks)
        observation = Observation(
            case, {answer: count / runs for answer, count in counts.counts.items()}, "Monte Carlo", runs
        )
        if not is_drafter and distance(observation.joint(case.length), goal) > montecarlo.allowed(law, runs, rate):
            return True
        now = clock.now()
        is_decided = precision(runs, rate) <= montecarlo.UNDECIDED
        following = min(2 * runs, most) if is_decided else max(least, min(2 * runs, most))
        return now + (now - begun) * (following - runs) / runs > (fair if is_decided else budget.until)

    # Sample, doubling the runs from look to look.
    try:
        with draws(trial.caller.seed + look) as draw:
            counts = montecarlo.sample(draw, enough, most=most)
    except (OutOfTime, scripted.NotScriptable):
        # Rows of a batch may hold random numbers of a script.
        findings.note_once(f"no time for {montecarlo.FIRST} runs with random numbers")
        raise OutOfTime from None
    shares = {answer: count / counts.runs for answer, count in counts.counts.items()}
    return Observation(case, shares, "Monte Carlo", counts.runs, montecarlo.share(delta, counts.looks))


@contextmanager
def sampler(trial: Trial, case: Case, choices: list[Input], seed: int) -> Iterator[Draw]:
    """Open draw(n): n answers on drafts of the case."""
    rng, weights = np.random.default_rng(seed), np.array([choice.weight for choice in choices])
    law, caller = weights / weights.sum(), trial.caller
    compiled = caller.serves_compiled(case, choices)
    if not compiled and not is_batched(trial, case):
        with repeated(
            trial, lambda random: caller.once(case, choices[rng.choice(len(law), p=law)], random), seed
        ) as draw:
            yield draw
        return
    # One that hangs is broken now, and is not waited for until the end.
    caller.batched(case, choices, np.zeros(1, dtype=int), np.random.default_rng([seed, 2]), compiled=compiled)
    with seeded(seed) as random:
        yield lambda count: caller.batched(
            case, choices, rng.choice(len(law), size=count, p=law), random, compiled=compiled
        )


def is_batched(trial: Trial, case: Case) -> bool:
    """Return whether the runs of a case are rows of the subject's batches; some cases are for single calls only."""
    is_plain = (case.prompt, case.limit, case.end, case.mask) == ((), None, None, None) and not trial.subject.logprobs
    return trial.subject.batch is not None and is_plain and not trial.findings.has_dependent_rows


@contextmanager
def neighboured(trial: Trial, case: Case, seed: int) -> Iterator[Draw]:
    """Open draw(n): n answers of the rows of batches, so that a row in another's place is seen.

    A coin decides for every row whether its tokens are called by the next ones' numbers, which is
    undone in its answer: rows of two laws stand at random places beside each other, and every row
    is counted.
    """
    rng, caller = np.random.default_rng(seed), trial.caller
    plain, moved_on = inputs(trial.subject, case), inputs(trial.subject, rolled(case))
    laws = [np.array([choice.weight for choice in choices]) for choices in (plain, moved_on)]
    # A batch that hangs is broken now, and is not waited for until the end.
    caller.batched(case, plain, np.zeros(1, dtype=int), np.random.default_rng([seed, 2]))
    with seeded(seed) as random:

        def draw(count: int) -> list[Answer]:
            """Return the answers of a batch of rows, some of which are renumbered."""
            of_plain, of_moved_on = (rng.choice(len(law), size=count, p=law / law.sum()) for law in laws)
            moved = rng.random(count) < 0.5
            chosen = np.where(moved, len(plain) + of_moved_on, of_plain)
            answers = caller.batched(case, [*plain, *moved_on], chosen, random)
            vocab = case.target.vocab
            pairs = zip(answers, moved.tolist(), strict=True)
            return [unrolled(answer, vocab) if is_moved else answer for answer, is_moved in pairs]

        yield draw


def rolled(case: Case) -> Case:
    """Return the same case with every token called by the next one's number."""
    vocab = case.target.vocab

    def called(text: Text) -> Text:
        """Return the text in the new numbers."""
        return tuple((token + 1) % vocab for token in text)

    def roll(model: Toy) -> Toy:
        """Return the model in the new numbers."""
        return model._replace(table={called(text): np.roll(law, 1) for text, law in model.table.items()})

    return case._replace(target=roll(case.target), draft=roll(case.draft), prompt=called(case.prompt))


def unrolled(answer: Answer, vocab: int) -> Answer:
    """Return an answer in a case that `rolled` made, in the numbers of the case that it was made of."""
    return answer._replace(text=tuple((token - 1) % vocab for token in answer.text))


@contextmanager
def repeated(trial: Trial, program: Callable[[Any], Answer], seed: int) -> Iterator[Draw]:
    """Open draw(n): n results of program(random); OutOfTime at once where there is no time for a first look."""
    budget, looks = trial.budget, 0
    with seeded(seed) as random:

        def draw(count: int) -> list[Answer]:
            """Return as many results of the program."""
            # The first look stops early if it would take too long.
            nonlocal looks
            looks += 1
            answers, begun = list[Answer](), clock.now()
            if looks == 1 and not budget.has_time_for(count, budget.pace, begun):
                raise OutOfTime
            for _ in range(count):
                pace = (clock.now() - begun) / PROBE
                if looks == 1 and len(answers) == PROBE and not budget.has_time_for(count, pace, begun):
                    budget.note_pace(pace)
                    raise OutOfTime
                if budget.left() < 0:
                    raise OutOfTime
                answers.append(program(random))
            return answers

        yield draw


def drafted(subject: Subject, case: Case, count: int, rng: np.random.Generator) -> list[Input]:
    """Return inputs whose drafts are drawn, not enumerated; the models look at the last token alone."""
    if subject.kind not in ROWS:
        return inputs(subject, case) * count

    def after(toy: Toy) -> Callable[[tuple[Any, ...]], Array]:
        """Return the rows of a model as a function of texts, one text a row."""
        return lambda text: np.stack([toy.table[token,] for token in text[-1].tolist()]) if text else toy.table[()]

    u = rng.random((count, uniforms(case.parents, subject.scheme)))
    tree, q = draw_tree(after(case.draft), case.parents, u, scheme=subject.scheme)
    out = []
    for tokens, rows in zip(tree.tokens, q, strict=True):
        p = np.stack([case.target.table[()], *(case.target.table[token,] for token in tokens.tolist())])
        out.append(Input(tree._replace(tokens=tokens), p, rows if subject.takes_q else None, 1.0))
    return out


@contextmanager
def seeded(seed: int) -> Iterator[np.random.Generator]:
    """Yield a generator; those that everybody shares are seeded, too, and put back."""
    before = shared_generators.states()
    shared_generators.seed(seed)
    try:
        yield np.random.default_rng([seed, 1])
    finally:
        shared_generators.restore(before)
