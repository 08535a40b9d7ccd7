"""Token trees level by level, as arrays: the children of every node, and walks from the root.

A tree has few nodes, a row of p many tokens. Three kinds of work are therefore kept apart: the
shape is worked out in Python; whatever depends on the drafted tokens (absent nodes, equal siblings,
paths with a common prefix) by comparing small arrays of integers; and the long rows of p and q are
touched once a level.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from array_api_compat import device, is_numpy_array

from specsim.base.arrays import array_namespace, at, ids, row_at
from specsim.base.held import held
from specsim.types import Array, TokenTree


class Level(NamedTuple):
    """W nodes of one depth, and their children, at most M each, by place among the N below.

    Under "paths" a node's children are those of all paths with its text, and only the first node
    with a text has any.
    """

    rows: Array  # (W,) the nodes' rows of p and q
    tokens: Array  # (..., W, M) of the children, in the order drawn; 0 beyond `count`
    places: Array  # (..., W, M)
    first: Array  # (..., W, M) whether there is a child, and none before it is the same token
    count: Array  # (..., W) children
    below: int  # N
    numbers: Array  # the rows as NumPy integers
    span: slice | None  # the same, where they lie side by side
    straight: bool  # whether every node has one place for a child, and those lie in the order of the nodes


def levels(tree: TokenTree) -> list[Level]:
    """The root, then the nodes of depth 1, 2, ...; those of the last level have no children."""
    xp, where = array_namespace(tree.tokens), device(tree.tokens)
    batch, merged, parents = tuple(tree.tokens.shape[:-1]), tree.scheme == "paths", _parents(tree)
    if is_numpy_array(tree.tokens) and parents.ndim == 1 and not merged and (tree.tokens >= 0).all():
        return _whole(tree.tokens, parents.astype(np.int64, copy=False).tobytes())
    nodes, above = np.array([-1]), list[Level]()
    # The nodes that hold children; with merged paths, only the first node of each text.
    owner = xp.ones((*batch, 1), dtype=xp.bool, device=where)
    # The pairs of nodes with the same text: they share their children, which the owner holds.
    alike = xp.ones((1, 1), dtype=xp.bool, device=where)
    for below, most in zip(_nodes(tree)[1:], most_children(tree), strict=True):
        drawn = tree.tokens[..., held(below, tree.tokens)]  # (..., N)
        is_drafted = drawn >= 0
        # Which nodes below are children of which node (..., W, N), and which of them are siblings
        # (..., N, N). `up` is the place of each one's parent. In a batch of beams, parents differ
        # from row to row.
        if parents.ndim > 1:
            up = parents[..., held(below, parents)] - int(nodes[0])
            place = _range(len(nodes), drawn)
            are_siblings = up[..., :, None] == up[..., None, :]
            is_below = up[..., None, :] == place[:, None]
        else:
            up = held(np.searchsorted(nodes, parents[below]), drawn)
            is_below = alike[..., :, up]
            are_siblings = is_below[..., up, :]
        # A draft is new if no earlier sibling is the same token.
        are_equal = are_siblings & (drawn[..., :, None] == drawn[..., None, :])
        earlier = held(np.tri(len(below), k=-1, dtype=bool), drawn)
        first = is_drafted & ~xp.any(are_equal & earlier, axis=-1)
        # Collect the level, and go on to its children.
        straight = parents.ndim == 1 and not merged and _straight(nodes, parents[below])
        child = owner[..., :, None] & is_below & is_drafted[..., None, :]
        above.append(_level(nodes, drawn, child, first, most)._replace(straight=straight))
        alike = are_equal if merged else held(np.eye(len(below), dtype=bool), drawn)
        nodes, owner = below, first if merged else is_drafted
    # The nodes of the last level have no children.
    none = xp.zeros((*batch, len(nodes), 0), dtype=tree.tokens.dtype, device=where)
    last = Level(held(nodes + 1, none), none, none, none > 0, xp.sum(none, axis=-1), 0, nodes + 1, _span(nodes), False)
    return [*above, last]


def _span(nodes: Array) -> slice | None:
    """Return the rows of nodes (W,), in increasing order, if they lie side by side."""
    return slice(int(nodes[0]) + 1, int(nodes[-1]) + 2) if int(nodes[-1] - nodes[0]) + 1 == len(nodes) else None


def _straight(nodes: Array, parents: Array) -> bool:
    """True if each of the nodes has one child, and the children lie in the order of the nodes."""
    return len(nodes) == len(parents) and bool((nodes == parents).all())


class _Place(NamedTuple):
    """A level as far as its shape decides it: fields of `Level`, and the children's nodes."""

    rows: Array
    kids: Array  # (W, M) nodes
    places: Array  # (W, M)
    is_child: Array  # (W, M): whether the place is taken
    count: Array  # (W,)
    below: int
    span: slice | None
    straight: bool
    alone: bool  # no child has a sibling
    full: bool  # all nodes have equally many children


