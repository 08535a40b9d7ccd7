"""A draft model as one drafter among others, and blocks whose lengths controllers decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from helpers.decoding import models
from helpers.drafted import cache_error, greedy_texts, law_error, uncached
from helpers.tiny_models import tiny_llama

from real.decode.blocks import predict_along, predict_blocks
from real.decode.control import Growing
from real.decode.loop import decode_batch, keyed
from real.decode.score import score
from real.decode.verifier import RuleOptions, verifier_of
from real.decode.warp import Warping
from real.draft import find, names
from real.draft._contract import along_blocks, flaw
from real.draft.lm import drafter
from real.models.model import from_hf
from real.signals import BlockSignals
from specsim.types import Signals
from specsim.verify.chain import tokenwise

PENALTY = Warping(top_k=3, repetition_penalty=1.3)


class Product(NamedTuple):
    """What a block's largest probabilities multiply to, and drafts kept so far."""

    chance: float = 1.0
    kept: int = 0


def _see(state: Product, signals: Signals) -> Product:
    before = 1.0 if signals.position == 1 else state.chance
    return state._replace(chance=before * float(signals.own))


CONTROLLERS: dict[str, Any] = {
    "own probability": SimpleNamespace(
        start=lambda shape: None,
        more=lambda state, signals: signals.own >= 0.4,
        learn=lambda state, kept, drafted: state,
    ),
    "product": SimpleNamespace(
        start=lambda shape: Product(),
        see=_see,
        more=lambda state, signals: np.asarray(state.chance * (1 + state.kept) >= 0.3),
        learn=lambda state, kept, drafted: state._replace(kept=int(kept)),
    ),
}


def test_the_folder_is_the_registry() -> None:
    assert "lm" in names()
    for name in names():
        assert callable(find(name).drafter)
    with pytest.raises(ValueError, match=r"drafter 'none' is unknown; drafters: .*lm"):
        find("none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"NAME": " "}, "needs NAME, a text, got ' '"),
        ({"PAPER": None}, "needs PAPER, a text, got None"),
        ({"LAYERS": [1]}, "needs LAYERS, a tuple"),
        ({"drafter": 1}, "needs a function drafter"),
    ],
)
def test_flaws(change: dict[str, Any], message: str) -> None:
    whole = {"NAME": "n", "PAPER": "p", "LAYERS": (), "drafter": drafter}
    assert flaw(whole) is None
    assert str(flaw({**whole, **change})).startswith(message)


@pytest.mark.parametrize("warping", [Warping(), Warping(0), PENALTY])
def test_a_draft_model_is_a_drafter(warping: Warping) -> None:
    _, target, draft = models(8, seed=1)
    prompts = [[1, 2, 3], [4], [5, 6]]
    told: dict[str, Any] = {"max_tokens": 12, "gamma": 3, "uniforms": [keyed(7, i) for i in range(3)]}
    by_model = decode_batch(target, draft, prompts, warping=warping, fixed=False, **told)
    by_drafter = decode_batch(target, None, prompts, warping=warping, proposer=drafter(draft), **told)
    assert [(r.tokens, r.blocks) for r in by_drafter] == [(r.tokens, r.blocks) for r in by_model]


@pytest.mark.parametrize("warping", [Warping(0.8), PENALTY])
def test_along_a_text(warping: Warping) -> None:
    """By one pass, by blocks of the decode path, and as the score of the pair says."""
    _, target, draft = models(8, seed=2)
    prompt, text = [1, 2], [3, 0, 5, 5, 1, 7]
    found = drafter(draft).along(target, prompt, text, 3, warping)
    made = along_blocks(drafter(draft), target, prompt, text, 3, warping)
    np.testing.assert_allclose(found.q, made.q, atol=1e-12)
    np.testing.assert_allclose(found.p, made.p, atol=1e-12)
    scored = score(target, draft, prompt, text, warping)
    np.testing.assert_allclose(found.q[:, 0], scored.q, atol=1e-12)
    if (found.p > 0).all():  # a filter may exclude what stands here
        assert predict_along(found).tau == pytest.approx(predict_blocks(scored, 3, tokenwise).tau, abs=1e-12)


def test_a_text_that_the_target_would_not_write() -> None:
    _, target, draft = models(8, seed=2)
    text = [0, 1, 2, 3]
    found = drafter(draft).along(target, [1], text, 2, Warping(0))
    with pytest.raises(ValueError, match=r"token \d of the text has probability 0 under the target"):
        predict_along(found)


@pytest.mark.parametrize("name", [None, *CONTROLLERS])
def test_law_under_a_controller(name: str | None) -> None:
    """Whatever a controller reads of what was drawn, it decides about the next draft: the target's law stays."""
    _, target, draft = models(2, seed=3)
    controller = None if name is None else CONTROLLERS[name]
    assert law_error(target, drafter(draft), [0, 1], 2, controller=controller) < 1e-10


def _drops(self: Growing, tokens: torch.Tensor, laws: torch.Tensor) -> bool:
    """The bias that DISCO's pseudo-code invites: an unlikely draft is dropped before it is verified."""
    goes_on = _HONEST(self, tokens, laws)
    self.lengths = [max(n - 1, 0) if n == self._made else n for n in self.lengths]
    return goes_on


_HONEST: Callable[..., bool] = Growing.__call__


