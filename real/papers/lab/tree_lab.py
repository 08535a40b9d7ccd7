"""Blocks of trees on the bundled pair: laws and counts of any scheme, beams too, but no times.

The decode loop runs each scheme by itself, on texts of its own (`decoded`). To compare them at the
same starts both models read the same beginning here, and each block counts by its expectation given
the tree: the rule's own `transition` sums its coins out. One of the schemes writes the text, and
says where blocks start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.decode.fixed import Fixed
from real.decode.score import laws
from real.decode.tree_plan import planned
from real.decode.trees_block import Texts as Standing
from real.decode.trees_block import Trees, nodes_logits, place_of
from real.decode.warp import Warping, probabilities
from real.models.model import LanguageModel
from real.papers.lab.pairs import pair_named
from real.papers.lab.texts import Texts
from specsim import trees
from specsim.base.arrays import pick
from specsim.trees.drawn import Drafted
from specsim.types import Array, TokenTree
from specsim.verify.lookup import step_argument, tree_rule

PLAIN = Warping()
# Positions that a cache gets beyond those that it needs, so that it seldom grows.
ROOM = 256


class Kind(NamedTuple):
    """A kind of trees, and the step rule that verifies them."""

    # A scheme of `specsim.trees`, or "beam".
    scheme: str
    # Parents; for a beam its width and its depth.
    shape: Sequence[int]
    # The step rule of tokenwise verification, if it is not the scheme's default.
    step: str | None = None

    @property
    def nodes(self) -> int:
        """Drafted nodes a block."""
        return int(np.prod(self.shape)) if self.scheme == "beam" else len(self.shape)


class Reader:
    """A model's law after any text; the common beginning of two texts is read once.

    Parameters
    ----------
    model : LanguageModel
        The model.
    warping : Warping, optional
        The temperature of its laws, 1 by default.
    """

    def __init__(self, model: LanguageModel, warping: Warping = PLAIN) -> None:
        self._warping, self._cache = warping, model.cache()
        self._read: list[int] = []
        self._laws: dict[tuple[int, ...], Array] = {}
        every = torch.zeros(1, 1, dtype=torch.int64)
        self._on = Trees(Fixed({"": model}, {"": self._cache}, PLAIN, None, pick, every), None)

    def __call__(self, text: tuple[int, ...]) -> Array:
        """The law (V,) after a text of at least one token, float64."""
        text = tuple(map(int, text))
        if text not in self._laws:
            # The last token is read anew for its logits.
            shared = min(self._shared(text), len(text) - 1)
            self._cache.rollback(0, shared)
            logits = self._cache.forward(torch.tensor([text[shared:]]), 1)[0, 0]
            self._read = list(text)
            self._laws[text] = _law_of(logits, self._warping)
        return self._laws[text]

    @torch.inference_mode()
    def ahead(self, text: tuple[int, ...], tree: TokenTree) -> None:
        """Read a tree after a text in one pass: the laws after all of its nodes are known then."""
        after = [(*text, *path_to(tree, row)) for row in range(len(tree.parents) + 1)]
        if all(path in self._laws for path in after):
            return

        # Read the text but for its last token, which is the root of the tree.
        begun, shared = text[:-1], min(self._shared(text), len(text) - 1)
        self._cache.rollback(0, shared)
        if begun[shared:]:
            self._cache.forward(torch.tensor([begun[shared:]]), 0)
        self._read = list(begun)
        room = len(text) + len(tree.parents)
        if self._cache.kv.shape[-2] < room:
            self._cache.reserve(room + ROOM)

        # One pass over the root and all nodes.
        root = torch.tensor([len(begun)])
        here = Standing(
            torch.tensor([[0, text[-1]]]),
            root,
            self._on.fixed.sequences,
            None,
            len(text) + len(tree.parents),
        )
        parents = tuple(tree.parents.tolist())
        plan = planned(parents, "iid", int(tree.depth.max(initial=0))).held(root)
        tokens = torch.tensor([[text[-1], *tree.tokens.tolist()]])
        logits = nodes_logits(self._on, "", place_of(self._on, "", plan, here), here, tokens)[0]
        self._laws.update(zip(after, _law_of(logits, self._warping), strict=True))

    def _shared(self, text: tuple[int, ...]) -> int:
        """How many tokens of the text the cache holds."""
        pairs = enumerate(zip(self._read, text, strict=False))
        first = next((i for i, (a, b) in pairs if a != b), None)
        return min(len(self._read), len(text)) if first is None else first

    def forget(self) -> None:
        """Drop the laws of the block that has ended."""
        self._laws.clear()


def prompts_of(texts: Texts, count: int) -> list[list[int]]:
    """The first `count` different prompts of these texts."""
    _, first = np.unique(texts.group, return_index=True)
    return [texts.prompts[i] for i in first[:count]]


def laws_of(reader: Reader, text: tuple[int, ...], tree: TokenTree) -> Array:
    """A model's laws (n+1, V) after the text and after every node."""
    reader.ahead(text, tree)
    return np.stack([reader((*text, *path_to(tree, row))) for row in range(len(tree.parents) + 1)])


def drafted_tree(
    draft: Callable[[tuple[int, ...]], Array],
    kind: Kind,
    text: tuple[int, ...],
    rng: np.random.Generator,
) -> Drafted:
    """A drawn tree of a kind after a text."""
    if kind.scheme == "beam":
        width, depth = kind.shape
        u = rng.random(trees.beam_uniforms(width, depth, len(draft(text))))
        return trees.beam_tree(draft, u, width=width, depth=depth, prefix=text)
    u = rng.random(trees.uniforms(kind.shape, scheme=kind.scheme))
    return trees.draw_tree(draft, kind.shape, u, scheme=kind.scheme, prefix=text)


def block_law(target: Reader, kind: Kind, text: tuple[int, ...], drafted: Drafted) -> Array:
    """Joint law (n+1, V) of the accepted node and the token after it."""
    rule = tree_rule("tokenwise", kind.scheme)
    p = laws_of(target, text, drafted.tree)
    plan = rule.prepare(p, drafted.q, drafted.tree, **step_argument(rule, kind.step))
    law: Array = rule.transition(plan)
    return law


def path_to(tree: TokenTree, row: int) -> tuple[int, ...]:
    """Tokens from the root down to a row; row 0 is the root."""
    tokens, node = list[int](), row - 1
    while node >= 0:
        tokens.append(int(tree.tokens[node]))
        node = int(tree.parents[node])
    return tuple(reversed(tokens))


def _law_of(logits: Tensor, warping: Warping) -> Array:
    """Laws in float64, whose sums are 1."""
    law = probabilities(logits, warping).double().numpy()
    normalised: Array = law / law.sum(axis=-1, keepdims=True)
    return normalised


def rows(texts: Texts, each: int, temperature: float = 1.0) -> tuple[Array, Array]:
    """Laws (n * each, V) of target and draft, at `each` positions evenly spaced along each text."""
    p, q = (np.concatenate(parts) for parts in zip(*rows_by_text(texts, each, temperature), strict=True))
    return p, q


def rows_by_text(texts: Texts, each: int, temperature: float) -> Iterator[tuple[Array, Array]]:
    """Yield the laws (each, V) of target and draft for one text after the other: rows of 49,152 tokens are many."""
    both = pair_named(texts.pair)
    for prompt, text in zip(texts.prompts, texts.rows, strict=True):
        chosen = np.linspace(0, len(text) - 1, each).astype(np.int64)
        along = laws(both.target, both.draft, prompt, text, Warping(temperature))
        p, q = (w[chosen].double().numpy() for w in along)
        yield p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)
