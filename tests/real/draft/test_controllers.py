"""Controllers of `specsim.control` in the decode loop: forked through every branch, asked as on recorded blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.decoding import models
from helpers.drafted import greedy_texts, law_error
from helpers.small_drafters import SMALL

from real.decode.loop import decode_batch, keyed
from real.decode.proposer import Drafter
from real.decode.warp import Warping
from real.draft.lm import drafter
from real.models.model import LanguageModel
from real.signals import BlockSignals, signals_of
from specsim import discover
from specsim.control import block_lengths, row_signals
from specsim.types import Signals

CASES = [
    (name, dict(params))
    for name, module in discover.rules("control").items()
    if not discover.controller_facts(module).bound
    for params in discover.process_cases(module)
]
EVERY = pytest.mark.parametrize(("name", "params"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])


def controller(name: str, params: dict[str, Any]) -> Any:
    return discover.with_params(discover.find("control", name), params)


def test_there_are_controllers() -> None:
    assert {"static", "threshold", "survival", "heuristic", "roc", "classifier"} <= {name for name, _ in CASES}


@EVERY
def test_law_under_a_controller(name: str, params: dict[str, Any]) -> None:
    """Joint law of three tokens, every run of the loop followed."""
    target = models(2, seed=3)[1]
    assert law_error(target, SMALL["lm"](target), [0, 1], 2, controller=controller(name, params)) < 1e-10


@EVERY
def test_greedy_text_under_a_controller(name: str, params: dict[str, Any]) -> None:
    _, target, draft = models(8, seed=5)
    prompts = [[i, j] for i in range(4) for j in range(4)]
    told = {"controller": controller(name, params)}
    assert greedy_texts(target, drafter(draft), prompts, 4, **told) == greedy_texts(target, None, prompts, 0)


@EVERY
def test_blocks_are_as_long_as_recorded_ones_would_be(name: str, params: dict[str, Any]) -> None:
    """The first block of each text: its signals are what `specsim.control` makes of the laws, and so is its length."""
    _, target, draft = models(8, seed=4)
    logged: dict[bool, dict[int, Any]] = {False: {}, True: {}}
    for controlled, kept in logged.items():
        decode_batch(
            target,
            draft,
            [[i, 1] for i in range(8)],
            max_tokens=6,
            gamma=4,
            uniforms=[keyed(2, i) for i in range(8)],
            controller=controller(name, params) if controlled else None,
            log=kept.setdefault,
            fixed=False,
        )
    for i, whole in logged[False].items():
        n = len(logged[True][i].ratio)
        assert n == int(block_lengths(name, whole.signals, params=params))
        for cut, long in zip(logged[True][i].signals, whole.signals, strict=True):
            np.testing.assert_allclose(cut, long[:n], atol=1e-12)


def test_signals_are_those_of_the_core() -> None:
    laws = torch.softmax(torch.randn(3, 4, 23, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), -1)
    tokens = torch.randint(23, (3, 4), generator=torch.Generator().manual_seed(1))
    for rows in (laws, laws[..., :7] / laws[..., :7].sum(-1, keepdim=True)):
        drawn = tokens % rows.shape[-1]
        found = signals_of(rows, drawn, np.arange(1, 5))
        expected = row_signals(rows.numpy(), drawn.numpy(), np.broadcast_to(np.arange(1, 5), (3, 4)))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.broadcast_to(a, b.shape), b, atol=1e-12)
        assert isinstance(found, Signals)


WARPINGS = {"T = 0": Warping(0.0), "T = 0.1": Warping(0.1), "T = 1": Warping(), "top-k 1": Warping(top_k=1)}


def first_blocks(target: LanguageModel, drafter: Drafter, warping: Warping, **told: Any) -> list[BlockSignals]:
    """The first block of each of four texts, as it is logged."""
    found: dict[int, BlockSignals] = {}
    prompts = [[i, 1] for i in range(4)]
    uniforms = [keyed(2, i) for i in range(4)]
    told |= {"uniforms": uniforms, "warping": warping, "proposer": drafter, "log": found.setdefault, "fixed": False}
    decode_batch(target, None, prompts, max_tokens=8, gamma=6, **told)
    return [found[i] for i in range(4)]


@pytest.mark.parametrize("name", SMALL)
def test_confidence_is_the_drafts_own_at_every_temperature(name: str) -> None:
    """A row is read before warping: at T = 0 a warped one is one-hot, and no controller would ever stop."""
    target = models(8, seed=5)[1]
    drafter = SMALL[name](target)
    blocks = {words: first_blocks(target, drafter, warping) for words, warping in WARPINGS.items()}
    for words, found in blocks.items():
        for block, plain in zip(found, blocks["T = 1"], strict=True):
            np.testing.assert_allclose(block.signals.top[0], plain.signals.top[0], atol=1e-12, err_msg=words)
            assert block.signals.entropy[0] == pytest.approx(plain.signals.entropy[0], abs=1e-9)
            assert any(block.signals.own[0] == pytest.approx(top, abs=1e-12) for top in [0.0, *plain.signals.top[0]])


@pytest.mark.parametrize(("name", "params"), [("threshold", {"eta": 0.99}), ("survival", {"theta": 0.9})])
@pytest.mark.parametrize("words", WARPINGS)
def test_a_controller_stops_an_unsure_draft_at_every_temperature(name: str, params: dict[str, Any], words: str) -> None:
    """Read after warping, the first block has 6 of 6 drafts at T = 0 and 1 at T = 1."""
    target = models(8, seed=5)[1]
    told = {"controller": controller(name, params)}
    for kind in ("lm", "ngram"):
        blocks = first_blocks(target, SMALL[kind](target), WARPINGS[words], **told)
        assert max(len(block.ratio) for block in blocks) < 3, kind


class Recorder:
    """A controller that goes on to the end, and remembers what it was shown."""

    def __init__(self) -> None:
        self.places: list[int] = []

    def start(self, batch: tuple[int, ...] = ()) -> None:
        return None

    def see(self, state: None, signals: Signals) -> None:
        self.places.append(int(signals.position))

    def more(self, state: None, signals: Signals) -> bool:
        return True

    def learn(self, state: None, kept: Any, drafted: Any) -> None:
        self.places.append(-int(drafted))


def test_the_last_draft_is_shown_too() -> None:
    """Whether it was kept is learned, so its signals have to be known."""
    _, target, draft = models(8, seed=4)
    seen: Any = Recorder()
    decode_batch(target, draft, [[3, 1]], max_tokens=6, gamma=3, uniforms=[keyed(2, 0)], controller=seen, fixed=False)
    blocks = [i for i, place in enumerate(seen.places) if place <= 0]
    starts = [0, *(i + 1 for i in blocks)]
    for first, end in zip(starts, blocks, strict=False):
        assert seen.places[first:end] == list(range(1, -seen.places[end] + 1))
    assert min(seen.places) == -3
