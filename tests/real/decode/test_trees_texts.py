"""One text, whatever the batch and the cache: trees are those of `draw_tree`, kept as `verify_tree` says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from helpers.tiny_models import tiny_llama
from helpers.tree_texts import planted, uncached_text
from hypothesis import given, settings
from hypothesis import strategies as st

from real.decode import trees_block, trees_cycle
from real.decode.loop import Block, at_tokens, decode, decode_batch, keyed
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping
from real.models.model import LanguageModel, from_hf
from specsim.trees import chain, k_ary, paths
from specsim.types import Draws
from specsim.verify.chain import block

VOCAB = 8
BIASED = Warping(logit_bias=((3, 1.0),))  # which no graph may hold


@cache
def models(seed: int) -> tuple[LanguageModel, LanguageModel]:
    target, draft = (
        from_hf(tiny_llama(VOCAB, seed=2 * seed + i, layers=2 - i, kv_heads=1, dtype=torch.float64)) for i in (0, 1)
    )
    return target, draft


def one_or_two(q: Any) -> Draws:
    return Draws(1, 0.5 + 0 * q[..., 0], 2)


@st.composite
def shapes(draw: st.DrawFn) -> list[int]:
    """Any shape of up to six nodes."""
    return [draw(st.integers(-1, i - 1)) for i in range(draw(st.integers(1, 6)))]


VERIFIERS = st.one_of(
    st.builds(TreeVerifier, st.just("tokenwise"), shapes(), st.sampled_from(["iid", "without_replacement", "greedy"])),
    st.builds(TreeVerifier, st.just("traversal"), shapes(), st.sampled_from(["iid", "without_replacement"])),
    st.builds(TreeVerifier, st.just("lifted"), shapes(), st.sampled_from(["iid", "without_replacement"])),
    st.builds(TreeVerifier, st.sampled_from(["target_only", "tokenwise"]), shapes(), st.just("deterministic")),
    st.builds(
        TreeVerifier,
        st.sampled_from(["multipath_block", "traversal", "tokenwise", "lifted"]),
        st.builds(paths, st.integers(1, 3), st.integers(1, 3)),
        st.just("paths"),
    ),
    st.builds(TreeVerifier, st.just("tokenwise"), st.just(k_ary((2, 2))), st.just("hub")),
    st.builds(TreeVerifier, st.just("tokenwise"), shapes(), st.just("iid"), st.just("kseq")),
    st.builds(TreeVerifier, st.just("lifted"), st.just(k_ary((2, 2))), st.just("distinct"), draws=st.just(one_or_two)),
)
CASES = st.fixed_dictionaries(
    {
        "verifier": VERIFIERS,
        "prompts": st.lists(st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=6), min_size=1, max_size=3),
        "max_tokens": st.integers(1, 10),
        "warping": st.sampled_from(
            [Warping(), Warping(0.5), Warping(0), Warping(top_k=6), Warping(logit_bias=((3, 1),))]
        ),
        "seed": st.integers(0, 3),
        "key": st.integers(0, 10**6),
    }
)


def assert_same_text(
    verifier: TreeVerifier, prompts: list[list[int]], max_tokens: int, warping: Warping, seed: int, key: int
) -> None:
    """Batched = one by one = in fixed shapes = `draw_tree` and `verify_tree` on uncached rows, token for token."""
    (target, draft), sources = models(seed), [keyed(key, i) for i in range(len(prompts))]
    rest: dict[str, Any] = {"max_tokens": max_tokens, "warping": warping}
    options = {"gamma": verifier.depth, "rule": verifier, **rest}
    batched = decode_batch(target, draft, prompts, uniforms=sources, **options)
    fixed = decode_batch(target, draft, prompts, uniforms=sources, fixed=not warping.logit_bias, **options)
    for i, prompt in enumerate(prompts):
        alone = decode(target, draft, prompt, uniforms=sources[i], **options)
        assert (alone.tokens, alone.blocks) == (batched[i].tokens, batched[i].blocks)
        assert (alone.tokens, alone.blocks) == (fixed[i].tokens, fixed[i].blocks)
        assert (alone.tokens, alone.blocks) == uncached_text(
            target, draft, prompt, verifier, uniforms=sources[i], **rest
        )


@settings(max_examples=16)
@given(case=CASES)
def test_same_uniforms_same_tokens(case: dict[str, Any]) -> None:
    assert_same_text(**case)


@pytest.mark.slow
@settings(max_examples=200)
@given(case=CASES)
def test_same_uniforms_same_tokens_in_many_cases(case: dict[str, Any]) -> None:
    assert_same_text(**case)


def assert_one_path_is_a_chain(rule: str, scheme: str, gamma: int, seed: int, key: int) -> None:
    target, draft = models(seed)
    options: dict[str, Any] = {"max_tokens": 14, "gamma": gamma, "uniforms": keyed(key, 0), "stop": at_tokens([5])}
    tree = decode(target, draft, [1, 2], rule=TreeVerifier(rule, chain(gamma), scheme), **options)
    by_block = decode(target, draft, [1, 2], rule=block, **options)
    assert (tree.tokens, tree.blocks) == (by_block.tokens, by_block.blocks)


CHAINS = (
    st.sampled_from([("traversal", "without_replacement"), ("traversal", "iid"), ("lifted", "iid")]),
    st.integers(1, 5),
    st.integers(0, 3),
    st.integers(0, 10**6),
)


@settings(max_examples=20)
@given(*CHAINS)
def test_one_path_is_a_chain_under_block(rule: tuple[str, str], gamma: int, seed: int, key: int) -> None:
    assert_one_path_is_a_chain(*rule, gamma, seed, key)


@pytest.mark.slow
@settings(max_examples=200)
@given(*CHAINS)
def test_one_path_is_a_chain_under_block_in_many_cases(rule: tuple[str, str], gamma: int, seed: int, key: int) -> None:
    assert_one_path_is_a_chain(*rule, gamma, seed, key)


def test_texts_end_at_stops_and_wait_for_none() -> None:
    """Texts of a batch end where they do alone, at a stop or at their length, wherever in a block that is."""
    (target, draft), verifier = models(0), TreeVerifier("traversal", k_ary((2, 1, 1)), "without_replacement")
    prompts: list[list[int]] = [[1, 2, 3], [4], [5, 0]]
    options: dict[str, Any] = {"gamma": 3, "rule": verifier, "max_tokens": 20}
    for fixed in (False, True):
        whole = decode_batch(target, draft, prompts, uniforms=[keyed(2, i) for i in range(3)], **options)
        for token in range(VOCAB):
            ends = at_tokens([token])
            cut = decode_batch(
                target, draft, prompts, uniforms=[keyed(2, i) for i in range(3)], stop=ends, fixed=fixed, **options
            )
            for run, long in zip(cut, whole, strict=True):
                assert run.tokens == long.tokens[: ends(long.tokens, 0)]


MOVES = TreeVerifier("traversal", k_ary((2, 2, 1)), "without_replacement")


@cache
def by_hand(key: int) -> tuple[list[int], list[Block]]:
    return uncached_text(*models(1), [1, 2, 3], MOVES, max_tokens=20, uniforms=keyed(key, 0))


def assert_text_by_hand(block: Callable[..., Any] = trees_block.block) -> None:
    """Texts of several seeds are those drafted and verified by hand: most blocks move a path, keep a leaf, or both."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trees_cycle, "block", block)
        for key in range(4):
            run = decode(*models(1), [1, 2, 3], max_tokens=20, gamma=3, uniforms=keyed(key, 0), rule=MOVES)
            assert (run.tokens, run.blocks) == by_hand(key)


