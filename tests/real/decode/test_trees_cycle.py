"""Trees in the decode loop: logits of every node, laws of texts over every branch, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from helpers.texts import difference, text_law
from helpers.tiny_models import tiny_llama, tiny_qwen2, tiny_qwen3, tiny_windowed_qwen2
from helpers.tree_texts import forked_tree_law, planted, uncached_text

from real.decode import trees_block, trees_cycle
from real.decode.graphs import Graphs
from real.decode.loop import Loop, decode, decode_batch, keyed
from real.decode.options import DecodeOptions
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping
from real.models import llama
from real.models.model import LanguageModel, from_hf, full_logits
from specsim.trees import k_ary, mask, paths

VOCAB = 8


def models(vocab: int, seed: int, make: Callable[..., Any] = tiny_llama, **options: Any) -> list[LanguageModel]:
    return [from_hf(make(vocab, seed=s, dtype=torch.float64, **options)) for s in (2 * seed, 2 * seed + 1)]


ARCHITECTURES = {
    "llama": (tiny_llama, {"layers": 2, "hidden": 16, "heads": 4, "kv_heads": 2}),
    "qwen2": (tiny_qwen2, {"layers": 2}),
    "qwen3": (tiny_qwen3, {"layers": 2}),
    "windows": (tiny_windowed_qwen2, {"window": 2}),
}


def assert_logits_of_every_node(
    target: LanguageModel, draft: LanguageModel, prompts: list[list[int]], fixed: bool, module: ModuleType = trees_block
) -> int:
    """Over six blocks: each row of either model is that of an uncached pass over the text and a node's path."""
    rule = TreeVerifier("traversal", [-1, -1, -1, 0, 0, 1, 3, 5], "without_replacement")
    told: list[Any] = []
    honest, checked = trees_block.probabilities, 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trees_cycle, "block", module.block)
        patched.setattr(module, "probabilities", lambda logits, w: told.append(logits.clone()) or honest(logits, w))
        patched.setattr(rule.rule, "prepare", _told(rule.rule.prepare, told))
        sources = [keyed(3, i) for i in range(len(prompts))]
        loop = Loop(target, draft, prompts, 40, sources, DecodeOptions(rule.depth, rule=rule, fixed=fixed))
        for _ in range(6):
            ((length, group),) = loop.groups()
            texts = [list(text) for text in loop.texts]
            told.clear()
            out = loop.block(group, length)
            *levels, whole, tokens = told
            read = [(draft, logits, rows.rows) for logits, rows in zip(levels, rule.plan(length).levels, strict=True)]
            for model, logits, rows in [*read, (target, whole, np.arange(len(rule.parents) + 1))]:
                for i, row in [(i, row) for i in range(len(texts)) for row in range(len(rows))]:
                    path = [int(tokens[i, j - 1]) for j in np.flatnonzero(mask(rule.parents)[rows[row]]) if j]
                    alone = full_logits(model, torch.tensor([*texts[i], *path]))[-1]
                    assert float((logits[i, row] - alone).abs().max()) < 1e-10
                    checked += 1
            for i, new in zip(group, out, strict=True):
                loop.keep(i, new, length, lambda text, safe: None)
    return checked


