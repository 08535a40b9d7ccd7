"""Errors of the front door over drafts, their numbers, rules, tokens and uniforms, by their messages."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import discover
from specsim.checks import check_rule, family_checks
from specsim.verify.step import rejection

F, NAN = Fraction, float("nan")
HALF, EXACT = [0.5, 0.5], [Fraction(1, 2), Fraction(1, 2)]


@pytest.mark.parametrize("function", ["acceptance_rate", "optimal_acceptance", "optimum", "output_law", "guarantee"])
def test_num_drafts(function: str) -> None:
    call: dict[str, Callable[[Any], Any]] = {
        "acceptance_rate": lambda k: specsim.acceptance_rate(HALF, HALF, rule="recursive", num_drafts=k),
        "optimal_acceptance": lambda k: specsim.optimal_acceptance(HALF, HALF, num_drafts=k),
        "optimum": lambda k: specsim.optimum(HALF, HALF, num_drafts=k),
        "output_law": lambda k: specsim.output_law(HALF, HALF, rule="recursive", num_drafts=k),
        "guarantee": lambda k: specsim.guarantee("recursive", num_drafts=k),
    }
    for low in (0, -1):
        with pytest.raises(ValueError, match=rf"^num_drafts must be at least 1, got {low}$"):
            call[function](low)
    for odd in (2.0, True, "2", *([] if function == "guarantee" else [None])):  # None: one, two and three
        with pytest.raises(TypeError, match=rf"^num_drafts must be an integer, got {odd!r}$"):
            call[function](odd)
    call[function](np.int64(2))


def test_unknown_names_list_the_known() -> None:
    steps, chains, drafts = (", ".join(discover.names(family)) for family in ("step", "chain", "draft"))
    for call in (
        lambda: specsim.acceptance_rate(HALF, HALF, rule="magic"),
        lambda: specsim.output_law(HALF, HALF, rule="magic"),
        lambda: specsim.verify_step(HALF, HALF, [0], [0, 0], rule="magic"),
        lambda: specsim.guarantee("magic"),
    ):
        with pytest.raises(ValueError, match=rf"^rule 'magic' is unknown; .*{steps}"):
            call()
    with pytest.raises(ValueError, match=rf"^rule 'magic' is unknown; chain rules: {chains}$"):
        specsim.verify_chain([HALF] * 2, [HALF], [0], [0, 0], rule="magic")
    for call in (
        lambda: specsim.optimal_acceptance(HALF, HALF, scheme="magic"),
        lambda: specsim.optimum(HALF, HALF, scheme="magic"),
        lambda: specsim.guarantee("recursive", scheme="magic"),
    ):
        with pytest.raises(ValueError, match=rf"^scheme 'magic' is unknown; .*: {drafts}$"):
            call()
    for call in (
        lambda: family_checks("magic"),
        lambda: check_rule(rejection, "magic"),
        lambda: discover.names("magic"),
    ):
        with pytest.raises(ValueError, match=rf"^family 'magic' is unknown; known: {', '.join(discover.FAMILIES)}$"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: specsim.acceptance_rate(HALF, HALF, num_drafts=2),
        lambda: specsim.output_law(HALF, HALF, rule="rejection", num_drafts=2),
        lambda: specsim.verify_step(HALF, HALF, [0, 1], [0.0, 0.0]),
        lambda: specsim.guarantee("rejection", num_drafts=2),
    ],
    ids=["acceptance_rate", "output_law", "verify_step", "guarantee"],
)
def test_single_draft_rule_with_two_drafts(call: Callable[[], Any]) -> None:
    multi = ", ".join(name for name, rule in discover.rules("step").items() if discover.facts(rule).counts != (1,))
    with pytest.raises(ValueError, match=rf"^rule 'rejection' verifies one draft, got num_drafts=2; .*: {multi}$"):
        call()


TOKENS: list[tuple[Any, type[Exception], str]] = [
    ([2], ValueError, r"^drafts\[0\] is token 2, outside the vocabulary 0\.\.1$"),
    ([[0], [-1]], ValueError, r"^drafts\[1\]\[0\] is token -1, outside the vocabulary 0\.\.1$"),
    ([0.0], TypeError, r"^drafts must hold integer token ids, got dtype float64$"),
    ([True], TypeError, r"^drafts must hold integer token ids, got dtype bool$"),
    (["a"], TypeError, r"^drafts must hold integer token ids, got dtype <U1$"),
    ([], ValueError, r"^drafts must have a last axis of at least one candidate, got shape \(0,\)$"),
    (0, ValueError, r"^drafts must have a last axis of at least one candidate, got shape \(\)$"),
]


@pytest.mark.parametrize(("drafts", "error", "message"), TOKENS, ids=lambda v: v if isinstance(v, str) else "")
def test_tokens(drafts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        specsim.verify_step(HALF, HALF, drafts, [0.0, 0.0])


NEVER_DRAWN: list[tuple[Any, Any, str, str | None]] = [
    ([1.0, 0.0], [1], "rejection", r"^drafts\[0\] is token 1, which its row of q lacks: it cannot have been drafted$"),
    ([HALF, [0.0, 1.0]], [[0, 1], [1, 0]], "recursive", r"^drafts\[1\]\[1\] is token 0, which its row of q lacks: "),
    ([F(0), F(1)], [0], "rejection", r"^drafts\[0\] is token 0, which its row of q lacks: "),
    (
        HALF,
        [[0, 1], [1, 1]],
        "recursive_wor",
        r"^drafts\[1\] has token 1 twice, but 'recursive_wor' verifies drafts wi",
    ),
    ([0.0, 1.0], [1, 1], "recursive_wor", r"without replacement; q has 1 tokens, fewer than num_drafts=2$"),
    (
        [HALF, HALF],
        [[0, 1, 0]] * 2,
        "recursive_wor",
        r"^drafts\[0\] has .*; q\[0\] has 2 tokens, fewer than num_drafts=3$",
    ),
    (HALF, [1, 1], "recursive", None),  # i.i.d. drafts may repeat a token
    (HALF, [[0, 1], [1, 0]], "recursive_wor", None),
]


@pytest.mark.parametrize(("q", "drafts", "rule", "message"), NEVER_DRAWN)
def test_drafts_that_cannot_have_been_drawn(q: Any, drafts: Any, rule: str, message: str | None) -> None:
    p = EXACT if isinstance(q[0], F) else HALF
    u = np.full((*np.shape(drafts)[:-1], discover.find("step", rule).uniforms(np.shape(drafts)[-1])), 0.5)
    if message is None:
        assert specsim.verify_step(p, q, drafts, u, rule=rule).token.shape == np.shape(drafts)[:-1]
    else:
        with pytest.raises(ValueError, match=message):
            specsim.verify_step(p, q, drafts, u, rule=rule)


def test_optima_that_are_not_known() -> None:
    """The scheme draws fewer drafts, wants a law for each draft, or has no closed form for so many tokens."""
    with pytest.raises(ValueError, match=r"^scheme 'hub' draws 1 or 2 candidates, got num_drafts=3$"):
        specsim.optimal_acceptance(HALF, HALF, num_drafts=3, scheme="hub")
    with pytest.raises(ValueError, match=r"^q must be \(\.\.\., 2, V\), a law for each draft, got shape \(2,\)$"):
        specsim.optimum(HALF, HALF, num_drafts=2, scheme="independent")
    wide = [1.0, *[0.0] * 16]
    with pytest.raises(ValueError, match=r"^no closed form is known for scheme 'independent', .* at most 16, not 17$"):
        specsim.optimum(wide, [wide], scheme="independent")


UNIFORMS: list[tuple[Any, str]] = [
    ([0.0], r"^u has shape \(1,\); this rule needs \(2,\)$"),
    ([[0.0, 0.0]], r"^u has shape \(1, 2\); this rule needs \(2,\)$"),
    ([0.0, 1.0], r"^u\[1\] is 1\.0; uniforms lie in \[0, 1\)$"),
    ([-0.25, 0.0], r"^u\[0\] is -0\.25; uniforms lie in \[0, 1\)$"),
    ([0.0, NAN], r"^u\[1\] is nan; uniforms lie in \[0, 1\)$"),
]


@pytest.mark.parametrize(("u", "message"), UNIFORMS)
def test_uniforms(u: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        specsim.verify_step(HALF, HALF, [0], u)
    with pytest.raises(ValueError, match=message):
        specsim.verify_chain([HALF] * 2, [HALF], [0], u)


def test_uniforms_need_the_batch_axes() -> None:
    with pytest.raises(ValueError, match=r"^u has shape \(2,\); this rule needs \(3, 2\)$"):
        specsim.verify_step([HALF] * 3, HALF, [0], [0.0, 0.0])
    with pytest.raises(TypeError, match=r"^u must have rows of equal length$"):
        specsim.verify_step([HALF] * 2, HALF, [0], [[0.0, 0.0], [0.0]])


def test_tokens_are_integers_for_uint64_drafts() -> None:
    assert specsim.verify_step(HALF, HALF, np.array([0], dtype=np.uint64), [0.0, 0.0]).token.dtype.kind in "iu"


@pytest.mark.parametrize("rule", discover.rules("chain"))
def test_drafts_that_q_excludes_are_refused_along_a_chain(rule: str) -> None:
    """Kept, they can have p = 0: steps and trees refuse them as well."""
    p, q = np.array([[0.5, 0.5, 0]] * 3), np.array([[[0.5, 0.5, 0]] * 2] * 2)
    u = np.full((2, discover.find("chain", rule).uniforms(2)), 0.1)
    with pytest.raises(ValueError, match=r"^drafts\[1\]\[1\] is token 2, which its row of q lacks"):
        specsim.verify_chain(p, q, [[0, 1], [0, 2]], u, rule=rule)
    sparse = [specsim.top_k_law(np.broadcast_to([7, 9], (n, 2)), [[0.5, 0.5]] * n, vocab=10) for n in (3, 2)]
    wide = specsim.top_k_law(np.broadcast_to([7, 8], (3, 2)), [[0.5, 0.5]] * 3, vocab=10)
    with pytest.raises(ValueError, match=r"^drafts\[1\] is token 8, which its row of q lacks"):
        specsim.verify_chain(wide, sparse[1], [7, 8], u[0], rule=rule)
    assert specsim.verify_chain(sparse[0], sparse[1], [7, 9], u[0], rule=rule).token in (7, 9)
