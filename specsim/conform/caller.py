"""Calls of one subject, guarded and counted: one by one, as rows of its batches, or as rows of `jax.vmap`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from specsim.conform.budget import Budget
from specsim.conform.cases import Case
from specsim.conform.libraries import plain, takes_key
from specsim.conform.observation import size_of
from specsim.conform.rows import TILE, Programs, arguments, parts_of
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Answer, Broken, Input, answer, call, keywords, randomness
from specsim.conform.timeout import OutOfTime, within
from specsim.forking.programs import own_generators, scripted
from specsim.forking.programs.jax_keys import TRANSFORMED

# So many rows of a batch take no longer than a call; a call of JAX with no more rows than that is
# not filled up.
FEW = 8
# Calls after which a subject that stores random numbers should have used up the numbers of a
# script.
LEFT_OVER = 3000
# Number of calls that are made twice, and once more as rows of one call.
CHECKED = 12
# Kinds of subjects whose calls may be rows of `jax.vmap`.
COMPILED = ("step", "chain", "tree")


class Caller:
    """Calls one subject, and counts its runs.

    Attributes
    ----------
    subject : Subject
        What is called.
    seed : int
        Of all random numbers of the judgement.
    runs : int
        Runs of the subject that count; each row of a batch is one.
    generators : list
        Random generators of the subject's own.
    """

    def __init__(self, subject: Subject, seed: int, budget: Budget, note: Callable[[str], None]) -> None:
        self.subject, self.seed, self.runs = subject, seed, 0
        self.generators = own_generators.generators(subject.run, subject.batch)
        self._budget = budget
        # Called with why stronger evidence is not to be had.
        self._note = note
        # Whether a call has come back, and of what shapes: JAX compiles anew for each.
        self._has_answered = False
        self._shapes: set[Any] = set()
        # Whether a key decides the answer, and whether rows are what single calls give; None: not
        # known yet.
        self._decides: bool | None = None
        self._serves: bool | None = None
        self._programs = Programs(subject)

    def once(self, case: Case, choice: Input, random: Any, run: Callable[..., Any] | None = None) -> Answer:
        """Return the answer of one guarded call; `run` is that of a text that was begun before."""
        # JAX compiles anew for every shape, so that the first call of a shape may take longer.
        subject = self.subject if run is None else self.subject._replace(run=run, stateful=False)
        shape = size_of(case) if subject.arrays == "jax" else None
        self._has_answered = self._has_answered and shape in {None, *self._shapes}

        # Call again while the subject uses up random numbers of a script that it has stored.
        for _ in range(LEFT_OVER):
            self.runs += 1
            try:
                with self._guarded():
                    answered = call(subject, case, choice, random)
                self._has_answered = True
                self._shapes.add(shape)
                return answered
            except scripted.NotScriptable:
                if isinstance(random, scripted.Generator):
                    raise
            except Broken as broken:
                broken.at = broken.at or (case, choice)
                raise
        self._note("it keeps random numbers over calls, and does not come to new ones")
        raise OutOfTime

    def begin_text(self) -> Callable[..., Any]:
        """Return the `run` of a new text."""
        with self._guarded():
            run: Callable[..., Any] = self.subject.run() if self.subject.stateful else self.subject.run
            return run

    def batched(
        self, case: Case, choices: list[Input], chosen: Any, random: Any, *, compiled: bool = False
    ) -> list[Answer]:
        """Return the answers of the rows of one call, of the subject's `batch` or `compiled`.

        A row gets the input that `chosen` names. JAX gets as many rows each time.
        """
        if self.subject.arrays != "jax" or (not compiled and len(chosen) <= FEW):
            return self._rows(case, choices, chosen, random, compiled)
        answers: list[Answer] = []
        for first in range(0, len(chosen), TILE):
            tile = chosen[first : first + TILE]
            answers += self._rows(case, choices, np.resize(tile, TILE), random, compiled)[: len(tile)]
            self.runs += len(tile) - TILE
        return answers

    def once_each(self, case: Case, choices: list[Input], random: Any, *, rows: bool) -> list[Answer]:
        """Return the answers to inputs that are used once each: one by one, or as the rows of a batch."""
        if rows:
            return self.batched(case, choices, np.arange(len(choices)), random)
        return [self.once(case, choice, random) for choice in choices]

    def reset_runs(self, runs: int) -> None:
        """Set the number of runs back: later runs added nothing to a law."""
        self.runs = runs

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Count no runs: they add nothing to a law."""
        runs = self.runs
        try:
            yield
        finally:
            self.runs = runs

    @contextmanager
    def replaced(self, other: Subject) -> Iterator[None]:
        """Call another subject in place of this one."""
        subject = self.subject
        self.subject = other
        try:
            yield
        finally:
            self.subject = subject

    def is_decided_by_keys(self, case: Case, choices: list[Input]) -> bool:
        """Return whether the key decides each answer: calls repeated in reverse order give the same answers."""
        if self._decides is None:
            self._decides = False
            if takes_key(self.subject) and not self.subject.stateful:
                first = [self._keyed(case, choices, i) for i in range(CHECKED)]
                repeated = [self._keyed(case, choices, i) for i in reversed(range(CHECKED))]
                self._decides = first == repeated[::-1]
        return self._decides

    def serves_compiled(self, case: Case, choices: list[Input]) -> bool:
        """Return whether compiled rows of one call may stand for single calls."""
        if self._serves is None:
            is_function = self.subject.kind in COMPILED and self.is_decided_by_keys(case, choices)
            self._serves = is_function and self._rows_agree(case, choices)
        return self._serves

    @property
    def is_compiled(self) -> bool:
        """Whether compiled rows were found to stand for single calls."""
        return bool(self._serves)

    def _keyed(self, case: Case, choices: list[Input], seed: int) -> Answer:
        """Return the answer of a single call, with the key of its number."""
        return self.once(case, choices[seed % len(choices)], np.random.default_rng([CHECKED, seed]))

    def _rows_agree(self, case: Case, choices: list[Input]) -> bool:
        """Return whether the first rows of a call are the answers of single calls with the same keys."""
        places = np.arange(CHECKED) % len(choices)
        try:
            rows = self.batched(case, choices, places, _Seeds(), compiled=True)
        except (Broken, OutOfTime) as reason:
            self._note(f"not compiled: with jax.vmap it {reason}")
            return False
        if rows == [self._keyed(case, choices, i) for i in range(CHECKED)]:
            return True
        self._note("not compiled: rows of jax.vmap are not what single calls with the same keys give")
        return False

    def _guarded(self, rows: int = 1) -> AbstractContextManager[None]:
        """Return a context for one call of `rows` rows that interrupts it when its time is over.

        A call of at most FEW rows that takes longer than `patience` seconds hangs: Broken. The end
        of the judgement's time is no fault of the subject: OutOfTime. The first call may use all of
        that time, since it may import or compile half of a library; so may JAX's first call of
        each shape.
        """
        patience = self._budget.patience if rows <= FEW else math.inf
        seconds_left = max(self._budget.left(), 0) + self._budget.grace
        return within(patience, seconds_left, early=self._has_answered)

    def _rows(self, case: Case, choices: list[Input], chosen: Any, random: Any, compiled: bool) -> list[Answer]:
        """Return the answers of one call of many rows."""
        subject = self.subject
        drafts = [choice.tree for choice in choices if choice.tree is not None]
        self.runs += len(chosen)

        # Call the rows.
        if compiled:
            with self._guarded(len(chosen)):
                returned = self._programs.call(case, choices, chosen, random)
        else:
            assert subject.batch is not None
            p, q, tokens = arguments(subject, choices, chosen)
            tree = tokens if subject.kind != "tree" else drafts[0]._replace(tokens=tokens)
            more = randomness(subject, case, drafts[0], random, (len(chosen),))
            with followed(subject, random), self._guarded(len(chosen)):
                returned = subject.batch(p, q, tree, *more, **keywords(subject, case, None))

        # Take what was returned apart.
        logprobs = None
        if subject.logprobs:
            returned, reported = returned
            logprobs = np.asarray(plain(reported), dtype=np.float64).round(6) if compiled else None
        pair = subject.kind in ("chain", "tree") and subject.returns == "kept"
        parts = parts_of(returned, pair)
        if any(part.shape[:1] != (len(chosen),) for part in parts):
            raise Broken(f"returned {[part.shape for part in parts]} for a batch of {len(chosen)}")

        # Read each row; equal rows of one input have one answer.
        by_row: dict[Any, Answer] = {}

        def meant(n: int, i: int) -> Answer:
            """Return the answer of row n, whose input is number i."""
            row = tuple(part[n] for part in parts) if pair else parts[0][n]
            # Rows of objects, such as lists, are not compared: their number stands for them.
            key = (i, *(n if part.dtype == object else part[n].tobytes() for part in parts))
            if key not in by_row:
                try:
                    by_row[key] = answer(subject, case, drafts[i], row)
                except Broken as broken:
                    broken.at = (case, choices[i])
                    raise
            answered = by_row[key]
            if logprobs is None:
                return answered
            return answered._replace(logprobs=tuple(logprobs[n][: len(answered.text)].tolist()))

        return [meant(n, int(i)) for n, i in enumerate(chosen)]


class _Seeds:
    """Hands out the bits of the keys that single calls had."""

    def integers(self, *_: Any, size: tuple[int, ...], **options: Any) -> Any:
        """Return the bits of as many keys as are asked for."""
        generators = [np.random.default_rng([CHECKED, i % CHECKED]) for i in range(size[0])]
        return np.stack([generator.integers(0, 2**32, size=size[1:], dtype=np.uint32) for generator in generators])


@contextmanager
def followed(subject: Subject, random: Any) -> Iterator[None]:
    """Raise NotScriptable where JAX refuses a key's stand-in, which is no fault of the subject."""
    try:
        yield
    except Broken as broken:
        ours = isinstance(random, scripted.Generator) and takes_key(subject)
        if ours and isinstance(broken.__cause__, TypeError | AttributeError | ValueError):
            raise scripted.NotScriptable(TRANSFORMED) from None
        raise
