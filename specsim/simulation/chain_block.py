"""One block of drafts in a row, for a batch of texts; by rows, or by looking numbers up where the rule allows it."""

from __future__ import annotations

from types import ModuleType

from specsim.base.arrays import array_namespace, at, leading
from specsim.simulation.changed_targets import Levels, RowPlace, after_block, along_block
from specsim.simulation.residual_block import residual_block
from specsim.simulation.rows import count_up_to
from specsim.simulation.toys.pair import Pair, after, at_tokens
from specsim.types import Array

State = tuple[Array, Levels]  # state of the pair (B,), and what greedy blocks have changed


def chain_block(rule: ModuleType, gamma: int, pair: Pair, state: State, u: Array) -> tuple[State, Array, Array]:
    """gamma drafts one after the other, and a chain rule on all of them."""
    node, levels = state
    xp = array_namespace(u)
    states, x = _drafted(pair, node, u[:, :gamma])
    if pair.residuals is not None:
        kept, token, levels = residual_block(rule, pair, levels, states, x, u[:, gamma:])
    elif pair.token_sums is not None:  # what `verify` does, reading two numbers a draft
        kept = rule.keeps(*at_tokens(pair, states[:, :gamma], x), u[:, gamma:-1])
        token = _token(pair, states, kept, u[:, -1])
    else:
        nodes, drafts = ([w[:, i] for i in range(w.shape[1])] for w in (states, x))
        places = [RowPlace(pair.p[n], pair.q[n]) for n in nodes[:gamma]]
        seen = along_block(levels, places, drafts) if levels else []
        p = xp.stack([*(laws[-1] for _, laws in seen), pair.p[nodes[gamma]]], axis=1) if seen else pair.p[states]
        plan = rule.prepare(p, xp.stack([place.q for place in places], axis=1) if gamma else p[:, :0])
        kept, token = rule.verify(plan, x, u[:, gamma:])
        if levels:
            levels = after_block(seen, places, kept, token, rule.continuation(plan, x, kept, token))
    return _ended(pair, states, x, kept, token, levels)


def step_block(rule: ModuleType, pair: Pair, state: State, u: Array) -> tuple[State, Array, Array]:
    """The same for a step rule of one draft that is looked up; u: draft, test and token of every position, and a last.

    All drafts are drawn at first: up to the first that fails they are the tokens that were emitted.
    """
    node, levels = state
    states, x = _drafted(pair, node, u[:, :-1:3])
    kept = leading(rule.keeps(*at_tokens(pair, states[:, :-1], x), u[:, 1:-1:3]))
    own = array_namespace(u).concat([u[:, 2:-1:3], u[:, -1:]], axis=-1)
    return _ended(pair, states, x, kept, _token(pair, states, kept, at(own, kept)), levels)


def _drafted(pair: Pair, node: Array, u: Array) -> tuple[Array, Array]:
    """States (B, gamma+1) before, between and after the drafts, and these (B, gamma)."""
    xp, nodes, drafts = array_namespace(u), [node], []
    for i in range(u.shape[1]):
        drafts.append(count_up_to(pair.q_sums, nodes[i], u[:, i]))
        nodes.append(after(pair, nodes[i], drafts[i]))
    x = xp.stack(drafts, axis=-1) if drafts else xp.zeros((len(node), 0), dtype=node.dtype)
    return xp.stack(nodes, axis=-1), x


def _token(pair: Pair, states: Array, kept: Array, u: Array) -> Array:
    """The token after the drafts."""
    all_kept = array_namespace(kept).astype(kept == states.shape[1] - 1, states.dtype)
    return count_up_to(pair.token_sums, at(states, kept) + len(pair.p) * all_kept, u)


def _ended(
    pair: Pair, states: Array, x: Array, kept: Array, token: Array, levels: Levels
) -> tuple[State, Array, Array]:
    xp = array_namespace(x)
    place = xp.arange(x.shape[1] + 1)
    texts = xp.concat([x, token[:, None]], axis=-1)
    texts = xp.where(place < kept[:, None], texts, xp.where(place == kept[:, None], token[:, None], -1))
    return (after(pair, at(states, kept), token), levels), kept, texts
