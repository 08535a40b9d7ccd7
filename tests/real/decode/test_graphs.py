"""What cycles of fixed shapes keep, and let go: memory, captures, and the texts of earlier calls."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from helpers.fixed_texts import PAIR, RULES, TREE, VOCAB, texts, tree, write
from helpers.tiny_models import tiny_llama
from hypothesis import given, settings
from hypothesis import strategies as st

import real
from real.decode import graphs
from real.decode.graphs import Graphs, Kept
from real.decode.loop import Loop, keyed
from real.decode.options import DecodeOptions
from real.models import llama, store
from real.models.model import from_hf
from real.studies.forced.measure import Forced
from specsim.trees import chain
from specsim.verify.chain import block, tokenwise


def alive_after_return(monkeypatch: pytest.MonkeyPatch, rule: Any, kept: Kept | None = None) -> list[bool]:
    """Of every cycle and every tensor of keys and values that three calls make: whether it outlives them, gc off."""
    made: list[weakref.ref[Any]] = []
    reserve, begin = store.Llama.reserve, Graphs.__init__

    def reserving(self: store.Llama, capacity: int) -> None:
        reserve(self, capacity)
        made.append(weakref.ref(self.kv))

    def beginning(self: Graphs, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        made.append(weakref.ref(self))

    monkeypatch.setattr(store.Llama, "reserve", reserving)
    monkeypatch.setattr(Graphs, "__init__", beginning)
    gc.collect()
    gc.disable()
    try:
        for gamma in (0, 3, 8):
            write(kept, gamma=gamma, rule=rule)
        return [one() is not None for one in made]
    finally:
        gc.enable()


@RULES
def test_nothing_lives_on_when_the_texts_are_written(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory comes back with the last reference: a capture does not make Python look for cycles, nor does a cache."""
    found = alive_after_return(monkeypatch, rule)
    assert len(found) == 8  # three cycles, three caches of the target, two of the draft
    assert not any(found)


@RULES
def test_a_cycle_of_references_is_caught(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: what is kept for a length holds the cycle that keeps it."""
    honest = Graphs._cycle

    def holding(self: Graphs, length: int) -> Any:
        self._engine.graphs[-1] = lambda *now: torch.zeros(len(str(self._mark)))
        return honest(self, length)

    monkeypatch.setattr(Graphs, "_cycle", holding)
    assert any(alive_after_return(monkeypatch, rule))
    gc.collect()


@RULES
def test_what_is_kept_lives_as_long_as_its_keeper(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    assert any(alive_after_return(monkeypatch, rule, kept))
    engines = [weakref.ref(engine) for engine in kept._engines]
    assert len(engines) == 2  # gamma 0 has no draft; 3 and 8 share one
    kept.clear()
    assert [engine() for engine in engines] == [None, None]


calls = st.lists(
    st.fixed_dictionaries(
        {
            "gamma": st.integers(0, 4),
            "batch": st.integers(1, 3),
            "key": st.integers(0, 50),
            "max_tokens": st.integers(1, 20),
            "rule": st.sampled_from(
                [tokenwise, block, Forced((0.5, 0.2, 0.9, 0.4)), TREE, tree("tokenwise", chain(4))]
            ),
        }
    ),
    min_size=2,
    max_size=6,
)


@settings(max_examples=10, deadline=None)
@given(calls=calls)
def test_kept_cycles_write_the_same_texts(calls: list[dict[str, Any]]) -> None:
    kept = Kept(2)
    for call in calls:
        assert texts(write(kept, **call)) == texts(write(**call)) or isinstance(call["rule"], Forced)
        assert len(kept) <= 2


def _spoil(kept: Kept) -> None:
    for engine in kept._engines:
        for cache in engine.fixed.caches.values():
            cache.kv.fill_(torch.nan)


@RULES
def test_what_an_earlier_text_left_is_not_read(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    expected = texts(write(kept, rule=rule))
    _spoil(kept)
    assert texts(write(kept, rule=rule)) == expected
    _spoil(kept)
    lengths_only = lambda fixed: [c.rollback(i, 0) for c in fixed.caches.values() for i in (0, 1)]  # noqa: E731
    monkeypatch.setattr(graphs, "_emptied", lengths_only)
    with pytest.raises(ValueError, match=r"logits at position \d+ .*are not finite"):
        write(kept, rule=rule)


def test_an_engine_in_use_is_no_one_elses() -> None:
    kept, (target, draft) = Kept(), PAIR
    write(kept)
    options = DecodeOptions(3, fixed=True, kept=kept)

    def work() -> Loop:
        return Loop(target, draft, [[1, 2], [3]], 12, [keyed(0, i) for i in (0, 1)], options)

    one, other = work(), work()
    assert one._cycle.fixed is not other._cycle.fixed  # type: ignore[attr-defined]
    for loop in (one, other):
        loop.block([0, 1], 3)
    assert len(kept) == 0
    del one, other, loop
    assert len(kept) == 2


def test_memory_that_is_kept_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that would not fit beside what is kept fits without it."""
    kept, expected = Kept(), texts(write(batch=2))
    write(kept, batch=1)
    honest, asked = graphs.made, []

    def short(**wanted: Any) -> Any:
        asked.append(len(kept))
        if len(kept):
            raise ValueError("bytes are needed")
        return honest(**wanted)

    monkeypatch.setattr(graphs, "made", short)
    assert texts(write(kept, batch=2)) == expected
    assert asked == [1, 0]


def test_a_pair_keeps_what_it_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, told = real.load(real.TINY / "target", real.TINY / "draft"), []
    honest = real.writing.decode_batch

    def telling(*args: Any, **options: Any) -> Any:
        told.append(options["kept"])
        return honest(*args, **options)

    monkeypatch.setattr(real.writing, "decode_batch", telling)
    loaded.generate("import os", max_tokens=2)
    assert told == [loaded.kept]
    assert loaded.kept is not real.load(real.TINY / "target", real.TINY / "draft").kept


def test_the_mask_is_spread_over_heads_once_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    model = from_hf(tiny_llama(VOCAB, layers=3, heads=4, kv_heads=2, hidden=16, dtype=torch.float64))
    honest, told = torch.Tensor.repeat, []

    def repeating(self: torch.Tensor, *sizes: int) -> torch.Tensor:
        told.append(sizes)
        return honest(self, *sizes)

    cache = model.cache()
    monkeypatch.setattr(torch.Tensor, "repeat", repeating)
    cache.forward(torch.zeros(1, 5, dtype=torch.int64), 1)
    assert told == [(1, 1, 2, 1)]


@pytest.mark.parametrize("span", [5, 8, 61])
def test_rows_of_a_mask_are_aligned_on_a_gpu(span: int) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        mask = llama._shared(torch.empty(2, 1, 3, span, device="cuda", dtype=torch.bfloat16), 4)
    assert mask is not None
    assert mask.shape == (2, 1, 12, span)
    assert all(stride % 8 == 0 for stride in mask.stride()[:-1])
