"""The law of stochastic beams in rationals, by drawing whole sequences without replacement: for small vocabularies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.trees.beam import tree_of
from specsim.trees.drawn import Drafted, law_after
from specsim.types import Array, Model, TokenTree

MAX_TEXTS = 2**12  # enumerated: seconds

Path = tuple[int, ...]


@np.errstate(under="ignore")
def enumerate_beams(model: Model, *, width: int, depth: int, prefix: Path = ()) -> list[tuple[TokenTree, Array, Any]]:
    """Every tree of `beam_tree` with its laws q and its probability, in the model's numbers, for small vocabularies.

    Draws whole sequences without replacement until every level has its W prefixes: V^depth sequences at most.

    Parameters
    ----------
    model : callable
        Text, a tuple of token ids -> law of the next token, shape (V,).
    width, depth : int
        Sequences per level, and levels, at least 1.
    prefix : tuple
        The text so far.

    Returns
    -------
    list of (TokenTree, array, number)
        Tree, laws q (n+1, V), probability; the probabilities sum to 1.

    Raises
    ------
    ValueError
        width or depth below 1, too many texts, or a row of the model that is no law.

    Examples
    --------
    >>> every = enumerate_beams(lambda text: np.array([Fraction(1, 3), Fraction(2, 3)]), width=1, depth=1)
    >>> [(tree.tokens.tolist(), str(weight)) for tree, _, weight in every]
    [([0], '1/3'), ([1], '2/3')]
    """
    width, depth = (
        check.integer(width, "width", 1, limits.MAX_NODES),
        check.integer(depth, "depth", 1, limits.MAX_NODES),
    )
    laws: dict[Path, Array] = {(): law_after(model, prefix, ())}
    mass: dict[Path, Any] = {(): 1}
    for length in range(depth):
        if len(mass) > MAX_TEXTS:
            raise ValueError(f"depth is {depth}: there are more than {MAX_TEXTS} texts to enumerate")
        for text in [t for t in mass if len(t) == length]:
            laws[text] = law_after(model, (*prefix, *text), (), laws[()])
            mass |= {(*text, v): mass[text] * w for v, w in enumerate(laws[text]) if w > 0}
    full = [min(width, sum(len(t) == length for t in mass)) for length in range(1, depth + 1)]
    ends = [t for t in mass if len(t) == depth]
    done: dict[tuple[tuple[Path, ...], ...], Any] = {}
    states: dict[tuple[Any, frozenset[Path]], Any] = {(((),) * depth, frozenset()): Fraction(1)}
    while states:  # as many sequences drawn in each
        before, states = states, {}
        for (levels, used), weight in before.items():
            if all(len(kept) == size for kept, size in zip(levels, full, strict=True)):
                done[levels] = done.get(levels, 0) + weight
                continue
            left = sum(mass[t] for t in ends if t not in used)
            for t in (t for t in ends if t not in used):
                state = (tuple(_add(kept, t[: i + 1], full[i]) for i, kept in enumerate(levels)), used | {t})
                states[state] = states.get(state, 0) + weight * mass[t] / left
    return [(*_from_paths(levels, laws), weight) for levels, weight in done.items()]


def _add(kept: tuple[Path, ...], text: Path, size: int) -> tuple[Path, ...]:
    """The prefixes a level has kept, with one more if it is new and there is room."""
    return kept if len(kept) == size or text in kept else (*kept, text)


def _from_paths(levels: tuple[tuple[Path, ...], ...], laws: dict[Path, Array]) -> Drafted:
    before: tuple[Path, ...] = ((),)
    places, rows = [], []
    for kept in levels:
        rows.append([laws[t] for t in before])
        places.append([(t[-1], before.index(t[:-1])) for t in kept])
        before = kept
    return tree_of(places, rows)
