"""Exact numbers beside the simulated ones: the chain of contexts that blocks start in, and tau in the long run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check
from specsim.base.arrays import is_exact
from specsim.discover import Rule
from specsim.exact.tree import Drawn
from specsim.simulation.blocks import node_depths
from specsim.simulation.decode_loop import Loop, Setup, setup
from specsim.simulation.toys.long_run import MAX_STATES, long_run
from specsim.simulation.toys.models import Automaton
from specsim.simulation.toys.pair import Pair, after, draft_after, paired
from specsim.trees import drawn as trees
from specsim.trees.likeliest import Grown
from specsim.types import Array, Model
from specsim.verify.hits import draft_tuples

# Largest number of drafted blocks that are summed over, in all contexts together: that takes minutes.
MAX_DRAFTS = 2**22


class BlockChain(NamedTuple):
    """Blocks as a Markov chain.

    ``tau`` (S,): tokens expected of a block, by the state it starts in; ``jump`` (S, S): the law of the state after it;
    ``states`` (S, 2): the states of target and draft; ``start``: the first block's.

    >>> chain = block_chain([0.5, 0.5], [1.0, 0.0], rule="tokenwise", gamma=1)
    >>> float(chain.mean(blocks=10))
    1.5
    """

    tau: Array
    jump: Array
    states: Array
    start: int

    def mean(self, blocks: int) -> Any:
        """Return the expected tokens per block over the first `blocks` blocks of a text."""
        law, total = np.zeros_like(self.tau), 0
        # The law of block starts has converged when no entry moves by more than this.
        tolerance = 0 if is_exact(law) else 1e-17
        law[self.start] = law[self.start] + 1
        for b in range(check.integer(blocks, "blocks", 1)):
            total, before, law = total + law @ self.tau, law, law @ self.jump
            if (abs(law - before) <= tolerance).all():
                return (total + (blocks - b - 1) * (law @ self.tau)) / blocks
        return total / blocks


@np.errstate(under="ignore")
def block_chain(
    target: Automaton | Array,
    draft: Automaton | Array,
    *,
    rule: Rule,
    num_drafts: int = 1,
    scheme: str | None = None,
    step: Rule | None = None,
    gamma: int | None = None,
    parents: Sequence[int] | None = None,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
) -> BlockChain:
    r"""The Markov chain of the contexts that blocks start in, by summing over everything that can be drafted.

    .. math:: J_{st} = \Pr[\text{the text is in state } t \text{ after a block that starts in } s]

    Parameters
    ----------
    target, draft : Automaton or array_like, shape (V,)
        Models. Fractions keep the answer exact.
    rule : str, path or module
        As in `simulate`; not one that changes the target of later blocks.
    num_drafts, scheme, step, gamma, parents, params, step_params : optional
        As in `simulate`; "distinct" candidates are too many to sum over.

    Returns
    -------
    BlockChain
        tau, jump, states, start.

    Raises
    ------
    ValueError
        As in `simulate`, or there is too much to enumerate (says how much).

    References
    ----------
    See `renewal` for the same chain along one text.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> chain = block_chain([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)], rule="tokenwise", gamma=2)
    >>> str(chain.tau[0])
    '19/9'
    """
    return chain_of(setup(target, draft, rule, gamma, parents, num_drafts, scheme, step, params, step_params))


def chain_of(what: Setup) -> BlockChain:
    """Return the chain of block starts of a decode loop that is checked already; ValueError as in `block_chain`."""
    # Refuse what cannot be enumerated.
    pair, run = what.pair, what.loop
    if run.lasting:
        name = discover.name_of(run.rule)
        raise ValueError(f"rule {name!r} changes the target of later blocks: their states are no finite chain")
    if len(pair.p) > MAX_STATES:
        raise ValueError(f"target and draft reach {len(pair.p)} contexts, more than {MAX_STATES}; use simulate")
    if (number := drafted(run, pair)) > MAX_DRAFTS:
        many = f"{number:.3g}" if number < 1e300 else "too many"  # an integer beyond floats, or inf
        raise ValueError(f"there are {many} drafts to sum over, more than {MAX_DRAFTS}; use simulate")
    # Sum over all drafts of every context.
    if run.family == "tree":

        def drawn(s: int) -> Iterable[Drawn]:
            return trees.enumerate_trees(draft_after(pair, s), run.parents or (), scheme=run.scheme)

        return _tree_blocks(run.rule, pair, drawn, **run.params)
    tau, jump = (_chain_blocks if run.family == "chain" else _step_blocks)(run, pair)
    return BlockChain(tau, jump, pair.states, pair.start)


def grown_chains(
    target: Automaton | Array, draft: Automaton | Array, grow: Callable[[Model], Sequence[Grown]]
) -> list[BlockChain]:
    r"""The Markov chains of block starts for deterministic trees that are grown anew in every context.

    .. math:: \tau_s = 1 + \sum_{x \in T_s} p(x \mid s)

    Nothing is drawn, and `target_only` keeps as much as any lossless rule can.

    Parameters
    ----------
    target, draft : Automaton or array_like, shape (V,)
        Models; the target as draft grows the trees that no draft can know.
    grow : callable
        The draft after a context, as a function of the text since -> as many `specsim.trees.Grown` in every context.

    Returns
    -------
    list of BlockChain
        As of `block_chain`, one for each of the trees that grow returns.

    Raises
    ------
    ValueError
        No model, or what grow raises.

    References
    ----------
    Li et al. 2024, EAGLE-2, arXiv:2406.16858.

    Examples
    --------
    >>> from specsim.trees import heap_tree
    >>> (two,) = grown_chains([.5, .3, .2], [.1, .3, .6], lambda model: [heap_tree(model, nodes=2)])  # 2, and 2 2
    >>> round(float(two.tau[0]), 2)
    1.24
    """
    pair, rule = paired(target, draft), discover.find("tree", "target_only")
    grown = [grow(draft_after(pair, s)) for s in range(len(pair.p))]

    def chain(j: int) -> BlockChain:
        return _tree_blocks(rule, pair, lambda s: [(grown[s][j].tree, grown[s][j].q, 1)])

    return [chain(j) for j in range(len(grown[0]))]


def stationary_tau(target: Automaton | Array, draft: Automaton | Array, **options: Any) -> Any:
    r"""Tokens per block in the long run, exactly: tau averaged over the contexts that blocks start in.

    .. math:: \tau = \sum_s \pi_s \tau_s, \qquad \pi J = \pi

    Parameters
    ----------
    target, draft : Automaton or array_like, shape (V,)
        Models. Fractions keep the answer exact.
    **options : Any
        rule, gamma, parents, num_drafts, scheme, step, params, step_params as in `simulate`.

    Returns
    -------
    number
        At least 1.

    Raises
    ------
    ValueError
        As in `block_chain`, or the text can end up in contexts that never meet again.

    References
    ----------
    Grassmann, Taksar and Heyman 1985 (elimination without subtractions); the long-run mean of Markov rewards.

    Examples
    --------
    Half of the positions lie in easy stretches, but more than half of the blocks start in hard ones:

    >>> from specsim import mixture, stationary
    >>> stay = [[.9, .1], [.1, .9]]
    >>> target, draft = (mixture(stay, [[.5, .5], hard]) for hard in ([.5, .5], [.9, .1]))
    >>> run = dict(rule="tokenwise", gamma=4)
    >>> per_position = stationary(target) @ block_chain(target, draft, **run).tau
    >>> [round(float(tau), 3) for tau in (stationary_tau(target, draft, **run), per_position)]
    [3.193, 3.574]
    """
    chain = block_chain(target, draft, **options)
    return (long_run(chain.jump, chain.start) * chain.tau).sum()


def drafted(run: Loop, pair: Pair) -> float:
    """Return the number of drafted blocks to sum over: contexts times tuples of tokens.

    A tree counts as 100, for the time that it takes; inf for trees that cannot be listed.
    """
    count, vocab = pair.p.shape
    if run.scheme == "deterministic":
        return int(100 * count)
    if run.family == "tree" and run.scheme in ("beam", "distinct"):
        return np.inf
    if run.family == "tree":
        return int(100 * count * vocab ** len(run.parents or ()))
    tokens = run.scheme_module.uniforms(run.num_drafts) if run.family == "step" else run.depth
    return int(count * vocab**tokens)


def _chain_blocks(run: Loop, pair: Pair) -> tuple[Array, Array]:
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


def _tree_blocks(rule: ModuleType, pair: Pair, drawn: Callable[[int], Iterable[Drawn]], **params: Any) -> BlockChain:
    """Return the chain of a tree rule, summed over the drawn trees (tree, laws, probability) of every context."""
    tau, jump = np.zeros_like(pair.p, shape=len(pair.p)), np.zeros_like(pair.p, shape=(len(pair.p),) * 2)
    for s in range(len(pair.p)):
        for tree, q, weight in drawn(s):
            nodes = [np.asarray(s)]
            for i, parent in enumerate(tree.parents):
                nodes.append(after(pair, nodes[parent + 1], tree.tokens[i]))
            states = np.stack(nodes)
            mass = weight * rule.transition(rule.prepare(pair.p[states], q, tree, **params))
            _add(pair, tau, jump, s, mass[None], states[None], node_depths(tree))
    return BlockChain(tau, jump, pair.states, pair.start)


def _step_blocks(run: Loop, pair: Pair) -> tuple[Array, Array]:
    """Return tau (S,) and jump (S, S) of a step rule.

    A position hits if its token is one of the candidates. A block ends at the first miss, or with
    one token of p after gamma hits. With the matrices H of hits, M of misses and P of p, each from
    the state before a token to the state after it:

    tau = (1 + H + ... + H^gamma) 1,    jump = (1 + H + ... + H^(gamma-1)) M + H^gamma P.
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
