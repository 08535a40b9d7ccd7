"""Conformance checks of processes: has the text the target's law, are passes counted, are texts independent?"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base.texts import Asked, host
from specsim.checks.contract import same_names
from specsim.checks.outcomes import Skipped, in_fractions
from specsim.exact.process_branches import Joint, distance, outcome
from specsim.exact.small_laws import rational_table
from specsim.types import Array, Process
from specsim.verify.chain import block, tokenwise

RULES = (tokenwise, block)
# Tokens and places of texts in rationals.
SHAPES = ((2, 3), (3, 2), (3, 3), (2, 4))
# Number of texts in floats, their places, and tokens.
BATCH, LENGTH, VOCAB = 12, 5, 3


def contract(process: ModuleType) -> None:
    """The module has every name of specsim.types.Process."""
    same_names(process, Process)


@in_fractions
def law_is_the_targets(process: ModuleType) -> None:
    """Every branch followed: with tokenwise and with block verification the text has the target's law."""
    for seed, (vocab, length) in enumerate(SHAPES):
        models = _models(seed, vocab, length)
        for params, rule in itertools.product(discover.process_cases(process), RULES):
            filled = outcome(discover.with_params(process, params), rule, models, length)
            bias = distance(filled.law, models["target"].texts())
            what = f"{vocab} tokens, {length} places, {params}, {discover.name_of(rule)}"
            assert bias == 0, f"{what}: the law of the text is off by {bias} (TV)"


def passes_are_counted(process: ModuleType) -> None:
    """Every call that asks the target for rows is a pass, but that the first may be none; no other call is one."""
    for params, rule in itertools.product(discover.process_cases(process), RULES):
        _, calls = _run(discover.with_params(process, params), rule, _models(5, VOCAB, LENGTH), 1)
        wanted = [int(asked.model == "target" and asked.places.shape[1] > 0) for asked, _ in calls]
        numbers = [counted for _, counted in calls]
        assert numbers in (wanted, [0, *wanted[1:]]), f"{params}: calls count as {numbers} passes, asked for {wanted}"


def batches(process: ModuleType) -> None:
    """Texts that run together come out as each alone: they end at different passes, and are independent."""
    models = _models(6, VOCAB, LENGTH)
    for params, rule in itertools.product(discover.process_cases(process), RULES):
        configured = discover.with_params(process, params)
        together = _result(_run(configured, rule, models, BATCH)[0])
        alone = np.concatenate([_result(_run(configured, rule, models, 1, first=i)[0]) for i in range(BATCH)])
        _same(together, alone, f"{params}, {discover.name_of(rule)}: in a batch", "alone")


@in_fractions
def floats_follow_fractions(process: ModuleType) -> None:
    """In float64 the texts and their passes are those of Fractions."""
    models = _models(7, VOCAB, LENGTH)
    for params, rule in itertools.product(discover.process_cases(process), RULES):
        configured = discover.with_params(process, params)
        exact, floats = (
            _result(_run(configured, rule, models, BATCH, convert=convert)[0]) for convert in (_fractions, _floats)
        )
        _same(floats, exact, f"{params}, {discover.name_of(rule)}: in float64", "in Fractions")


def same_on_torch(process: ModuleType) -> None:
    """Torch fills the same texts as NumPy: a process writes into arrays, which JAX has none of."""
    if importlib.util.find_spec("torch") is None:
        raise Skipped("torch is not installed (extra `real`): nothing to compare NumPy with")
    import torch

    models = _models(8, VOCAB, LENGTH)
    for params, rule in itertools.product(discover.process_cases(process), RULES):
        configured = discover.with_params(process, params)
        in_numpy, on_torch = (
            _result(_run(configured, rule, models, BATCH, convert=convert)[0])
            for convert in (_floats, lambda w: torch.from_numpy(_floats(w)))
        )
        _same(on_torch, in_numpy, f"{params}, {discover.name_of(rule)}: on torch", "in NumPy")


def _models(seed: int, vocab: int, length: int) -> dict[str, Joint]:
    """Return target and draft as joint laws, by name."""
    tables = (rational_table(np.random.default_rng([seed, i]), vocab, length - 1) for i in range(2))
    named = zip(("target", "draft"), tables, strict=True)
    return {name: Joint(table.__getitem__, vocab, length) for name, table in named}


def _floats(w: Array) -> Array:
    """Return an array in float64."""
    return w.astype(np.float64)


def _fractions(w: Array) -> Array:
    """Return an array in Fractions."""
    return w if w.dtype == object else np.vectorize(Fraction, otypes=[object])(w)


def _run(
    process: ModuleType,
    rule: ModuleType,
    models: dict[str, Joint],
    batch: int,
    *,
    first: int = 0,
    convert: Callable[[Array], Array] = _floats,
) -> tuple[Any, list[tuple[Asked, int]]]:
    """Fill the texts number first, first + 1, ..., as a batch, by a process with a rule.

    Returns the last state, and for each call of `advance` the rows that it asked for, with the
    number of passes that it counted for the first text. `convert` makes the arrays of the run.
    """
    # Call `advance` until all texts are filled.
    state, calls = process.start(LENGTH, batch), list[tuple[Asked, int]]()
    while (host(state.filled) < LENGTH).any():
        assert len(calls) < (LENGTH + 2) ** 2, "the texts are not filled, however often `advance` is called"
        asked, before = process.ask(state), int(host(state.passes)[0])
        u = _uniforms_of_texts(state, asked, first, process.uniforms(state, rule))
        state = process.advance(state, convert(models[asked.model].rows(asked)), rule, convert(u))
        calls.append((asked, int(host(state.passes)[0]) - before))
    return state, calls


def _uniforms_of_texts(state: Any, asked: Asked, first: int, count: int) -> Array:
    """Return uniforms (b, n) for the next call, which a text has alone as well as in a batch.

    They are seeded by the text's number, its filled places, its passes and what it asks for.
    """
    uniforms = np.empty((len(state.filled), count))
    for i, (filled, passes) in enumerate(zip(host(state.filled), host(state.passes), strict=True)):
        first_place = 1 + int(asked.places[i, 0]) if asked.places.shape[1] else 0
        seed = [first + i, int(filled), int(passes), int(asked.model == "draft"), first_place]
        uniforms[i] = np.random.default_rng(seed).random(count)
    return uniforms


def _result(state: Any) -> Array:
    """Return texts and passes (b, N + 1)."""
    return np.concatenate([host(state.text), host(state.passes)[:, None]], axis=1)


def _same(results: Array, wanted: Array, here: str, there: str) -> None:
    """Fail if texts or passes differ, and show the first that do."""
    for (*text, passes), (*goal, goal_passes) in zip(results.tolist(), wanted.tolist(), strict=True):
        is_same = (text, passes) == (goal, goal_passes)
        assert is_same, f"{here} {text} in {passes} passes, {there} {goal} in {goal_passes}"


PROCESS_CHECKS: dict[str, Callable[[ModuleType], None]] = {
    check.__name__: check
    for check in (
        contract,
        law_is_the_targets,
        passes_are_counted,
        batches,
        floats_follow_fractions,
        same_on_torch,
    )
}