def _told(prepare: Callable[..., Any], told: list[Any]) -> Callable[..., Any]:
    def telling(p: Any, q: Any, tree: Any, **more: Any) -> Any:
        told.append(np.array(tree.tokens.tolist()))
        return prepare(p, q, tree, **more)

    return telling


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("prompts", [[[0, 1, 2]], [[0, 1, 2], [3], [4, 4, 1, 0, 2]]], ids=["one", "ragged"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logits_of_every_node(name: str, prompts: list[list[int]], fixed: bool) -> None:
    make, options = ARCHITECTURES[name]
    assert assert_logits_of_every_node(*models(VOCAB, 5, make, **options), prompts, fixed) == 6 * 14 * len(prompts)


def test_a_window_that_counts_slots_is_caught() -> None:
    module = planted(("plan.depth[relative.clamp(0, len(plan.depths))], relative)", "relative, relative)"))
    target, draft = models(VOCAB, 5, tiny_windowed_qwen2, window=2)
    with pytest.raises(AssertionError, match="assert"):
        assert_logits_of_every_node(target, draft, [[0, 1, 2]], False, module)


FORKED = [
    ("tokenwise", "iid", (-1, -1, 0), 2),
    ("traversal", "without_replacement", (-1, -1, 0), 2),
    ("traversal", "without_replacement", (-1, -1, 0, 1), 2),
    ("lifted", "iid", (-1, -1, 0), 2),
    ("multipath_block", "paths", tuple(paths(2, 2).tolist()), 2),
    ("target_only", "deterministic", (-1, -1, 0), 3),
    pytest.param("tokenwise", "without_replacement", (-1, -1, 0), 3, marks=pytest.mark.slow),
    ("tokenwise", "without_replacement", (-1, -1, 0), 2),
]


@pytest.mark.parametrize(("rule", "scheme", "parents", "vocab"), FORKED)
def test_law_of_a_text_with_trees_is_the_targets(rule: str, scheme: str, parents: Any, vocab: int) -> None:
    """The law of three tokens, over every outcome of the draws of children and of the rule."""
    target, draft = models(vocab, 7)
    law = forked_tree_law(target, draft, [0, 1], TreeVerifier(rule, parents, scheme), Warping())
    assert difference(law, text_law(lambda x: full_logits(target, torch.tensor(x)), [0, 1], vocab, Warping())) < 1e-12


def test_a_tree_whose_draft_reports_another_law_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    target, draft = models(2, 7)
    goal = text_law(lambda x: full_logits(target, torch.tensor(x)), [0, 1], 2, Warping())
    monkeypatch.setattr(trees_block, "reported", lambda scheme, q, k: q**2 / (q**2).sum(-1, keepdims=True))
    law = forked_tree_law(target, draft, [0, 1], TreeVerifier("tokenwise", (-1, -1, 0), "iid"), Warping())
    assert difference(law, goal) > 1e-3


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("side", ["target", "draft"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_logits_without_a_law_stop_the_run(bad: float, side: str, fixed: bool) -> None:
    plain = {"target": tiny_llama(8, seed=0, dtype=torch.float64), "draft": tiny_llama(8, seed=1, dtype=torch.float64)}
    with torch.no_grad():
        plain[side].lm_head.weight[3] = bad
    target, draft = (from_hf(plain[name]) for name in ("target", "draft"))
    rule = TreeVerifier("traversal", k_ary((2, 2)), "without_replacement")
    with pytest.raises(ValueError, match=rf"block 0: the {side}'s logits at position 2 are not finite .*float64"):
        decode_batch(target, draft, [[1, 2]], max_tokens=12, gamma=2, uniforms=[keyed(7, 0)], rule=rule, fixed=fixed)


@pytest.mark.parametrize("side", ["target", "draft"])
def test_one_infinite_logit_of_a_tree_stops_the_run(side: str) -> None:
    """Of two tokens one has +inf whatever the sign of the hidden state, and no logit is NaN."""
    plain = {"target": tiny_llama(8, seed=0, dtype=torch.float64), "draft": tiny_llama(8, seed=1, dtype=torch.float64)}
    with torch.no_grad():
        plain[side].lm_head.weight[3, 0], plain[side].lm_head.weight[4, 0] = torch.inf, -torch.inf
    target, draft = (from_hf(plain[name]) for name in ("target", "draft"))
    rule = TreeVerifier("traversal", (-1, -1), "without_replacement")
    with pytest.raises(ValueError, match=rf"block 0: the {side}'s logits at position 2 are not finite"):
        decode_batch(target, draft, [[1, 2]], max_tokens=2, gamma=1, uniforms=[keyed(7, 0)], rule=rule)


@pytest.mark.parametrize("fixed", [False, True])
def test_models_that_cannot_read_every_token(fixed: bool) -> None:
    """What has no embedding is read as 0; whatever is kept is a token of the target."""
    rule = TreeVerifier("traversal", (-1, -1, 0, 1), "without_replacement")
    for read, heads in (((3, 5), 5), ((5, 3), 5)):
        target, draft = (
            replace(from_hf(tiny_llama(n, seed=6 + i, dtype=torch.float64)), vocab_size=heads)
            for i, n in enumerate(read)
        )
        for seed in range(2):
            options: dict[str, Any] = {"max_tokens": 12}
            (run,) = decode_batch(
                target, draft, [[1, 2]], uniforms=[keyed(seed, 0)], gamma=2, rule=rule, fixed=fixed, **options
            )
            assert max(run.tokens) < read[0]
            assert (run.tokens, run.blocks) == uncached_text(
                target, draft, [1, 2], rule, uniforms=keyed(seed, 0), **options
            )


def test_greedy_text_with_trees_is_the_greedy_text() -> None:
    for seed in range(2):
        target, draft = models(VOCAB, seed)
        options: dict[str, Any] = {"max_tokens": 20, "uniforms": keyed(0, 0), "warping": Warping(0)}
        plain = decode(target, None, [1, 2], gamma=0, **options)
        for rule, scheme in (("target_only", "deterministic"), ("traversal", "without_replacement"), ("lifted", "iid")):
            tree = TreeVerifier(rule, k_ary((2, 2, 1)), scheme)
            assert decode(target, draft, [1, 2], gamma=3, rule=tree, **options).tokens == plain.tokens


def test_a_loop_with_trees_goes_back() -> None:
    """After `rewind` the same uniforms write the same text, as for chains."""
    target, draft = models(VOCAB, 1)
    rule = TreeVerifier("traversal", k_ary((2, 1, 1)), "without_replacement")
    loop = Loop(target, draft, [[1, 2], [3]], 40, [keyed(0, 0), keyed(0, 1)], DecodeOptions(3, rule=rule))
    written = []
    for _ in range(2):
        for _ in range(4):
            for i, new in zip([0, 1], loop.block([0, 1], 3), strict=True):
                loop.keep(i, new, 3, lambda text, safe: None)
        written.append([list(text) for text in loop.texts])
        loop.texts = [text[:n] for text, n in zip(loop.texts, (2, 1), strict=True)]
        loop.rewind([2, 1])
    assert written[0] == written[1]


def test_a_cycle_of_trees_reads_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """On meta tensors, which hold no values, any look at one fails: a GPU could capture this cycle."""
    target, draft = (from_hf(tiny_llama(VOCAB, seed=s).to("meta")) for s in (0, 1))
    rule = TreeVerifier("traversal", k_ary((2, 1, 1)), "without_replacement")
    cycle = Graphs(target, draft, 2, 20, DecodeOptions(3, rule=rule))
    texts = torch.zeros(2, 3, dtype=torch.int64, device="meta")
    u = torch.zeros(2, 3 + rule.uniforms(3), dtype=torch.float64, device="meta")
    assert cycle._cycle(3)(texts, u).shape == (2, 2 + 3 + 4 + 3)

    def peeking(weights: Any, seen: Any, new: Any, place: Any, tokens: torch.Tensor, rows: int) -> torch.Tensor:
        bool(tokens.sum() > 0)
        return tokens

    monkeypatch.setattr(llama, "forward", peeking)
    with pytest.raises((RuntimeError, NotImplementedError)):
        cycle._cycle(3)(texts, u)
