"""Exact numbers beside the simulated ones: the chain of contexts that blocks start in, and tau in the long run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check
from specsim.base.arrays import is_exact
from specsim.discover import Rule
from specsim.exact.tree import Drawn
from specsim.simulation.block_sums import chain_blocks, step_blocks, tree_blocks
from specsim.simulation.decode_loop import Loop, Setup, setup
from specsim.simulation.toys.long_run import MAX_STATES, long_run
from specsim.simulation.toys.models import Automaton
from specsim.simulation.toys.pair import Pair, draft_after, paired
from specsim.trees import drawn_law as trees
from specsim.trees.likeliest import Grown
from specsim.types import Array, Model

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

        tau, jump = tree_blocks(run.rule, pair, drawn, **run.params)
    elif run.family == "chain":
        tau, jump = chain_blocks(run, pair)
    else:
        tau, jump = step_blocks(run, pair)
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
        """Return the chain of the trees number j of every context."""
        tau, jump = tree_blocks(rule, pair, lambda s: [(grown[s][j].tree, grown[s][j].q, 1)])
        return BlockChain(tau, jump, pair.states, pair.start)

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
