"""EAGLE-2's trees of a layer, many texts at once: they are those of one text, and the blocks those of a loop."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from real.draft import feature
from real.draft._parts import Look, frozen
from real.draft._rollout import rolled, triples
from real.papers.lab import eagle_trees
from real.papers.lab.eagle_trees import Grown, Read, Shape
from real.papers.lab.texts import Texts, texts
from real.papers.lab.tree_lab import Reader
from real.papers.lab.writing import pair
from specsim import trees
from specsim.base.arrays import pick
from specsim.types import Array, TokenTree

SHAPE = Shape(width=3, levels=3, nodes=7)


@cache
def few() -> Texts:
    """Three test texts of 12, 12 and 7 tokens."""
    of_test = texts(1.0).of("test", 3)
    tokens = of_test.tokens[:, :12].copy()
    tokens[2, 7:] = -1
    return of_test._replace(tokens=tokens, prompts=[p[i:] for i, p in enumerate(of_test.prompts)])


def layer(tokens: list[int] | None = None) -> Any:
    """Return EAGLE's layer of the bundled target, with a head of these tokens."""
    net: Any = feature.shipped()
    net.tokens = None if tokens is None else torch.tensor(tokens, dtype=torch.int32)
    return net


def grown_after(net: Any, read: Read, shape: Shape, places: Array) -> Grown:
    """Return the trees of all texts after these places."""
    ends = frozen(pair().target, net.hidden, net.tokens)
    with torch.no_grad():
        rows, at = torch.arange(len(places)), torch.from_numpy(places)
        three = triples(read.tokens)
        look = Look(net.keys(ends.three(three), read.before), at[:, None])
        return eagle_trees.grow(net, ends, look, three[rows, at], read.before[rows, at], shape)


def paths_of(grown: Grown, i: int) -> set[tuple[int, ...]]:
    """Return the texts in the tree of text i."""
    tokens, parents = grown.tokens[i].tolist(), grown.parents[i].tolist()
    paths: list[tuple[int, ...]] = []
    for token, parent in zip(tokens, parents, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), token))
    return {path for path, is_kept in zip(paths, grown.kept[i].tolist(), strict=True) if is_kept}


@pytest.mark.parametrize("tokens", [None, list(range(0, 2048, 3))])
def test_trees_are_those_of_one_text_that_is_grown_by_itself(tokens: list[int] | None) -> None:
    """The law after a path is that of a block whose drafts are the path."""
    net, read = layer(tokens), eagle_trees.read(few())
    ends = frozen(pair().target, net.hidden, net.tokens)
    grown = grown_after(net, read, SHAPE, read.first)
    for i, last in enumerate(read.first.tolist()):

        def law(path: tuple[int, ...], i: int = i, last: int = last) -> Array:
            """Return the layer's law after a path that begins at the prompt's end."""
            whole = torch.cat([read.tokens[i, : last + 1], torch.tensor(path, dtype=torch.int64)])[None]
            before = torch.zeros(1, whole.shape[1], net.hidden)
            before[:, : last + 1] = read.before[i, : last + 1]
            with torch.no_grad():
                steps = list(rolled(net, ends, whole, before, torch.tensor([last]), len(path) + 1))
                values = ends.logits(steps[-1].read[0, 0]).double().softmax(-1).numpy()
            return np.asarray(values / values.sum())

        alone = trees.eagle2_tree(law, top_k=SHAPE.width, depth=SHAPE.levels, nodes=SHAPE.nodes).tree
        numbers = torch.tensor(np.array([alone.tokens, alone.parents]))[:, None]
        whole = Grown(numbers[0], numbers[1], torch.ones(1, 7).bool())
        assert paths_of(grown, i) == paths_of(whole, 0)


def test_a_text_has_the_blocks_that_a_loop_with_tree_attention_makes() -> None:
    """The target reads each tree in one pass, draws its own token at each node, and follows it."""
    net, length = layer(), 12
    prompt, uniforms = few().prompts[0], np.random.default_rng(5).random(length + SHAPE.levels)
    target, text, blocks = Reader(pair().target), list[int](), 0
    while len(text) < length:
        # A tree after the text, which the target reads at once.
        so_far = Texts([prompt], np.array([[*text, 0]]), np.array(["test"]), np.array([0]))
        read = eagle_trees.read(so_far)
        grown = grown_after(net, read, SHAPE, read.end - 2)
        nodes, where = grown.kept[0].nonzero()[:, 0].tolist(), {-1: -1}
        where |= {node: row for row, node in enumerate(nodes)}
        parents = np.array([where[int(grown.parents[0, node])] for node in nodes])
        tokens = grown.tokens[0, nodes].numpy()
        depth = trees.depths(parents)
        before = (*prompt, *text)
        target.ahead(before, TokenTree(parents, tokens, depth, "deterministic"))

        # Draw the target's tokens, into the tree and one beyond.
        node = -1
        while True:
            token = int(pick(target((*prompt, *text)), uniforms[len(text)]))
            text.append(token)
            children = [row for row in np.flatnonzero(parents == node) if tokens[row] == token]
            if not children:
                break
            node = int(children[0])
        blocks += 1
        target.forget()

    # The same text, written before.
    written = Texts([prompt], np.array([text]), np.array(["test"]), np.array([0]))
    assert eagle_trees.blocks(net, eagle_trees.read(written), SHAPE).tolist() == [blocks]
    assert blocks < len(text)


def test_texts_do_not_see_each_other() -> None:
    """Each has the blocks that it has alone, whatever the length of the others."""
    together = eagle_trees.blocks(layer(), eagle_trees.read(few()), SHAPE)
    alone = []
    for i in range(3):
        part = few()._replace(prompts=[few().prompts[i]], tokens=few().tokens[i : i + 1])
        alone += eagle_trees.blocks(layer(), eagle_trees.read(part), SHAPE).tolist()
    assert together.tolist() == alone
    assert all(1 <= calls <= length for calls, length in zip(alone, few().lengths.tolist(), strict=True))


def test_a_tree_of_few_levels_has_fewer_nodes() -> None:
    assert [Shape(4, levels, 8).kept for levels in (1, 2, 3)] == [4, 8, 8]
