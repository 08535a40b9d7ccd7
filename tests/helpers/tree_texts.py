"""Texts written with trees: by the decode loop, every run forked, and by a loop without caches."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from helpers.texts import TEXT, Law, exact
from real.decode import trees_block
from real.decode.beams import BeamVerifier
from real.decode.loop import Block, Decoded, Uniforms, decode
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping, probabilities
from real.models.model import LanguageModel, full_logits
from specsim import verify_tree
from specsim.forking import rational
from specsim.trees import _siblings, beam_tree, beam_uniforms, depths, draw_tree, mask
from specsim.trees import uniforms as uniforms_of
from specsim.types import TokenTree


def forked_tree_law(
    target: LanguageModel, draft: LanguageModel, prompt: list[int], verifier: TreeVerifier, warping: Warping
) -> Law:
    """Law of the next TEXT tokens, summed over every run.

    The draw of each node's children and each decision forks.
    """
    # A tree of all levels is drafted only where one token more is wanted.
    law: Law = {}
    length = max(TEXT, verifier.depth + 1)

    def program(fork: rational.Fork) -> Decoded:
        """Decode once, with uniforms that fork."""

        def drawn(scheme: str, q: Any, u: Any, k: int, draws: Any) -> Any:
            """Draw siblings in Fractions."""
            tokens = _siblings.drawn(scheme, exact(q), fork.uniforms(*u.shape), k, draws)
            return np.asarray(tokens).astype(np.int64)

        def verify(plan: Any, u: Any) -> tuple[Any, ...]:
            """Verify in Fractions."""
            decided = verifier.rule.verify(plan, fork.uniforms(*u.shape))
            return tuple(np.asarray(w).astype(np.int64) for w in decided)

        # The rule in Fractions; the loop's own uniforms are not read.
        rule = ModuleType(verifier.rule.__name__)
        vars(rule).update(
            vars(verifier.rule),
            prepare=lambda p, q, tree, **options: verifier.rule.prepare(exact(p), exact(q), tree, **options),
            verify=verify,
        )
        forked = TreeVerifier(rule, verifier.parents, verifier.scheme, verifier.step, verifier.draws)
        with patch("real.decode.trees_block.drawn", drawn):
            return decode(
                target,
                draft,
                prompt,
                max_tokens=length,
                gamma=verifier.depth,
                uniforms=lambda position, count: torch.zeros(count, dtype=torch.float64),
                warping=warping,
                rule=forked,
            )

    for run, weight in rational.runs(program):
        text = tuple(run.tokens[:TEXT])
        law[text] = law.get(text, 0.0) + float(weight)
    return law


def law_of(model: LanguageModel, warping: Warping) -> Callable[[tuple[int, ...]], Any]:
    """Return the function from a text to the model's next-token law (V,), with nothing cached."""

    def law(text: tuple[int, ...]) -> Any:
        """Return the law after a text; tokens beyond the embeddings are read as 0."""
        read = [token if token < model.embeddings else 0 for token in text]
        return probabilities(full_logits(model, torch.tensor(read))[-1], warping).numpy()

    return law


def uncached_text(
    target: LanguageModel,
    draft: LanguageModel,
    prompt: list[int],
    verifier: TreeVerifier,
    *,
    max_tokens: int,
    uniforms: Uniforms,
    warping: Warping = Warping(),  # noqa: B008 - frozen
) -> tuple[list[int], list[Block]]:
    """Return tokens and blocks of a loop of `draw_tree` and `verify_tree`.

    Every row comes from a pass of its own.
    """
    text, blocks = list(prompt), list[Block]()
    end, models = len(prompt) + max_tokens, [law_of(model, warping) for model in (target, draft)]
    while len(text) < end:
        # The nodes of the levels that fit the text.
        levels = min(verifier.depth, end - len(text) - 1)
        nodes = np.flatnonzero(depths(verifier.parents) <= levels).tolist()
        parents = [nodes.index(verifier.parents[i]) if verifier.parents[i] >= 0 else -1 for i in nodes]

        # Draw the tree.
        split = uniforms_of(parents, verifier.scheme)
        u = uniforms(len(text), levels + verifier.uniforms(levels)).numpy()
        tree, q = draw_tree(
            models[1], parents, u[:split], scheme=verifier.scheme, draws=verifier.draws, prefix=tuple(text)
        )

        # Verify it by the target's laws after each path.
        paths = [[int(tree.tokens[j - 1]) for j in np.flatnonzero(row) if j] for row in mask(parents)]
        p = np.stack([models[0]((*text, *(max(token, 0) for token in path))) for path in paths])
        result = verify_tree(p, q, tree, u[split:], rule=verifier.rule, step=verifier.step, draws=verifier.draws)
        blocks.append(Block(len(text), levels, int(result.num_accepted)))
        text += [*paths[int(result.node)], int(result.token)]
    return text[len(prompt) :], blocks


def uncached_beam_text(
    target: LanguageModel,
    draft: LanguageModel,
    prompt: list[int],
    verifier: BeamVerifier,
    *,
    max_tokens: int,
    uniforms: Uniforms,
    warping: Warping = Warping(),  # noqa: B008 - frozen
) -> tuple[list[int], list[Block]]:
    """Return tokens and blocks of a loop of `beam_tree` and `verify_tree`.

    Beams have no shape until they are drawn.
    """
    text, blocks = list(prompt), list[Block]()
    end, models = len(prompt) + max_tokens, [law_of(model, warping) for model in (target, draft)]
    while len(text) < end:
        # Draw a beam of the levels that fit the text.
        levels = min(verifier.depth, end - len(text) - 1)
        u = uniforms(len(text), levels + verifier.uniforms(levels)).numpy()
        split = beam_uniforms(verifier.width, levels, verifier.vocab) if levels else 0
        if levels:
            drafted = beam_tree(models[1], u[:split], width=verifier.width, depth=levels, prefix=tuple(text))
            tree, q = drafted
        else:
            empty = np.zeros(0, dtype=np.int64)
            tree, q = TokenTree(empty, empty, empty, "beam"), models[0](tuple(text))[None]

        # Verify it by the target's laws after each path.
        paths = [[int(tree.tokens[j - 1]) for j in np.flatnonzero(row) if j] for row in mask(tree.parents)]
        p = np.stack([models[0]((*text, *path)) for path in paths])
        result = verify_tree(p, q, tree, u[split:][: verifier.own(tree)], rule=verifier.rule, step=verifier.step)
        blocks.append(Block(len(text), levels, int(result.num_accepted)))
        text += [*paths[int(result.node)], int(result.token)]
    return text[len(prompt) :], blocks


def planted(*lines: tuple[str, str]) -> ModuleType:
    """Return `trees_block` with some of its lines replaced; each must occur once."""
    source = inspect.getsource(trees_block)
    for old, new in lines:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    # A dataclass looks for its module in sys.modules.
    module = ModuleType("planted")
    with patch.dict(sys.modules, {"planted": module}):
        exec(compile(source, "planted", "exec"), vars(module))
    return module
