"""One source on NumPy, JAX and torch: same tokens; how many rows were near ties is printed at the end."""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import discover
from specsim.checks import backends
from specsim.checks import draft as draft_checks
from specsim.checks.step_cases import ROWS, VOCAB, compared, counts, drawn, sizes
from specsim.checks.tree import same_trees
from specsim.types import Draws
from specsim.verify.lookup import takes

pytestmark = pytest.mark.usefixtures("optimized")
jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jax.config.update("jax_enable_x64", True)

Array = Any
STEP, CHAIN, TREE, DRAFT = (discover.rules(family) for family in ("step", "chain", "tree", "draft"))
ON_ALL = {"jax", "jax.jit", "jax.vmap", "torch cpu"}


def step_kernel(rule: ModuleType, num_drafts: int) -> Callable[..., Array]:
    return lambda p, q, x, u: rule.verify(rule.prepare(p, q, num_drafts), x, u)


def step_batch(rule: ModuleType, num_drafts: int, rows: int, seed: int) -> tuple[Array, Array, Array, Array]:
    p, q, rng = backends.laws(VOCAB, rows, seed)
    x = drawn(rule, q, num_drafts, rng)
    return p, q, x, rng.random((rows, rule.uniforms(num_drafts)))


def chain_batch(rule: ModuleType, gamma: int, rows: int, seed: int) -> tuple[Array, Array, Array, Array]:
    p = backends.laws(VOCAB, rows * (gamma + 1), seed)[0].reshape(rows, gamma + 1, VOCAB)
    _, q, rng = backends.laws(VOCAB, rows * gamma, seed + 1)
    q = q.reshape(rows, gamma, VOCAB)
    x = DRAFT["iid"].draw(q, rng.random((rows, gamma, 1)), 1)[..., 0]
    return p, q, x, rng.random((rows, rule.uniforms(gamma)))


UNDER_JIT = ON_ALL - {"jax", "jax.vmap"}
Count = Callable[[str, object], None]  # pytest's record_property: what is recorded is printed when all tests are done


def report(
    what: str, compared: backends.Compared, count: Count, libraries: Set[str] = ON_ALL, rows: int = ROWS
) -> None:
    backend_names = ", ".join(compared.backends)
    count("printed", f"{what}: {compared.rows} rows on NumPy, {backend_names}; {compared.near} near a boundary")
    assert set(compared.backends) >= libraries
    assert compared.rows == rows
    assert compared.near <= rows // 1000


def most(rule: ModuleType) -> int:
    return max(k for k in (1, 2, 4) if takes(rule, k))


# Fewer rows for a rule that solves, 24 times for each row, equations as many as tokens.
FEWER = {"optimal_wor": 250}


# As many drafts as `same_on_every_backend` does not ask for, where the rule takes them: the same rows, in any number.
@pytest.mark.parametrize(("name", "num_drafts"), [(n, most(r)) for n, r in STEP.items()])
def test_step_rules_give_the_same_tokens(name: str, num_drafts: int, record_property: Count) -> None:
    rule, rows = STEP[name], FEWER.get(name, ROWS)
    p, q, x, u = step_batch(rule, num_drafts, rows, seed=num_drafts)
    on_numpy = rule.prepare(p, q, num_drafts)  # once: NumPy is asked again for every uniform that is moved

    def kernel(p_in: Array, q_in: Array, x: Array, u: Array) -> Array:
        return rule.verify(on_numpy if p_in is p else rule.prepare(p_in, q_in, num_drafts), x, u)

    found = backends.assert_same(kernel, p, q, x, u, whole=False)
    report(f"{name} K={num_drafts}", found, record_property, UNDER_JIT, rows)


@pytest.mark.parametrize("name", [name for name in TREE if name != "lifted"])  # of which the whole check is slow
def test_tree_rules_give_the_same_nodes_and_tokens(name: str) -> None:
    """Under every scheme, as `same_on_every_backend` does, but JAX under jit alone, compiled plainly."""
    same_trees(TREE[name], ())