def test_drops_after_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    _, target, draft = models(2, seed=0)
    told = {"controller": CONTROLLERS["own probability"]}
    assert law_error(target, drafter(draft), [0, 1], 2, **told) < 1e-10
    monkeypatch.setattr(Growing, "__call__", _drops)
    assert law_error(target, drafter(draft), [0, 1], 2, **told) > 0.01


@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.parametrize("warping", [Warping(), PENALTY])
def test_a_text_under_a_controller_is_its_own(name: str, warping: Warping) -> None:
    """In a batch as alone, drafted in steps as in whole blocks, cached as uncached; and blocks do differ in length."""
    _, target, draft = models(8, seed=4)
    prompts = [[1, 2, 3], [4], [5, 6]]

    def write(which: list[int], one: Any, target: Any = target) -> list[Any]:
        told: dict[str, Any] = {"max_tokens": 14, "gamma": 4, "uniforms": [keyed(7, i) for i in which]}
        chosen = [prompts[i] for i in which]
        runs = decode_batch(target, None, chosen, warping=warping, proposer=one, controller=CONTROLLERS[name], **told)
        return [(run.tokens, run.blocks) for run in runs]

    batch = write([0, 1, 2], drafter(draft))
    assert len({block.drafted for _, blocks in batch for block in blocks[:-2]}) > 1
    assert [write([i], drafter(draft))[0] for i in range(3)] == batch
    assert write([0, 1, 2], replace(drafter(draft), stepwise=False)) == batch
    assert write([0, 1, 2], drafter(uncached(draft)), uncached(target)) == batch


def test_a_controller_saves_draft_steps() -> None:
    """Alone, a text that stops after its first draft costs one step of the draft a block."""
    _, target, draft = models(8, seed=4)
    never = SimpleNamespace(start=lambda s: 0, more=lambda s, x: False, learn=lambda s, k, d: s)
    for controller, least in ((never, 1), (None, 4)):
        phases: list[str] = []
        told: dict[str, Any] = {"max_tokens": 12, "gamma": 4, "uniforms": [keyed(7, 0)], "fixed": False}
        run = decode_batch(target, draft, [[1, 2]], controller=controller, mark=phases.append, **told)[0]
        assert {block.drafted for block in run.blocks if block.start + 5 <= 14} == {least}
        assert phases.count("draft") == sum(block.drafted for block in run.blocks)


def test_blocks_are_logged() -> None:
    _, target, draft = models(8, seed=4)
    logged: list[tuple[int, BlockSignals]] = []
    told: dict[str, Any] = {"max_tokens": 14, "gamma": 4, "uniforms": [keyed(7, 0), keyed(7, 1)]}
    runs = decode_batch(
        target,
        draft,
        [[1, 2], [3]],
        controller=CONTROLLERS["product"],
        log=lambda i, block: logged.append((i, block)),
        **told,
    )
    for i, run in enumerate(runs):
        mine, blocks = [block for j, block in logged if j == i], [b for b in run.blocks if b.drafted]
        assert [(b.start, len(b.ratio)) for b in mine] == [(b.start, b.drafted) for b in blocks]
        for found, block in zip(mine, blocks, strict=True):
            assert found.kept == block.accepted
            assert found.signals.top.shape == (block.drafted, 10)
            assert found.signals.position.tolist() == list(range(1, block.drafted + 1))
            assert (found.signals.own <= found.signals.top[:, 0] + 1e-15).all()
            # a draft with p >= q is kept
            assert all(ratio < 1 for ratio in found.ratio[found.kept : found.kept + 1])


def test_greedy_text() -> None:
    _, target, draft = models(8, seed=5)
    prompts = [[i, j] for i in range(4) for j in range(4)]
    plain = greedy_texts(target, None, prompts, 0)
    assert greedy_texts(target, drafter(draft), prompts, 4) == plain
    assert greedy_texts(target, drafter(draft), prompts, 4, controller=CONTROLLERS["product"]) == plain


def test_caches_against_none() -> None:
    _, target, draft = models(8, seed=5)
    assert cache_error(drafter(draft), target, [1, 2], [3, 4, 5, 6, 0], 3, Warping()) < 1e-10


def test_refusals() -> None:
    _, target, draft = models(8, seed=0)
    told: dict[str, Any] = {"max_tokens": 4, "gamma": 2, "uniforms": [keyed(0, 0)]}
    with pytest.raises(ValueError, match="draft and proposer are both given: one of them drafts"):
        decode_batch(target, draft, [[1]], proposer=drafter(draft), **told)
    with pytest.raises(ValueError, match="fixed: a proposer cannot run in fixed shapes"):
        decode_batch(target, None, [[1]], proposer=drafter(draft), fixed=True, **told)
    tree = verifier_of(RuleOptions(parents=(-1, 0)), 1.0)[0]
    with pytest.raises(ValueError, match="controller is for chains"):
        decode_batch(target, draft, [[1]], rule=tree, controller=CONTROLLERS["product"], **told)
    with pytest.raises(ValueError, match="a text of 5 positions is too long: the proposer has a context of 4"):
        decode_batch(target, None, [[1]], proposer=replace(drafter(draft), context=4), **told)
    with pytest.raises(ValueError, match="the target has 8 tokens and the draft 5: load them as a pair"):
        decode_batch(target, None, [[1]], proposer=drafter(from_hf(tiny_llama(5, seed=1))), **told)
    reads = replace(drafter(draft), layers=(1,))
    with pytest.raises(ValueError, match=r"reads layers \(1,\) of the target, which is not on the fast path"):
        decode_batch(replace(target, weights=None), None, [[1]], proposer=reads, **told)
