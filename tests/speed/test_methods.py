"""Cost algebras in rationals: operations, claims that are refused, costs of a latency model, bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from helpers.costs import ALPHAS, COSTS, CURVES
from hypothesis import given
from hypothesis import strategies as st

from specsim import (
    draft_then_verify,
    dsi,
    early_exit,
    multi_token_heads,
    operations_factor,
    pearl,
    predict,
    relative_costs,
    roofline,
)
from specsim.latency import constant

F = Fraction

FRACTIONS = st.integers(0, 11).map(lambda n: F(n, 12))


def test_operations_as_printed() -> None:
    """Leviathan et al. 2023, arXiv:2211.17192, table 1; and the closed form of theorem 3.11 in rationals."""
    printed = {(0.6, 2): 1.53, (0.7, 3): 1.58, (0.8, 2): 1.23, (0.8, 5): 1.63, (0.9, 2): 1.11, (0.9, 10): 1.60}
    for (alpha, gamma), value in printed.items():
        assert round(float(operations_factor(alpha, gamma=gamma)), 2) == value
    a, g, c = F(4, 5), 5, F(1, 10)
    assert operations_factor(a, gamma=g, ops_ratio=c) == (1 - a) * (g * c + g + 1) / (1 - a ** (g + 1))
    assert operations_factor([a, a], ops_ratio=c) == operations_factor(a, gamma=2, ops_ratio=c) > 1


@given(st.lists(FRACTIONS, min_size=1, max_size=5), FRACTIONS)
def test_operations_are_counted(hazards: list[F], ratio: F) -> None:
    """By following blocks: gamma drafts, gamma + 1 target positions, n + 1 tokens."""
    chance, tokens = F(1), F(0)
    for n, a in enumerate([*hazards, F(0)]):
        tokens += chance * (1 - a) * (n + 1)
        chance *= a
    assert operations_factor(hazards, ops_ratio=ratio) == (len(hazards) * (1 + ratio) + 1) / tokens


def test_impossible_claims() -> None:
    found = pearl(0.9, gamma=5, cost_ratio=0.2)
    assert found.check(5.0, tau=4.9) == ((), ("speedup 5 is above tau 4.9: a cycle was cheaper than one plain step",))
    assert found.check(5.01).refused == ("speedup 5.01 is above 5, what this algebra allows at any acceptance",)
    assert found.check(2, tau=5.2).refused == ("tau 5.2 is above the 5 tokens that a target call can emit",)
    assert not found.check(5.02, rounding=0.01).refused
    assert dsi(0.9, gamma=5, cost_ratio=0.1).check(10.1).refused
    assert not dsi(0.9, gamma=5, cost_ratio=0.1).check(9.9).refused
    assert early_exit(0.5, gamma=3, shared=0.25).check(2.3).refused == (
        "speedup 2.3 is above 2.286, what this algebra allows at any acceptance",
    )
    assert multi_token_heads([0.5, 0.5], head_cost=0.2).check(2.4, tau=3.1).refused == (
        "tau 3.1 is above the 3 tokens that a target call can emit",
    )


@given(ALPHAS, st.integers(1, 6), COSTS, CURVES)
def test_no_prediction_is_refused(alpha: float, gamma: int, cost: float, curve: list[float]) -> None:
    alpha = min(alpha, 0.9)
    for found in (
        draft_then_verify(alpha, gamma=gamma, cost_ratio=cost, verify_cost=curve),
        pearl(alpha, gamma=gamma, cost_ratio=cost, verify_cost=curve),
        early_exit(alpha, gamma=gamma, shared=cost, verify_cost=curve),
        multi_token_heads([alpha] * gamma, head_cost=cost, verify_cost=curve),
    ):
        assert found.check(float(found.speedup), tau=float(found.tokens), rounding=1e-9) == ((), ())
    assert (
        not dsi(alpha, gamma=gamma, cost_ratio=cost, verify_cost=curve)
        .check(float(dsi(alpha, gamma=gamma, cost_ratio=cost, verify_cost=curve).speedup), rounding=1e-9)
        .refused
    )


def test_a_pass_over_a_block_may_cost_more_than_its_tokens() -> None:
    """At acceptance 0 PEARL's rounds are plain steps, the most that it allows where t(gamma) is above gamma."""
    found = pearl(0, gamma=2, cost_ratio=0.1, verify_cost=[1, 3])
    assert (found.speedup, found.bound) == (1, 1)
    assert found.check(1.0) == ((), ())
    assert pearl(0, gamma=2, cost_ratio=0.1, verify_cost=[1, 1.25]).bound == pytest.approx(2 / 1.25)


