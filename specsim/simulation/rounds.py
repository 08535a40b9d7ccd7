"""Rounds of blocks, one for every text in lockstep: by a loop in NumPy, or compiled by JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from specsim.base import extras
from specsim.simulation.blocks import block, start
from specsim.simulation.chain_block import State
from specsim.simulation.decode_loop import Loop
from specsim.simulation.toys.pair import Pair
from specsim.types import Array

Seen = tuple[Array, Array, Array]  # of R rounds: states (R, B) where blocks start, drafts kept, tokens (R, B, depth+1)
Rounds = Callable[[State | None, Array], tuple[State, Seen]]


def on_numpy(pair: Pair, loop: Loop) -> Rounds:
    def rounds(state: State | None, u: Array) -> tuple[State, Seen]:
        state, seen = state or start(loop, pair, u[0]), []
        for own in u:
            node = state[0]
            state, kept, tokens = block(loop, pair, state, own)
            seen.append((node, kept, tokens))
        nodes, kept, tokens = (np.stack(part) for part in zip(*seen, strict=True))
        return state, (nodes, kept, tokens)

    return rounds


def on_jax(pair: Pair, loop: Loop) -> Rounds:
    with extras.needed("backend 'jax'"):
        import jax
    scan = _compiled(loop)
    with jax.enable_x64(True):  # float64 here, whatever the user's setting
        pair = jax.tree.map(jax.numpy.asarray, pair)

    def rounds(state: State | None, u: Array) -> tuple[State, Seen]:
        with jax.enable_x64(True):
            u = jax.numpy.asarray(u)
            state, seen = scan(pair, state or start(loop, pair, u[0]), u)
        nodes, kept, tokens = (np.asarray(part) for part in seen)
        return state, (nodes, kept, tokens)

    return rounds


@lru_cache(maxsize=16)
def _compiled(loop: Loop) -> Callable[..., Any]:
    """Rounds of blocks by jax.lax.scan; compiled once for each size of models and batch."""
    import jax

    def scan(pair: Pair, state: State, u: Array) -> tuple[State, Seen]:
        def one(state: State, own: Array) -> tuple[State, Seen]:
            after, kept, tokens = block(loop, pair, state, own)
            return after, (state[0], kept, tokens)

        return jax.lax.scan(one, state, u)  # type: ignore[no-any-return]

    return jax.jit(scan)  # type: ignore[no-any-return]
