"""The quick draw of a draft token is `pick`, to the bit, and what cannot be drawn comes out as there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from real.decode.draw_token import drawn
from real.decode.proposer import Draw
from specsim.base.arrays import MANY, pick


def rows(vocab: int, dtype: torch.dtype, count: int = 1) -> torch.Tensor:
    law = torch.from_numpy(np.random.default_rng(vocab).dirichlet(np.full(vocab, 0.3), count)).to(dtype)
    law[:, ::3] = 0  # ties of the sum, the first token and (where 3 divides it) the last among them
    return law


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("vocab", [2, 7, 300, 2048])
def test_it_is_pick_to_the_bit(vocab: int, dtype: torch.dtype) -> None:
    law = rows(vocab, dtype)
    sums = law.double().cumsum(-1)[0]
    bounds: list[float] = [
        *np.random.default_rng(0).random(200),
        0.0,
        1 - 2**-53,
        *(sums / sums[-1]).tolist()[:: 1 + vocab // 100],
    ]
    for u in bounds:
        token = drawn(law, torch.tensor([u], dtype=torch.float64))
        assert torch.equal(token, pick(law, torch.tensor([u], dtype=torch.float64)))
        assert u == 1 or law[0, token] > 0  # at u = 1, which is never drawn, both come out beyond the last


@pytest.mark.parametrize("bad", [0.0, float("nan")])
def test_a_row_without_a_law_comes_out_as_from_pick(bad: float) -> None:
    law, u = torch.full((1, 5), bad), torch.tensor([0.3]).double()
    assert torch.equal(drawn(law, u), pick(law, u))


@pytest.mark.parametrize(("count", "vocab"), [(3, 40), (1, MANY)])
def test_batches_and_large_vocabularies_go_to_pick(count: int, vocab: int) -> None:
    law, u = rows(vocab, torch.float32, count), torch.linspace(0.1, 0.9, count).double()
    assert torch.equal(drawn(law, u), pick(law, u))


def test_a_draft_model_draws_by_it_unless_told_otherwise() -> None:
    from helpers.small_models import wrapped

    from real.decode.draft import LMDraft
    from real.decode.warp import Warping

    def own(draw: Draw) -> Any:
        return LMDraft(wrapped("llama", True), Warping(), draw)._draw

    def other(law: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return law.argmax(-1)

    assert own(pick) is drawn
    assert own(other) is other
