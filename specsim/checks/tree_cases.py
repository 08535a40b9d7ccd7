"""The standard cases of tree checks: every shape, drawn from context-dependent tables, and batches of larger trees."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import numpy as np

from specsim import discover
from specsim.checks import backends
from specsim.exact.small_laws import lasting_laws, rational_table, row_of
from specsim.exact.tree import Drawn, drawn_trees, texts
from specsim.testing.cases import random_laws, rational_uniforms
from specsim.trees import draw_tree, topology, uniforms
from specsim.types import Array, Model, TokenTree

# Parents of a tree; (width, depth) of beams.
Shape = tuple[int, ...]
# Target and draft.
Tables = tuple[dict[tuple[int, ...], Array], dict[tuple[int, ...], Array]]

# Tokens of the largest laws that are enumerated, for one draft.
MANY = 24
# Schemes in which a node may have fewer children than its shape has.
ADAPTIVE = ("iid", "without_replacement")


def shapes(scheme: str, nodes: int, depth: int = 3) -> Iterator[Shape]:
    """Yield every shape that a scheme can draw with at most so many nodes and levels."""
    sizes = [(k, d) for k in range(1, nodes + 1) for d in range(1, depth + 1) if k * d <= nodes]
    if scheme == "beam":
        yield from sizes
    elif scheme == "paths":
        yield from (tuple(topology.paths(k, d).tolist()) for k, d in sizes)
    else:
        for n in range(1, nodes + 1):
            for parents in _ordered_trees((), (-1,), n, depth):
                if all(draws(scheme, len(siblings)) for siblings in topology.children(parents) if siblings):
                    yield parents


def draws(scheme: str, count: int) -> bool:
    """Return whether the scheme can draw so many siblings."""
    known = None if scheme in topology.SCHEMES else discover.scheme_facts(discover.find("draft", scheme)).counts
    return known is None or count in known


def _ordered_trees(parents: Shape, branch: Shape, n: int, depth: int) -> Iterator[Shape]:
    """Yield trees of n nodes numbered depth first: the next node hangs below one of the last node's branch."""
    if len(parents) == n:
        yield parents
        return
    for level, parent in enumerate(branch[:depth]):
        yield from _ordered_trees((*parents, parent), (*branch[: level + 1], len(parents)), n, depth)


def small_shapes(scheme: str) -> list[Shape]:
    """Return a few shapes with siblings and, last, with two levels, for checks that fork or try every corner."""
    special: dict[str, list[Shape]] = {"paths": [(-1, -1), (-1, 0, -1, 2)], "beam": [(2, 1), (2, 2)]}
    return special.get(scheme, [(-1, 0), (-1, -1), (-1, -1, 0)])


def deep_shapes(scheme: str) -> list[Shape]:
    """Return shapes of three levels, with siblings on the last: some errors of samplers show only there."""
    if scheme == "beam":
        return []
    if scheme == "paths":
        return [tuple(topology.paths(2, 3).tolist())]
    return [(-1, 0, 1, 1)]


def one_path(scheme: str, gamma: int) -> Shape:
    """Return the shape of a chain."""
    return (1, gamma) if scheme == "beam" else tuple(topology.chain(gamma).tolist())


def depth_of(scheme: str, shape: Shape) -> int:
    """Return the levels of a shape."""
    return shape[1] if scheme == "beam" else int(topology.depths(shape).max())


def size_of(scheme: str, shape: Shape) -> int:
    """Return the nodes of a shape, at most those of beams."""
    return shape[0] * shape[1] if scheme == "beam" else len(shape)


def every_shape(rule: ModuleType, nodes: int) -> Iterator[tuple[str, Model, list[Drawn], int]]:
    """Yield (words, target, every drawn tree, depth): two tables per shape, three tokens on the smaller ones."""
    for scheme in rule.CHILDREN:
        for shape in shapes(scheme, nodes):
            # Every shape that the scheme can draw.
            depth, size = depth_of(scheme, shape), size_of(scheme, shape)
            vocabs = (2, 3) if size <= 3 or (scheme == "paths" and size <= 4) else (2,)
            for vocab, seed in itertools.product(vocabs, (0, 1)):
                target, drawn = tables(vocab, depth, seed)[0].__getitem__, every_tree(scheme, shape, vocab, seed)
                yield f"{scheme} {shape} V={vocab}, table {seed}", target, drawn, depth
                if scheme in ADAPTIVE and depth > 1:
                    thin = [_thinned(tree) for tree in drawn]
                    yield f"{scheme} {shape} V={vocab}, table {seed}, nodes absent", target, thin, depth
        # Siblings whose residual lasts, and one draft on many tokens.
        for siblings in (1, 3, 4):
            if siblings <= nodes and scheme not in ("paths", "beam", "deterministic") and draws(scheme, siblings):
                target, drawn = lasting_siblings(scheme, siblings)
                yield f"{scheme}, {siblings} siblings whose residual lasts", target, drawn, 1
        # Equal laws.
        same, shape = tables(2, 2, 0)[0].__getitem__, small_shapes(scheme)[-1]
        yield f"{scheme} {shape}, p = q", same, drawn_trees(same, shape, scheme), 2


