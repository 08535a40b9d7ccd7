"""Tokens of probability 0 that come out where one coin is exactly 0, or the largest number below 1."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from specsim.base import clock
from specsim.conform.cases import Case
from specsim.conform.evidence import ends
from specsim.conform.evidence._counter import End
from specsim.conform.fitting import takes
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Answer, Broken, Input, inputs
from specsim.conform.toys import Text
from specsim.conform.trial import Trial
from specsim.conform.verdict import Counterexample, Outcome, Verdict

# Runs with the same coin at the same end; the other coins are drawn anew in each.
REPEATS = 2
# Inputs (drafts with their rows) that are tried in a case, in each repeat.
DRAFTED = 6
# Coins of a run that are tried at most, evenly spaced.
COINS = 24
# All of this takes at most 1 / SHARE of the time that is left.
SHARE = 8
# The words of `subject_call` on a token outside the vocabulary.
OUTSIDE = re.compile(r"returned token (-?\d+), outside")
INPUTS = "coins are arguments, so that each of their values is an input"


class Impossible(NamedTuple):
    """A run that emitted a token of probability 0, or broke, where one coin was at its end."""

    case: Case
    inputs: Input
    end: End
    # The text up to that token; empty if the run broke.
    text: Text
    # Fraction of the coin's numbers, counted from that end, that have the same effect; 0: not
    # known.
    share: float
    # What a run raised that broke.
    fault: str = ""


def first(subject: Subject, trial: Trial, cases: Iterable[Case]) -> tuple[Impossible | None, str]:
    """Return the first run that emits a token of probability 0, and in words what was tried."""
    until = clock.now() + max(trial.budget.left(), 0) / SHARE
    dtype = subject.dtype if subject.randomness == "coins" else "float64"
    tried = 0

    # Put each coin of a run to each of its ends, until a token of probability 0 comes out or the
    # time is over.
    with trial.caller.uncounted(), ends.trial(trial.caller.seed, dtype) as run:
        for case, drafted, program in _programs(trial, [case for case in cases if takes(trial, case)]):
            if clock.now() > until:
                return None, "coins at 0 and at 1 - ulp in some of the cases" if tried else ""
            _, count = run(program, None)
            tried += count
            for end in _ends(count):
                try:
                    text = _impossible(run, program, case, end)
                except Broken as reason:
                    if _takes_coins(subject):
                        raise
                    return Impossible(case, drafted, end, (), _share(run, program, case, end), str(reason)), ""
                if text is not None:
                    return Impossible(case, drafted, end, text, _share(run, program, case, end)), ""
    return None, "coins at 0 and at 1 - ulp" if tried else ""


def _programs(trial: Trial, cases: list[Case]) -> Iterator[tuple[Case, Input, Any]]:
    """Yield each case with some of its drafts, in random order, and the call of the subject on them."""
    rng = np.random.default_rng(trial.caller.seed)
    for _ in range(REPEATS):
        for case in cases:
            choices = inputs(trial.subject, case)
            for place in rng.permutation(len(choices))[:DRAFTED].tolist():
                yield case, choices[place], partial(trial.caller.once, case, choices[place])


def _ends(count: int) -> Iterator[End]:
    """Yield both ends of at most COINS coins of a run of `count` coins."""
    for place in np.unique(np.linspace(0, count - 1, min(count, COINS)).astype(int)).tolist():
        yield End(place, False)
        yield End(place, True)


def _share(run: ends.Run, program: Any, case: Case, end: End) -> float:
    """Return the fraction of a coin's numbers, from that end on, with the end's effect; 0 if it does not repeat.

    Arithmetic of fewer bits than the coin's takes other numbers for the end, too: they are counted
    by bisection.
    """

    def fails(inside: int) -> bool:
        """Return whether the coin's number `inside` places from its end fails as the end does."""
        try:
            return _impossible(run, program, case, end._replace(inside=inside), again=True) is not None
        except Broken:
            return True

    if not fails(0):
        return 0.0
    # Bisect for the number of the coin's values, from the end on, that fail as the end does.
    bits = run.counter.bits
    low, high = 0, 2 ** (bits - 1)
    while high - low > 1:
        middle = low + (high - low) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return (low + 1) * 2.0**-bits


