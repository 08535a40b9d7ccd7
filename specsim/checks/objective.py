"""Conformance checks of objectives: is the gradient that which is stated, at zeros and on every library, too?"""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.checks import backends
from specsim.checks.contract import same_names
from specsim.checks.log_numbers import NoValue, Number, gradient, log_softmax, numbers
from specsim.checks.outcomes import Check, Skipped, close, written
from specsim.types import Array, Objective

F = Fraction
# Rows p, q of a batch of two. Tokens with p > q have 1/5 or 1/10 of q on average, so that the root
# of mu (1 - mu) is rational. In the second a token has p = q, in the third a whole row.
BATCHES = (
    ([[F(3, 5), F(2, 5)], [F(1, 2), F(1, 2)]], [[F(1, 5), F(4, 5)], [F(4, 5), F(1, 5)]]),
    ([[F(1, 2), F(1, 4), F(1, 4)]] * 2, [[F(1, 10), F(1, 4), F(13, 20)], [F(3, 10), F(1, 4), F(9, 20)]]),
    (
        [[F(2, 3), F(1, 6), F(1, 6)], [F(1, 7), F(2, 7), F(4, 7)]],
        [[F(1, 5), F(2, 5), F(2, 5)], [F(1, 7), F(2, 7), F(4, 7)]],
    ),
)
# Vocabulary and number of rows in floats.
VOCAB, ROWS = 17, 24


def contract(objective: ModuleType) -> None:
    """The module has every name of specsim.types.Objective."""
    same_names(objective, Objective)


def gradient_is_exact(objective: ModuleType) -> None:
    """The gradient in the logits is the one stated, ==, logarithms kept as such; expected over tokens if sampled."""
    compared = 0
    for params in discover.process_cases(objective):
        configured = discover.with_params(objective, params)
        for p, q in BATCHES:
            # A root that is not rational has no exact value.
            try:
                slopes = _expected(configured, p, q)
                stated = configured.gradient(numbers(p), numbers(log_softmax(q)))
            except NoValue:
                continue
            compared += 1
            wrong = [at for at in np.ndindex(slopes.shape) if slopes[at] != stated[at]]
            assert not wrong, (
                f"{params}, p={written(np.array(p))}, q={written(np.array(q))}: the gradient in logit {wrong[0]} is "
                f"{slopes[wrong[0]]}, stated is {stated[wrong[0]]}"
            )
    if not compared:
        raise Skipped("its gradient has no exact value on any of these rows")


def nothing_at_equality(objective: ModuleType) -> None:
    """Where the draft is the target no gradient is left, and a loss that is not sampled is 0; elsewhere it is not."""
    sampled = discover.objective_facts(objective).sampled
    for params in discover.process_cases(objective):
        configured = discover.with_params(objective, params)
        for p, q in BATCHES:
            # Draft and target are equal.
            law = np.array(p)
            slopes = configured.gradient(numbers(p), numbers(log_softmax(p))).ravel()
            assert all(slope == 0 for slope in slopes), f"{params}, p=q={written(law)}: the gradient is {slopes}, not 0"
            if sampled:
                continue
            at_p = configured.loss(numbers(p), log_softmax(p))
            assert all(value == 0 for value in at_p), f"{params}, p=q={written(law)}: the loss is {at_p[0]}, not 0"

            # They differ in some rows.
            p_rows, q_rows = (np.array(rows, dtype=float) for rows in (p, q))
            apart = np.abs(p_rows - q_rows).sum(-1) > 0
            value = configured.loss(p_rows, np.log(q_rows))
            assert (value[apart] > 0).all(), f"{params}: the loss is {value}, which must be positive where q is not p"


def finite_at_zeros(objective: ModuleType) -> None:
    """No NaN, in gradients either, where rows of the target, of the draft, or of both are one-hot or filtered."""
    for where, p, log_q, tokens in _zeros(discover.objective_facts(objective).tokens):
        for params in discover.process_cases(objective):
            configured = discover.with_params(objective, params)
            loss = configured.loss(p, log_q, _drawn_tokens(configured, tokens))
            assert not np.isnan(loss).any(), f"{params}, {where}: the loss is {loss}"
            stated = configured.gradient(p, log_q)
            assert np.isfinite(stated).all(), f"{params}, {where}: the stated gradient is {stated}"
            if importlib.util.find_spec("torch") is not None and np.isfinite(log_q).all():
                slopes = _torch_gradient(configured, p, log_q, tokens)
                assert np.isfinite(slopes).all(), f"{params}, {where}: torch's gradient is {slopes}"


