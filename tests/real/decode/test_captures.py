"""What is captured, and when: once for each shape, before a text is timed, and nothing of it stays in the caches."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.fixed_texts import RULES, TREE, pair, texts, tree, write

from real.decode import graphs
from real.decode.graphs import Graphs, Kept
from real.decode.warp import Warping
from specsim.base.arrays import pick
from specsim.verify.chain import block


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Any]]:
    """Batch and pool of every capture; on a CPU a capture is the function itself, so its calls can be counted."""
    found: list[tuple[int, Any]] = []
    honest = graphs.captured

    def counting(function: Any, arguments: Any, pool: Any = None) -> Any:
        found.append((len(arguments[0]), pool))
        return honest(function, arguments, pool)

    monkeypatch.setattr(graphs, "captured", counting)
    return found


def test_a_text_is_captured_once(captures: list[tuple[int, Any]]) -> None:
    """Only the length that was asked for, whatever is left at a text's end; and not again for the next texts."""
    runs = write()
    assert {one.drafted for run in runs for one in run.blocks} > {3}  # there were shorter blocks
    assert len(captures) == 1
    kept = Kept()
    for key in range(4):
        write(kept, key=key)
    assert len(captures) == 2
    write(kept, max_tokens=40)  # 64 positions hold these, too
    assert len(captures) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"gamma": 2},
        {"batch": 3},
        {"max_tokens": 61},
        {"warping": Warping(0.7)},
        {"rule": block},
        {"models": pair(1)},
        {"draw": lambda w, u: pick(w, u)},
        {"rule": TREE},
    ],
)
def test_another_shape_is_captured_anew(change: dict[str, Any], captures: list[tuple[int, Any]]) -> None:
    kept = Kept()
    for _ in range(2):
        write(kept)
        write(kept, **change)
    assert len(captures) == 2


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"rule": "traversal"}, {}),
        ({"parents": (-1, 0, 0, 2)}, {}),
        ({"scheme": "iid"}, {}),
        ({"step": "recursive_wor"}, {}),
        ({}, {"batch": 3}),
        ({}, {"gamma": 2}),
        ({}, {"max_tokens": 60}),
        ({}, {"warping": Warping(0.7)}),
        ({}, {"models": pair(1)}),
    ],
)
def test_trees_are_captured_once_for_each_shape(
    change: dict[str, Any], options: dict[str, Any], captures: list[tuple[int, Any]]
) -> None:
    """Every text of one shape finds what the first one captured; a shape that differs in anything is another."""
    kept = Kept()
    for key in range(3):
        write(kept, key=key, rule=tree())
    assert len(captures) == 1
    for key in range(2):
        write(kept, key=key, **({"rule": tree(**change)} | options))
        write(kept, key=key, rule=tree())
    assert len(captures) == 2


@RULES
def test_nothing_is_captured_while_a_text_is_timed(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a capture leave anything in the caches: it is made before the prompts are read."""
    told: list[str] = []
    monkeypatch.setattr(graphs, "captured", lambda function, *more: told.append("captured") or function)
    honest = Graphs.read
    monkeypatch.setattr(Graphs, "read", lambda self, *more: told.append("read") or honest(self, *more))
    write(rule=rule, mark=lambda phase: told.append(phase or "timed"))
    assert told[:4] == ["captured", "read", "read", "timed"]
    assert told.count("captured") == 1


def test_what_a_capture_wrote_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU runs a cycle before it can be captured; here it runs on models that spoil what they are given."""

    def running(function: Any, arguments: Any, pool: Any = None) -> Any:
        function(*arguments)
        for made in loops:
            for cache in made.fixed.caches.values():
                cache.kv.fill_(torch.nan)
        return function

    loops: list[Graphs] = []
    honest = Graphs._capture
    monkeypatch.setattr(Graphs, "_capture", lambda self, length: loops.append(self) or honest(self, length))
    expected = texts(write(rule=TREE))
    monkeypatch.setattr(graphs, "captured", running)
    assert texts(write(rule=TREE)) == expected


def test_lengths_of_one_shape_share_their_engine(captures: list[tuple[int, Any]]) -> None:
    kept = Kept()
    for gamma in (1, 2, 4):
        write(kept, gamma=gamma)
    assert (len(kept), len(captures)) == (1, 3)
