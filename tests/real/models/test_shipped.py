"""Weights in six bits a number: what rounding loses, what is read back, and which files are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from real.models.shipped import load, path_of, restored, rounded, save

RECIPE = {"stored": "int6"}


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 70])
def test_rounding_is_at_most_half_a_step_of_its_group(columns: int) -> None:
    weight = torch.randn(5, columns, generator=torch.Generator().manual_seed(columns))
    weight[0, 0] = 100  # an outlier spoils the 32 weights beside it, and no others
    packed, scale = rounded(weight)
    assert packed.dtype == torch.uint8
    assert packed.shape == (5, 24 * -(-columns // 32))
    step = scale.float().repeat_interleave(32, 1)[:, :columns]
    assert ((restored(packed, scale, columns) - weight).abs() <= 0.51 * step + 0.02 * step).all()


def test_whole_multiples_of_a_scale_come_back_as_they_are() -> None:
    """Every number of six bits, at each of the four places of three bytes."""
    numbers = torch.arange(-31, 32).float()
    weight = torch.stack([torch.cat([numbers.roll(k), torch.tensor([31.0])]) for k in range(4)])
    assert torch.equal(restored(*rounded(weight), 64), weight)


def test_rows_of_zeros_and_tiny_numbers_are_read_back() -> None:
    weight = torch.zeros(2, 40)
    weight[1] = 1e-9
    assert restored(*rounded(weight), 40).abs().max() < 1e-8


class Net(nn.Module):
    """A matrix, a vector and whole numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(3, 50, generator=torch.Generator().manual_seed(0)))
        self.vector = nn.Parameter(torch.ones(3))
        self.register_buffer("tokens", torch.tensor([5, 40_000], dtype=torch.int32))


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    net, empty = Net(), Net()
    save(tmp_path / "new", "net", net, RECIPE)
    nn.init.zeros_(empty.matrix)
    empty.tokens = torch.zeros(2, dtype=torch.int32)
    back = load(tmp_path / "new", "net", empty, RECIPE, "train it")
    assert back.tokens.tolist() == [5, 40_000]
    assert (back.matrix - net.matrix).norm() < 0.03 * net.matrix.norm()
    assert torch.equal(back.vector, net.vector)
    assert path_of(tmp_path / "new", "net").stat().st_size < 900


def test_another_recipe_and_another_shape_are_refused(tmp_path: Path) -> None:
    save(tmp_path, "net", Net(), RECIPE)
    with pytest.raises(ValueError, match=r"^weights of net were made by recipe .*: train it$"):
        load(tmp_path, "net", Net(), {"stored": "int8"}, "train it")
    with pytest.raises(ValueError, match=r"^weights of net do not fit the model that its recipe makes: train it$"):
        load(tmp_path, "net", nn.Linear(2, 2), RECIPE, "train it")
    for shape in ((4, 50), (3, 32), (3, 65)):
        other = Net()
        other.matrix = nn.Parameter(torch.zeros(shape))
        with pytest.raises(ValueError, match=r"^weights of net do not fit"):
            load(tmp_path, "net", other, RECIPE, "train it")
    fewer = Net()
    del fewer.vector
    with pytest.raises(ValueError, match=r"^weights of net do not fit"):
        load(tmp_path, "net", fewer, RECIPE, "train it")
