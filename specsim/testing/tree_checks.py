"""Conformance checks of tree rules, on trees drawn from context-dependent tables in exact rationals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover, forking
from specsim._dist import one_hot
from specsim.chains import blocks
from specsim.expected_tree import Drawn, continued_law, drawn_trees, kept_law
from specsim.guarantee import rational_table
from specsim.testing import backends
from specsim.testing.cases import corners, edge_laws, random_laws, rational_uniforms
from specsim.testing.step_checks import close, same_names
from specsim.trees import draw_tree, topology, uniforms
from specsim.types import Array, Model, TokenTree, TreeRule
from specsim.verify.chain import block

SMALL = {"paths": [(-1, -1), (-1, 0, -1, 2)], "beam": [(2, 1), (2, 2)]}  # shapes of the checks that fork
ADAPTIVE = ("iid", "without_replacement")  # schemes in which a node may have fewer children than the shape has


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


def transition_is_a_law(rule: ModuleType) -> None:
    """The joint law of (kept node, next token) is non-negative and sums to exactly 1; no absent node is kept."""
    for where, target, _, drawn, _ in _cases(rule, 3):
        for tree, q, _ in drawn:
            law = rule.transition(rule.prepare(_along(target, tree), q, tree))
            assert law.shape == q.shape, "transition must return (n+1, V)"
            assert (law >= 0).all(), f"{where}: a negative probability"
            assert law.sum() == 1, f"{where}: a joint law that does not sum to 1"
            assert not law[1:][tree.tokens < 0].any(), f"{where}: a node is kept that is not there"


def sampler_is_transition(rule: ModuleType) -> None:
    """The forked law of `verify` equals `transition`, as rationals."""
    for scheme in rule.CHILDREN:
        for shape in SMALL.get(scheme, [(-1, 0), (-1, -1), (-1, -1, 0, 1)]):
            vocab = 3 if len(shape) == 2 and scheme != "beam" else 2
            target, draft = _tables(vocab, 2, 0)
            for tree, q, _ in _drawn(scheme, shape, vocab, 2, 0):
                forked_is_transition(rule, _along(target.__getitem__, tree), q, tree, f"{scheme} {shape} V={vocab}")


def forked_is_transition(rule: ModuleType, p: Array, q: Array, tree: TokenTree, where: str = "") -> None:
    """The same for one tree with rational rows."""
    plan, count = rule.prepare(p, q, tree), rule.uniforms(tree)

    def program(fork: forking.Fork) -> tuple[int, int]:
        node, token = rule.verify(plan, fork.uniforms(count))
        return int(node), int(token)

    law, joint = forking.law(program), rule.transition(plan)
    wanted = {(int(i), int(y)): Fraction(joint[i, y]) for i, y in zip(*np.nonzero(joint), strict=True)}
    assert law == wanted, f"{where} {tree.tokens}: the sampler's law is {law}, transition says {wanted}"


def strongly_lossless(rule: ModuleType, nodes: int = 4) -> None:
    """The kept path and the token after it, continued by the target, have the target's joint law.

    On every shape of up to `nodes` nodes and three levels, and on trees whose nodes have fewer or more children
    according to the text before them.
    """
    for where, target, _, drawn, depth in _cases(rule, nodes):
        for text, made, goal in continued_law(kept_law(rule, target, drawn), target, depth + 1):
            assert made == goal, f"{where}: text {text} has probability {made}, not {goal}"


def reductions(rule: ModuleType) -> None:
    """On one path and on one level the rule is what it says it is there, and no better than what is possible."""
    for scheme in rule.CHILDREN:
        for vocab, gamma in ((2, 1), (2, 3), (3, 2)):
            target, draft = _tables(vocab, gamma, 1)
            law = kept_law(rule, target.__getitem__, drawn_trees(draft.__getitem__, _path(scheme, gamma), scheme))
            if scheme == "deterministic":  # as if drawn from point masses
                draft = {text: one_hot(q.argmax(axis=-1), q) for text, q in draft.items()}
            best = blocks(block, target, draft, gamma)
            assert _kept(law) <= _kept(best), f"{scheme}: more drafts kept on a path than block verification keeps"
            if hasattr(rule, "CHAIN"):
                wanted = blocks(discover.find("chain", rule.CHAIN), target, draft, gamma)
                assert law == wanted, f"{scheme}: on a path of {gamma} it is not {rule.CHAIN!r}"
        for count in (1, 2, 3):
            _one_level(rule, scheme, count)


def _one_level(rule: ModuleType, scheme: str, count: int) -> None:
    target, draft = _tables(3, 1, 2)
    p = target[()]
    hit, drawn = Fraction(0), drawn_trees(draft.__getitem__, (count, 1) if scheme == "beam" else (-1,) * count, scheme)
    for tree, q, weight in drawn:
        joint = rule.transition(rule.prepare(_along(target.__getitem__, tree), q, tree))
        hit += weight * joint[1:].sum()
        law = joint[0] + sum((one_hot(x, p) * m.sum() for x, m in zip(tree.tokens, joint[1:], strict=True)), 0 * p)
        step = getattr(rule, "STEPS", {}).get(scheme)
        if step is not None:
            step_rule = discover.find("step", step)
            wanted = step_rule.transition(step_rule.prepare(p, q[0], len(tree.tokens)), tree.tokens)
            assert (law == wanted).all(), f"{scheme}: on one level of {tree.tokens} it is not {step!r}"
    for members in itertools.product((False, True), repeat=len(p)):  # T03: for every set H
        inside = sum(weight for tree, _, weight in drawn if all(members[x] for x in tree.tokens if x >= 0))
        bound = 1 + p[np.array(members)].sum() - inside
        assert hit <= bound, f"{scheme}: {count} children are hit with probability {hit}, more than {bound}"


def edges(rule: ModuleType) -> None:
    """At u = 0 and u = 1 - ulp, on one-hots, zeros, p = q, V = 1: only outcomes of positive probability."""
    for scheme, vocab in itertools.product(rule.CHILDREN, (1, 2)):
        for name, p_row, q_row in edge_laws(vocab):
            shape = (2, 2) if scheme == "beam" else SMALL.get(scheme, [(-1, -1, 0)])[-1]
            for tree, q, _ in drawn_trees(lambda text, row=q_row: row, shape, scheme):  # type: ignore[misc]
                for dtype in (np.float64, np.float32):
                    p = np.tile(p_row.astype(dtype), (len(q), 1))
                    _edge(rule, p, q.astype(dtype), tree, f"{name}, {scheme}, V={vocab}, {dtype.__name__}")


def _edge(rule: ModuleType, p: Array, q: Array, tree: TokenTree, where: str) -> None:
    u = corners(rule.uniforms(tree))
    p, q = (np.broadcast_to(w, (len(u), *w.shape)) for w in (p, q))
    many = tree._replace(tokens=np.broadcast_to(tree.tokens, (len(u), len(tree.tokens))))
    plan = rule.prepare(p, q, many)
    node, token = rule.verify(plan, u)
    inside = (token >= 0) & (token < p.shape[-1])
    chance = rule.transition(plan)[np.arange(len(u)), node, np.where(inside, token, 0)]
    for k in np.flatnonzero(~inside | ~(chance > 0)):
        raise AssertionError(
            f"{where}: drafts {tree.tokens} and u={u[k]} give node {node[k]}, then token {token[k]}: probability 0"
        )


def batches(rule: ModuleType) -> None:
    """A batch gives what its rows give one by one, also where some rows lack nodes."""
    for _, p, q, tree, u in _markov(rule, vocab=4, rows=8):
        plan = rule.prepare(p, q, tree)
        node, token = rule.verify(plan, u)
        law = rule.transition(plan)
        for k in range(8):
            row = rule.prepare(p[k], q[k], tree._replace(tokens=tree.tokens[k]))
            one = tuple(int(v) for v in rule.verify(row, u[k]))
            assert one == (int(node[k]), int(token[k])), "verify mixes the rows of a batch"
            assert np.allclose(law[k], rule.transition(row)), "transition mixes the rows of a batch"


def floats_follow_fractions(rule: ModuleType) -> None:
    """In float64 the joint law and the sampler's outcome are those of Fractions, up to V = 16."""
    for vocab in (3, 16):
        for where, p, q, tree, u in _markov(rule, vocab, rows=6, exact=True):
            exact_u = np.array([Fraction(v) for v in u.ravel().tolist()], dtype=object).reshape(u.shape)
            exact, plain = rule.prepare(p, q, tree), rule.prepare(p.astype(float), q.astype(float), tree)
            close(rule.transition(plain), rule.transition(exact), f"{where}: transition")
            for found, wanted in zip(rule.verify(plain, u), rule.verify(exact, exact_u), strict=True):
                assert (np.asarray(found) == np.asarray(wanted)).all(), f"{where}: other outcomes in float64"


