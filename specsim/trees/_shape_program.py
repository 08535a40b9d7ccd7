"""The dynamic program of the best tree shape: T(m, l, k) of `specsim.trees.best_shape`.

T(m, l, k) is the best value of a tree of m nodes and at most l levels, root included, whose root
has k children; T*(m, l) is its maximum over k. The k-th subtree of the root has m - y of the nodes:
T(m, l, k) = max_y T(y, l, k-1) + b_k T*(m-y, l-1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.types import Array


class Table(NamedTuple):
    """The dynamic program's answers: for every m and l the best value and the choices behind it.

    `best` (m, l) is T*(m, l), negative where there is no such tree; `children` (m, l) the number of
    children of that tree's root; `split` (m, l, k) the y of T(m, l, k); `shift` the levels lost per
    step below the root, 1, or 0 where levels are not limited.
    """

    best: Array
    children: Array
    split: Array
    shift: int


def solve(b: Array, n: int, levels: int | None) -> Table:
    """Solve the dynamic program T(m, l, k) of the module's head for every m <= n and l <= levels.

    For levels None there is one column, l unlimited. The loop runs over m; all y, l and k are taken
    at once. Values are between 1 and n, so -2 n stands for what does not exist and stays negative
    in any sum with a value. Infinity would not do: Fractions lack it, and times b_k = 0 it is NaN.
    """
    columns, k, never = levels or 1, len(b), -2 * n
    shift = 0 if levels is None else 1

    # `value` is T(m, l, k); `added` is b_k T*(m, l-1): what a k-th subtree of m nodes adds.
    value = np.full((n + 1, columns, k + 1), never, dtype=b.dtype)
    added = np.full((n + 1, columns, k), never, dtype=b.dtype)
    split = np.zeros(value.shape, dtype=np.int32)

    # A root alone is worth 1.
    value[1, :, 0] = 1
    added[1, shift:] = b
    for m in range(2, n + 1):
        # T(y, l, k-1) + b_k T*(m-y, l-1) for each y = 1..m-1 nodes outside the last subtree (axis 0),
        # and the best of them.
        total = value[1:m, :, :-1] + added[m - 1 : 0 : -1]
        best_row = np.argmax(total, axis=0)
        best_total = np.take_along_axis(total, best_row[None], axis=0).squeeze(0)
        value[m, :, 1:] = np.where(best_total > 0, best_total, never)
        # Row 0 is y = 1.
        split[m, :, 1:] = best_row + 1
        # T*(m, l-1) is the maximum over the numbers of children.
        best = value[m, : columns - shift].max(axis=-1, keepdims=True)
        added[m, shift:] = np.where(best > 0, b * best, never)
    return Table(value.max(axis=-1), np.argmax(value, axis=-1), split, shift)


def shape_parents(table: Table, m: int, column: int) -> Array:
    """Return the parents (m - 1,) of the tree of value T*(m, l), level by level; `column` is that of l."""
    parents: list[int] = []
    # Subtrees still to lay out: (root's number, nodes, column of levels).
    queue = [(-1, m, column)]
    for node, size, level in queue:
        # The splits give the children's subtrees from the last to the first: each takes its nodes
        # off those that are left.
        subtree_sizes = []
        num_left = size
        for k in range(int(table.children[size, level]), 0, -1):
            num_before = int(table.split[num_left, level, k])
            subtree_sizes.append(num_left - num_before)
            num_left = num_before
        for subtree_size in reversed(subtree_sizes):
            queue.append((len(parents), subtree_size, level - table.shift))
            parents.append(node)
    return np.array(parents, dtype=np.int64)