@pytest.mark.parametrize("gamma", [5, pytest.param(1, marks=pytest.mark.slow)])  # the check asks 1 and 4
@pytest.mark.parametrize("name", CHAIN)
def test_chain_rules_give_the_same_tokens(name: str, gamma: int, record_property: Count) -> None:
    rule = CHAIN[name]
    compared = backends.assert_same(
        lambda p, q, x, u: rule.verify(rule.prepare(p, q), x, u), *chain_batch(rule, gamma, ROWS, seed=gamma)
    )
    report(f"{name} gamma={gamma}", compared, record_property)


@pytest.mark.parametrize("name", DRAFT)
def test_draft_schemes_draw_the_same_tokens(name: str, record_property: Count) -> None:
    scheme, (q, _, rng) = DRAFT[name], backends.laws(VOCAB, ROWS, seed=9)
    num_drafts = draft_checks.counts(scheme, 4)[-1]
    u = rng.random((ROWS, scheme.uniforms(num_drafts)))
    q = draft_checks.handed(scheme, q, num_drafts)
    report(name, backends.assert_same(partial(scheme.draw, num_drafts=num_drafts), q, u), record_property)


def unasked(rule: ModuleType) -> list[int | Draws]:
    """Numbers of drafts for which the check does not ask JAX eagerly and under vmap."""
    return [k for k in dict.fromkeys((*counts(rule), most(rule))) if k != min(2, max(sizes(rule)))]


@pytest.mark.slow  # JAX compiles every operation of an eager call by itself: up to half a minute each
@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name, rule in STEP.items() for place in range(len(unasked(rule)))]
)
def test_every_number_of_drafts_on_every_backend(name: str, place: int, record_property: Count) -> None:
    num_drafts = unasked(STEP[name])[place]
    report(f"{name} K={num_drafts}", compared(STEP[name], num_drafts), record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, rule in TREE.items() if len(rule.CHILDREN) > 1])
def test_every_scheme_of_trees_on_every_backend(name: str) -> None:
    same_trees(TREE[name], TREE[name].CHILDREN)


def test_every_number_of_drafts_is_asked_somewhere() -> None:
    assert [unasked(STEP[name]) for name in ("rejection", "recursive")] == [[], [1, 3, 4]]


def test_uniforms_on_a_boundary_are_counted_as_near() -> None:
    """u = p/q exactly, where rounding alone decides: every such row must be set aside."""
    rule = STEP["rejection"]
    p, q, x, u = step_batch(rule, 1, 400, seed=5)
    px, qx = (np.take_along_axis(w, x, axis=-1)[:, 0] for w in (p, q))
    rejected = (px > 0) & (px < qx)
    u[rejected, 0] = (px / qx)[rejected]
    compared = backends.assert_same(step_kernel(rule, 1), p, q, x, u)
    assert rejected.sum() > 100
    assert compared.near >= 0.9 * rejected.sum()


def test_a_kernel_that_differs_is_caught() -> None:
    def library_dependent(p: Array, u: Array) -> Array:
        token = DRAFT["iid"].draw(p, u, 1)[..., 0]
        return token if isinstance(p, np.ndarray) else token + 1

    p, _, rng = backends.laws(VOCAB, 20, seed=0)
    with pytest.raises(AssertionError, match="gives"):
        backends.assert_same(library_dependent, p, rng.random((20, 1)))


