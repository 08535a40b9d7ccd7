"""Tokens of blocks of trees: expected at the same starts for every kind, and counted in the decode loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from real.papers.lab.contract import Lab
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.text_lab import Tally
from real.papers.lab.tree_lab import Kind, Reader, block_law, drafted_tree, path_to
from specsim.base.arrays import pick
from specsim.types import TokenTree


class Starts(NamedTuple):
    """Where blocks start that all kinds share: a decode with one kind writes the texts."""

    # At least one token each.
    prompts: Sequence[list[int]]
    # The kind that writes.
    walk: str
    # Blocks of a text at most, and trees of each kind at each of their starts.
    blocks: int
    trees: int = 1


def tallies(starts: Starts, kinds: Mapping[str, Kind], lab: Lab) -> dict[str, Tally]:
    """Expected tokens of blocks of every kind, at the starts of blocks of a decode with one kind.

    Parameters
    ----------
    starts : Starts
        The prompts, and how many blocks and trees.
    kinds : mapping of str to Kind
        Each verified tokenwise, its trees drawn by the same uniforms as the others'.
    lab : Lab
        Its pair, and the seed of the draws; a prompt is a unit that it keeps.

    Returns
    -------
    dict of str to Tally
        Tokens and blocks (prompts,) of each kind; a tree is a block. A text ends at the pair's end token.

    Raises
    ------
    ValueError
        A scheme that tokenwise verification does not know, or a text beyond a context.
    """
    models: list[Reader] = []

    def of_prompt(i: int) -> dict[str, float]:
        """Tokens of each kind after a prompt, and trees of each ("")."""
        lab.said(f"blocks of prompt {i + 1} of {len(starts.prompts)}")
        if not models:
            both = pair_named(lab.pair)
            models.extend((Reader(both.target), Reader(both.draft)))
        target, draft = models
        return _blocks(target, draft, starts, kinds, i, lab)

    sums = [lab.keep(f"blocks of prompt {i}", partial(of_prompt, i)) for i in range(len(starts.prompts))]
    counts = np.array([of_one[""] for of_one in sums])
    return {name: Tally(np.array([of_one[name] for of_one in sums]), counts) for name in kinds}


def _blocks(
    target: Reader, draft: Reader, starts: Starts, kinds: Mapping[str, Kind], i: int, lab: Lab
) -> dict[str, float]:
    """Expected tokens of each kind over the blocks of prompt i, and trees of each ("")."""
    tokens, stop = dict.fromkeys(kinds, 0.0) | {"": 0.0}, ends(lab.pair)
    text = tuple(starts.prompts[i])
    for block in range(starts.blocks):
        # Trees of all kinds, read in one pass of the target.
        keys = [[lab.seed, i, block, *([tree] if tree else [])] for tree in range(starts.trees)]
        drawn = {
            name: [drafted_tree(draft, kind, text, np.random.default_rng(key)) for key in keys]
            for name, kind in kinds.items()
        }
        target.ahead(text, merged([drafted.tree for group in drawn.values() for drafted in group]))
        tokens[""] += starts.trees

        # A block emits one token more than the depth of the accepted node.
        new: tuple[int, ...] = ()
        for name, kind in kinds.items():
            for place, drafted in enumerate(drawn[name]):
                law = block_law(target, kind, text, drafted)
                tokens[name] += 1 + float(law.sum(axis=-1) @ np.array([0, *drafted.tree.depth]))
                # The first tree of one kind writes the text.
                if name == starts.walk and place == 0:
                    u = np.asarray(np.random.default_rng([lab.seed, i, block, 1]).random())
                    node, token = divmod(int(pick(law.reshape(-1), u)), law.shape[-1])
                    new = (*path_to(drafted.tree, node), token)
        text = (*text, *new)
        target.forget()
        draft.forget()
        if stop.intersection(new):
            break
    return tokens


def merged(drafted: Sequence[TokenTree]) -> TokenTree:
    """Return one tree of the nodes of all trees, each text once; for a pass that reads them."""
    paths = {path_to(tree, row) for tree in drafted for row in range(1, len(tree.parents) + 1)}
    ordered = sorted(paths, key=lambda path: (len(path), path))
    place = {path: i for i, path in enumerate(ordered)}
    parents = np.array([place.get(path[:-1], -1) for path in ordered], dtype=np.int64)
    tokens = np.array([path[-1] for path in ordered], dtype=np.int64)
    depth = np.array([len(path) for path in ordered], dtype=np.int64)
    return TokenTree(parents, tokens, depth, "iid")
