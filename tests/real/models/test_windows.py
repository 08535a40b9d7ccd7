"""Models whose layers look back a few positions only: whole caches and masks, beyond the window, on both paths."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from helpers.replay import alone, draw_tokens, replay_error
from helpers.texts import difference, forked_text_law, text_law
from helpers.tiny_models import WINDOWED, tiny_mistral, tiny_windowed_mistral
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformers import DynamicCache

from real.decode.loop import decode, decode_batch, keyed
from real.decode.warp import Warping
from real.models import llama, store, weights
from real.models.model import LanguageModel, from_hf, full_logits
from specsim.verify.chain import block, tokenwise

VOCAB, WINDOW = 11, 5
FAST = ["mistral", "qwen2", "qwen3"]
RUNS = [(name, True) for name in FAST] + [(name, False) for name in WINDOWED]


class Double(TorchFunctionMode):
    """Models that round to float32 inside a float64 model do not: else nothing below 1e-7 could be seen."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is Tensor.float and args[0].dtype == torch.float64:
            return args[0]
        if func is Tensor.to and args[0].dtype == torch.float64 and torch.float32 in (*args, *kwargs.values()):
            return args[0]
        if kwargs.get("dtype") == torch.float32 and getattr(args[0], "dtype", None) == torch.float64:
            kwargs.pop("dtype")
        return func(*args, **kwargs)


@cache
def plain(name: str, vocab: int = VOCAB, seed: int = 1) -> Any:
    return WINDOWED[name](vocab, WINDOW, seed=seed, dtype=torch.float64)


@cache
def wrapped(name: str, fast: bool, vocab: int = VOCAB, seed: int = 1) -> LanguageModel:
    return from_hf(plain(name, vocab, seed), fast=fast)


@pytest.mark.parametrize("name", WINDOWED)
def test_which_path_runs_which_model(name: str) -> None:
    model = wrapped(name, True)
    assert (model.weights is not None) == (name in FAST)
    if model.weights is not None:
        assert model.weights.window == WINDOW
        assert [layer.windowed for layer in model.weights.layers] == [name == "mistral", True]


ragged = st.lists(
    st.tuples(st.sets(st.integers(0, 2), min_size=1).map(sorted), st.integers(1, 6), st.integers(0, 8)),
    min_size=4,
    max_size=10,
)


@pytest.mark.parametrize(("name", "fast"), RUNS)
@settings(max_examples=6, deadline=None)
@given(steps=ragged, seed=st.integers(0, 10**6))
def test_cached_equals_uncached(name: str, fast: bool, steps: list[tuple[list[int], int, int]], seed: int) -> None:
    with Double():
        assert replay_error(wrapped(name, fast), steps, seed, batch=3) < 1e-10


@pytest.mark.parametrize(("name", "fast"), RUNS)
def test_one_by_one_up_to_the_context_and_far_back(name: str, fast: bool) -> None:
    """A rollback by more than three windows, which a ring has long written over."""
    with Double():
        assert replay_error(wrapped(name, fast), alone([(1, 0)] * 40 + [(4, 20), (1, 0), (6, 0)]), 0) < 1e-10
        assert replay_error(wrapped(name, fast), alone([(6, 3), (2, 1), (6, 0)]), 0, slip=1) > 0.01


@pytest.mark.parametrize(("name", "fast"), RUNS)
def test_logits_are_those_of_the_library(name: str, fast: bool) -> None:
    """In one pass, and token by token over the library's own cache, which keeps the window only."""
    tokens = draw_tokens(VOCAB, 40, 7)
    ring = DynamicCache(config=plain(name).config)
    step = lambda token: plain(name)(token[None, None], past_key_values=ring, use_cache=True).logits[0]  # noqa: E731
    with torch.no_grad(), Double():
        expected = plain(name)(tokens[None]).logits[0]
        rows = [step(token) for token in tokens]
        found = full_logits(wrapped(name, fast), tokens)
    held = {layer.keys.shape[2] for layer in ring.layers}
    assert min(held) < WINDOW  # the library does forget: its cache is another way to the same law
    assert expected.std() > 0.5
    for other in (torch.cat(rows), found):
        torch.testing.assert_close(other, expected, rtol=0, atol=1e-9)


def _sees_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, "nearby", lambda model, mask, positions, held: mask)


def _sees_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = llama.nearby
    monkeypatch.setattr(llama, "nearby", lambda model, mask, positions, held: honest(model, mask, positions, held + 1))