@lru_cache(maxsize=256)
def _places(parents: bytes) -> list[_Place]:
    """Levels of a shape whose nodes are all there, from its parents as int64."""
    parent, nodes, out = np.frombuffer(parents, dtype=np.int64), np.array([-1]), list[_Place]()
    while len(nodes):
        # The nodes of the next depth, and whose children they are.
        below = np.flatnonzero(np.isin(parent, nodes) & (parent >= nodes[0]))
        child = parent[below] == nodes[:, None]  # (W, N)
        count = child.sum(axis=-1)
        most = int(count.max(initial=0))
        # Each node's children, first to last, padded to the largest number of children.
        is_child = np.arange(most) < count[:, None]
        children_first = np.argsort(~child, axis=-1, stable=True)
        places = np.where(is_child, children_first[:, :most], 0)
        kids = below[places] if len(below) else places
        facts = _span(nodes), _straight(nodes, parent[below]), most < 2, bool(is_child.all())
        out.append(_Place(nodes + 1, kids, places, is_child, count, len(below), *facts))
        nodes = below
    return out


@lru_cache(maxsize=256)
def _spread(parents: bytes, batch: tuple[int, ...]) -> list[tuple[Array, ...]]:
    """Return (places, is_child, count) of each level, as read-only arrays for a batch."""
    out = []
    for level in _places(parents):
        fields = (level.places, level.is_child, level.count)
        arrays = tuple(np.broadcast_to(w, (*batch, *w.shape)).copy() for w in fields)
        for w in arrays:
            w.flags.writeable = False
        out.append(arrays)
    return out


@lru_cache(maxsize=256)
def _earlier(parents: bytes) -> Array:
    """Matrix (n, n): True where the second node is an earlier sibling of the first."""
    parent = np.frombuffer(parents, dtype=np.int64)
    return (parent[:, None] == parent) & np.tri(len(parent), k=-1, dtype=bool)


def _whole(tokens: Array, parents: bytes) -> list[Level]:
    """Levels of a NumPy tree with all its nodes, from the cached levels of its shape."""
    # A token is new if no earlier sibling is the same token.
    out, shape = list[Level](), _places(parents)
    if not all(level.alone for level in shape):
        are_equal = tokens[..., :, None] == tokens[..., None, :]
        new = ~(_earlier(parents) & are_equal).any(axis=-1)
    for level, (places, is_child, count) in zip(shape, _spread(parents, tokens.shape[:-1]), strict=True):
        rows = level.rows
        first = is_child if level.alone else is_child & new[..., level.kids]
        drawn = tokens[..., level.kids] if level.below else first.astype(tokens.dtype)
        children = drawn if level.full else np.where(is_child, drawn, 0)
        out.append(Level(rows, children, places, first, count, level.below, rows, level.span, level.straight))
    return out


def _level(nodes: Array, drawn: Array, child: Array, first: Array, most: int) -> Level:
    """Level of nodes (W,); `child` (..., W, N) marks the tokens of each, `first` the new ones."""
    xp = array_namespace(drawn)
    # Number each node's children from 1; slot m (..., W, M, N) holds child number m + 1.
    rank = xp.cumulative_sum(xp.astype(child, drawn.dtype), axis=-1)
    number = 1 + _range(most, drawn)
    slot = child[..., None, :] & (rank[..., None, :] == number[:, None])
    tokens, places = (
        xp.sum(xp.where(slot, w[..., None, None, :], 0), axis=-1) for w in (drawn, _range(drawn.shape[-1], drawn))
    )
    new = xp.any(slot & first[..., None, None, :], axis=-1)
    facts = drawn.shape[-1], nodes + 1, _span(nodes), False
    return Level(held(nodes + 1, drawn), tokens, places, new, rank[..., -1], *facts)


def most_children(tree: TokenTree) -> list[int]:
    """Largest possible number of children of a node, for each depth but the last."""
    by_level, parents = _nodes(tree), _parents(tree)
    if tree.scheme == "paths" or parents.ndim > 1:
        return [len(below) for below in by_level[1:]]
    return [int(np.bincount(parents[below] + 1).max()) for below in by_level[1:]]


def _parents(tree: TokenTree) -> Array:
    """NumPy integers (n,), or for a batch of beams an array (..., n)."""
    return tree.parents if getattr(tree.parents, "ndim", 1) > 1 else np.asarray(tree.parents)


