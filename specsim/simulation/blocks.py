"""One block of decoding, for a batch of texts: draft, verify, go on. One source for floats, Fractions and JAX.

A block takes the state of the text and its uniforms (B, count). It returns the state after it, the number of accepted
drafts (B,) and the tokens emitted (B, depth + 1), -1 after the last. The uniforms of the drafts come first, then those
of the rule.
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
from specsim.simulation.residual_tree import is_supported, residual_tree
from specsim.simulation.toys.pair import Pair, after
from specsim.trees import drawn as trees
from specsim.trees.beam import beams, packed
from specsim.types import Array, TokenTree
from specsim.verify.lookup import candidates


def ready(run: Loop, pair: Pair) -> Pair:
    """Return the pair with the tables that blocks of this run look up, computed once."""
    # A tree on the fast path needs the tables of block verification: residuals of p and q.
    if is_supported(run, pair):
        return searched(pair, discover.find("chain", "block"))
    if run.family == "chain":
        return searched(pair, run.rule)
    is_single_draft = run.family == "step" and run.num_drafts == 1
    if is_single_draft and discover.facts(run.rule).one_file:
        return searched(pair, run.rule)
    return pair


def start(run: Loop, pair: Pair, u: Array) -> State:
    """Return the state of texts before their first block, one text for each row of u (B, ...)."""
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
    """Run a step rule on K candidates at each of gamma positions, until it emits a token that is no candidate."""
    node, levels = state
    xp, count, scheme_module = array_namespace(u), run.num_drafts, run.scheme_module
    # Uniforms of one position: `split` draw the candidates, the others verify them.
    split = scheme_module.uniforms(count)
    stride = split + run.position_uniforms
    # All texts of the batch run all positions; `alive` marks those whose block has not ended.
    alive, num_accepted, texts = node == node, 0 * node, []
    for i in range(run.depth):
        position_u = u[:, i * stride : (i + 1) * stride]
        # Draw the candidates after the token emitted last.
        p, q = pair.p[node], pair.q[node]
        if discover.scheme_facts(scheme_module).per_draft:
            q = xp.broadcast_to(q[:, None, :], (q.shape[0], count, q.shape[-1]))
        number = candidates(count, run.scheme, q)
        x = scheme_module.draw(q, position_u[:, :split], number)
        # Verify them; the block goes on where the token y is one of them.
        y = run.rule.verify(run.rule.prepare(p, q, number), x, position_u[:, split:])
        texts.append(xp.where(alive, y, -1))
        node = xp.where(alive, after(pair, node, y), node)
        alive = alive & xp.any(x == y[:, None], axis=-1)
        num_accepted = num_accepted + xp.astype(alive, num_accepted.dtype)
    # After gamma hits follows the bonus token.
    y = pick(pair.p[node], u[:, -1])
    texts.append(xp.where(alive, y, -1))
    node = xp.where(alive, after(pair, node, y), node)
    return (node, levels), num_accepted, xp.stack(texts, axis=-1)


def _tree(run: Loop, pair: Pair, state: State, u: Array) -> tuple[State, Array, Array]:
    """Draft a tree for each text, of one shape or a beam, and run a tree rule on it."""
    node, levels = state
    # Draft and verify: `last` is the node where the accepted path ends, `token` follows it.
    if pair.residuals is not None:
        tree, states, last, token = residual_tree(run, pair, node, u)
    else:
        tree, q, states = drafted_tree(run, pair, node, u[:, : run.split])
        last, token = run.rule.verify(run.prepare(pair.p[states], q, tree), u[:, run.split :])
    # Put the root before the nodes, so that node i stands in column i + 1.
    xp = array_namespace(u)
    parents = xp.broadcast_to(xp.asarray(tree.parents), tree.tokens.shape)
    tokens, above = (xp.concat([0 * token[:, None], w], axis=-1) for w in (tree.tokens, parents + 1))
    # Read the accepted path from its end up to the root, one depth at a time.
    depth_of = xp.asarray(node_depths(tree))
    num_accepted, here, texts = depth_of[last], last, []
    for depth in reversed(range(1, run.depth + 1)):
        on_path = depth_of[here] == depth
        texts.append(xp.where(on_path, at(tokens, here), -1))
        here = xp.where(on_path, at(above, here), here)
    # Write the token of the rule behind the path.
    texts = xp.stack([*reversed(texts), 0 * token - 1], axis=-1)
    is_end = xp.arange(run.depth + 1) == num_accepted[:, None]
    texts = xp.where(is_end, token[:, None], texts)
    return (after(pair, at(states, last), token), levels), num_accepted, texts


def drafted_tree(run: Loop, pair: Pair, node: Array, u: Array) -> tuple[TokenTree, Array, Array]:
    """Return a tree for each text, the laws of its nodes' children, and the states (B, n+1) after its nodes."""

    def draft(text: tuple[Any, ...]) -> Array:
        """Return the draft's law after the tokens since the block's start."""
        state = node
        for token in text:
            state = after(pair, state, token)
        return pair.q[state]

    if run.beam:
        tree, q = packed(beams(draft, u, width=run.beam[0], depth=run.beam[1]))
    else:
        tree, q = trees.draw_tree(draft, run.parents or (), u, scheme=run.scheme, draws=run.draws)
    # States of the root and of every node; only beams have other parents from text to text.
    xp, nodes = array_namespace(u), [node]
    for i in range(len(tree.depth)):
        parent = tree.parents[..., i] + 1
        parent_state = at(xp.stack(nodes, axis=-1), parent) if run.beam else nodes[int(parent)]
        nodes.append(after(pair, parent_state, tree.tokens[:, i]))
    return tree, q, xp.stack(nodes, axis=-1)


def node_depths(tree: TokenTree) -> Array:
    """Return depths (n+1,): 0 for the root, then those of the nodes."""
    return np.concatenate([[0], tree.depth])