def _impossible(run: ends.Run, program: Any, case: Case, end: End, *, again: bool = False) -> Text | None:
    """Return the text up to its first token of probability 0, or None; Broken if the run fails in any other way."""
    try:
        answer: Answer
        answer, _ = run(program, end, again=again)
    except Broken as reason:
        # A token outside the vocabulary has probability 0, too; `subject_call` says it in these
        # words.
        outside = OUTSIDE.match(str(reason))
        if outside is None:
            placed = Broken(f"{reason}, {_where(end)}")
            placed.at = reason.at
            raise placed from reason
        return (int(outside[1]),)
    for i, token in enumerate(answer.text):
        if not case.p(answer.text[:i])[token] > 0:
            return answer.text[: i + 1]
    return None


def verdict_at_end(subject: Subject, impossible: Impossible, runs: int, while_recording: bool = False) -> Verdict:
    """Return the verdict on a subject that emits a token of probability 0, or breaks, at the end of a coin.

    It convicts if coins are arguments (they may be exactly 0), or if the law was being recorded
    (`while_recording`). Otherwise it is "measured": a generator draws such a number more rarely
    than rounding moves a law.
    """
    # A conviction, a measured rarity, or a lossy design?
    case, shown_input, text = impossible.case, impossible.inputs, impossible.text
    outcome: Outcome = "lossy by design"
    if subject.lossless:
        outcome = "convicted" if while_recording or _takes_coins(subject) else "measured"
    rarity = INPUTS if _takes_coins(subject) else ""
    if outcome == "measured":
        rarity = _rarity(impossible.share)
    suffix = f": {rarity}" if rarity else ""

    # A run that broke.
    if impossible.fault:
        words = f"it breaks, {impossible.fault} ({case.words}){suffix}"
        return Verdict(subject.name, "degenerate", outcome, "one call", case.words, runs, impossible.share, None, words)

    # A token of probability 0, with the input and the coin that make it.
    vocab = case.target.vocab
    token = text[-1]
    fault = "which has probability 0" if 0 <= token < vocab else f"outside the vocabulary (V = {vocab})"
    words = f"token {token}, {fault}, comes out{_after(text)} {_where(impossible.end)} ({case.words}){suffix}"
    drafts = None if shown_input.tree is None else np.asarray(shown_input.tree.tokens).tolist()
    q = None if shown_input.q is None else shown_input.q.tolist()
    shown = Counterexample(
        f"{case.words}, {_where(impossible.end)}", shown_input.p.tolist(), q, drafts, text, {text: 0.0}, {text: 1.0}
    )
    return Verdict(subject.name, "degenerate", outcome, "one call", case.words, runs, impossible.share, shown, words)


def _rarity(share: float) -> str:
    """Return how often a coin is one of the numbers that do it, in words.

    >>> _rarity(2.0**-53), _rarity(2.0**-25 + 2.0**-53), _rarity(0.0)
    ('once in 2^53 draws', 'once in 2^25 draws', 'how often is not known')
    """
    return f"once in 2^{-math.log2(share):.3g} draws" if share else "how often is not known"


def _takes_coins(subject: Subject) -> bool:
    """Return whether coins are arguments of the subject, so that each of their values is an input."""
    return subject.randomness == "coins"


def _after(text: Text) -> str:
    """Return which tokens come before the last of a text, in words."""
    return f" after {text[:-1]}" if len(text) > 1 else ""


def _where(end: End) -> str:
    """Return which coin is at which end, in words."""
    value = "1 - ulp, the largest number below 1" if end.upper else "exactly 0"
    return f"where coin {end.place + 1} is {value}"