def same_on_every_backend(rule: ModuleType) -> None:
    """NumPy, JAX (eager, jit, vmap) and torch keep the same node and emit the same token."""
    for _, p, q, tree, u in _markov(rule, vocab=13, rows=48):

        def kernel(p: Array, q: Array, x: Array, u: Array, tree: TokenTree = tree) -> Any:
            return rule.verify(rule.prepare(p, q, tree._replace(tokens=x)), u)

        backends.assert_same(kernel, p, q, tree.tokens, u)


def shapes(scheme: str, nodes: int, depth: int = 3) -> Iterator[tuple[int, ...]]:
    """Every shape the scheme can draw with at most so many nodes and levels: parents, or (width, depth) of beams."""
    sizes = [(k, d) for k in range(1, nodes + 1) for d in range(1, depth + 1) if k * d <= nodes]
    if scheme == "beam":
        yield from sizes
    elif scheme == "paths":
        yield from (tuple(topology.paths(k, d).tolist()) for k, d in sizes)
    else:
        allowed = getattr(discover.find("draft", scheme), "COUNTS", None) if scheme != "deterministic" else None
        for n in range(1, nodes + 1):
            for parents in _ordered_trees((), (-1,), n, depth):
                if allowed is None or all(len(c) in allowed for c in topology.children(parents) if c):
                    yield parents


