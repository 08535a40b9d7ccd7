"""Conformance checks of tree rules, on trees drawn from context-dependent tables in exact rationals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base.arrays import one_hot
from specsim.checks import backends
from specsim.checks.contract import same_names
from specsim.checks.outcomes import Check, close, in_fractions, written
from specsim.checks.tree_cases import (
    along,
    batches_of_trees,
    deep_shapes,
    draws,
    every_shape,
    every_tree,
    lasting_siblings,
    one_path,
    small_shapes,
    tables,
)
from specsim.exact.chain import blocks
from specsim.exact.tree import continued_law, drawn_trees, kept_law
from specsim.forking.forked_rules import kept_and_token
from specsim.testing.cases import corners, edge_laws, fractions
from specsim.trees import topology
from specsim.types import Array, TokenTree, TreeRule
from specsim.verify.chain import block

# Number of trees of siblings whose sampler is forked, where all of them are many.
LASTING_TREES = 64
# Number of trees of three levels whose sampler is forked.
DEEP = 12


def contract(rule: ModuleType) -> None:
    """The module has every name of specsim.types.TreeRule; a tree without nodes is plain decoding."""
    same_names(rule, TreeRule)
    assert (rule.__doc__ or "").strip(), "a rule's docstring states its law first"
    assert rule.CHILDREN, "CHILDREN names no scheme"
    assert set(rule.CHILDREN) <= {*discover.names("draft"), *topology.SCHEMES}, f"unknown schemes in {rule.CHILDREN}"
    for scheme in rule.CHILDREN:
        tree = TokenTree(topology.chain(0), np.zeros(0, dtype=np.int64), topology.chain(0), scheme)
        p = np.array([[0.25, 0.75]])
        node, token = rule.verify(rule.prepare(p, p, tree), np.full(rule.uniforms(tree), 0.5))
        assert (int(node), int(token)) == (0, 1), "without drafts the token must be drawn from p"


@in_fractions
def transition_is_a_law(rule: ModuleType) -> None:
    """The joint law of (kept node, next token) is non-negative and sums to exactly 1; no absent node is kept."""
    for where, target, drawn, _ in every_shape(rule, 3):
        for tree, q, _ in drawn:
            law = rule.transition(rule.prepare(along(target, tree), q, tree))
            assert law.shape == q.shape, "transition must return (n+1, V)"
            assert (law >= 0).all(), f"{where}: a negative probability"
            assert law.sum() == 1, f"{where}: a joint law that does not sum to 1"
            assert not law[1:][tree.tokens < 0].any(), f"{where}: a node is kept that is not there"


@in_fractions
def sampler_is_transition(rule: ModuleType) -> None:
    """The forked law of `verify` equals `transition`, as rationals."""
    for scheme in rule.CHILDREN:
        # Every tree of the small shapes.
        for shape in small_shapes(scheme):
            vocab = 3 if len(shape) == 2 and scheme != "beam" else 2
            target = tables(vocab, 2, 0)[0].__getitem__
            for tree, q, _ in drawn_trees(tables(vocab, 2, 0)[1].__getitem__, shape, scheme):
                forked_is_transition(rule, along(target, tree), q, tree, f"{scheme} {shape} V={vocab}")
        # Some trees of siblings whose residual lasts.
        for siblings in (3, 4):
            if scheme not in ("paths", "beam", "deterministic") and draws(scheme, siblings):
                target, trees = lasting_siblings(scheme, siblings)
                for tree, q, _ in trees[:: -(-len(trees) // LASTING_TREES)]:
                    forked_is_transition(rule, along(target, tree), q, tree, f"{scheme}, {siblings} siblings")
        # Some trees of three levels, since all of them take too many runs; on two tables where
        # little is certain.
        for shape, seed in itertools.product(deep_shapes(scheme), (6, 7)):
            target, draft = (table.__getitem__ for table in tables(3, 3, seed))
            trees = drawn_trees(draft, shape, scheme)
            for tree, q, _ in trees[:: -(-len(trees) // DEEP)]:
                forked_is_transition(rule, along(target, tree), q, tree, f"{scheme} {shape} V=3")


def forked_is_transition(rule: ModuleType, p: Array, q: Array, tree: TokenTree, where: str = "") -> None:
    """The forked law of `verify` equals `transition` for one tree with rational rows."""
    plan = rule.prepare(p, q, tree)
    law, joint = kept_and_token(partial(rule.verify, plan), rule.uniforms(tree)), rule.transition(plan)
    wanted = {(int(i), int(y)): Fraction(joint[i, y]) for i, y in zip(*np.nonzero(joint), strict=True)}
    assert law == wanted, f"{where} {tree.tokens}: the sampler's law is {law}, transition says {wanted}"


@in_fractions
def strongly_lossless(rule: ModuleType, nodes: int = 4) -> None:
    """The kept path and the token after it, continued by the target, have the target's joint law.

    On every shape of up to `nodes` nodes and three levels, and where drafters may draw fewer
    siblings, as the text before them tells.
    """
    for where, target, drawn, depth in every_shape(rule, nodes):
        for text, mass, goal in continued_law(kept_law(rule, target, drawn), target, depth + 1):
            assert mass == goal, f"{where}: text {text} has probability {mass}, not {goal}"


@in_fractions
def reductions(rule: ModuleType) -> None:
    """On one path and on one level the rule is what it says it is there, and no better than what is possible."""
    for scheme in rule.CHILDREN:
        for (vocab, gamma), seed in itertools.product(((2, 1), (2, 3), (3, 2)), range(3)):
            _check_one_path(rule, scheme, vocab, gamma, seed)
        for count in (k for k in (1, 2, 3) if draws(scheme, k)):
            _check_one_level(rule, scheme, count)


def _check_one_path(rule: ModuleType, scheme: str, vocab: int, gamma: int, seed: int) -> None:
    """Fail if a path is not verified as by the chain rule in CHAIN, or keeps too many drafts.

    No lossless rule keeps more drafts of a path than block verification (T17).
    """
    target, draft = tables(vocab, gamma, seed)
    law = kept_law(rule, target.__getitem__, every_tree(scheme, one_path(scheme, gamma), vocab, seed))
    # Deterministic drafts are as if drawn from point masses.
    if scheme == "deterministic":
        draft = {text: one_hot(q.argmax(axis=-1), q) for text, q in draft.items()}

    # Expected accepted drafts: a text is those and the next token.
    laws = (law, blocks(block, target, draft, gamma))
    accepted, best = (sum((len(text) - 1) * mass for text, mass in masses.items()) for masses in laws)
    assert accepted <= best, f"{scheme}: keeps {accepted} of {gamma} drafts on a path, more than {best}: lossy"
    name = discover.facts(rule).chain
    if name is not None:
        wanted = blocks(discover.find("chain", name), target, draft, gamma)
        assert law == wanted, f"{scheme}: on a path of {gamma} drafts it is not {name!r}"


def _check_one_level(rule: ModuleType, scheme: str, count: int) -> None:
    """Fail if siblings are not verified as by the step rule that STEPS names, or are hit too often.

    They may be hit with probability 1 + p(H) - Pr[all drafts in H] at most, H any tokens (T03).
    """
    # Every tree of `count` children of the root; a shape is (width, depth) of beams, else parents.
    target = tables(3, 1, 2)[0]
    p, hit = target[()], Fraction(0)
    shape = (count, 1) if scheme == "beam" else (-1,) * count
    trees = every_tree(scheme, shape, 3, 2)
    name = discover.facts(rule).steps.get(scheme)
    for tree, q, weight in trees:
        # Joint law of (last accepted node, next token): row 0 has the outcomes without a hit.
        joint = rule.transition(rule.prepare(along(target.__getitem__, tree), q, tree))
        hit += weight * joint[1:].sum()
        if name is not None:
            # The law of this level's token: the accepted child's, or the one that follows the root.
            nodes = zip(tree.tokens, joint[1:], strict=True)
            law = joint[0] + sum((one_hot(x, p) * row.sum() for x, row in nodes), 0 * p)
            step = discover.find("step", name)
            wanted = step.transition(step.prepare(p, q[0], len(tree.tokens)), tree.tokens)
            assert (law == wanted).all(), f"{scheme}: on one level of tokens {tree.tokens} it is not {name!r}"

    # The bound of each set H of tokens.
    for members in itertools.product((False, True), repeat=len(p)):
        inside = sum(weight for tree, _, weight in trees if all(members[x] for x in tree.tokens if x >= 0))
        bound = 1 + p[np.array(members)].sum() - inside
        assert hit <= bound, f"{scheme}: {count} children are hit with probability {hit}, more than {bound}: lossy"


def edges(rule: ModuleType) -> None:
    """At u = 0 and u = 1 - ulp, on one-hots, zeros, p = q, V = 1: only outcomes of positive probability.

    By `transition`, and by p itself for each token of the kept path and the one after it; on NumPy
    and torch.
    """
    for scheme, vocab in itertools.product(rule.CHILDREN, (1, 2)):
        by_parents: dict[bytes, list[_Edge]] = {}
        for name, p_row, q_row in edge_laws(vocab):
            for tree, q, _ in drawn_trees(lambda text, row=q_row: row, small_shapes(scheme)[-1], scheme):  # type: ignore[misc]
                edge = _Edge(f"{name}, {scheme}, V={vocab}", np.tile(p_row, (len(q), 1)), q, tree)
                by_parents.setdefault(np.asarray(tree.parents).tobytes(), []).append(edge)
        for alike, dtype in itertools.product(by_parents.values(), (np.float64, np.float32)):
            _check_corners(rule, alike, dtype)


class _Edge(NamedTuple):
    """A drafted tree with its rows (n + 1, V); `where` describes it in messages."""

    where: str
    p: Array
    q: Array
    tree: TokenTree


def _check_corners(rule: ModuleType, edges: list[_Edge], dtype: type) -> None:
    """Fail if a corner of the uniforms gives one of these trees an outcome of probability 0.

    The trees have one shape and run as a batch. At a corner each uniform is 0 or 1 - ulp.
    """
    # Rows (trees, n + 1, V) and tokens (trees, n).
    first = edges[0].tree
    p: Array = np.stack([edge.p for edge in edges]).astype(dtype)
    q: Array = np.stack([edge.q for edge in edges]).astype(dtype)
    tokens = np.stack([edge.tree.tokens for edge in edges])

    # Joint law (trees, n + 1, V) of (last accepted node, next token). An outcome whose text has
    # probability 0 under the target is impossible, whatever `transition` says of it.
    possible = np.ones(p.shape[:-1], dtype=bool)
    for i, parent in enumerate(np.asarray(first.parents)):
        possible[:, i + 1] = possible[:, parent + 1] & (p[np.arange(len(p)), parent + 1, tokens[:, i]] > 0)
    law = rule.transition(rule.prepare(p, q, first._replace(tokens=tokens)))
    law = np.where((p > 0) & possible[..., None], law, 0)

    # A run is a tree with a corner. NumPy does all runs, other libraries those with equal uniforms.
    ends = corners(rule.uniforms(first))
    tree_of_run = np.repeat(np.arange(len(edges)), len(ends))
    u_of_run = np.tile(ends, (len(edges), 1))
    has_equal_uniforms = (u_of_run == u_of_run[:, :1]).all(axis=-1)
    for library, make in backends.makers(p.dtype).items():
        runs = np.flatnonzero((library == "numpy") | has_equal_uniforms)
        row, u = tree_of_run[runs], u_of_run[runs]
        plan = rule.prepare(make(p[row]), make(q[row]), first._replace(tokens=make(tokens[row])))
        node, token = map(np.asarray, rule.verify(plan, make(u)))
        # A token outside the vocabulary is impossible, too.
        inside = (token >= 0) & (token < p.shape[-1])
        chance = law[row, node, np.where(inside, token, 0)]
        for k in np.flatnonzero(~inside | ~(chance > 0)):
            raise AssertionError(
                f"{edges[row[k]].where}, {p.dtype}, {library}: drafts {tokens[row[k]]} and "
                f"u={written(u[k])} give node {node[k]}, then token {token[k]}: probability 0"
            )


def batches(rule: ModuleType) -> None:
    """A batch gives what its rows give one by one, also where some rows lack nodes."""
    for _, p, q, tree, u in batches_of_trees(rule, vocab=4, rows=8):
        plan = rule.prepare(p, q, tree)
        node, token = rule.verify(plan, u)
        law = rule.transition(plan)
        for k in range(8):
            row = rule.prepare(p[k], q[k], tree._replace(tokens=tree.tokens[k]))
            alone = tuple(int(value) for value in rule.verify(row, u[k]))
            assert alone == (int(node[k]), int(token[k])), "verify mixes the rows of a batch"
            assert np.allclose(law[k], rule.transition(row)), "transition mixes the rows of a batch"


@in_fractions
def floats_follow_fractions(rule: ModuleType) -> None:
    """In float64 the joint law and the sampler's outcome are those of Fractions, up to V = 16."""
    for vocab in (3, 16):
        for where, p, q, tree, u in batches_of_trees(rule, vocab, rows=6, exact=True):
            exact_u = fractions(u)
            exact, plain = rule.prepare(p, q, tree), rule.prepare(p.astype(float), q.astype(float), tree)
            close(rule.transition(plain), rule.transition(exact), f"{where}: transition")
            for outcome, wanted in zip(rule.verify(plain, u), rule.verify(exact, exact_u), strict=True):
                assert (np.asarray(outcome) == np.asarray(wanted)).all(), f"{where}: other outcomes in float64"


