"""Shipped drafters in the decode loop: the greedy text is the target's, and so is the law of three tokens.

Toys have the exact twins in `test_every_drafter.py`, where every run is followed. Here texts are drawn, from a law with
three tokens at each place, and counted: chi-square at the level 1e-4 for each drafter, with a fixed seed.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from helpers.drafted import greedy_texts
from helpers.texts import text_law
from scipy import stats

from real import TINY, load
from real.decode.loop import decode_batch, keyed
from real.decode.proposer import Drafter
from real.decode.warp import Warping
from real.draft import names, restricted
from real.models.model import LanguageModel, full_logits
from real.models.names import BEST_DRAFT
from real.named import drafter_named, drafters
from real.pair import Pair

LEVEL, SEED = 1e-4, 11
# Texts that are decoded together: rows of 49,152 tokens of many more would fill the memory.
TOGETHER = 50
# Three tokens at each place: 27 texts, so that each is expected often enough.
WARPING = Warping(1.3, top_k=3)
OF_SMOLLM2 = [name for name in drafters() if name.startswith("smollm2/")]
# Drafters for the bundled target: shipped weights, and what needs none.
OF_TINY = [name for name in drafters() if "/" not in name] + ["restricted"]
# One of each file, for the default suite.
QUICK = [name for name in OF_TINY if name not in ("exit_0", "exit_2", "exit_3")]


def pair_of(name: str) -> Pair:
    """The pair that a drafter is for; skip where SmolLM2's wheel is not installed."""
    try:
        return pair_named("smollm2" if name.startswith("smollm2/") else "tiny")
    except ValueError as error:
        if "is not installed" in str(error):
            pytest.skip(str(error))
        raise


@cache
def pair_named(name: str) -> Pair:
    """A pair, loaded once."""
    return load("smollm2", BEST_DRAFT) if name == "smollm2" else load(TINY / "target", TINY / "draft")


def drafter_of(name: str) -> tuple[LanguageModel, Drafter]:
    """The target and a shipped drafter; skip where its weights are made by each machine itself."""
    pair = pair_of(name)
    if name == "restricted":
        whole = drafter_named("lm", pair.target, pair.draft)
        return pair.target, restricted.drafter(whole, list(range(0, pair.target.vocab_size, 2)), None)
    try:
        return pair.target, drafter_named(name, pair.target, pair.draft)
    except ValueError as error:
        if "are not there" in str(error):
            pytest.skip(str(error))
        raise


@cache
def law_of(target_name: str, prompt: int) -> dict[tuple[int, ...], float]:
    """The target's law of three tokens after a token, by ancestral sampling from an uncached forward."""
    target = pair_of(target_name).target
    return text_law(lambda x: full_logits(target, torch.tensor(x)), [prompt], target.vocab_size, WARPING)


def counted(
    target: LanguageModel, drafter: Drafter | None, texts: int, prompt: int, warping: Warping
) -> Counter[tuple[int, ...]]:
    """How often the loop writes each text of three tokens, in blocks of two drafts; without a drafter alone."""
    counts: Counter[tuple[int, ...]] = Counter()
    options: dict[str, Any] = {"gamma": 2 if drafter else 0, "warping": warping, "proposer": drafter}
    for first in range(0, texts, TOGETHER):
        uniforms = [keyed(SEED, i) for i in range(first, min(first + TOGETHER, texts))]
        runs = decode_batch(target, None, [[prompt]] * len(uniforms), max_tokens=3, uniforms=uniforms, **options)
        counts.update(tuple(run.tokens) for run in runs)
    return counts


def p_value_of(counts: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> float:
    """The chance of counts that are as far from a law; 0 for a text that the law does not have."""
    if not counts.keys() <= law.keys():
        return 0.0
    # Texts that are expected less than five times are counted together.
    scale = counts.total() / sum(law.values())
    rows = sorted(((scale * mass, counts[text]) for text, mass in law.items()), reverse=True)
    expected, observed = np.array(rows).T
    often = max(1, int((expected >= 5).sum()))
    both = (np.append(values[: often - 1], values[often - 1 :].sum()) for values in (observed, expected))
    return float(stats.chisquare(*both).pvalue)


def p_value(name: str, texts: int, prompt: int = 5) -> float:
    """The chance of texts that are as far from the target's law, drawn with a shipped drafter."""
    counts = counted(*drafter_of(name), texts, prompt, WARPING)
    return p_value_of(counts, law_of("smollm2/" if "/" in name else "lm", prompt))


def assert_greedy_is_kept(name: str, prompts: list[str]) -> None:
    """The texts of three drafts a block are those of plain decoding, token by token."""
    target, drafter = drafter_of(name)
    ids = [list(pair_of(name).tokenizer(words)["input_ids"]) for words in prompts]
    assert greedy_texts(target, drafter, ids, 3) == greedy_texts(target, None, ids, 0)


def test_every_file_with_shipped_weights_is_here() -> None:
    files = {drafters()[name].__name__.rpartition(".")[2] for name in [*OF_SMOLLM2, *QUICK[:-1]]} | {"restricted"}
    assert files == set(names()) - {"one_pass"}  # no weights of it are shipped


@pytest.mark.parametrize("name", OF_TINY)
def test_greedy_text_is_the_targets(name: str) -> None:
    assert_greedy_is_kept(name, ["def read(self", "import os\n"])


@pytest.mark.parametrize("name", QUICK)
def test_law_of_three_tokens_is_the_targets(name: str) -> None:
    assert p_value(name, 300) > LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_TINY)
def test_law_is_the_targets_on_many_texts(name: str) -> None:
    assert p_value(name, 4000) > LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_SMOLLM2)
def test_greedy_text_is_that_of_smollm2(name: str) -> None:
    assert_greedy_is_kept(name, ["The sky is", "def read(self", "A prime number"])


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_SMOLLM2)
def test_law_is_that_of_smollm2(name: str) -> None:
    assert p_value(name, 600, prompt=504) > LEVEL


def test_the_check_of_a_law_can_fail() -> None:
    """Texts of the target at another temperature are told from its law at this one."""
    counts = counted(pair_of("lm").target, None, 300, 5, Warping(0.7, top_k=3))
    assert p_value_of(counts, law_of("lm", 5)) < LEVEL