def _nodes(tree: TokenTree) -> list[Array]:
    """Numbers of the nodes of every depth, the root -1."""
    depth = np.asarray(tree.depth)
    return [np.array([-1]), *(np.flatnonzero(depth == d + 1) for d in range(depth.max(initial=0)))]


def _range(stop: int, like: Array) -> Array:
    """0, ..., stop - 1, with the type and on the device of `like`."""
    return array_namespace(like).arange(stop, dtype=like.dtype, device=device(like))


def walk(plan: list[Level], batch: tuple[int, ...], emit: Callable[..., Array]) -> tuple[Array, Array]:
    """(Last node, next token) of a walk, which goes on at the first child with the emitted token.

    emit(level number, row of p, children's tokens (..., M), their number, whether the walk is still
    going on).
    """
    xp, where = array_namespace(plan[0].tokens), device(plan[0].tokens)
    node = token = place = xp.zeros(batch, dtype=plan[0].tokens.dtype, device=where)
    going = place == 0
    for d, level in enumerate(plan):
        # The node where each walk stands, and its children.
        row = level.rows[place]
        node = xp.where(going, row, node)
        drafts, count = row_at(level.tokens, place), at(level.count, place)
        if is_numpy_array(going) and not going.any():
            break
        # Walks end where no child has the emitted token.
        emitted = emit(d, row, drafts, count, going)
        token = xp.where(going, emitted, token)
        if level.below:
            hit = (drafts == emitted[..., None]) & row_at(level.first, place)
            going = going & xp.any(hit, axis=-1)
            child = xp.argmax(xp.astype(hit, drafts.dtype), axis=-1)
            place = xp.where(going, at(row_at(level.places, place), child), 0)
    return node, token


def walk_law(plan: list[Level], rows: list[Array]) -> Array:
    """Joint law (..., n+1, V) of a walk that emits rows (..., W, V) at the nodes of each level."""
    xp = array_namespace(rows[0])
    reach, parts = xp.ones_like(rows[0][..., 0]), []
    for level, law in zip(plan, rows, strict=True):
        # The walk ends at a node with the tokens that no child has.
        ends = law
        for k in range(level.tokens.shape[-1]):
            hit = (ids(law) == level.tokens[..., k : k + 1]) & level.first[..., k : k + 1]
            ends = xp.where(hit, 0, ends)
        parts.append(reach[..., None] * ends)
        # It reaches a child with the probability of the child's token.
        if level.below:
            reach = to_children(level, reach[..., None] * xp.take_along_axis(law, level.tokens, axis=-1))
    return by_node(plan, parts)


def of_level(w: Array, level: Level) -> Array:
    """Rows (..., W, V) of w (..., n+1, V), without a copy where they lie side by side."""
    return w[..., level.rows if level.span is None else level.span, :]


def post_order(tree: TokenTree) -> Array | None:
    """Nodes (n,), children before their parent; None where tokens decide who is whose child."""
    parents = _parents(tree)
    if tree.scheme == "paths" or parents.ndim > 1:
        return None
    return held(_post_order(parents.astype(np.int64, copy=False).tobytes()), tree.tokens)


@lru_cache(maxsize=256)
def _post_order(parents: bytes) -> Array:
    """Post order of a shape, from its parents as int64: the reverse of a walk, last child first."""
    below: dict[int, list[int]] = {}
    for node, parent in enumerate(np.frombuffer(parents, dtype=np.int64).tolist()):
        below.setdefault(parent, []).append(node)
    visited, to_visit = list[int](), [-1]
    while to_visit:
        visited.append(to_visit.pop())
        to_visit += below.get(visited[-1], [])
    # Reversed, the root comes last; it is left out.
    return np.array(visited[:0:-1], dtype=np.int64)


def to_children(level: Level, values: Array) -> Array:
    """Values (..., W, M) of children as (..., N) in the order of the next level; 0 without a child."""
    xp = array_namespace(values)
    if level.straight:
        return xp.where(level.first, values, 0)[..., 0]
    place = xp.arange(level.below, device=device(values))
    hit = (level.places[..., None] == place) & level.first[..., None]
    return xp.sum(xp.where(hit, values[..., None], 0), axis=(-3, -2))


def by_node(plan: list[Level], parts: list[Array]) -> Array:
    """Rows (..., n+1, V) in the order of the nodes, from `parts` (..., W, V), level by level."""
    rows, stop = array_namespace(parts[0]).concat(parts, axis=-2), 0
    for level in plan:
        if level.span is None or level.span.start != stop:
            order = np.argsort(np.concatenate([level.numbers for level in plan]))
            return rows[..., held(order, rows), :]
        stop = level.span.stop
    return rows
