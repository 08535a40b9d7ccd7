"""JAX functions with a key as their last argument: plain, jitted, and mapped over the rows of a batch."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specsim.conform import Subject, independence, judge, likeness, registry
from specsim.conform.evidence import ends, montecarlo
from specsim.conform.evidence._counter import End
from specsim.conform.properties import _laws
from specsim.forking.programs import scripted

jax = pytest.importorskip("jax")
jnp = jax.numpy

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "developer" / "examples" / "jax_verifier.py"
Verify = Callable[..., Any]


@pytest.fixture(autouse=True)
def plain_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk, and no exhibit is compared."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    monkeypatch.setattr(montecarlo, "WANTED", montecarlo.UNDECIDED)


def residual(p: Any, q: Any) -> Any:
    """Return log of the excess of p over q; of p where there is none."""
    rest = jnp.maximum(p - q, 0)
    return jnp.log(jnp.where(rest.sum() > 0, rest, p))


def right(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """One draft, in arrays alone."""
    accept, token = jax.random.split(key)
    kept = jax.random.uniform(accept) * q[drafts[0]] < p[drafts[0]]
    return jnp.where(kept, drafts[0], jax.random.categorical(token, residual(p, q)))


def lenient(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """The same with <=, which differs once in 2^23 draws."""
    accept, token = jax.random.split(key)
    kept = jax.random.uniform(accept) <= p[drafts[0]] / q[drafts[0]]
    return jnp.where(kept, drafts[0], jax.random.categorical(token, residual(p, q)))


def gumbel(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """A categorical draw by the largest of logits and Gumbel noise."""
    accept, token = jax.random.split(key)
    noise = -jnp.log(-jnp.log(jax.random.uniform(token, p.shape, minval=1e-20)))
    kept = jnp.log(jax.random.uniform(accept)) < jnp.log(p[drafts[0]]) - jnp.log(q[drafts[0]])
    return jnp.where(kept, drafts[0], jnp.argmax(residual(p, q) + noise))


def branches(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """Python's own branches and numbers, keys folded in."""
    x = int(drafts[0])
    if bool(jax.random.bernoulli(jax.random.fold_in(key, 0), jnp.minimum(p[x] / q[x], 1))):
        return x
    rest = jnp.maximum(p - q, 0)
    return int(jax.random.choice(jax.random.fold_in(key, 1), len(p), p=rest / rest.sum()))


