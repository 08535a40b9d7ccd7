"""Logits to laws: against transformers' own processors, across libraries, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specsim import warp
from specsim.laws.warp import apply

Array = Any
# rounded: logits that differ while their masses do not are ordered by logit there, by mass here
LOGIT = st.one_of(
    st.floats(-20, 20).map(lambda v: round(v, 6)), st.sampled_from([-1.0, 0.0, 0.5, 2.0]), st.just(-np.inf)
)
ROW = st.lists(LOGIT, min_size=1, max_size=9).filter(lambda row: max(row) > -np.inf).map(np.array)
SETTINGS = st.fixed_dictionaries(
    {
        "temperature": st.one_of(st.just(1.0), st.floats(0.1, 4)),
        "top_k": st.integers(0, 10),
        "top_p": st.one_of(st.just(1.0), st.floats(0.05, 1)),
        "min_p": st.one_of(st.just(0.0), st.floats(0, 1)),
    }
)


class Context(NamedTuple):
    """What bias and penalty need beside the logits."""

    ids: list[int]
    penalty: float
    bias: dict[int, float]

    def seen(self, vocab: int) -> Array:
        return np.isin(np.arange(vocab), self.ids)

    def dense(self, vocab: int) -> Array:
        return np.array([self.bias.get(token, 0.0) for token in range(vocab)])


EMPTY = Context([], 1.0, {})


def by_transformers(
    logits: Array, temperature: float, top_k: int, top_p: float, min_p: float, context: Context = EMPTY
) -> Array:
    torch = pytest.importorskip("torch")
    process = pytest.importorskip("transformers.generation.logits_process")
    scores = torch.from_numpy(logits)[None]
    ids = torch.tensor([context.ids], dtype=torch.int64)
    if context.bias:
        scores = process.SequenceBiasLogitsProcessor({(t,): b for t, b in context.bias.items()})(ids, scores)
    if context.penalty != 1:
        scores = process.RepetitionPenaltyLogitsProcessor(context.penalty)(ids, scores)
    scores = process.TemperatureLogitsWarper(temperature)(ids, scores)
    if top_k:
        scores = process.TopKLogitsWarper(top_k)(ids, scores)
    scores = process.TopPLogitsWarper(top_p)(ids, scores) if top_p < 1 else scores
    scores = process.MinPLogitsWarper(min_p)(ids, scores) if min_p else scores
    return torch.softmax(scores, dim=-1)[0].numpy()


def on_a_boundary(
    logits: Array, temperature: float, top_k: int, top_p: float, min_p: float, slack: float = 1e-12
) -> bool:
    """Whether rounding alone decides if a token survives: its mass meets top_p or min_p to `slack`."""
    before = warp(logits, temperature=temperature, top_k=top_k)
    after = warp(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    nucleus = top_p < 1 and np.abs(np.cumsum(np.sort(before)) - (1 - top_p)).min() < slack
    floor = 0 < min_p < 1 and np.abs(after - min_p * after.max()).min() < slack
    return bool(nucleus or floor)


@settings(max_examples=400)
@given(ROW, SETTINGS)
def test_same_law_as_transformers(logits: Array, chosen: dict[str, Any]) -> None:
    assume(not on_a_boundary(logits, **chosen))
    law, theirs = warp(logits, **chosen), by_transformers(logits, **chosen)
    assert ((law > 0) == (theirs > 0)).all()
    assert np.allclose(law, theirs, atol=1e-14, rtol=1e-12)
    assert law.sum() == pytest.approx(1, abs=1e-14)
    assert (law[logits == -np.inf] == 0).all()


@settings(max_examples=60)
@given(hnp.arrays(np.float64, (2, 5), elements=LOGIT), SETTINGS)
def test_libraries_agree(logits: Array, chosen: dict[str, Any]) -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    jax.config.update("jax_enable_x64", True)
    assume(np.isfinite(logits.max(axis=-1)).all())
    assume(not any(on_a_boundary(row, **chosen) for row in logits))
    wanted = warp(logits, **chosen)
    on_jax, on_torch = warp(jax.numpy.asarray(logits), **chosen), warp(torch.from_numpy(logits), **chosen)
    assert isinstance(on_jax, jax.Array)
    assert isinstance(on_torch, torch.Tensor)
    for found in (np.asarray(on_jax), on_torch.numpy(), np.stack([warp(row, **chosen) for row in logits])):
        assert ((found > 0) == (wanted > 0)).all()
        assert np.allclose(found, wanted, atol=1e-14, rtol=1e-12)


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


@settings(max_examples=40)
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


def test_by_hand() -> None:
    logits = np.log([0.4, 0.3, 0.2, 0.1])
    assert np.allclose(warp(logits, top_k=2), [4 / 7, 3 / 7, 0, 0])
    assert np.allclose(warp(logits, top_p=0.65), [4 / 7, 3 / 7, 0, 0])  # 0.4 < 0.65 <= 0.4 + 0.3
    assert (warp(logits, top_p=0.7 - 1e-9) > 0).sum() == 2  # 0.4 + 0.3 is just enough
    assert (warp(logits, top_p=0.7 + 1e-9) > 0).sum() == 3
    assert (warp(logits, min_p=0.75 - 1e-9) > 0).sum() == 2
    assert (warp(logits, min_p=0.75 + 1e-9) > 0).sum() == 1
    assert np.allclose(warp(logits, top_p=1e-9), [1, 0, 0, 0])  # at least one
    assert np.allclose(warp(logits, min_p=0.6), [4 / 7, 3 / 7, 0, 0])
    assert np.allclose(warp(logits, temperature=0.5), np.array([16, 9, 4, 1]) / 30)
    # the order matters: min_p is measured after the others have sharpened nothing away from the top
    assert np.allclose(warp(logits, top_k=3, top_p=0.5, min_p=0.9), [1, 0, 0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_top_k_keeps_ties_with_the_last(dtype: type) -> None:
    law = warp(np.array([1, 2, 1, 0], dtype=dtype), top_k=2)
    assert law.dtype == dtype
    assert (law > 0).tolist() == [True, True, True, False]


def test_temperature_zero_takes_the_first_largest() -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    rows = np.array([[1.0, 3.0, 3.0], [-np.inf, -np.inf, 0.0], [2.0, 2.0, 2.0]])
    wanted = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    for library in (np.asarray, jax.numpy.asarray, torch.from_numpy):
        law = warp(library(rows), temperature=0, top_p=0.5, top_k=1, min_p=0.5)
        assert np.asarray(law).tolist() == wanted
        assert str(law.dtype).endswith(("float64", "float32"))


def test_low_temperature_tends_to_it() -> None:
    logits = [1.0, 3.0, 2.9]
    assert np.allclose(warp(logits, temperature=1e-3), warp(logits, temperature=0))
    assert np.allclose(warp(logits, temperature=1e9), 1 / 3)


def test_extreme_logits_do_not_overflow() -> None:
    assert np.allclose(warp([1e4, 1e4 - 1, -1e4]), [1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1)), 0])


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ({"temperature": -1}, ValueError, r"temperature is -1; it must lie in \[0, "),
        ({"temperature": float("nan")}, ValueError, r"temperature is nan; it must lie in \[0, "),
        ({"temperature": float("inf")}, ValueError, r"temperature is inf; it must lie in \[0, "),
        ({"top_k": -1}, ValueError, r"top_k must be at least 0, got -1"),
        ({"top_k": 1.5}, TypeError, r"top_k must be an integer, got 1\.5"),
        ({"top_p": 0}, ValueError, r"top_p is 0; it must lie in "),
        ({"top_p": 1.1}, ValueError, r"top_p is 1\.1; it must lie in "),
        ({"min_p": -0.1}, ValueError, r"min_p is -0\.1; it must lie in \[0, 1\]"),
        ({"min_p": 1.5}, ValueError, r"min_p is 1\.5; it must lie in \[0, 1\]"),
    ],
    ids=str,
)
def test_settings_out_of_range(chosen: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        warp([1.0, 2.0], **chosen)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_bad_logits(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"logits\[1\]\[0\] is {bad}; it must lie in"):
        warp([[0.0, 1.0], [bad, 1.0]])


@pytest.mark.parametrize(
    ("logits", "chosen"),
    [([-np.inf, -np.inf], {}), ([1.0, 2.0], {"temperature": 1e-310}), ([], {}), (1.0, {})],
    ids=["every token excluded", "temperature below float range", "no tokens", "scalar"],
)
def test_logits_that_have_no_law_are_refused(logits: Any, chosen: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"logits|temperature"):
        warp(logits, **chosen)
