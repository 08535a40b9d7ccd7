"""Stochastic beams in the decode loop: texts of `beam_tree` and `verify_tree` on uncached rows, token for token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.decoding import models as pair_of
from helpers.tiny_models import tiny_llama, tiny_windowed_qwen2
from helpers.tree_texts import uncached_beam_text

from real.decode import beams
from real.decode.beams import BeamVerifier
from real.decode.loop import decode, decode_batch, keyed
from real.decode.warp import Warping
from real.models.model import LanguageModel, from_hf

VOCAB = 8
PROMPTS: list[list[int]] = [[1, 2, 3], [4], [5, 0, 7, 7, 1]]
VERIFIERS = {
    "tokenwise": BeamVerifier("tokenwise", 3, 3, VOCAB),
    "traversal": BeamVerifier("traversal", 2, 3, VOCAB),
    "lifted": BeamVerifier("lifted", 2, 2, VOCAB),
    "target_only": BeamVerifier("target_only", 3, 2, VOCAB),
    "wider than the vocabulary": BeamVerifier("traversal", 12, 2, VOCAB),
    "one sequence": BeamVerifier("tokenwise", 1, 3, VOCAB),
}


def models(seed: int, make: Any = tiny_llama, **options: Any) -> list[LanguageModel]:
    return [from_hf(make(VOCAB, seed=2 * seed + i, layers=2 - i, dtype=torch.float64, **options)) for i in (0, 1)]


def assert_text_by_hand(verifier: BeamVerifier, warping: Warping, pair: list[LanguageModel], key: int) -> int:
    """In a batch as by hand; how many drafts were kept."""
    rest: dict[str, Any] = {"max_tokens": 12, "warping": warping}
    sources = [keyed(key, i) for i in range(len(PROMPTS))]
    runs = decode_batch(*pair, PROMPTS, gamma=verifier.depth, uniforms=sources, rule=verifier, **rest)
    for prompt, source, run in zip(PROMPTS, sources, runs, strict=True):
        assert (run.tokens, run.blocks) == uncached_beam_text(*pair, prompt, verifier, uniforms=source, **rest)
    return sum(block.accepted for run in runs for block in run.blocks)


@pytest.mark.parametrize("drafts_for_itself", [False, True])
def test_a_text_by_hand(drafts_for_itself: bool) -> None:
    """Paths are moved, and of a block that is kept whole the leaf is read again."""
    target, draft = models(1)
    draft = target if drafts_for_itself else draft
    verifier = BeamVerifier("tokenwise", 2, 3, VOCAB)
    run = decode(target, draft, [1, 2], max_tokens=13, gamma=3, uniforms=keyed(3, 0), rule=verifier)
    by_hand = uncached_beam_text(target, draft, [1, 2], verifier, uniforms=keyed(3, 0), max_tokens=13)
    assert (run.tokens, run.blocks) == by_hand
    kept = [block.accepted for block in run.blocks]
    assert kept == [3, 3, 3, 0] if drafts_for_itself else max(kept[:-1]) > 0


def test_beams_that_are_absent_by_hand() -> None:
    """Of five beams a law of two tokens fills two and then four; what is below the others is nothing."""
    verifier, told = BeamVerifier("traversal", 5, 2, VOCAB), {"max_tokens": 7, "warping": Warping(0.7, top_k=2)}
    run = decode(*models(1), [1, 2], gamma=2, uniforms=keyed(3, 0), rule=verifier, **told)
    by_hand = uncached_beam_text(*models(1), [1, 2], verifier, uniforms=keyed(3, 0), **told)
    assert (run.tokens, run.blocks) == by_hand


@pytest.mark.parametrize("warping", [Warping(), Warping(0), Warping(0.7, top_k=2)], ids=["plain", "greedy", "few"])
@pytest.mark.parametrize("name", VERIFIERS)
def test_texts_by_hand(name: str, warping: Warping) -> None:
    assert assert_text_by_hand(VERIFIERS[name], warping, models(1), 3) > 0


def test_texts_by_hand_under_a_window() -> None:
    assert assert_text_by_hand(VERIFIERS["tokenwise"], Warping(), models(5, tiny_windowed_qwen2, window=2), 1) > 0


def test_a_text_is_its_own() -> None:
    pair, verifier = models(2), VERIFIERS["tokenwise"]
    told: dict[str, Any] = {"max_tokens": 14, "gamma": 3, "rule": verifier}
    batch = decode_batch(*pair, PROMPTS, uniforms=[keyed(7, i) for i in range(3)], **told)
    alone = [decode(*pair, prompt, uniforms=keyed(7, i), **told) for i, prompt in enumerate(PROMPTS)]
    assert [(run.tokens, run.blocks) for run in alone] == [(run.tokens, run.blocks) for run in batch]


def test_greedy_text_is_the_greedy_text() -> None:
    _, target, draft = pair_of(VOCAB, seed=3)
    prompts = [[i, j] for i in range(8) for j in range(8)]
    told: dict[str, Any] = {"max_tokens": 4, "warping": Warping(0), "uniforms": [keyed(0, i) for i in range(64)]}
    beam = decode_batch(target, draft, prompts, gamma=2, rule=VERIFIERS["lifted"], **told)
    assert [run.tokens for run in beam] == [run.tokens for run in decode_batch(target, None, prompts, gamma=0, **told)]


def test_it_counts_enough_uniforms_for_any_shape() -> None:
    """A beam whose parents are as unequal as can be needs no more than was asked for."""
    for rule in ("tokenwise", "traversal"):
        for width, depth, vocab in ((3, 3, 8), (4, 3, 2)):
            verifier = BeamVerifier(rule, width, depth, vocab)
            room = depth + verifier.uniforms(depth) - verifier.drawn(depth)
            rng = np.random.default_rng(0)
            for _ in range(8):
                q = rng.dirichlet(np.full(vocab, 0.1))
                tree = beams.tree_of(*_levels(q, rng, width, depth)).tree
                assert verifier.own(tree) <= room


def _levels(q: Any, rng: Any, width: int, depth: int) -> tuple[Any, Any]:
    levels, rows = [], [q]
    for _ in range(depth):
        levels.append(beams.grown(rows, levels[-1] if levels else None, rng.random(len(rows) * len(q)), width))
        rows = [q] * len(levels[-1].tokens)
    places = [list(zip(level.tokens.tolist(), level.parents.tolist(), strict=True)) for level in levels]
    return places, [level.q for level in levels]


@pytest.mark.parametrize(("whose", "block"), [(0, "block 1: the target's"), (1, "block 1: the draft's")])
def test_logits_without_a_law_are_told(whose: int, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, calls = beams.nodes_logits, [0]

    def broken(on: Any, name: str, *rest: Any) -> Any:
        calls[0] += name == "target"
        bad = calls[0] > 1 if name == "target" else calls[0] == 1
        return honest(on, name, *rest) * (float("nan") if bad and name == ("target", "draft")[whose] else 1)

    monkeypatch.setattr(beams, "nodes_logits", broken)
    with pytest.raises(ValueError, match=f"^{block} logits at position"):
        decode(*models(1), [1, 2], max_tokens=20, gamma=3, rule=VERIFIERS["tokenwise"], uniforms=keyed(0, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 4}, "gamma is 4, but the tree has 3 levels"),
        ({"warping": Warping(repetition_penalty=1.2)}, "repetition_penalty is 1.2; with trees it must be 1"),
        ({"fixed": True}, "fixed: a beam cannot run in fixed shapes"),
        ({"rule": BeamVerifier("tokenwise", 2, 3, 9)}, "the rule is for 9 tokens; the target has 8"),
    ],
)
def test_what_cannot_run(change: dict[str, Any], message: str) -> None:
    told: dict[str, Any] = {"gamma": 3, "rule": VERIFIERS["tokenwise"], "max_tokens": 8, **change}
    with pytest.raises(ValueError, match=message):
        decode_batch(*models(1), [[1, 2]], uniforms=[keyed(0, 0)], **told)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"depth": 0}, "depth must be at least 1, got 0"),
        ({"vocab": 0}, "vocab must be at least 1, got 0"),
        ({"width": 4096}, "the number of nodes"),
        ({"vocab": 2**24}, "the number of uniforms of a block"),
        ({"rule": "multipath_block"}, "multipath_block"),
        ({"rule": "traversal", "step": "kseq"}, "step"),
    ],
)
def test_refusals(told: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(VERIFIERS["tokenwise"], **told)
