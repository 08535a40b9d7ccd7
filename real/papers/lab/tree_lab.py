"""Blocks of trees on the bundled pair: laws and counts of any scheme, beams too, but no times.

The decode loop runs each scheme by itself, on texts of its own (`decoded`). To compare them at the
same starts both models read the same beginning here, and each block counts by its expectation given
the tree: the rule's own `transition` sums its coins out. One of the schemes writes the text, and
says where blocks start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.decode.beams import BeamVerifier
from real.decode.fixed import Fixed
from real.decode.loop import decode_batch, keyed
from real.decode.score import laws
from real.decode.tree_plan import TreeVerifier, planned
from real.decode.trees_block import Texts as Standing
from real.decode.trees_block import Trees, nodes_logits, place_of
from real.decode.warp import Warping, probabilities
from real.models.model import LanguageModel
from real.models.names import TINY_PAIR
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.text_lab import Tally
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

    def verifier(self, vocabulary: int) -> TreeVerifier | BeamVerifier:
        """The verifier of these trees for the decode loop."""
        if self.scheme != "beam":
            return TreeVerifier("tokenwise", self.shape, self.scheme, self.step)
        width, depth = self.shape
        return BeamVerifier("tokenwise", width, depth, vocabulary, self.step)


class Reader:
    """A model's law after any text; the common beginning of two texts is read once.

    Parameters
    ----------
    model : LanguageModel
        The model.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model, self._cache = model, model.cache()
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
            self._laws[text] = _law_of(logits)
        return self._laws[text]

    @torch.inference_mode()
    def ahead(self, text: tuple[int, ...], tree: TokenTree) -> None:
        """Read a tree after a text in one pass: the laws after all of its nodes are known then."""
        after = [(*text, *_path(tree, row)) for row in range(len(tree.parents) + 1)]
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
        self._laws.update(zip(after, _law_of(logits), strict=True))

    def _shared(self, text: tuple[int, ...]) -> int:
        """How many tokens of the text the cache holds."""
        pairs = enumerate(zip(self._read, text, strict=False))
        first = next((i for i, (a, b) in pairs if a != b), None)
        return min(len(self._read), len(text)) if first is None else first

    def forget(self) -> None:
        """Drop the laws of the block that has ended."""
        self._laws.clear()


class Starts(NamedTuple):
    """Where blocks start that all kinds share: a decode with one kind writes the texts."""

    # At least one token each.
    prompts: Sequence[list[int]]
    # The kind that writes.
    walk: str
    # Blocks of a text at most, and trees of each kind at each of their starts.
    blocks: int
    trees: int = 1
    # Name of the pair.
    pair: str = TINY_PAIR


def tallies(
    starts: Starts,
    kinds: Mapping[str, Kind],
    seed: int,
    show_stage: Callable[[str], None] = lambda words: None,
) -> dict[str, Tally]:
    """Expected tokens of blocks of every kind, at the starts of blocks of a decode with one kind.

    Parameters
    ----------
    starts : Starts
        The prompts, and how many blocks and trees.
    kinds : mapping of str to Kind
        Each verified tokenwise, its trees drawn by the same uniforms as the others'.
    seed : int
        Seed of the draws.
    show_stage : callable
        Called with the stage, for progress.

    Returns
    -------
    dict of str to Tally
        Tokens and blocks (prompts,) of each kind; a tree is a block. A text ends at the pair's end token.

    Raises
    ------
    ValueError
        A scheme that tokenwise verification does not know, or a text beyond a context.
    """
    both, stop = pair_named(starts.pair), ends(starts.pair)
    target, draft = Reader(both.target), Reader(both.draft)
    tokens = {name: np.zeros(len(starts.prompts)) for name in kinds}
    counts = np.zeros(len(starts.prompts))
    for i, prompt in enumerate(starts.prompts):
        show_stage(f"blocks of prompt {i + 1} of {len(starts.prompts)}")
        text = tuple(prompt)
        for block in range(starts.blocks):
            # Trees of all kinds, read in one pass of the target.
            keys = [[seed, i, block, *([tree] if tree else [])] for tree in range(starts.trees)]
            drawn = {
                name: [_drafted(draft, kind, text, np.random.default_rng(key)) for key in keys]
                for name, kind in kinds.items()
            }
            target.ahead(text, merged([drafted.tree for group in drawn.values() for drafted in group]))
            counts[i] += starts.trees

            # A block emits one token more than the depth of the accepted node.
            new: tuple[int, ...] = ()
            for name, kind in kinds.items():
                for place, drafted in enumerate(drawn[name]):
                    law = _law(target, kind, text, drafted)
                    tokens[name][i] += 1 + float(law.sum(axis=-1) @ np.array([0, *drafted.tree.depth]))
                    # The first tree of one kind writes the text.
                    if name == starts.walk and place == 0:
                        u = np.asarray(np.random.default_rng([seed, i, block, 1]).random())
                        node, token = divmod(int(pick(law.reshape(-1), u)), law.shape[-1])
                        new = (*_path(drafted.tree, node), token)
            text = (*text, *new)
            target.forget()
            draft.forget()
            if stop.intersection(new):
                break
    return {name: Tally(of_kind, counts) for name, of_kind in tokens.items()}


