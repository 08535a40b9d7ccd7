"""EAGLE-2's trees of an EAGLE layer along texts that the target wrote, many texts at once.

The rule is `target_only`: at each node the target draws its own token, and the block goes on for as
long as the tree has it. So the text does not depend on the trees, and a text that the target wrote
by itself is divided into the very blocks that the decode loop would make of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.draft._parts import Frozen, Look, frozen
from real.draft._rollout import last, shifted, triples
from real.models.model import full_states
from real.papers.lab.pairs import pair_named
from real.papers.lab.texts import Texts
from specsim.types import Array


class Shape(NamedTuple):
    """The shape of a tree."""

    # Nodes of a level that get children, and children that each of them gets.
    width: int
    # Levels below the root.
    levels: int
    # Nodes that are kept, the likeliest of all.
    nodes: int

    @property
    def kept(self) -> int:
        """Nodes of a tree: fewer than `nodes` if the levels have no more."""
        return min(self.nodes, self.width + (self.levels - 1) * self.width**2)


class Read(NamedTuple):
    """Texts with the target's states, in one batch.

    tokens: (b, n), the last token being repeated behind a text's end. before: (b, n, hidden), the
    target's state before each place. first, end: (b,), the last place of each prompt, and the number
    of places of each text. pair: its name.
    """

    tokens: Tensor
    before: Tensor
    first: Array
    end: Array
    pair: str


class Grown(NamedTuple):
    """Trees of b texts, by node (b, m): its token, the number of its parent (-1 for the root), and whether it is kept.

    Nodes are numbered level by level.
    """

    tokens: Tensor
    parents: Tensor
    kept: Tensor


@torch.no_grad()
def read(texts: Texts) -> Read:
    """Return texts with the states after the last layer of their target."""
    target = pair_named(texts.pair).target
    whole = [torch.tensor(prompt + text) for prompt, text in zip(texts.prompts, texts.rows, strict=True)]
    states = [full_states(target, tokens, last(target))[1][:, 0] for tokens in whole]

    # Pad them to the length of the longest.
    end = np.array([len(tokens) for tokens in whole])
    room = int(end.max())
    tokens = torch.stack([torch.cat([row, row[-1:].expand(room - len(row))]) for row in whole])
    padded = torch.nn.utils.rnn.pad_sequence(states, batch_first=True)
    return Read(tokens, shifted(padded), np.array([len(prompt) - 1 for prompt in texts.prompts]), end, texts.pair)


@torch.no_grad()
def blocks(net: Any, texts: Read, shape: Shape) -> Array:
    """Return how many blocks, or target calls, each text takes (b,)."""
    ends = frozen(pair_named(texts.pair).target, net.hidden, net.tokens)
    keys = net.keys(ends.three(triples(texts.tokens)), texts.before)
    calls, at = np.zeros(len(texts.end), dtype=np.int64), texts.first.copy()
    while (going := np.flatnonzero(at < texts.end - 1)).size:
        # A tree after each text that has not ended.
        rows, places = torch.from_numpy(going), torch.from_numpy(at[going])
        look = Look(keys[rows], places[:, None])
        recent = triples(texts.tokens[rows])[torch.arange(len(rows)), places]
        grown = grow(net, ends, look, recent, texts.before[rows, places], shape)

        # Follow the text into the tree; a token of the target's comes after the last node.
        for i, row in enumerate(going.tolist()):
            text = texts.tokens[row, int(at[row]) + 1 : int(texts.end[row])].tolist()
            at[row] += accepted(Grown(*(part[i] for part in grown)), text) + 1
        calls[going] += 1
    return calls


def accepted(tree: Grown, text: list[int]) -> int:
    """Return how many tokens of a text are a path of a tree (m,) from its root.

    >>> tree = Grown(torch.tensor([5, 6, 7, 8]), torch.tensor([-1, -1, 0, 1]), torch.tensor([True, True, True, False]))
    >>> [accepted(tree, text) for text in ([5, 7, 1], [6, 8], [7])]
    [2, 1, 0]
    """
    nodes = enumerate(zip(tree.parents.tolist(), tree.tokens.tolist(), tree.kept.tolist(), strict=True))
    children = {(parent, token): node for node, (parent, token, is_kept) in nodes if is_kept}
    node, depth = -1, 0
    for token in text:
        if (node, token) not in children:
            break
        node, depth = children[node, token], depth + 1
    return depth


def grow(net: Any, ends: Frozen, look: Look, recent: Tensor, before: Tensor, shape: Shape) -> Grown:
    """Grow EAGLE-2's tree after each text, as `specsim.trees.eagle2_tree` does of a single one.

    Parameters
    ----------
    net, ends : Feature, Frozen
        The layer; embedding and head.
    look : Look
        What the texts hold, and the last place (b, 1) of each.
    recent : Tensor, shape (b, 3)
        The last three tokens of each text.
    before : Tensor, shape (b, hidden)
        The state before its last place.
    shape : Shape
        Of the trees.
    """
    # The beam (b, w): three tokens that end at each node, what its parent carried, keys of the steps
    # above it, logarithm of the reach, and its number.
    recent, carried = recent[:, None], before[:, None]
    block_keys: list[Tensor] = []
    reach = carried.new_zeros(len(carried), 1)
    numbers = torch.full(reach.shape, -1)
    tokens, parents, reaches = list[Tensor](), list[Tensor](), list[Tensor]()
    for level in range(shape.levels):
        # The likeliest children (b, w, width) of each node of the beam.
        step = net.step(level, ends.three(recent), carried, block_keys, look)
        likeliest = ends.rows(step.read).log_softmax(-1).topk(shape.width)
        child_tokens = likeliest.indices if ends.tokens is None else ends.tokens[likeliest.indices]
        child_reach = reach[..., None] + likeliest.values
        first = sum(part.shape[1] for part in tokens)
        tokens.append(child_tokens.flatten(1))
        parents.append(numbers.repeat_interleave(shape.width, 1))
        reaches.append(child_reach.flatten(1))

        # The likeliest of them are the next beam.
        reach, chosen = reaches[-1].topk(shape.width)
        numbers, above = first + chosen, chosen // shape.width
        new = tokens[-1].gather(1, chosen)
        recent = torch.cat([_rows(recent, above)[..., 1:], new[..., None]], -1)
        carried = _rows(step.carried, above)
        block_keys = [_rows(part, above) for part in step.block_keys]

    # The likeliest of all nodes are kept.
    reached = torch.cat(reaches, 1)
    kept = torch.zeros_like(reached, dtype=torch.bool).scatter(1, reached.topk(shape.kept).indices, True)
    return Grown(torch.cat(tokens, 1), torch.cat(parents, 1), kept)


def _rows(values: Tensor, chosen: Tensor) -> Tensor:
    """Return the chosen rows (b, k, n) of values (b, m, n), by their numbers (b, k)."""
    return values.gather(1, chosen[..., None].expand(-1, -1, values.shape[-1]))