def test_dsi_counts_the_targets_that_verify_at_once() -> None:
    """As many as blocks are drafted during one pass, which no overhead of the draft's side makes longer."""
    for cost, overhead, count in ((0.1, 0, 8), (0.1, 1, 8), (0.25, 0, 3), (0.5, 0, 2)):
        words = dsi(0.5, gamma=2, cost_ratio=cost, verify_cost=[1, 1.5], overhead=overhead).assumptions[1]
        assert words.endswith(f"as are needed: {count}, and one decodes plainly")


def test_rationals_stay_exact() -> None:
    a = F(3, 4)
    for found in (
        draft_then_verify(a, gamma=3, cost_ratio=F(1, 8)),
        pearl(a, gamma=3, cost_ratio=F(1, 8), interference=F(3, 2)),
        dsi(a, gamma=3, cost_ratio=F(1, 8)),
        early_exit(a, gamma=3, shared=F(1, 8), adapter=F(1, 50)),
        multi_token_heads([[a, F(1, 8)], [a, F(0)]], [-1, -1, 0], head_cost=F(1, 9)),
    ):
        assert isinstance(found.speedup, F)
        assert found.tokens_per_s(0.5) == 2 * float(found.speedup)


def test_costs_of_a_latency_model() -> None:
    """The standard cycle from relative costs is what `predict` says, at each batch and context."""
    model = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm", overhead_s=1e-3)
    for batch, context in ((1, 0), (64, 4096)):
        costs = relative_costs(model, batch=batch, context=context)
        found = draft_then_verify(0.7, gamma=4, **costs._asdict())
        wanted = predict(model, 0.7, gamma=4, batch=batch, context=context)
        assert found.speedup == pytest.approx(wanted.speedup.value)
        assert batch * found.tokens_per_s(wanted.plain) == pytest.approx(wanted.tokens_per_time.value)
    assert relative_costs(model, batch=64).verify_cost(5) != relative_costs(model).verify_cost(5)


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: draft_then_verify([[0.5]]), r"^alpha must be a number or one hazard curve, got shape \(1, 1\)$"),
    (lambda: draft_then_verify(1.5, gamma=2), r"^alpha is 1\.5; it must lie in \[0, 1\]$"),
    (lambda: pearl(0.5, gamma=0, cost_ratio=0.1), r"^gamma must be at least 1, got 0$"),
    (lambda: pearl(0.5, gamma=2, cost_ratio=0.1, interference=0.9), r"^interference is 0\.9; .*\[1, inf\)$"),
    (lambda: pearl(math.nan, gamma=2, cost_ratio=0.1), r"^alpha is nan; "),
    (lambda: pearl(0.5, gamma=3, cost_ratio=0.1, verify_cost=[1, 1]), r"has 2 entries; t\(3\) is needed$"),
    (lambda: dsi(1, gamma=2, cost_ratio=0.1), r"^alpha is 1; it must lie in \[0, 1\)$"),
    (lambda: dsi(0.5, gamma=2, cost_ratio=-1), r"^cost_ratio is -1; "),
    (lambda: dsi(0.5, gamma=2, cost_ratio=1 - 1e-9), r"^cost_ratio is 0\.999999999, too near 1: "),
    (lambda: dsi(0.5, gamma=1000, cost_ratio=1 - 1e-4), r"^cost_ratio is 0\.9999, too near 1: "),
    (lambda: dsi(0.5, gamma=2, cost_ratio=0.1).check(2, tau=2), r"^tau does not bound this algebra"),
    (lambda: early_exit(0.5, gamma=2, shared=1), r"^shared is 1; it must lie in \[0, 1\)$"),
    (lambda: early_exit(0.5, gamma=2, shared=0.5, adapter=-0.1), r"^adapter is -0\.1; "),
    (lambda: multi_token_heads([[0.7, 0.4]], head_cost=0), r"^acceptance\[0\] sums to 1\.1"),
    (lambda: multi_token_heads([[0.7, 0.305]], head_cost=0), r"^acceptance\[0\] sums to 1\.005"),
    (lambda: multi_token_heads([[[0.7]]], head_cost=0), r"^acceptance must have shape \(D,\) or \(D, K\), got"),
    (lambda: multi_token_heads([0.7], [-1, 0], head_cost=0), r"^the tree has 2 levels and up to 1 children; "),
    (lambda: multi_token_heads([0.7], [-1, -1], head_cost=0), r"^the tree has 1 levels and up to 2 children"),
    (lambda: multi_token_heads([0.7], head_cost=-1), r"^head_cost is -1; "),
    (lambda: operations_factor(0.5, gamma=2, ops_ratio=-0.1), r"^ops_ratio is -0\.1; "),
    (lambda: relative_costs(constant(0.1), batch=0), r"^batch must be at least 1, got 0$"),
    (lambda: draft_then_verify(0.5, gamma=2).tokens_per_s(0), r"^step_s is 0; "),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