def reused(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """Lossy: one key decides of the draft, and draws the correction."""
    kept = jax.random.uniform(key) * q[drafts[0]] < p[drafts[0]]
    return jnp.where(kept, drafts[0], jax.random.categorical(key, residual(p, q)))


def fallback(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """Lossy: the correction is drawn from the target."""
    accept, token = jax.random.split(key)
    kept = jax.random.uniform(accept) * q[drafts[0]] < p[drafts[0]]
    return jnp.where(kept, drafts[0], jax.random.categorical(token, jnp.log(p)))


def fixed(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """Lossy: the key is made anew in every call."""
    return right(p, q, drafts, jax.random.key(3))


def subject(run: Verify, kind: Any = "step", **facts: Any) -> Subject:
    return Subject(getattr(run, "__name__", "jitted"), kind, run, **{"arrays": "jax", "sizes": (1,)} | facts)


def marginal(run: Verify, **facts: Any) -> tuple[str, str]:
    """Outcome and evidence of the first token's law."""
    (found,) = judge(subject(run, **facts), properties=["marginal"]).verdicts
    return found.outcome, found.evidence


@pytest.mark.parametrize("run", [right, gumbel, branches])
def test_plain_functions_are_followed_exactly(run: Verify) -> None:
    assert marginal(run) == ("lossless", "scripted")


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (jax.jit(gumbel), ("lossless", "Monte Carlo")),
        (jax.jit(fallback), ("convicted", "Monte Carlo")),
        (reused, ("convicted", "Monte Carlo")),
        (fixed, ("convicted", "scripted")),
    ],
    ids=["gumbel", "fallback", "reused", "fixed"],
)
def test_what_cannot_be_followed_is_decided_by_frequencies(run: Verify, verdict: tuple[str, str]) -> None:
    """An earlier try was inconclusive: every batch had its own number of rows, which JAX compiles anew."""
    assert marginal(run) == verdict


def own_keys(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    return jax.vmap(right)(p, q, drafts, jax.random.split(key, len(p)))


def one_key(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """Lossy: all rows have one coin."""
    return jax.vmap(right, in_axes=(0, 0, 0, None))(p, q, drafts, key)


def keys_of_pairs(p: Any, q: Any, drafts: Any, key: Any) -> Any:
    """Lossy: two rows each have one coin."""
    keys = jax.vmap(lambda row: jax.random.fold_in(key, row // 2))(jnp.arange(len(p)))
    return jax.vmap(right)(p, q, drafts, keys)


@pytest.mark.parametrize(
    ("batch", "outcome"), [(own_keys, "lossless"), (one_key, "convicted"), (keys_of_pairs, "convicted")]
)
def test_keys_of_rows(batch: Verify, outcome: str) -> None:
    report = judge(subject(jax.jit(right), batch=jax.jit(batch)), properties=["batches"])
    assert report.outcome == outcome


def test_rows_that_share_coins_agree_too_often() -> None:
    coins = np.random.default_rng(1).integers(0, 2, size=(4, 1000))
    assert independence.dependence(list(coins)).surprise > 1e-3
    assert independence.dependence([np.tile(one[:500], 2) for one in coins]).surprise > 1e-3, (
        "500 apart is not looked at"
    )
    assert independence.dependence([np.tile(one[:8], 125) for one in coins]).words == "row i and row i + 8"
    mirrored = [np.concatenate([one[:500], one[:500][::-1]]) for one in coins]
    assert independence.dependence(mirrored).words == "row i and row -i"


def test_uniforms_as_an_argument_are_exact_where_they_are_jitted() -> None:
    def run(p: Any, q: Any, drafts: Any, u: Any, *, strict: bool) -> Any:
        x, rest = drafts[0], jnp.maximum(p - q, 0)
        ratio = u[0] * q[x]
        last = jnp.searchsorted(jnp.cumsum(rest), u[1] * rest.sum(), side="right")
        return jnp.where(ratio < p[x] if strict else ratio <= p[x], x, jnp.minimum(last, len(p) - 1))

    strict, loose = (jax.jit(lambda *given, s=s: run(*given, strict=s)) for s in (True, False))
    assert marginal(strict, randomness="coins") == ("lossless", "coins")
    report = judge(subject(loose, randomness="coins"), properties=["degenerate"])
    assert report.outcome == "convicted", "at a coin of exactly 0 a token of probability 0 is kept"


def test_a_lenient_comparison_of_keys_is_lossless_and_measured() -> None:
    (found,) = judge(subject(lenient), properties=["degenerate"]).verdicts
    assert found.outcome == "measured"
    assert "exactly 0" in found.words


def twice(key: Any) -> int:
    return int(jax.random.uniform(key) < 0.5) + int(jax.random.uniform(key) < 0.5)


def parent(key: Any) -> int:
    return int(jax.random.uniform(jax.random.split(key)[0]) < 0.5) + int(jax.random.uniform(key) < 0.5)


def same_child(key: Any) -> int:
    first, second = jax.random.split(key, 3)[1], jax.random.fold_in(key, 1)
    return int(jax.random.uniform(first) < 0.5) + int(jax.random.uniform(second) < 0.5)


@pytest.mark.parametrize("program", [twice, parent, same_child])
def test_a_key_that_serves_twice_is_refused(program: Verify) -> None:
    with pytest.raises(scripted.NotScriptable, match="a key that is used twice"):
        scripted.law(lambda random: program(random.key()))


def test_the_laws_of_keys() -> None:
    def program(random: Any) -> tuple[int, int, int]:
        one, two, three = jax.random.split(random.key(), 3)
        first = int(jax.random.categorical(one, np.log([0.5, 0.0, 0.5])))
        second = int(jax.random.choice(two, 3, p=np.array([0.25, 0.75, 0.0])))
        return first, second, int(jax.random.bernoulli(three, 0.125))

    with np.errstate(divide="ignore"):
        law = scripted.law(program).law
    assert law == pytest.approx(
        {
            (a, b, c): u * v * w
            for a, u in ((0, 0.5), (2, 0.5))
            for b, v in ((0, 0.25), (1, 0.75))
            for c, w in ((0, 0.875), (1, 0.125))
        }
    )


def test_an_end_is_not_compiled_into_a_function() -> None:
    run = jax.jit(lambda key: jax.random.uniform(key))
    key = jax.random.key(5)
    with ends.trial(0) as trial:
        assert trial(lambda random: float(jax.random.uniform(key)), End(0, upper=False)) == (0.0, 1)
        assert trial(lambda random: float(run(key)), End(0, upper=False))[1] == 0
    assert float(run(key)) == float(jax.random.uniform(key)) > 0


def test_jax_that_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    importing = builtins.__import__

    def without_jax(name: str, *more: Any, **named: Any) -> Any:
        if name == "jax":
            raise ModuleNotFoundError("No module named 'jax'", name="jax")
        return importing(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without_jax)
    (found,) = judge(subject(right)).verdicts
    assert (found.outcome, found.words) == (
        "not available",
        "jax is not installed: install the extra `jax` (specsim-llm[jax])",
    )
    path = tmp_path / "mine.py"
    path.write_text("import jax\n")
    with pytest.raises(ValueError, match=r"install the extra `jax` \(specsim-llm\[jax\]\)"):
        registry.find(str(path))


def test_the_example_of_the_site_is_the_file() -> None:
    page = (ROOT / "docs" / "api" / "conform.md").read_text(encoding="utf-8")
    assert EXAMPLE.read_text(encoding="utf-8").rstrip() in page


def test_the_example_passes() -> None:
    (made,) = registry.subjects_of(registry.find(str(EXAMPLE)))
    report = judge(made._replace(sizes=(1,)), properties=["joint"])
    assert report.outcome == "lossless"


@pytest.mark.slow
def test_the_example_passes_within_the_default_budget() -> None:
    (made,) = registry.subjects_of(registry.find(str(EXAMPLE)))
    assert judge(made).outcome == "lossless"
