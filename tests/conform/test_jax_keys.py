"""Each function of `jax.random` on a stand-in for a key: its law is JAX's, or it is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.base import clock
from specsim.conform import Subject, libraries, rows
from specsim.conform.caller import FEW
from specsim.conform.evidence import ends
from specsim.conform.evidence._counter import End
from specsim.conform.rows import TILE, Programs
from specsim.conform.standard_cases import standard
from specsim.conform.subject_call import inputs
from specsim.conform.trial import Trial, begin
from specsim.forking.programs import scripted

jax = pytest.importorskip("jax")
jnp = jax.numpy
Program = Callable[[Any], Any]  # of a key
COINS = jnp.arange(6.0).reshape(3, 2)
QUARTER = jnp.log(jnp.array([[0.25, 0.75], [0.75, 0.25]]))

# What a program of a key gives, and the law of it.
LAWS: dict[str, tuple[Program, dict[Any, float]]] = {
    "uniform below a bound": (lambda key: bool(jax.random.uniform(key, maxval=0.5) < 0.125), {True: 0.25, False: 0.75}),
    "uniform by name": (lambda key: bool(jax.random.uniform(key=key) < 0.25), {True: 0.25, False: 0.75}),
    "gumbel": (
        lambda key: int(jnp.argmax(QUARTER[0] + jax.random.gumbel(key, (2,)))),
        {0: 0.25, 1: 0.75},
    ),
    "categorical of nothing": (lambda key: int(jax.random.categorical(key, jnp.full(3, -jnp.inf))), {0: 1.0}),
    "categorical along the first axis": (
        lambda key: tuple(jax.random.categorical(key, jnp.stack([QUARTER[0]] * 3, axis=1), axis=0).tolist()[1:]),
        {(0, 0): 0.0625, (0, 1): 0.1875, (1, 0): 0.1875, (1, 1): 0.5625},
    ),
    "categorical of a shape": (
        lambda key: tuple(jax.random.categorical(key, QUARTER[0], shape=(2,)).tolist()),
        {(0, 0): 0.0625, (0, 1): 0.1875, (1, 0): 0.1875, (1, 1): 0.5625},
    ),
    "bernoulli of more than 1": (lambda key: bool(jax.random.bernoulli(key, 1.5)), {True: 1.0}),
    "bernoulli of a shape": (
        lambda key: int(jax.random.bernoulli(key, 0.25, (2,)).sum()),
        {0: 0.5625, 1: 0.375, 2: 0.0625},
    ),
    "choice of entries": (
        lambda key: int(jax.random.choice(key, jnp.array([5, 7]), p=jnp.array([0.25, 0.75]))),
        {5: 0.25, 7: 0.75},
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_function_of_a_key_has_its_law(name: str) -> None:
    program, law = LAWS[name]
    found = scripted.law(lambda random: program(random.key())).law
    assert {key: weight for key, weight in found.items() if weight > 1e-15} == pytest.approx(law, abs=1e-7)


REFUSED: dict[str, tuple[Program, str]] = {
    "uniform between others": (lambda key: jax.random.uniform(key, minval=0.1), "uniform on"),
    "short uniforms": (lambda key: jax.random.uniform(key, dtype=jnp.bfloat16), "uniform of bfloat16"),
    "without replacement": (lambda key: jax.random.choice(key, 3, (2,), replace=False), "without replacement"),
    "entries of two axes": (lambda key: jax.random.choice(key, COINS), "more than one axis"),
    "an option that is not known": (lambda key: jax.random.uniform(key, whole=True), "uniform with whole"),
    "another function": (lambda key: jax.random.normal(key), "jax.random.normal"),
    "many keys as one": (lambda key: jax.random.uniform(jax.random.split(key)), "an array of keys"),
    "a transformation": (lambda key: jax.jit(jax.random.uniform)(key), "handed to jax.jit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_followed_is_refused_by_name(name: str) -> None:
    program, words = REFUSED[name]
    with pytest.raises(scripted.NotScriptable, match=words):
        scripted.law(lambda random: program(random.key()) is None)


@pytest.mark.parametrize(("upper", "share"), [(False, 0.0), (True, 1 - 2.0**-23)])
def test_an_end_lies_between_the_bounds_of_a_uniform(upper: bool, share: float) -> None:
    """A float32 of JAX never is its upper bound."""
    key = jax.random.key(5)
    with ends.trial(0) as trial:
        plain = trial(lambda random: float(jax.random.uniform(key, dtype=jnp.float32)), End(0, upper))
        wide = trial(lambda random: float(jax.random.uniform(key, (), jnp.float32, 2.0, 4.0)), End(0, upper))
    assert (plain, wide) == ((share, 1), (2 + 2 * share, 1))


def test_keys_have_all_bits_and_laws_the_type_that_jax_has() -> None:
    words = np.asarray(jax.random.key_data(libraries.keys(np.random.default_rng(0), (64,))))
    assert words.shape == (64, 2)
    assert np.bitwise_or.reduce(words, axis=0).tolist() == [2**32 - 1] * 2
    subject = Subject("mine", "step", lambda *_: 0, arrays="jax")
    held = libraries.array(libraries.settled(subject), np.array([0.25, 0.75]))
    assert held.dtype == libraries.settled(subject).dtype == ("float64" if jax.config.jax_enable_x64 else "float32")
    as_logits = libraries.array(subject._replace(logits=True, dtype="float32"), np.array([0.25, 0.75]))
    assert np.exp(as_logits).tolist() == pytest.approx([0.25, 0.75])
    assert [libraries.takes_key(subject._replace(randomness=kind)) for kind in ("random", "coins")] == [True, False]


def test_a_running_jax_and_a_missing_device_are_known() -> None:
    subject, _ = Subject("mine", "step", lambda *_: 0, arrays="jax"), jnp.zeros(1)
    assert libraries.is_running(subject)
    assert not libraries.is_running(subject._replace(arrays="numpy"))
    if jax.default_backend() != "gpu":
        assert libraries.missing(subject._replace(needs_device="cuda")) == "it needs a CUDA device"


def begun(run: Any, kind: Any = "step", **facts: Any) -> tuple[Trial, Any, list[Any]]:
    """Return the trial of a subject, its first case, and the inputs of this."""
    subject = libraries.settled(Subject("mine", kind, run, **{"arrays": "jax", "sizes": (2,)} | facts))
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
    case = next(iter(standard(subject)))
    return trial, case, inputs(subject, case)


@pytest.mark.parametrize("count", [3, FEW, FEW + 1, 2 * TILE + 5])
def test_calls_of_many_rows_have_one_shape(count: int) -> None:
    """The rows beyond those that are asked for are neither answered nor counted as runs."""
    shapes = []

    def batch(p: Any, q: Any, drafts: Any, key: Any) -> Any:
        shapes.append(drafts.shape[0])
        return drafts[:, 0]

    trial, case, given = begun(lambda *_: 0, batch=batch)
    chosen = np.arange(count) % len(given)
    answers = trial.caller.batched(case, given, chosen, np.random.default_rng(0))
    assert [answer.text[0] for answer in answers] == [int(given[i].tree.tokens[0]) for i in chosen]
    assert shapes == ([count] if count <= FEW else [TILE] * -(-count // TILE))
    assert trial.caller.runs == count


def test_what_remembers_is_no_function_of_its_key() -> None:
    """Rows of one call stand for single calls only where a key decides."""
    calls = []

    def counts(p: Any, q: Any, drafts: Any, key: Any) -> int:
        calls.append(key)
        return len(calls) % 2

    for run, decided in ((lambda p, q, drafts, key: int(drafts[0]), True), (counts, False)):
        trial, case, given = begun(run)
        assert trial.caller.is_decided_by_keys(case, given) is decided
    calls.clear()
    trial, case, given = begun(lambda: counts, stateful=True)
    assert not trial.caller.is_decided_by_keys(case, given)
    assert calls == []


def test_rows_that_differ_from_single_calls_stand_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, served in ((0, True), (1, False)):
        trial, case, given = begun(lambda p, q, drafts, key: int(drafts[0]))
        program = partial(lambda place, p, q, tokens, keys, mask: tokens[:, place], place)
        monkeypatch.setattr(rows, "compiled", lambda *_, program=program: program)
        assert trial.caller.serves_compiled(case, given) is served
    assert any("rows of jax.vmap are not" in words for words in trial.findings.why)


def test_rows_have_their_masks_and_a_program_for_each_shape_of_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def compiled(subject: Subject, tree: Any, constants: Any) -> Any:
        made.append(tree.parents.tolist())
        return lambda p, q, tokens, keys, mask: (tokens.shape, None if mask is None else mask.shape)

    monkeypatch.setattr(rows, "compiled", compiled)
    own, chosen = np.random.default_rng(0), np.arange(5)
    trial, case, given = begun(lambda *_: 0, "chain", masks=True)
    masked = case._replace(mask=lambda text, vocab: np.ones(vocab, dtype=bool))
    assert Programs(trial.subject).call(masked, given, chosen, own) == ((5, 2), (5, 3, 3))
    shapes = ((-1, -1), (-1, 0))
    trial, _, _ = begun(lambda *_: 0, "tree", shapes=shapes)
    cases = {case.parents: case for case in standard(trial.subject) if case.target.vocab == 3}
    made.clear()
    programs = Programs(trial.subject)
    for shape in (*shapes, *shapes):
        programs.call(cases[shape], inputs(trial.subject, cases[shape]), chosen, own)
    assert made == [list(shape) for shape in shapes]


def test_a_chain_has_no_row_of_q_after_its_last_draft() -> None:
    for kind, shapes in (("step", ((3,), (3,))), ("chain", ((3, 3), (2, 3)))):
        trial, _, given = begun(lambda *_: 0, kind)
        p, q, tokens = rows.arguments(trial.subject, given, np.arange(4))
        assert (p.shape, q.shape, tokens.shape) == ((4, *shapes[0]), (4, *shapes[1]), (4, 2))


def test_tokens_in_a_list_are_an_axis_of_their_own() -> None:
    kept, text = rows.parts_of((np.array([1, 2, 1]), [np.array([4, 5, 6]), np.array([7, 8, 9])]), paired=True)
    assert kept.tolist() == [1, 2, 1]
    assert text.tolist() == [[4, 7], [5, 8], [6, 9]]
