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

# Of R rounds: states (R, B) in which blocks start, accepted drafts (R, B), and tokens (R, B, depth+1).
Outcomes = tuple[Array, Array, Array]
# From the state before (None: the beginning) and uniforms (R, B, count) to the state after, and the outcomes.
Rounds = Callable[[State | None, Array], tuple[State, Outcomes]]


def on_numpy(pair: Pair, loop: Loop) -> Rounds:
    """Rounds of blocks by a loop in NumPy."""

    def rounds(state: State | None, u: Array) -> tuple[State, Outcomes]:
        state, outcomes = state or start(loop, pair, u[0]), []
        for block_u in u:
            node = state[0]
            state, num_accepted, tokens = block(loop, pair, state, block_u)
            outcomes.append((node, num_accepted, tokens))
        nodes, num_accepted, tokens = (np.stack(part) for part in zip(*outcomes, strict=True))
        return state, (nodes, num_accepted, tokens)

    return rounds


def on_jax(pair: Pair, loop: Loop) -> Rounds:
    """Rounds of blocks compiled by JAX, in float64; ImportError without JAX."""
    with extras.needed("backend 'jax'"):
        import jax
    scan = _compiled(loop)
    with jax.enable_x64(True):  # float64 here, whatever the user's setting
        pair = jax.tree.map(jax.numpy.asarray, pair)

    def rounds(state: State | None, u: Array) -> tuple[State, Outcomes]:
        with jax.enable_x64(True):
            u = jax.numpy.asarray(u)
            state, outcomes = scan(pair, state or start(loop, pair, u[0]), u)
        nodes, num_accepted, tokens = (np.asarray(part) for part in outcomes)
        return state, (nodes, num_accepted, tokens)

    return rounds


@lru_cache(maxsize=16)
def _compiled(loop: Loop) -> Callable[..., Any]:
    """Rounds of blocks by jax.lax.scan; compiled once for each size of models and batch."""
    import jax

    def scan(pair: Pair, state: State, u: Array) -> tuple[State, Outcomes]:
        def one_round(state: State, block_u: Array) -> tuple[State, Outcomes]:
            after, num_accepted, tokens = block(loop, pair, state, block_u)
            return after, (state[0], num_accepted, tokens)

        return jax.lax.scan(one_round, state, u)  # type: ignore[no-any-return]

    return jax.jit(scan)  # type: ignore[no-any-return]