def same_on_every_backend(rule: ModuleType) -> None:
    """NumPy, JAX (jit; eager and vmap under the first scheme) and torch keep the same node and emit the same token."""
    same_trees(rule, rule.CHILDREN[:1])


def same_trees(rule: ModuleType, whole: Sequence[str]) -> None:
    """NumPy, JAX and torch give the same outcomes under every scheme.

    JAX runs eagerly and under vmap, which takes seconds, under the schemes in `whole` alone.
    """
    for _, p, q, tree, u in batches_of_trees(rule, vocab=13, rows=48, width=2, below=1):
        # Here beams are the same trees, and compiling takes seconds.
        if tree.scheme == "beam" and "without_replacement" in rule.CHILDREN:
            continue

        def kernel(p: Array, q: Array, x: Array, u: Array, tree: TokenTree = tree) -> Any:
            """Verify a batch of trees."""
            return rule.verify(rule.prepare(p, q, tree._replace(tokens=x)), u)

        backends.assert_same(kernel, p, q, tree.tokens, u, whole=tree.scheme in whole)


TREE_CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        contract,
        transition_is_a_law,
        sampler_is_transition,
        strongly_lossless,
        reductions,
        edges,
        batches,
        floats_follow_fractions,
        same_on_every_backend,
    )
}