def _counts_from_the_first_new_token(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = llama.nearby
    monkeypatch.setattr(
        llama, "nearby", lambda model, mask, at, held: honest(model, mask, at[:, :1].expand_as(at), held)
    )


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("plant", [_sees_everything, _sees_one_more, _counts_from_the_first_new_token])
def test_planted_masks_are_caught(
    name: str, plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = draw_tokens(VOCAB, 40, 7)
    with torch.no_grad():
        expected = plain(name)(tokens[None]).logits[0]
    plant(monkeypatch)
    assert float((full_logits(wrapped(name, True), tokens) - expected).abs().max()) > 0.01


@pytest.mark.parametrize("name", WINDOWED)
def test_a_ring_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's cache as it is: rolled back beyond its window, it refuses or goes on from what it has."""
    monkeypatch.setattr(store, "whole_cache", lambda config: DynamicCache(config=config))
    with pytest.raises((RuntimeError, AssertionError)), Double():
        assert replay_error(wrapped(name, False), alone([(6, 0), (6, 4), (3, 0)]), 0) < 1e-10


def test_a_place_without_the_mask_of_the_window_is_refused() -> None:
    held = wrapped("mistral", True).weights
    assert held is not None
    kv = store.Llama(held, 1)
    kv.reserve(WINDOW + 1)
    layers, tokens = store.layers(kv.kv), torch.zeros(1, WINDOW + 1, dtype=torch.int64)
    place = llama.Place(held.cos[: WINDOW + 1], held.sin[: WINDOW + 1], None)
    with pytest.raises(ValueError, match=r"place\.near is missing: the model has layers with a window of 5 positions"):
        llama.forward(held, layers, layers, place, tokens, 1)


def test_a_mistral_masks_every_layer_whatever_their_types_say() -> None:
    odd = tiny_mistral(VOCAB, sliding_window=4, layer_types=["full_attention"], dtype=torch.float64)
    assert weights.supports(odd)
    tokens = draw_tokens(VOCAB, 20, 3)
    with torch.no_grad():
        expected = odd(tokens[None]).logits[0]
    torch.testing.assert_close(full_logits(from_hf(odd), tokens), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("name", "fast"), RUNS)
@pytest.mark.parametrize("chain", [tokenwise, block], ids=["tokenwise", "block"])
def test_law_of_decode_beyond_the_window(name: str, fast: bool, chain: Any) -> None:
    """Every run of the loop forked, as for Llama in `test_decode`: the target's own law, to 1e-10."""
    target, draft = (wrapped(name, fast, 2, seed) for seed in (2, 3))
    prompt, warping = [0, 1, 1, 0, 1, 0, 0], Warping(temperature=0.8)
    assert len(prompt) > WINDOW
    with Double():
        law = forked_text_law(target, draft, prompt, 2, warping, chain=chain)
        uncached = text_law(lambda x: full_logits(target, torch.tensor(x)), prompt, 2, warping)
        with torch.no_grad():
            library = text_law(lambda x: plain(name, 2, 2)(torch.tensor([x])).logits[0], prompt, 2, warping)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert difference(law, uncached) < 1e-10
    assert difference(law, library) < 1e-9


@pytest.mark.parametrize("name", FAST)
def test_same_uniforms_same_tokens_on_every_path(name: str) -> None:
    """Batched = one by one = the generic path = fixed shapes, texts of several lengths around the window."""
    (target, draft), generic = ([wrapped(name, fast, seed=s) for s in (2, 3)] for fast in (True, False))
    prompts = [[1], [2, 3, 4, 5], list(range(9))]
    options: dict[str, Any] = {"max_tokens": 17, "gamma": 3}
    for key in range(2):
        sources = [keyed(key, i) for i in range(3)]
        batched = [r.tokens for r in decode_batch(target, draft, prompts, uniforms=sources, **options)]
        each = [decode(target, draft, p, uniforms=u, **options).tokens for p, u in zip(prompts, sources, strict=True)]
        library = [r.tokens for r in decode_batch(*generic, prompts, uniforms=sources, **options)]
        fixed = [r.tokens for r in decode_batch(target, draft, prompts, uniforms=sources, fixed=True, **options)]
        assert batched == each == library == fixed


def test_what_a_whole_cache_costs() -> None:
    """Bytes as without a window: 2 (keys, values) x 2 layers x 2 heads x 64 positions x 4 numbers of 8 bytes."""
    for window in (None, WINDOW):
        model = from_hf(tiny_windowed_mistral(VOCAB, window, dtype=torch.float64))  # type: ignore[arg-type]
        cache = model.cache()
        cache.reserve(64)
        assert cache.kv.nbytes == 2 * 2 * 2 * 64 * 4 * 8
