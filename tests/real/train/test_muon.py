"""Muon's step without bfloat16 is torch's, but for the rounding."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from real.train import step
from real.train.muon import Muon, in_bfloat16, orthogonal

SHAPES = [(48, 132), (132, 48), (64, 64)]
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def moved(kind: type[torch.optim.Muon], shape: tuple[int, int], steps: int) -> tuple[torch.Tensor, Any]:
    """How far so many steps along drawn gradients bring a weight, and the optimizer."""
    drawn = torch.Generator().manual_seed(shape[0])
    weight = torch.nn.Parameter(torch.randn(shape, generator=drawn))
    before, learner = weight.detach().clone(), kind([weight], lr=0.1, weight_decay=0.5, adjust_lr_fn="match_rms_adamw")
    for _ in range(steps):
        weight.grad = torch.randn(shape, generator=drawn)
        learner.step()
    return weight.detach() - before, learner


@pytest.mark.parametrize("shape", SHAPES, ids=["wide", "tall", "square"])
def test_steps_are_torchs(shape: tuple[int, int]) -> None:
    ours, theirs = (moved(kind, shape, 4)[0] for kind in (Muon, torch.optim.Muon))
    assert (ours - theirs).norm() < 0.02 * theirs.norm()
    assert moved(Muon, shape, 3)[0].norm() < 0.9 * theirs.norm()


def test_each_takes_up_the_others_state() -> None:
    learner, other = moved(torch.optim.Muon, SHAPES[0], 2)[1], moved(Muon, SHAPES[0], 1)[1]
    other.load_state_dict(learner.state_dict())
    assert torch.equal(*(one.state_dict()["state"][0]["momentum_buffer"] for one in (learner, other)))


@pytest.mark.parametrize("shape", SHAPES, ids=["wide", "tall", "square"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_singular_values_come_near_one_in_the_matrix_s_own_type(shape: tuple[int, int], dtype: torch.dtype) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)
    made = orthogonal(matrix, COEFFICIENTS, 5, 1e-7)
    values = torch.linalg.svdvals(made)[: min(shape) - 4]  # the smallest of a square one need more steps
    assert made.dtype == dtype
    assert made.shape == shape
    assert 0.4 < values.min() < values.max() < 1.3
    assert torch.linalg.svdvals(matrix)[0] > 8


def test_a_weight_without_a_gradient_stays() -> None:
    weight = torch.nn.Parameter(torch.ones(2, 3))
    assert Muon([weight], lr=0.1).step() is None
    assert torch.equal(weight, torch.ones(2, 3))


def test_a_closure_is_asked_first() -> None:
    weight = torch.nn.Parameter(torch.ones(2, 3))

    def loss() -> float:
        value = weight.square().sum()
        value.backward()
        return float(value.detach())

    assert Muon([weight], lr=0.1).step(loss) == 6
    assert weight.grad is not None
    assert (weight < 1).all()


@pytest.mark.parametrize(("can", "kind"), [({"avx512_bf16": True}, torch.optim.Muon), ({"avx2": True}, Muon)])
def test_the_machine_decides(
    can: dict[str, bool], kind: type[torch.optim.Muon], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: can)
    assert in_bfloat16() is (kind is torch.optim.Muon)
    assert in_bfloat16("cuda:1")
    assert type(step.optimizers(torch.nn.Linear(3, 2), 0.1)[0]) is kind
