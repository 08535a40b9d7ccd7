"""One block of decoding, for a batch of texts: draft, verify, go on. One source for floats, Fractions and JAX.

A block takes the state of the text and its uniforms (B, count), and returns the state after it, the number of drafts
kept (B,) and the tokens emitted (B, depth + 1), -1 after the last. Its uniforms: first the drafts', then the rule's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim import discover
from specsim.base.arrays import array_namespace, at, pick
from specsim.simulation.chain_block import State, chain_block, step_block
from specsim.simulation.changed_targets import unchanged
from specsim.simulation.decode_loop import Loop
from specsim.simulation.pair_tables import searched
from specsim.simulation.residual_tree import looked_up, residual_tree
from specsim.simulation.toys.pair import Pair, after
from specsim.trees import drawn as trees
from specsim.trees.beam import beams, packed
from specsim.types import Array, TokenTree
from specsim.verify.lookup import candidates


def ready(run: Loop, pair: Pair) -> Pair:
    """The pair with what blocks look up in it, worked out once."""
    if looked_up(run, pair):
        return searched(pair, discover.find("chain", "block"))
    alone = run.family == "step" and run.num_drafts == 1 and discover.facts(run.rule).one_file
    return searched(pair, run.rule) if alone or run.family == "chain" else pair


def start(run: Loop, pair: Pair, u: Array) -> State:
    """The state of texts that are about to begin, as many as u (B, ...) has rows."""
    zero = array_namespace(u).zeros(u.shape[0], dtype=array_namespace(u).int64)
    return zero + pair.start, unchanged(pair.p[zero, :1], run.lasting)


def block(run: Loop, pair: Pair, state: State, u: Array) -> tuple[State, Array, Array]:
    """Run one block, on a pair made `ready`."""
    if run.family == "chain":
        return chain_block(run.rule, run.depth, pair, state, u)
    if run.family == "tree":
        return _tree(run, pair, state, u)
    if pair.token_sums is not None:
        return step_block(run.rule, pair, state, u)
    return _step(run, pair, state, u)


def _step(run: Loop, pair: Pair, state: State, u: Array) -> tuple[State, Array, Array]:
    """K candidates at each of gamma positions, drawn after the token emitted before them, while it was a candidate."""
    (node, levels), count, scheme_module = state, run.num_drafts, run.scheme_module
    xp, split = array_namespace(u), scheme_module.uniforms(run.num_drafts)
    each = split + run.own_uniforms
    alive, kept, texts = node == node, 0 * node, []
    for i in range(run.depth):
        p, q, own = pair.p[node], pair.q[node], u[:, i * each : (i + 1) * each]
        if discover.scheme_facts(scheme_module).per_draft:
            q = xp.broadcast_to(q[:, None, :], (q.shape[0], count, q.shape[-1]))
        number = candidates(count, run.scheme, q)
        x = scheme_module.draw(q, own[:, :split], number)
        y = run.rule.verify(run.rule.prepare(p, q, number), x, own[:, split:])
        texts.append(xp.where(alive, y, -1))
        node = xp.where(alive, after(pair, node, y), node)
        alive = alive & xp.any(x == y[:, None], axis=-1)
        kept = kept + xp.astype(alive, kept.dtype)
    y = pick(pair.p[node], u[:, -1])
    texts.append(xp.where(alive, y, -1))
    return (xp.where(alive, after(pair, node, y), node), levels), kept, xp.stack(texts, axis=-1)


def _tree(run: Loop, pair: Pair, state: State, u: Array) -> tuple[State, Array, Array]:
    """A tree of drafts for each text, of one shape or a beam, and a tree rule on it."""
    node, levels = state
    if pair.residuals is not None:
        drafted, states, kept, token = residual_tree(run, pair, node, u)
    else:
        drafted, q, states = drafted_tree(run, pair, node, u[:, : run.split])
        kept, token = run.rule.verify(run.prepare(pair.p[states], q, drafted), u[:, run.split :])
    xp = array_namespace(u)
    parents = xp.broadcast_to(xp.asarray(drafted.parents), drafted.tokens.shape)
    tokens, above = (xp.concat([0 * token[:, None], w], axis=-1) for w in (drafted.tokens, parents + 1))
    level_of = xp.asarray(node_depths(drafted))
    depth, here, texts = level_of[kept], kept, []
    for d in reversed(range(1, run.depth + 1)):  # from the kept node up
        on = level_of[here] == d
        texts.append(xp.where(on, at(tokens, here), -1))
        here = xp.where(on, at(above, here), here)
    texts = xp.stack([*reversed(texts), 0 * token - 1], axis=-1)
    texts = xp.where(xp.arange(run.depth + 1) == depth[:, None], token[:, None], texts)
    return (after(pair, at(states, kept), token), levels), depth, texts


def drafted_tree(run: Loop, pair: Pair, node: Array, u: Array) -> tuple[TokenTree, Array, Array]:
    """A tree for each text, the laws its nodes' children were drawn from, and the states (B, n+1) after its nodes."""

    def draft(text: tuple[Any, ...]) -> Array:
        here = node
        for token in text:
            here = after(pair, here, token)
        return pair.q[here]

    if run.beam:
        drafted, q = packed(beams(draft, u, width=run.beam[0], depth=run.beam[1]))
    else:
        drafted, q = trees.draw_tree(draft, run.parents or (), u, scheme=run.scheme, draws=run.draws)
    xp, nodes = array_namespace(u), [node]
    for i in range(len(drafted.depth)):
        above = drafted.parents[..., i] + 1
        here = at(xp.stack(nodes, axis=-1), above) if run.beam else nodes[int(above)]
        nodes.append(after(pair, here, drafted.tokens[:, i]))
    return drafted, q, xp.stack(nodes, axis=-1)


def node_depths(tree: TokenTree) -> Array:
    """Depths (n+1,) of the root, 0, and of the nodes."""
    return np.concatenate([[0], tree.depth])