def _ordered_trees(parents: tuple[int, ...], branch: tuple[int, ...], n: int, depth: int) -> Iterator[tuple[int, ...]]:
    """Trees of n nodes numbered depth first: the next node hangs below one of the branch to the last."""
    if len(parents) == n:
        yield parents
        return
    for level, parent in enumerate(branch[:depth]):
        yield from _ordered_trees((*parents, parent), (*branch[: level + 1], len(parents)), n, depth)


def _cases(rule: ModuleType, nodes: int) -> Iterator[tuple[str, Model, Model, list[Drawn], int]]:
    """(where, target, draft, every drawn tree, depth) for every shape; three tokens on the smaller ones."""
    for scheme in rule.CHILDREN:
        for shape in shapes(scheme, nodes):
            depth = shape[1] if scheme == "beam" else int(topology.depths(shape).max())
            size = shape[0] * depth if scheme == "beam" else len(shape)
            for vocab in (2, 3) if size <= 3 or (scheme == "paths" and size <= 4) else (2,):
                target, draft = (table.__getitem__ for table in _tables(vocab, depth, size))
                drawn = _drawn(scheme, shape, vocab, depth, size)
                where = f"{scheme} {shape} V={vocab}"
                yield where, target, draft, drawn, depth
                if scheme in ADAPTIVE and depth > 1:
                    yield f"{where}, some nodes absent", target, draft, [_thinned(one) for one in drawn], depth
    same = {text: p for text, p in _tables(2, 2, 0)[0].items()}.__getitem__
    for scheme in rule.CHILDREN:
        shape = (2, 2) if scheme == "beam" else SMALL.get(scheme, [(-1, -1, 0)])[-1]
        yield f"{scheme} {shape}, p = q", same, same, drawn_trees(same, shape, scheme), 2


