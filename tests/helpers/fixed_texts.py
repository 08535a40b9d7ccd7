"""Texts that tiny models write in cycles of fixed shapes, of chains or of trees."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.tiny_models import tiny_llama
from real.decode.graphs import Kept
from real.decode.loop import Decoded, decode_batch, keyed
from real.decode.tree_plan import TreeVerifier
from real.models.model import LanguageModel, from_hf
from specsim.trees import chain
from specsim.verify.chain import tokenwise

VOCAB = 8


def pair(seed: int = 0) -> tuple[LanguageModel, LanguageModel]:
    plain = (tiny_llama(VOCAB, seed=2 * seed + i, dtype=torch.float64, context=128) for i in (0, 1))
    target, draft = map(from_hf, plain)
    return target, draft


PAIR = pair()
TREE = TreeVerifier("traversal", [*chain(8), -1], "without_replacement")  # a path of eight beside a leaf
RULES = pytest.mark.parametrize("rule", [tokenwise, TREE], ids=["chains", "trees"])


def write(kept: Kept | None = None, batch: int = 2, key: int = 0, **options: Any) -> list[Decoded]:
    arguments = {"max_tokens": 12, "gamma": 3, "fixed": True, **options}
    target, draft = arguments.pop("models", PAIR)
    prompts = [[1, 2], [3], [4, 5, 6]][:batch]
    sources = [keyed(key, i) for i in range(batch)]
    return decode_batch(target, draft, prompts, uniforms=sources, kept=kept, **arguments)


def texts(runs: list[Decoded]) -> list[list[int]]:
    return [run.tokens for run in runs]


def tree(
    rule: str = "lifted",
    parents: Any = (-1, -1, 0, 2),
    scheme: str = "without_replacement",
    step: str | None = None,
) -> TreeVerifier:
    """Made anew for each text, as `Pair.generate` and a comparison do."""
    return TreeVerifier(rule, parents, scheme, step)