def merged(drafted: Sequence[TokenTree]) -> TokenTree:
    """Return one tree of the nodes of all trees, each text once; for a pass that reads them."""
    paths = {_path(tree, row) for tree in drafted for row in range(1, len(tree.parents) + 1)}
    ordered = sorted(paths, key=lambda path: (len(path), path))
    place = {path: i for i, path in enumerate(ordered)}
    parents = np.array([place.get(path[:-1], -1) for path in ordered], dtype=np.int64)
    tokens = np.array([path[-1] for path in ordered], dtype=np.int64)
    depth = np.array([len(path) for path in ordered], dtype=np.int64)
    return TokenTree(parents, tokens, depth, "iid")


def decoded(prompts: Sequence[list[int]], kind: Kind, length: int, seed: int, pair: str = TINY_PAIR) -> Tally:
    """Tokens and target calls (prompts,) of the decode loop with trees of a kind.

    It writes `length` tokens after each prompt, fewer where the pair's end token comes.
    """
    both = pair_named(pair)
    rule = kind.verifier(both.draft.vocab_size)
    runs = decode_batch(
        both.target,
        both.draft,
        prompts,
        max_tokens=length,
        gamma=rule.depth,
        uniforms=[keyed(seed, i) for i in range(len(prompts))],
        stop=ends(pair),
        rule=rule,
    )
    tokens, blocks = zip(*((len(run.tokens), len(run.blocks)) for run in runs), strict=True)
    return Tally(np.array(tokens, dtype=np.float64), np.array(blocks, dtype=np.float64))


def prompts_of(texts: Texts, count: int) -> list[list[int]]:
    """The first `count` different prompts of these texts."""
    _, first = np.unique(texts.group, return_index=True)
    return [texts.prompts[i] for i in first[:count]]


def laws_of(reader: Reader, text: tuple[int, ...], tree: TokenTree) -> Array:
    """A model's laws (n+1, V) after the text and after every node."""
    reader.ahead(text, tree)
    return np.stack([reader((*text, *_path(tree, row))) for row in range(len(tree.parents) + 1)])


def _drafted(
    draft: Reader,
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


def _law(target: Reader, kind: Kind, text: tuple[int, ...], drafted: Drafted) -> Array:
    """Joint law (n+1, V) of the accepted node and the token after it."""
    rule = tree_rule("tokenwise", kind.scheme)
    p = laws_of(target, text, drafted.tree)
    plan = rule.prepare(p, drafted.q, drafted.tree, **step_argument(rule, kind.step))
    law: Array = rule.transition(plan)
    return law


def _path(tree: TokenTree, row: int) -> tuple[int, ...]:
    """Tokens from the root down to a row; row 0 is the root."""
    tokens, node = list[int](), row - 1
    while node >= 0:
        tokens.append(int(tree.tokens[node]))
        node = int(tree.parents[node])
    return tuple(reversed(tokens))


def _law_of(logits: Tensor) -> Array:
    """Laws in float64, whose sums are 1."""
    law = probabilities(logits, PLAIN).double().numpy()
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
