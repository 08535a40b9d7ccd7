"""Every error of the front door, by its message: it must name the argument, the row and the number."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import discover
from specsim.testing import checks, conform, sampler_law
from specsim.verify.step import rejection

pytestmark = pytest.mark.fast

F, NAN, INF = Fraction, float("nan"), float("inf")
HALF, EXACT = [0.5, 0.5], [Fraction(1, 2), Fraction(1, 2)]
PAIR: dict[str, Callable[[Any, Any], Any]] = {
    "acceptance_rate": specsim.acceptance_rate,
    "optimal_acceptance": lambda p, q: specsim.optimal_acceptance(p, q, num_drafts=2),
    "optimum": lambda p, q: specsim.optimum(p, q, num_drafts=2),
    "output_law": lambda p, q: specsim.output_law(p, q, rule="rejection"),
    "total_variation": specsim.total_variation,
    "residual": specsim.residual,
    "verify_step": lambda p, q: specsim.verify_step(p, q, [0], [0.0, 0.0]),
}

ROWS: list[tuple[Any, Any, type[Exception], str]] = [
    (
        [0.5, 0.6],
        HALF,
        ValueError,
        r"^p sums to 1\.1; .* must sum to 1 within 1e-06 \(specsim\.normalize rescales\)$",
    ),
    ([HALF, [0.5, 0.6]], HALF, ValueError, r"^p\[1\] sums to 1\.1; probabilities must sum to 1 within 1e-06"),
    ([[HALF], [[0.7, 0.2]]], HALF, ValueError, r"^p\[1\]\[0\] sums to 0\.9; "),
    (HALF, [0.5, 0.500002], ValueError, r"^q sums to 1\.000002; "),
    (HALF, [F(1, 2), F(1, 3)], ValueError, r"^q sums to 5/6; probabilities must sum to 1 exactly \(specsim"),
    ([NAN, 1.0], HALF, ValueError, r"^p\[0\] is nan: not a number; probabilities must be >= 0$"),
    (
        HALF,
        [[0.5, 0.5], [-0.5, 1.5]],
        ValueError,
        r"^q\[1\]\[0\] is -0\.5: negative; probabilities must be >= 0$",
    ),
    ([F(-1, 2), F(3, 2)], EXACT, ValueError, r"^p\[0\] is -1/2: negative"),
    ([INF, 0.0], HALF, ValueError, r"^p sums to inf; "),
    (HALF, [0.2, 0.3, 0.5], ValueError, r"^p has 2 tokens and q has 3: the vocabularies differ$"),
    ([HALF, [1.0]], HALF, TypeError, r"^p must have rows of equal length$"),
    (HALF, ["a", "b"], TypeError, r"^q must hold numbers \(got 'a'\)$"),
    (0.5, HALF, ValueError, r"^p must have a last axis of at least one token, got shape \(\)$"),
    ([], [], ValueError, r"^p must have a last axis of at least one token, got shape \(0,\)$"),
    ([F(1, 2), 0.5], HALF, TypeError, r"^p mixes Fractions and floats; use Fractions throughout"),
    (EXACT, HALF, TypeError, r"^one of p, q holds Fractions and the other floats; use one kind$"),
    (
        np.array([0.5, F(1, 2)], dtype=object),
        EXACT,
        TypeError,
        r"^p is an object array with entries other than int",
    ),
    (
        np.array([1 + 0j, 0]),
        HALF,
        TypeError,
        r"^p has dtype complex128; probabilities are floats or Fractions$",
    ),
]


@pytest.mark.parametrize("function", PAIR)
@pytest.mark.parametrize(("p", "q", "error", "message"), ROWS, ids=lambda v: v if isinstance(v, str) else "")
def test_rows(function: str, p: Any, q: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PAIR[function](p, q)


def test_complex_lists_are_no_laws() -> None:
    with pytest.raises(TypeError, match=r"^p has dtype complex128; give real numbers$"):
        specsim.acceptance_rate([1 + 0j], [1.0])


def test_rows_in_jax_and_torch() -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    for library, name in ((jax.numpy.asarray, "int"), (torch.tensor, r"torch\.int64")):
        good = library(HALF)
        with pytest.raises(ValueError, match=r"^p\[1\] sums to 1\.1\d*; probabilities must sum to 1 within"):
            specsim.acceptance_rate(library([HALF, [0.5, 0.6]]), good)
        with pytest.raises(ValueError, match=r"^q\[0\] is nan: not a number"):
            specsim.acceptance_rate(good, library([NAN, 1.0]))
        with pytest.raises(TypeError, match=rf"^p has dtype {name}.*; probabilities are floats or Fractions$"):
            specsim.acceptance_rate(library([1, 0]), good)
        with pytest.raises(TypeError, match=r"^p and q are arrays of different libraries: "):
            specsim.acceptance_rate(good, np.array(HALF))
        with pytest.raises(ValueError, match=r"^drafts\[0\] is token 2, outside the vocabulary 0\.\.1$"):
            specsim.verify_step(good, good, library([2]), library([0.0, 0.0]))
        with pytest.raises(ValueError, match=r"^u\[1\] is 1\.0; uniforms lie in \[0, 1\)$"):
            specsim.verify_step(good, good, library([0]), library([0.0, 1.0]))


def test_integer_rows_of_lists_and_numpy_are_laws() -> None:
    for row in ([1, 0], np.array([1, 0]), np.array([True, False])):
        assert specsim.acceptance_rate(row, HALF) == 0.5
    assert specsim.acceptance_rate([F(1), 0], EXACT) == F(1, 2)


def test_sums_within_tolerance_pass_untouched() -> None:
    assert specsim.acceptance_rate([0.5, 0.5 + 5e-7], [1.0, 0.0]) == 0.5
    assert specsim.acceptance_rate([0.5, 0.5 + 5e-7], [0.0, 1.0]) == 0.5 + 5e-7


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
    for odd in (2.0, True, "2", None):
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
        lambda: checks("magic"),
        lambda: conform(rejection, "magic"),
        lambda: discover.names("magic"),
    ):
        with pytest.raises(ValueError, match=r"^family 'magic' is unknown; known: step, chain, tree, draft$"):
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


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"^leading axes of p, q and drafts do not .*: \[\(2,\), \(\), \(3,\)\]$"):
        specsim.verify_step([HALF] * 2, HALF, [[0]] * 3, [0.0, 0.0])
    with pytest.raises(ValueError, match=r"^p must have one row more than q .*, got \(1, 2\), \(1, 2\)$"):
        specsim.verify_chain([HALF], [HALF], [0], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"^p must have one row more than q .*, got \(2,\), \(2,\)$"):
        specsim.verify_chain(HALF, HALF, [0], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"^drafts must end in an axis of gamma=1 tokens, got shape \(2,\)$"):
        specsim.verify_chain([HALF] * 2, [HALF], [0, 0], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"^p\[1\] sums to 1\.1"):
        specsim.verify_chain([HALF, [0.5, 0.6]], [HALF], [0], [0.0, 0.0])


def test_enumeration_too_large_says_its_size() -> None:
    law = np.full(50, 0.02)
    with pytest.raises(ValueError, match=r"^exact enumeration over 50\^5 draft tuples needs 1\.56e\+10 cells"):
        specsim.output_law(law, law, rule="recursive", num_drafts=5)


# Input that a first version let through, or refused with an error that did not say what was wrong.
def _torch_step(dtype: str) -> Any:
    torch = pytest.importorskip("torch")
    law = torch.tensor(HALF)
    return specsim.verify_step(law, law, torch.tensor([0], dtype=getattr(torch, dtype)), [0.0, 0.0])


FOUND: dict[str, tuple[Callable[[], Any], str]] = {
    "leading axes, acceptance_rate": (
        lambda: specsim.acceptance_rate([HALF] * 2, [HALF] * 3),
        "leading axes of p",
    ),
    "leading axes, optimum": (lambda: specsim.optimum([HALF] * 2, [HALF] * 3), "leading axes of p"),
    "leading axes, total_variation": (
        lambda: specsim.total_variation([HALF] * 2, [HALF] * 3),
        "leading axes of p",
    ),
    "ragged drafts": (lambda: specsim.verify_step(HALF, HALF, [[0], [0, 1]], [0.0, 0.0]), "^drafts must"),
    "Fraction u out of range": (
        lambda: specsim.verify_step(EXACT, EXACT, [0], [F(3, 2), F(0)]),
        r"^u\[0\] is 3/2",
    ),
    "enumeration beyond float": (
        lambda: specsim.output_law(np.full(50, 0.02), np.full(50, 0.02), rule="recursive", num_drafts=200),
        "^exact enumeration over",
    ),
    "mixed kinds, plainly": (
        lambda: specsim.acceptance_rate([F(1, 2), 0.5], HALF),
        "^p mixes Fractions and floats",
    ),
    "zero weights in float32": (
        lambda: specsim.normalize(np.zeros(2, dtype=np.float32)),
        "^sum of weights is 0",
    ),
    "no weights": (lambda: specsim.normalize([]), "^weights must have a last axis"),
    "guarantee knows chains": (lambda: specsim.guarantee("magic"), "tokenwise"),
    "guarantee of a chain, sampling": (
        lambda: specsim.guarantee("tokenwise", scheme="magic"),
        "^scheme 'magic'",
    ),
    "guarantee of a chain, drafts": (lambda: specsim.guarantee("tokenwise", num_drafts=2), "num_drafts"),
    "guarantee, temperature": (lambda: specsim.guarantee("greedy", temperature=-1), "^temperature is -1"),
    "logits of Fractions": (lambda: specsim.warp(EXACT), "^logits"),
    "sampler_law, token -1": (lambda: sampler_law(lambda p, q, x, u: -1, EXACT, EXACT), "token -1"),
    "sampler_law, token 5": (lambda: sampler_law(lambda p, q, x, u: 5, EXACT, EXACT), "token 5"),
    "sampler_law, token 0.7": (
        lambda: sampler_law(lambda p, q, x, u: 0.7, EXACT, EXACT),  # type: ignore[arg-type, return-value]
        r"^verify returned 0\.7, which is no token id$",
    ),
    "sampler_law, None": (
        lambda: sampler_law(lambda p, q, x, u: None, EXACT, EXACT),  # type: ignore[arg-type, return-value]
        "^verify returned None, which is no token id$",
    ),
    "sampler_law, a list": (
        lambda: sampler_law(lambda p, q, x, u: [0], EXACT, EXACT),  # type: ignore[arg-type, return-value]
        r"^verify returned \[0\], which is no token id$",
    ),
    "a chain rule for a step": (
        lambda: specsim.acceptance_rate(HALF, HALF, rule="block"),
        "^rule 'block' is a chain rule, not a step rule; expected_tokens and verify_chain take it$",
    ),
    "a tree rule for a step": (
        lambda: specsim.verify_step(HALF, HALF, [0], [0.0, 0.0], rule="traversal"),
        "^rule 'traversal' is a tree rule, not a step rule; expected_kept and verify_tree take it$",
    ),
    "sampler_law, no drafts": (
        lambda: sampler_law(lambda p, q, x, u: 0, EXACT, EXACT, num_drafts=0),
        "^num_drafts must be at least 1",
    ),
    "cost_ratio of several": (lambda: specsim.speedup(0.5, gamma=1, cost_ratio=[0.1, 0.2]), "^cost_ratio"),
}


@pytest.mark.parametrize("case", FOUND)
def test_found_by_review(case: str) -> None:
    call, message = FOUND[case]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_narrow_torch_token_ids_work(dtype: str) -> None:
    assert int(_torch_step(dtype).token) == 0


@pytest.mark.parametrize("library", ["numpy", "torch", "jax.numpy"])
def test_rows_of_a_full_vocabulary_in_float32(library: str) -> None:
    """The check sums in float64, and brings no error of its own."""
    xp = pytest.importorskip(library)
    width = 128_256
    wide = np.random.default_rng(0).normal(size=(2, width)).astype(np.float32) ** 2
    rows = specsim.normalize(xp.asarray(wide))
    assert specsim.total_variation(rows, rows).tolist() == [0, 0]
    off = np.zeros(width + 1, dtype=np.float32)
    off[0], off[1:] = 1, 2.0**-35  # each is lost where float32 adds it to 1; together they are 3.7e-6
    with pytest.raises(ValueError, match=r"^p sums to 1\.00000373; "):
        specsim.total_variation(xp.asarray(off), xp.asarray(off))


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


def test_a_verifier_with_randomness_of_its_own_has_no_exact_law() -> None:
    rng = np.random.default_rng(0)

    def coin(p: Any, q: Any, x: Any, u: Any) -> int:
        return int(x[0]) if u[0] * q[x[0]] < p[x[0]] else int(rng.integers(2))

    p, q = [F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]
    with pytest.raises(
        ValueError, match=r"^verify gave token \d, and \d when called again on .* take every random number"
    ):
        sampler_law(coin, p, q)


def test_means_over_no_row_are_refused() -> None:
    none = np.zeros((0, 3))
    with pytest.raises(ValueError, match=r"^p and q have no row"):
        specsim.acceptance_curves(none, none)
    with pytest.raises(ValueError, match=r"^rows have shape \(0, 3\)"):
        specsim.best_draft_temperature((none, none), num_drafts=2, scheme="iid")
