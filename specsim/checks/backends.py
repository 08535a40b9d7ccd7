"""One source, several array libraries: the same uniforms must give the same tokens."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from specsim.checks.outcomes import Skipped
from specsim.types import Array

# A row is near a boundary if moving a uniform by so many units in the last place changes its
# tokens.
ULPS = 8


class Compared(NamedTuple):
    """How many rows were compared on how many backends, and how many were too near a boundary to ask."""

    rows: int
    backends: tuple[str, ...]
    near: int


def laws(vocab: int, rows: int, seed: int) -> tuple[Array, Array, np.random.Generator]:
    """Return random float64 pairs (rows, vocab), a third of them with zeros, a few equal; and the generator."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(vocab) * 0.5, rows), rng.dirichlet(np.ones(vocab) * 0.5, rows)
    for w in (p, q):
        w[: rows // 3][rng.random((rows // 3, vocab)) < 0.4] = 0
        w[w.sum(-1) == 0, 0] = 1
        w /= w.sum(-1, keepdims=True)
    q[-2:] = p[-2:]
    return p, q, rng


def makers(dtype: Any) -> dict[str, Callable[[Array], Array]]:
    """Return functions that make arrays of the libraries that run without compiling: NumPy, and torch for float32.

    Laws of models are float32 on torch. Small arrays take torch ten times as long as NumPy, so that
    one type has to do, and rows whose uniforms are all 0 or all 1 - ulp.
    """
    by_library: dict[str, Callable[[Array], Array]] = {"numpy": np.ascontiguousarray}
    if dtype == np.float32 and importlib.util.find_spec("torch"):
        import torch

        by_library["torch"] = lambda w: torch.from_numpy(np.array(w))
    return by_library


def assert_same(kernel: Callable[..., Any], *args: Array, whole: bool = True) -> Compared:
    """Run kernel(*args) on every installed backend and compare token by token.

    If not `whole`, JAX is asked under `jit` alone and compiles plainly: for what differs little
    from what was asked.

    The last argument holds the uniforms. A row is set aside, and counted, when moving one of its
    uniforms by 8 ulp changes NumPy's own answer: there rounding alone decides. Skipped where there
    is nothing to compare with.
    """
    runs = {name: run for name, run in backends(kernel).items() if whole or name not in ("jax", "jax.vmap")}
    if not runs:
        raise Skipped("neither jax nor torch is installed (extras `jax`, `real`): nothing to compare NumPy with")
    # Rows that are near a boundary: rounding alone decides there.
    base = _tokens(kernel(*args))
    near = np.zeros(len(base), dtype=bool)
    *rest, u = args
    for column in range(u.shape[-1]):
        for step in (-ULPS, ULPS):
            moved = u.copy()
            moved[:, column] = np.clip(moved[:, column] + step * np.spacing(1.0), 0, 1 - 2.0**-53)
            near |= (_tokens(kernel(*rest, moved)) != base).any(axis=-1)
    # The tokens of each library in all other rows.
    for name, run in runs.items():
        with compiled_plainly() if name.startswith("jax") and not whole else nullcontext():
            tokens = _tokens(run(*args))
        bad = np.flatnonzero((tokens != base).any(axis=-1) & ~near)
        assert not bad.size, f"{name} gives {tokens[bad[0]]} where NumPy gives {base[bad[0]]} (row {bad[0]})"
    return Compared(len(base), tuple(runs), int(near.sum()))


def backends(kernel: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the kernel on each array library that is installed."""
    by_library: dict[str, Callable[..., Any]] = {}
    # JAX: eagerly, under jit, and under vmap; in float64 whatever the user's setting.
    if importlib.util.find_spec("jax"):
        import jax

        def on_jax(transform: Callable[..., Any]) -> Callable[..., Any]:
            """Return a transformed kernel that takes NumPy arrays."""

            def run(*args: Array) -> Any:
                """Run it in float64."""
                with jax.enable_x64(True):
                    return transform(*(jax.numpy.asarray(a) for a in args))

            return run

        def alone(*args: Array) -> Any:
            """Run the kernel operation by operation."""
            with compiled_plainly():
                return kernel(*args)

        by_library |= {
            "jax": on_jax(alone),
            "jax.jit": on_jax(jax.jit(kernel)),
            "jax.vmap": on_jax(jax.jit(jax.vmap(kernel))),
        }
    # torch, on every kind of device that there is.
    if importlib.util.find_spec("torch"):
        import torch

        devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
        for device in devices:
            by_library[f"torch {device}"] = lambda *args, device=device: kernel(
                *(torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in args)
            )
    return by_library


@contextmanager
def compiled_plainly() -> Iterator[None]:
    """Let JAX compile plainly meanwhile: XLA takes longer to optimise single operations than to run them."""
    import jax

    name = "jax_disable_most_optimizations"
    before = jax.config.values[name]
    jax.config.update(name, True)
    try:
        yield
    finally:
        jax.config.update(name, before)


def _tokens(result: Any) -> Array:
    """Return the integers that a kernel returns, as NumPy (rows, n)."""
    parts = result if isinstance(result, tuple) else (result,)
    host = [np.asarray(part.cpu() if hasattr(part, "cpu") else part) for part in parts]
    return np.stack(host, axis=-1).reshape(len(host[0]), -1)
