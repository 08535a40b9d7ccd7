"""Blocks from every context: their expected tokens, and where they lead, summed over all that can be drafted.

``tau`` (S,): tokens expected of a block that starts in state s; ``jump`` (S, S): the law of the state after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.exact.tree import Drawn
from specsim.simulation.blocks import node_depths
from specsim.simulation.decode_loop import Loop
from specsim.simulation.toys.pair import Pair, after
from specsim.types import Array
from specsim.verify.hits import draft_tuples


def chain_blocks(run: Loop, pair: Pair) -> tuple[Array, Array]:
    """Return tau (S,) and jump (S, S) of a chain rule, summed over all drafts."""
    count, vocab = pair.p.shape
    tuples = draft_tuples(vocab, run.depth) if run.depth else np.zeros((1, 0), dtype=np.int64)
    tau, jump = np.zeros_like(pair.p, shape=count), np.zeros_like(pair.p, shape=(count, count))
    for s in range(count):
        # The probability of each list of drafts, and the states along it.
        drafts, weight, nodes = tuples, np.ones_like(pair.q[0], shape=len(tuples)), [np.full(len(tuples), s)]
        for i in range(run.depth):
            weight = weight * pair.q[nodes[i], drafts[:, i]]
            nodes.append(after(pair, nodes[i], drafts[:, i]))
        # Drop drafts that are never drawn; add up the law of accepted drafts and next token, for the others.
        is_drawn = weight > 0
        drafts, weight, states = drafts[is_drawn], weight[is_drawn], np.stack(nodes, axis=-1)[is_drawn]
        plan = run.rule.prepare(pair.p[states], pair.q[states[:, :-1]])
        mass = weight[:, None, None] * run.rule.transition(plan, drafts)
        _add(pair, tau, jump, s, mass, states, np.arange(run.depth + 1))
    return tau, jump


def tree_blocks(
    rule: ModuleType, pair: Pair, drawn: Callable[[int], Iterable[Drawn]], **params: Any
) -> tuple[Array, Array]:
    """Return tau and jump of a tree rule, summed over the trees (tree, laws, probability) drawn in every context."""
    tau, jump = np.zeros_like(pair.p, shape=len(pair.p)), np.zeros_like(pair.p, shape=(len(pair.p),) * 2)
    for s in range(len(pair.p)):
        for tree, q, weight in drawn(s):
            nodes = [np.asarray(s)]
            for i, parent in enumerate(tree.parents):
                nodes.append(after(pair, nodes[parent + 1], tree.tokens[i]))
            states = np.stack(nodes)
            mass = weight * rule.transition(rule.prepare(pair.p[states], q, tree, **params))
            _add(pair, tau, jump, s, mass[None], states[None], node_depths(tree))
    return tau, jump


def step_blocks(run: Loop, pair: Pair) -> tuple[Array, Array]:
    """Return tau (S,) and jump (S, S) of a step rule.

    A position hits if its token is one of the candidates. A block ends at the first miss, or with
    one token of p after gamma hits. With the matrices H of hits, M of misses and P of p, each from
    the state before a token to the state after it, the identity I and the vector 1 of ones:

    tau = (I + H + ... + H^gamma) 1,    jump = (I + H + ... + H^(gamma-1)) M + H^gamma P.
    """
    count, vocab = pair.p.shape
    tuples = draft_tuples(vocab, run.num_drafts)
    is_candidate = (tuples[:, :, None] == np.arange(vocab)).any(axis=1)
    hits, misses, of_p = (np.zeros_like(pair.p, shape=(count, count)) for _ in range(3))
    for s in range(count):
        # The joint law of candidates and token, over the tuples that can be drawn.
        p, q = pair.p[s], pair.q[s]
        if discover.scheme_facts(run.scheme_module).per_draft:
            q = np.broadcast_to(q, (run.num_drafts, vocab))
        weight = run.scheme_module.probability(q, tuples, run.num_drafts)
        is_drawn = weight > 0
        plan = run.rule.prepare(p[None], q[None], run.num_drafts)
        joint = weight[is_drawn][:, None] * run.rule.transition(plan, tuples[is_drawn])
        # Row s of the matrices: add up the tokens that lead to the same state.
        next_states, is_hit = after(pair, np.asarray(s), np.arange(vocab)), is_candidate[is_drawn]
        np.add.at(hits[s], next_states, (joint * is_hit).sum(axis=0))
        np.add.at(misses[s], next_states, (joint * ~is_hit).sum(axis=0))
        np.add.at(of_p[s], next_states, p)
    # reached = H^i, where all positions so far were hits.
    ones = np.ones_like(pair.p, shape=count)
    tau, jump, reached = ones, 0 * misses, np.diag(ones)
    for _ in range(run.depth):
        jump, reached = jump + reached @ misses, reached @ hits
        tau = tau + reached @ ones
    return tau, jump + reached @ of_p


def _add(pair: Pair, tau: Array, jump: Array, s: int, mass: Array, states: Array, depth: Array) -> None:
    """Add masses (n, nodes, V) of (last node, next token) to tau[s] and to row s of jump, in place.

    A block that ends at a node of depth d has d + 1 tokens; `states` (n, nodes) are those after the
    nodes.
    """
    tau[s] = tau[s] + (mass.sum(axis=(0, 2)) * (depth + 1)).sum()
    next_states = after(pair, states[..., None], np.arange(pair.p.shape[-1]))
    np.add.at(jump[s], next_states.ravel(), mass.ravel())