def test_text_by_hand() -> None:
    assert_text_by_hand()


READ_FIRST = """        moved = by_slot[:, :, texts.sequences, source]
        by_slot[:, :, texts.sequences, goal] = moved
"""
ONE_BY_ONE = """        for j in reversed(range(path.shape[1])):
            by_slot[:, :, texts.sequences, goal[:, j : j + 1]] = by_slot[:, :, texts.sequences, source[:, j : j + 1]]
"""
SIBLINGS_TOO = "(plan.sees | (plan.depth[:, None] == torch.nn.functional.pad(plan.depth, (1, 1), value=-1)))"
MUTANTS: dict[str, tuple[tuple[str, str], ...]] = {
    "position is the slot": (("texts.root[:, None] + plan.depth\n", "slots.clone()\n"),),
    "siblings are visible": (("masked_fill_(~plan.sees,", f"masked_fill_(~{SIBLINGS_TOO},"),),
    "a path is written before it is read": ((READ_FIRST, ONE_BY_ONE),),
    "the draft's path stays where it was": (
        ("[cache.kv for cache in on.fixed.caches.values()]", "[on.fixed.caches['target'].kv]"),
    ),
    "a leaf is not read again": (
        ("slots = torch.stack([(texts.root - 1).clamp(min=0), texts.root], 1)", "slots = texts.root[:, None]"),
        ("texts.last, 1)", "texts.last[:, 1:], 1)"),
    ),
    "a leaf's law stands for one that was drawn from": (("[:, plan.law]", "[:, 0 * plan.law]"),),
    "draft and rule share a uniform": (("uniforms[:, plan.drawn :]", "uniforms[:, plan.drawn - 1 :]"),),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_lines_of_the_cycle_are_caught(name: str) -> None:
    with pytest.raises(AssertionError, match="assert"):
        assert_text_by_hand(planted(*MUTANTS[name]).block)
