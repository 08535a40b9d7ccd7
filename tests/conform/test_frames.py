"""What the files of the museum have in common is right: an exhibit is convicted of its own error and nothing else."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from specsim.conform import Model, SamplingParams, judge
from specsim.conform.museum import _frames
from specsim.conform.museum._parts import draw, warped
from specsim.types import Array, TokenTree


def both(p: Array, q: Array, given: SamplingParams) -> tuple[Array, Array]:
    return warped(p, given), warped(q, given)


def row_by_row(p: Array, q: Array, drafts: Array, random: Any) -> list[tuple[int, int]]:
    return [_frames.tokenwise(*row, random) for row in zip(p, q, drafts, strict=True)]


def one(draft: Model, text: list[int], given: SamplingParams, random: Any) -> tuple[int, Array]:
    row = warped(draft(text), given)
    return draw(random, row), row


def choose(p: Array, q: Array, drafted: TokenTree, node: int, kids: list[int], random: Any) -> tuple[int | None, int]:
    token = draw(random, p[node + 1])
    return next((c for c in kids if drafted.tokens[c] == token), None), token


FRAMES = {
    "chain": _frames.chain("a.chain"),
    "laws": _frames.chain("a.laws", laws=both, warps=True),
    "batches": _frames.batches("a.batches", row_by_row),
    "step": _frames.step("a.step", _frames.recursive, sizes=(1, 2)),
    "without": _frames.step(
        "a.without", partial(_frames.recursive, after=_frames.without), sizes=(2,), scheme="without_replacement"
    ),
    "tree": _frames.tree("a.tree", choose),
    "decoder": _frames.decoder("a.decoder"),
    "drafter": _frames.drafter("a.drafter", one),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_without_errors_is_lossless(name: str) -> None:
    subject = FRAMES[name]()
    assert subject.name == name
    asked = ["contract"] if subject.kind == "drafter" else ["vacuity", "marginal", "degenerate"]
    if subject.warps and subject.kind != "drafter":
        asked += ["parameters", "greedy"]
    found = judge(subject, properties=asked)
    assert found.outcome == "lossless", [verdict.words for verdict in found.verdicts]


def shuffled(p: Array, q: Array, given: SamplingParams) -> tuple[Array, Array]:
    """The bonus from the first row."""
    return p[[*range(len(q)), 0]], q


@pytest.mark.parametrize(
    "hooks",
    [
        {"accepts": lambda p, q, i, x, random: True},
        {"correction": lambda p, q, i, x: q[i]},
        {"bonus": lambda p: p[0]},
        {"laws": shuffled},
    ],
)
def test_every_hook_is_asked(hooks: dict[str, Any]) -> None:
    """A frame that did not ask it would be right, and acquitted."""
    assert judge(_frames.chain("a.wrong", **hooks)(), properties=["joint"]).outcome == "convicted"