def same_on_every_backend(objective: ModuleType) -> None:
    """Torch's and JAX's values are NumPy's, and their gradients, where no token is drawn, the one stated."""
    if not any(importlib.util.find_spec(name) for name in ("torch", "jax")):
        raise Skipped("neither jax nor torch is installed (extras `jax`, `real`): nothing to compare NumPy with")
    rng = np.random.default_rng(35)
    p, log_q = rng.dirichlet(np.ones(VOCAB), ROWS), np.log(rng.dirichlet(np.ones(VOCAB), ROWS))
    tokens = rng.integers(0, VOCAB, ROWS)
    for params in discover.process_cases(objective):
        configured = discover.with_params(objective, params)
        value = configured.loss(p, log_q, _drawn_tokens(configured, tokens))
        assert value.shape == (ROWS,), f"{params}: rows {p.shape} give {value.shape}, not one number each"
        for name, run in _libraries().items():
            loss, slope = run(configured, p, log_q, tokens)
            close(loss, value, f"{params}: the loss on {name}")
            if not discover.objective_facts(configured).sampled:
                close(slope, configured.gradient(p, log_q), f"{params}: the gradient on {name}")


def _expected(objective: ModuleType, p: Any, q: Any) -> Array:
    """Return the gradient (n, V) of the sum of the rows' losses, in n V logits of q.

    If the objective is sampled, it is the expectation over all tuples of n tokens.
    """
    shape, log_q, facts = np.shape(q), log_softmax(q), discover.objective_facts(objective)
    if not facts.sampled:
        return gradient(_total(objective.loss(numbers(p), log_q)), shape)
    law = p if facts.tokens == "target" else q
    total = gradient(Number({}), shape)
    for tokens in itertools.product(range(shape[1]), repeat=shape[0]):
        chance = math.prod((law[i][x] for i, x in enumerate(tokens)), start=Fraction(1))
        value = _total(objective.loss(numbers(p), log_q, np.array(tokens)))
        total = total + chance * gradient(value, shape)
    return total


def _total(rows: Array) -> Number:
    """Return the sum of losses."""
    return sum(rows.ravel(), Number({}))


def _drawn_tokens(objective: ModuleType, tokens: Array) -> Array | None:
    """Return the tokens for an objective that is sampled, None for others."""
    return tokens if discover.objective_facts(objective).sampled else None


def _zeros(whose: str) -> Iterator[tuple[str, Array, Array, Array]]:
    """Yield (words, p, log q, tokens that can be drawn)."""
    rows = {
        "one-hot": [0.0, 1.0, 0.0],
        "another": [1.0, 0.0, 0.0],
        "filtered": [0.25, 0.75, 0.0],
        "whole": [0.25, 0.5, 0.25],
    }
    for (p_name, p), (q_name, q) in itertools.product(rows.items(), repeat=2):
        law, row = np.array(p if whose == "target" else q), np.array([q])
        log_q = np.log(row, where=row > 0, out=np.full_like(row, -np.inf))
        yield f"p {p_name}, q {q_name}", np.array([p]), log_q, np.array([int(law.argmax())])
    # A mass that underflows.
    spread = np.array([[-800.0, 0.0, -2.0]])
    yield "q underflows", np.array([[0.5, 0.5, 0.0]]), spread, np.array([1])


def _libraries() -> dict[str, Any]:
    """Return, by name of a library, the function that computes losses and their gradient there."""
    functions: dict[str, Any] = {}
    if importlib.util.find_spec("torch"):
        functions["torch"] = _torch
    if importlib.util.find_spec("jax"):
        functions["jax.jit"] = _jax
    return functions


def _torch_loss(objective: ModuleType, p: Array, log_q: Array, tokens: Array) -> tuple[Any, Any]:
    """Return (loss, logits) as tensors of torch."""
    import torch

    logits = torch.tensor(log_q, requires_grad=True)
    loss = objective.loss(torch.tensor(p), logits.log_softmax(-1), _drawn_tokens(objective, torch.tensor(tokens)))
    return loss, logits


def _torch(objective: ModuleType, p: Array, log_q: Array, tokens: Array) -> tuple[Array, Array]:
    """Return the loss on torch, and the gradient of its sum."""
    loss, _ = _torch_loss(objective, p, log_q, tokens)
    return loss.detach().numpy(), _torch_gradient(objective, p, log_q, tokens)


def _torch_gradient(objective: ModuleType, p: Array, log_q: Array, tokens: Array) -> Array:
    """Return torch's gradient of the sum of the loss in the logits; zeros where it depends on none."""
    loss, logits = _torch_loss(objective, p, log_q, tokens)
    if not loss.requires_grad:
        return np.zeros_like(log_q)
    loss.sum().backward()
    return np.asarray(logits.grad.numpy())


def _jax(objective: ModuleType, p: Array, log_q: Array, tokens: Array) -> tuple[Array, Array]:
    """Return the loss under jax.jit, and the gradient of its sum."""
    import jax

    def total(logits: Array, p: Array, tokens: Array) -> tuple[Array, Array]:
        """Return the sum of the loss, and its rows."""
        rows = objective.loss(p, jax.nn.log_softmax(logits, -1), _drawn_tokens(objective, tokens))
        return rows.sum(), rows

    with jax.enable_x64(True), backends.compiled_plainly():
        args = (jax.numpy.asarray(w) for w in (log_q, p, tokens))
        (_, value), slope = jax.jit(jax.value_and_grad(total, has_aux=True))(*args)
        return np.asarray(value), np.asarray(slope)


OBJECTIVE_CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        contract,
        gradient_is_exact,
        nothing_at_equality,
        finite_at_zeros,
        same_on_every_backend,
    )
}
