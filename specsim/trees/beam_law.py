"""The law of stochastic beams in rationals, for small vocabularies.

Method.      Draw whole sequences of full length without replacement, one after the other. Each
             level takes the first W prefixes of its length, in the order in which they come up.
             States that agree in their levels and in the sequences used are merged, so that the
             program walks over states, not over orders.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.trees.beam import tree_of
from specsim.trees.drawn import Drafted, law_after
from specsim.types import Array, Model, TokenTree

# Most texts to enumerate, which takes seconds.
MAX_TEXTS = 2**12

Path = tuple[int, ...]


@np.errstate(under="ignore")
def enumerate_beams(model: Model, *, width: int, depth: int, prefix: Path = ()) -> list[tuple[TokenTree, Array, Any]]:
    """Return every tree of `beam_tree` with its laws q and its probability, in the model's numbers.

    Draws whole sequences without replacement until every level has its W prefixes: V^depth at most.

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
    width = check.integer(width, "width", 1, limits.MAX_NODES)
    depth = check.integer(depth, "depth", 1, limits.MAX_NODES)
    laws, mass = _texts(model, depth, check.text(prefix, "prefix"))

    # Prefixes that each level holds in the end, and the sequences of full length.
    sizes = [min(width, sum(len(t) == length for t in mass)) for length in range(1, depth + 1)]
    sequences = [t for t in mass if len(t) == depth]

    # A state is (prefixes of each level so far, sequences drawn); `states` has the probability of
    # each, and `full_levels` that of levels that are full. A round draws one sequence in every state.
    full_levels: dict[tuple[tuple[Path, ...], ...], Any] = {}
    no_prefixes: tuple[tuple[Path, ...], ...] = ((),) * depth
    states: dict[tuple[Any, frozenset[Path]], Any] = {(no_prefixes, frozenset()): Fraction(1)}
    while states:
        states_before, states = states, {}
        for (levels, used), weight in states_before.items():
            if all(len(level) == size for level, size in zip(levels, sizes, strict=True)):
                full_levels[levels] = full_levels.get(levels, 0) + weight
                continue
            # Draw the next sequence from those left, in proportion to their probability.
            unused = [t for t in sequences if t not in used]
            total = sum(mass[t] for t in unused)
            for t in unused:
                longer = tuple(_add(level, t[: i + 1], sizes[i]) for i, level in enumerate(levels))
                state = (longer, used | {t})
                states[state] = states.get(state, 0) + weight * mass[t] / total
    return [(*_from_paths(levels, laws), weight) for levels, weight in full_levels.items()]


def _texts(model: Model, depth: int, prefix: Path) -> tuple[dict[Path, Array], dict[Path, Any]]:
    """Return (text -> the law after it, text -> its probability), of texts below `prefix`.

    Laws are those after texts of fewer than `depth` tokens, probabilities those of texts of up to
    `depth` tokens. Texts of probability 0 are left out.
    """
    laws: dict[Path, Array] = {(): law_after(model, prefix, ())}
    mass: dict[Path, Any] = {(): 1}
    for length in range(depth):
        if len(mass) > MAX_TEXTS:
            raise ValueError(f"depth is {depth}: there are more than {MAX_TEXTS} texts to enumerate")
        for text in [t for t in mass if len(t) == length]:
            laws[text] = law_after(model, (*prefix, *text), (), laws[()])
            mass |= {(*text, v): mass[text] * w for v, w in enumerate(laws[text]) if w > 0}
    return laws, mass


def _add(level: tuple[Path, ...], text: Path, size: int) -> tuple[Path, ...]:
    """Return the prefixes of a level with `text` among them, if there is room for it."""
    return level if len(level) == size or text in level else (*level, text)


def _from_paths(levels: tuple[tuple[Path, ...], ...], laws: dict[Path, Array]) -> Drafted:
    """Return the tree whose levels hold these prefixes, with the laws that they were drawn from."""
    above: tuple[Path, ...] = ((),)
    nodes, rows = [], []
    for level in levels:
        # The laws after the prefixes of the level above.
        rows.append([laws[text] for text in above])

        # Of each node its token, and the place of its parent in the level above.
        level_nodes = []
        for *parent, token in level:
            level_nodes.append((token, above.index(tuple(parent))))
        nodes.append(level_nodes)
        above = level
    return tree_of(nodes, rows)
