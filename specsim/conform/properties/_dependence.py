"""Rows of large batches that hang together, by frequencies: rows that agree too often, or vary too much over calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from specsim.conform.doubts import rows_depend
from specsim.conform.independence import Shared, dependence
from specsim.conform.observation import continued
from specsim.conform.properties._rows import Row, drawn, empty, even
from specsim.conform.rows import TILE
from specsim.conform.subject import Subject
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.conform.verdict import Counterexample, Outcome, Verdict
from specsim.types import Array

# Number of batches of equal rows that show whether their rows are independent.
CALLS = 4
# Number of batches in all, where rows agree as often with rows of other calls.
MORE = 12
# The words of a verdict on rows that share random numbers.
DEPEND = "rows of one batch depend on each other"
HALF = [0.5, 0.5]


def shared(subject: Subject, trial: Trial) -> Verdict | None:
    """Return a verdict where rows of large batches agree more often than independent ones; None where they do not.

    Frequencies of single rows do not show it where few rows share a random number.
    """
    rng, before = np.random.default_rng(trial.caller.seed), trial.caller.runs
    all_kinds = list(kinds(subject))
    for words, rows in all_kinds:
        # A step emits no bonus: its rows do not have two equally likely texts.
        if any([chance for _, chance in _texts(row)] != HALF for row in rows):
            continue
        tiles = _tiles(trial, rows, rng, range(CALLS))
        # The bonus is left to the caller, or a law is wrong.
        if any((tile < 0).any() for tile in tiles):
            continue
        agreement = dependence(tiles)
        if agreement.surprise < trial.findings.rate(1) / len(all_kinds):
            # A number that all rows of a call share may have come out alike in all of so few calls.
            if not agreement.is_of_one_call:
                tiles += _tiles(trial, rows, rng, range(CALLS, MORE))
                agreement = dependence(tiles)
            reach = f"{rows[0].case.words}, {len(tiles)} batches of {TILE} equal rows"
            return _convicted(subject, trial, words, rows[0], agreement, reach, trial.caller.runs - before)
    # These runs add nothing to a law.
    trial.caller.reset_runs(before)
    return None


def _tiles(trial: Trial, rows: list[Row], rng: np.random.Generator, seeds: range) -> list[Array]:
    """Return what the rows of one call after another emitted, a call for each seed; OutOfTime."""
    out = list[Array]()
    for seed in seeds:
        if trial.budget.left() <= 0:
            raise OutOfTime
        out.append(_called(trial, rows, rng, np.random.default_rng([trial.caller.seed, seed])))
    return out


def in_time(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict of `shared`, None also where there is no time for it."""
    try:
        return shared(subject, trial)
    except OutOfTime:
        return None


def explained(subject: Subject, trial: Trial, many: Verdict) -> Verdict:
    """Return a conviction by the frequencies of all rows with its reason: wrong laws, or rows that hang together.

    Rows that depend on each other may be further from their law than independent ones, and yet have
    it.
    """
    depending = in_time(subject, trial)
    if depending is not None:
        return depending._replace(runs=many.runs)
    return many._replace(words=f"{many.words}; over the rows of large batches, which are wrong there or hang together")


def kinds(subject: Subject) -> Iterator[tuple[str, list[Row]]]:
    """Yield rows that follow each other in a batch, again and again, and what they are in words."""
    alike = even(subject)
    rejected, accepted = drawn(subject)
    yield "even", [alike]
    yield "rejected", [rejected]
    yield "kept", [accepted]
    for row in empty(subject):
        yield "without drafts", [row]
        yield "every second without drafts", [alike, row]


def _texts(row: Row) -> list[tuple[Any, float]]:
    """Return the texts of a row with their probabilities under the target."""
    return continued(row.case.p, (), row.case.length)


def _called(trial: Trial, rows: list[Row], rng: np.random.Generator, random: np.random.Generator) -> Array:
    """Return for each row of one call whether it emitted its first text, 1 or 0; -1 if that cannot be told."""
    # Draw an input for each row of the batch; the kinds of rows take turns.
    choices = [drafted for row in rows for drafted in row.inputs]
    starts = np.cumsum([0, *(len(row.inputs) for row in rows)])
    turns = np.arange(TILE) % len(rows)
    chosen = np.zeros(TILE, dtype=int)
    for i, row in enumerate(rows):
        weights = np.array([drafted.weight for drafted in row.inputs])
        of_kind = turns == i
        chosen[of_kind] = starts[i] + rng.choice(len(weights), size=of_kind.sum(), p=weights / weights.sum())
    answers = trial.caller.batched(rows[0].case, choices, chosen, random)

    # Which of its two texts did each row begin?
    texts = [[text for text, _ in _texts(row)] for row in rows]
    is_first = []
    for turn, answer in zip(turns.tolist(), answers, strict=True):
        fits = [answer.text[: len(text)] == text[: len(answer.text)] for text in texts[turn]]
        is_first.append(int(fits[0]) if sum(fits) == 1 else -1)
    return np.array(is_first)


def _convicted(
    subject: Subject, trial: Trial, kind: str, row: Row, agreement: Shared, reach: str, runs: int
) -> Verdict:
    """Return the verdict on rows that agree too often, or too rarely; `reach` says which batches were tried."""
    share = agreement.agreeing / agreement.pairs
    # Rows of other lengths may stand between those that are judged.
    pairs = f"{agreement.words}, counting judged rows alone,"
    words = f"{pairs} emit the same in {share:.3g} of {agreement.pairs} pairs, and not in half of them ({kind})"
    if agreement.is_of_one_call or trial.findings.has_dependent_rows or _vary(trial, row):
        words = f"{DEPEND}: {words}"
    law, goal = {"the same": share}, {"the same": 0.5}
    shown = Counterexample(reach, row.inputs[0].p.tolist(), None, None, "the same", goal, law)
    outcome: Outcome = "convicted" if subject.lossless else "lossy by design"
    return Verdict(subject.name, "batches", outcome, "Monte Carlo", reach, runs, abs(share - 0.5), shown, words)


def _vary(trial: Trial, row: Row) -> bool:
    """Return whether the frequencies of a row vary from call to call; False where there is no time to see it."""
    try:
        return rows_depend(trial, row.case)
    except OutOfTime:
        return False