@pytest.mark.parametrize("compiled", ["plainly", pytest.param("optimized", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", STEP)
def test_float32_laws_give_the_float64_token_but_for_near_ties(
    name: str, compiled: str, record_property: Count
) -> None:
    """About one row in 10^4 differs from float64; the libraries differ from each other less."""
    rule, rows = STEP[name], 8 * FEWER[name] if name in FEWER else 10_000
    num_drafts = 1 if discover.facts(rule).counts == (1,) else 2
    p, q, x, u = step_batch(rule, num_drafts, rows, seed=7)
    kernel = step_kernel(rule, num_drafts)
    wanted = kernel(p, q, x, u)
    single = [w.astype(np.float32) for w in (p, q)]
    found = {
        "numpy": kernel(*single, x, u),
        "jax": np.asarray(jax.jit(kernel)(*single, x, u)),
        "torch": kernel(*map(torch.from_numpy, (*single, np.ascontiguousarray(x), u))).numpy(),
    }
    for library, tokens in found.items():
        different = int((tokens != wanted).sum())
        what = f"{name}, float32 on {library}, compiled {compiled}"
        record_property("printed", f"{what}: {different} of {rows} tokens differ from float64")
        assert different <= rows * 5e-4
        assert (tokens != found["numpy"]).sum() <= rows * 5e-4


KERNELS: dict[str, tuple[Callable[..., Array], tuple[Array, ...]]] = {
    **{n: (step_kernel(r, 1), step_batch(r, 1, ROWS, seed=7)) for n, r in STEP.items() if takes(r, 1)},
    **{
        n: (lambda p, q, x, u, r=r: r.verify(r.prepare(p, q), x, u)[1], chain_batch(r, 3, ROWS, seed=7))
        for n, r in CHAIN.items()
    },
    "iid": (
        partial(DRAFT["iid"].draw, num_drafts=1),
        (backends.laws(VOCAB, ROWS, 7)[0], np.random.default_rng(7).random((ROWS, 1))),
    ),
}


def assert_short_floats_agree(kernel: Callable[..., Array], arrays: tuple[Array, ...]) -> None:
    """Laws and uniforms all float32, on torch and on JAX as it is without 64 bits, against the same in NumPy."""
    short = [np.ascontiguousarray(w, np.float32 if w.dtype == np.float64 else w.dtype) for w in arrays]
    short[-1] = np.minimum(short[-1], np.float32(1 - 2.0**-24))  # which rounds to 1 more often than not
    wanted = np.asarray(kernel(*short))
    found = {"torch": kernel(*map(torch.from_numpy, short)).numpy()}
    with jax.enable_x64(False):
        on_jax = jax.jit(kernel)(*map(jax.numpy.asarray, short))
        assert on_jax.dtype == np.int32
        found["jax without 64 bits"] = np.asarray(on_jax)
    for library, tokens in found.items():
        different = int((tokens != wanted).sum())
        assert different <= wanted.size * 2e-3, f"{library}: {different} of {wanted.size} tokens differ"


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64:UserWarning")  # jax counts in int32
@pytest.mark.parametrize(
    "name",
    KERNELS,
)
def test_float32_uniforms_and_jax_without_64_bits(name: str) -> None:
    assert_short_floats_agree(*KERNELS[name])


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64:UserWarning")  # jax counts in int32
def test_short_floats_that_differ_are_caught() -> None:
    """One library draws from the wrong end; and uniforms moved by a hundredth are seen, too."""
    kernel, arrays = KERNELS["iid"]
    for wrong in (
        lambda u: u[..., ::-1] * 0 if isinstance(u, np.ndarray) else u,
        lambda u: u * 0.99 if isinstance(u, np.ndarray) else u,
    ):
        with pytest.raises(AssertionError, match="tokens differ"):
            assert_short_floats_agree(lambda q, u, wrong=wrong: kernel(q, wrong(u)), arrays)


def test_float32_draws_from_a_real_vocabulary() -> None:
    """A cumulative sum in float32 would move a tenth of these tokens."""
    rng = np.random.default_rng(0)
    q, u = rng.dirichlet(np.ones(32_000)), rng.random(1000)
    wanted = DRAFT["iid"].draw(q, u, 1)
    for library in (np.asarray, jax.numpy.asarray, torch.from_numpy):
        found = np.asarray(DRAFT["iid"].draw(library(q.astype(np.float32)), library(u), 1))
        assert (found != wanted).sum() <= 5
