"""Errors of the front door over rows and shapes, by their messages: argument, row and number are named."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim.testing import sampler_law

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