@lru_cache(maxsize=None)
def _tables(vocab: int, depth: int, seed: int) -> tuple[dict[tuple[int, ...], Array], dict[tuple[int, ...], Array]]:
    rng = np.random.default_rng([vocab, depth, seed])
    return rational_table(rng, vocab, depth), rational_table(rng, vocab, depth)


@lru_cache(maxsize=None)
def _drawn(scheme: str, shape: tuple[int, ...], vocab: int, depth: int, seed: int) -> list[Drawn]:
    return drawn_trees(_tables(vocab, depth, seed)[1].__getitem__, shape, scheme)


def _thinned(drawn: Drawn) -> Drawn:
    """The tree of a drafter that draws one sibling less after token 1."""
    tree, q, weight = drawn
    tokens = tree.tokens.copy()
    for row, below in enumerate(topology.children(tree.parents)):
        if row and (tokens[row - 1] == 1 or tokens[row - 1] < 0):
            tokens[below[-1:] if tokens[row - 1] == 1 else below] = -1
    return tree._replace(tokens=tokens), q, weight


def _along(target: Model, tree: TokenTree) -> Array:
    """Rows (n+1, V) of the target after the root and every node; the root's where there is none."""
    texts: list[tuple[int, ...]] = [()]
    for parent, token in zip(np.asarray(tree.parents).tolist(), tree.tokens.tolist(), strict=True):
        texts.append((*texts[parent + 1], token) if token >= 0 else ())
    return np.stack([target(text) for text in texts])


def _path(scheme: str, gamma: int) -> tuple[int, ...]:
    return (1, gamma) if scheme == "beam" else tuple(topology.chain(gamma).tolist())


def _kept(law: dict[tuple[int, ...], Any]) -> Any:
    return sum((len(text) - 1) * mass for text, mass in law.items())


def _markov(
    rule: ModuleType, vocab: int, rows: int, exact: bool = False
) -> Iterator[tuple[str, Array, Array, TokenTree, Array]]:
    """(where, p, q, tree, u) for a batch of trees per scheme; the next token depends on the last one only."""
    for number, scheme in enumerate(rule.CHILDREN):
        rng = np.random.default_rng([vocab, number])
        if exact:
            p, q = random_laws(vocab, vocab, seed=number)
        else:
            p, q, _ = backends.laws(vocab, vocab, seed=number)
        parents = topology.paths(3, 2) if scheme == "paths" else topology.k_ary((2, 2))
        drawing = "without_replacement" if scheme == "beam" else scheme
        u = rng.random((rows, uniforms(parents, drawing)))
        plain = q.astype(float)
        tree = draw_tree(lambda text, w=plain: w[text[-1]], parents, u, sampling=drawing, prefix=(0,)).tree  # type: ignore[misc]
        tokens = tree.tokens.copy()
        if scheme in (*ADAPTIVE, "beam", "deterministic"):
            tokens[: rows // 2, [1, 4, 5]] = -1  # the second child and all below it
        last = np.concatenate([np.zeros((rows, 1), dtype=np.int64), np.where(tokens < 0, 0, tokens)], axis=-1)
        tree = tree._replace(tokens=tokens, scheme=scheme)
        yield f"{scheme} V={vocab}", p[last], q[last], tree, rational_uniforms((rows, rule.uniforms(tree)), number)[0]


TREE_CHECKS: dict[str, Callable[[ModuleType], None]] = {
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
