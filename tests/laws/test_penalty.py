"""A bias and a repetition penalty: against transformers' own processors, across libraries, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.logits import LOGIT, ROW, SETTINGS, Context, by_transformers, on_a_boundary
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specsim import warp
from specsim.laws.warp import apply

Array = Any

# Biases are exact in float32, which is what transformers keeps them in.
BIAS = st.one_of(st.integers(-16, 16).map(lambda v: v / 2), st.sampled_from([-np.inf, 40.0]))
PENALTY = st.one_of(st.sampled_from([1.0, 0.5, 2.0]), st.floats(0.3, 3).map(lambda v: round(v, 3)))


@st.composite
def contexts(draw: st.DrawFn, vocab: int) -> Context:
    token = st.integers(0, vocab - 1)
    return Context(draw(st.lists(token, max_size=12)), draw(PENALTY), draw(st.dictionaries(token, BIAS)))


ADJUSTED = ROW.flatmap(lambda row: st.tuples(st.just(row), SETTINGS, contexts(len(row))))
Adjust = Callable[[Array, Context, float], Array]  # logits, context, temperature -> logits


def adjusted(logits: Array, context: Context, temperature: float = 1.0) -> Array:
    """The definition, one token at a time."""
    out = (logits + context.dense(len(logits)).astype(logits.dtype)) / logits.dtype.type(temperature)
    for token in set(context.ids):
        out[token] = out[token] / context.penalty if out[token] > 0 else out[token] * context.penalty
    return out


def multiplied_when_positive(logits: Array, context: Context, temperature: float) -> Array:
    x = logits + context.dense(len(logits))
    return np.where(context.seen(len(x)), x * context.penalty, x) / temperature


def divided_when_negative(logits: Array, context: Context, temperature: float) -> Array:
    x = logits + context.dense(len(logits))
    return np.where(context.seen(len(x)), x / context.penalty, x) / temperature


def bias_after_penalty(logits: Array, context: Context, temperature: float) -> Array:
    return (adjusted(logits, context._replace(bias={})) + context.dense(len(logits))) / temperature


def bias_after_temperature(logits: Array, context: Context, temperature: float) -> Array:
    return adjusted(logits / temperature, context)


def once_per_occurrence(logits: Array, context: Context, temperature: float) -> Array:
    x = adjusted(logits, context._replace(ids=[]))
    for token in context.ids:
        x = adjusted(x, Context([token], context.penalty, {}))
    return x / temperature


def decided_by_rounding(logits: Array, chosen: dict[str, Any], context: Context, slack: float) -> bool:
    """No law, two logits that a rounded shift could merge, or a mass on the edge of a filter."""
    x = adjusted(logits, context)
    if x.max() == -np.inf:
        return True
    gaps = np.diff(np.sort(x[x > -np.inf]))
    return bool(((gaps > 0) & (gaps < slack)).any()) or on_a_boundary(x.astype(np.float64), **chosen, slack=slack)


def same_law(law: Array, wanted: Array, dtype: type = np.float64) -> bool:
    atol, rtol = (1e-14, 1e-11) if dtype == np.float64 else (1e-6, 1e-3)
    support = ((law > 0) == (wanted > 0)) | (np.maximum(law, wanted) < 1e-30)  # where exp may underflow
    return bool(support.all()) and np.allclose(law, wanted, atol=atol, rtol=rtol)


def ours(logits: Array, chosen: dict[str, Any], context: Context) -> Array:
    vocab = len(logits)
    return warp(
        logits,
        **chosen,
        repetition_penalty=context.penalty,
        seen=context.seen(vocab),
        logit_bias=context.dense(vocab),
    )


@pytest.mark.parametrize(("dtype", "slack"), [(np.float64, 1e-9), (np.float32, 1e-3)])
@settings(max_examples=300)
@given(case=ADJUSTED)
def test_bias_and_penalty_as_in_transformers(
    dtype: type, slack: float, case: tuple[Array, dict[str, Any], Context]
) -> None:
    logits, chosen, context = case[0].astype(dtype), case[1], case[2]
    assume(not decided_by_rounding(logits, chosen, context, slack))
    law = ours(logits, chosen, context)
    assert law.dtype == dtype
    assert same_law(law, by_transformers(logits, **chosen, context=context), dtype)
    excluded = (logits == -np.inf) | (context.dense(len(logits)) == -np.inf)
    assert (law[excluded] == 0).all()


def disagrees(adjust: Adjust, case: tuple[Array, dict[str, Any], Context]) -> bool:
    """Whether this way of adjusting is caught by the comparison with transformers."""
    logits, chosen, context = case
    if decided_by_rounding(logits, chosen, context, 1e-9):
        return False
    found = warp(adjust(logits, context, chosen["temperature"]), **(chosen | {"temperature": 1.0}))
    return not same_law(found, by_transformers(logits, **chosen, context=context))


@pytest.mark.parametrize(
    "wrong",
    [
        multiplied_when_positive,
        divided_when_negative,
        bias_after_penalty,
        bias_after_temperature,
        once_per_occurrence,
    ],
)
def test_the_comparison_catches(wrong: Adjust) -> None:
    """Finding no example would raise."""
    effort = settings(max_examples=500, database=None, phases=[Phase.generate])
    example = find(ADJUSTED, lambda case: disagrees(wrong, case), settings=effort)
    logits, chosen, context = example
    assert not disagrees(lambda *a: adjusted(*a[:2]) / a[2], example)  # and the right way passes on it
    assert same_law(ours(logits, chosen, context), by_transformers(logits, **chosen, context=context))


BATCH = st.tuples(
    hnp.arrays(np.float64, (2, 5), elements=LOGIT),
    hnp.arrays(np.bool_, (2, 5)),
    hnp.arrays(np.float64, 5, elements=BIAS),
    PENALTY,
    SETTINGS,
)


@settings(max_examples=15)  # each is compiled
@given(BATCH)
def test_libraries_agree_on_bias_and_penalty(case: tuple[Array, Array, Array, float, dict[str, Any]]) -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    jax.config.update("jax_enable_x64", True)
    logits, seen, bias, penalty, chosen = case
    contexts = [Context(np.flatnonzero(row).tolist(), penalty, dict(enumerate(bias))) for row in seen]
    assume(not any(decided_by_rounding(r, chosen, c, 1e-9) for r, c in zip(logits, contexts, strict=True)))

    def law(x: Array, s: Array, b: Array) -> Array:
        return warp(x, **chosen, repetition_penalty=penalty, seen=s, logit_bias=b)

    wanted = law(logits, seen, bias)
    arrays = [np.asarray(a) for a in (logits, seen, bias)]
    jitted = jax.jit(law)(*map(jax.numpy.asarray, arrays))
    on_torch = law(*map(torch.from_numpy, arrays))
    kernel = apply(logits, **chosen, repetition_penalty=penalty, seen=seen, logit_bias=bias)
    rows = np.stack([ours(row, chosen, context) for row, context in zip(logits, contexts, strict=True)])
    assert isinstance(jitted, jax.Array)
    assert isinstance(on_torch, torch.Tensor)
    for found in (np.asarray(jitted), on_torch.numpy(), kernel, rows):
        assert same_law(found, wanted)


def test_a_jitted_bias_meets_constant_logits() -> None:
    jax = pytest.importorskip("jax")
    logits, bias = jax.numpy.asarray([1.0, 2.0, 3.0]), jax.numpy.asarray([0.5, -jax.numpy.inf, 0.0])
    wanted = warp(np.array([1.5, 3.0]))
    assert np.allclose(jax.jit(lambda b: warp(logits, logit_bias=b))(bias)[::2], wanted)
    assert np.allclose(jax.jit(lambda x: warp(x, logit_bias=np.asarray(bias)))(logits)[::2], wanted)
    slope = jax.grad(lambda b: warp(logits, logit_bias=b)[0])(bias)
    assert np.allclose(slope, [wanted[0] * wanted[1], 0, -wanted[0] * wanted[1]])


def test_bias_and_penalty_by_hand() -> None:
    logits = np.log([0.4, 0.3, 0.2, 0.1])
    assert np.allclose(warp(logits, logit_bias=np.log([1, 1, 2, 4])), np.array([4, 3, 4, 4]) / 15)
    assert np.allclose(warp(logits, logit_bias=[-np.inf, 0, 0, 0]), [0, 3 / 6, 2 / 6, 1 / 6])
    seen = [True, False, False, False]
    assert np.allclose(warp(logits, repetition_penalty=2, seen=seen), np.array([16, 30, 20, 10]) / 76)  # 0.4 squared
    assert (warp(logits, repetition_penalty=1, seen=seen) == warp(logits)).all()
    assert np.argmax(warp(logits, temperature=0, repetition_penalty=2, seen=seen)) == 1
    assert np.argmax(warp(logits, temperature=0, logit_bias=[0, 0, 0, 9])) == 3
    # one mask and one bias for all rows, or one each
    both = warp(np.stack([logits, -logits]), repetition_penalty=2, seen=seen, logit_bias=np.zeros((2, 4)))
    assert np.allclose(both[1], warp(-logits, repetition_penalty=2, seen=seen))
    assert warp(logits.astype(np.float32), logit_bias=np.ones(4)).dtype == np.float32


@pytest.mark.parametrize(
    ("given_", "error", "message"),
    [
        ({"repetition_penalty": 0, "seen": [True, False]}, ValueError, r"repetition_penalty is 0; it must lie in"),
        ({"repetition_penalty": -1, "seen": [True, False]}, ValueError, r"repetition_penalty is -1; it must lie in"),
        ({"repetition_penalty": np.inf, "seen": [True, False]}, ValueError, r"repetition_penalty is inf; it must lie"),
        ({"repetition_penalty": np.nan, "seen": [True, False]}, ValueError, r"repetition_penalty is nan; it must lie"),
        ({"repetition_penalty": 1e-40, "seen": [True, False]}, ValueError, r"repetition_penalty is 1e-40; it must"),
        ({"repetition_penalty": 1.2}, ValueError, r"repetition_penalty is 1\.2, which needs `seen`"),
        ({"repetition_penalty": 1.2, "seen": [1, 0]}, TypeError, r"seen has dtype int64; it is a bool"),
        ({"repetition_penalty": 1.2, "seen": [True] * 3}, ValueError, r"leading axes of seen and logits do not"),
        ({"repetition_penalty": 1.2, "seen": [[True, False]]}, ValueError, r"seen has shape \(1, 2\), which does"),
        ({"logit_bias": [0.0, np.inf]}, ValueError, r"logit_bias\[1\] is inf; it must lie in"),
        ({"logit_bias": [np.nan, 0.0]}, ValueError, r"logit_bias\[0\] is nan; it must lie in"),
        ({"logit_bias": [0.0] * 3}, ValueError, r"leading axes of logit_bias and logits do not"),
        ({"logit_bias": [[0.0], [0.0]]}, ValueError, r"logit_bias has shape \(2, 1\), which does not broadcast"),
        ({"logit_bias": [1j, 0]}, TypeError, r"logit_bias has dtype complex"),
        ({"logit_bias": ["a", "b"]}, TypeError, r"logit_bias must hold numbers"),
        ({"logit_bias": [-np.inf, -np.inf]}, ValueError, r"largest of logits after logit_bias .* is -inf: every token"),
    ],
    ids=str,
)
def test_bad_bias_and_penalty(given_: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        warp([1.0, 2.0], **given_)


def test_a_row_that_a_bias_empties_is_named() -> None:
    logits, bias = [[0.0, 1.0], [-np.inf, 1.0]], [0.0, -np.inf]
    for library in (np.asarray, pytest.importorskip("torch").tensor, pytest.importorskip("jax").numpy.asarray):
        with pytest.raises(ValueError, match=r"penalty\[1\] is -inf: every token is excluded"):
            warp(library(logits), logit_bias=bias)
    with pytest.raises(ValueError, match=r"is inf: it overflows"):
        warp(pytest.importorskip("torch").tensor([3e38, 0]), repetition_penalty=0.5, seen=[True, False])