@cache
def lasting_siblings(scheme: str, siblings: int) -> tuple[Model, list[Drawn]]:
    """Return a target, and every tree of that many siblings, of two tokens more, that its draft can give.

    A single draft is one of many tokens.
    """
    p, q = (rows[0] for rows in (lasting_laws(siblings, scheme) if siblings > 1 else random_laws(MANY, 1, seed=MANY)))
    after = np.array(row_of(1, *[0] * (len(p) - 1)), dtype=object)
    laws = [{(): row, **{(token,): after for token in range(len(row))}} for row in (p, q)]
    return laws[0].__getitem__, drawn_trees(laws[1].__getitem__, (-1,) * siblings, scheme)


@cache
def tables(vocab: int, depth: int, seed: int) -> Tables:
    """Return target and draft, random tables with laws up to `depth` tokens."""
    rng = np.random.default_rng([vocab, depth, seed])
    return rational_table(rng, vocab, depth), rational_table(rng, vocab, depth)


@cache
def every_tree(scheme: str, shape: Shape, vocab: int, seed: int) -> list[Drawn]:
    """Return every tree drawn from the draft of `tables`."""
    return drawn_trees(tables(vocab, depth_of(scheme, shape), seed)[1].__getitem__, shape, scheme)


def _thinned(drawn: Drawn) -> Drawn:
    """Return the tree of a drafter that draws one sibling less after token 1."""
    tree, q, weight = drawn
    tokens = tree.tokens.copy()
    # The last child of such a node is absent, and so is all below an absent node.
    for row, below in enumerate(topology.children(tree.parents)):
        if row and tokens[row - 1] in (1, -1):
            tokens[below[-1:] if tokens[row - 1] == 1 else below] = -1
    return tree._replace(tokens=tokens), q, weight


def along(target: Model, tree: TokenTree) -> Array:
    """Return the rows (n + 1, V) of the target after the root and every node."""
    return np.stack([target(text) for text in texts(tree)])


def batches_of_trees(
    rule: ModuleType, vocab: int, rows: int, *, width: int = 3, below: int = 2, exact: bool = False
) -> Iterator[tuple[str, Array, Array, TokenTree, Array]]:
    """Yield (words, p, q, tree, u), a batch per scheme; laws depend on the last token.

    Half of the rows lack some nodes.
    """
    for number, scheme in enumerate(rule.CHILDREN):
        p, q = random_laws(vocab, vocab, seed=number) if exact else backends.laws(vocab, vocab, seed=number)[:2]
        # Draw trees of the largest width that the scheme has, up to `width`.
        wide = max(k for k in range(1, width + 1) if draws(scheme, k))
        shape = topology.paths(wide, 2) if scheme == "paths" else topology.k_ary((wide, below))
        drawing = "without_replacement" if scheme == "beam" else scheme
        plain = q.astype(float)
        u = np.random.default_rng([vocab, number]).random((rows, uniforms(shape, drawing)))
        tree = draw_tree(lambda text, law=plain: law[text[-1]], shape, u, scheme=drawing, prefix=(0,)).tree  # type: ignore[misc]

        # Without the root's last child and all below it.
        tokens = tree.tokens.copy()
        if scheme in (*ADAPTIVE, "beam", "deterministic"):
            tokens[: rows // 2, topology.mask(shape)[1:, wide]] = -1
        last = np.concatenate([np.zeros((rows, 1), dtype=np.int64), np.where(tokens < 0, 0, tokens)], axis=-1)
        tree = tree._replace(tokens=tokens, scheme=scheme)
        yield f"{scheme} V={vocab}", p[last], q[last], tree, rational_uniforms((rows, rule.uniforms(tree)), number)[0]
