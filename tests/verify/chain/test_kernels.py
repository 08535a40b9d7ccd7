"""How many kernels a GPU launches for a chain rule, counted where there is none: torch's calls that are no views."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from real.decode.capture import count_kernels  # noqa: E402
from specsim.base.arrays import pick  # noqa: E402
from specsim.verify.chain import block, tokenwise  # noqa: E402

# A Python number is a tensor of the host on its way, and an argument of a kernel in the end.
FREE = ("aten::empty", "aten::detach", "aten::lift", "aten::_unsafe_view", "aten::scalar_tensor")


class Kernels(TorchDispatchMode):
    """Counts calls whose result does not share the memory of an argument."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returns = func._schema.returns
        info = returns[0].alias_info if returns else None
        view = info is not None and not info.is_write
        self.count += not view and not func._schema.name.startswith(FREE)
        return func(*args, **(kwargs or {}))


def kernels(rule: Any, gamma: int) -> int:
    p = torch.full((1, gamma + 1, 64), 1 / 64)
    drafts, u = torch.zeros(1, gamma, dtype=torch.int64), torch.full((1, gamma + 1), 0.5, dtype=torch.float64)
    with Kernels() as counted:
        rule.verify(rule.prepare(p, p[:, :gamma]), drafts, u)
    return counted.count


def test_block_works_in_one_pass_over_its_positions() -> None:
    """Two small calls more for each draft, and no more: a launch costs as much as a small kernel's work."""
    found = {gamma: kernels(block, gamma) for gamma in (1, 4, 8)}
    assert found[8] <= 60
    assert kernels(block, 0) == kernels(tokenwise, 0) <= 5  # one draw
    assert (found[4] - found[1], found[8] - found[4]) == (6, 8)


def test_block_over_a_real_vocabulary() -> None:
    """The same, and what a draw by pieces adds; 76 before."""
    assert over_a_vocabulary(torch.float32) <= 60
    assert over_a_vocabulary(torch.float64) <= 58


def over_a_vocabulary(kind: Any) -> int:
    def arguments() -> tuple[Any, ...]:
        p, q = (torch.empty(2, rows, 128_256, dtype=kind, device="cuda") for rows in (9, 8))
        u = torch.empty(2, 9, dtype=torch.float64, device="cuda")
        return p, q, torch.empty(2, 8, dtype=torch.int64, device="cuda"), u

    return count_kernels(lambda p, q, x, u: block.verify(block.prepare(p, q), x, u), arguments)


def test_tokenwise_does_not_grow_with_the_block() -> None:
    assert kernels(tokenwise, 1) == kernels(tokenwise, 8) <= 44


def test_the_counter_counts() -> None:
    x = torch.ones(3)
    with Kernels() as counted:
        (x + 1)[:2].view(2, 1).mul_(2)
    assert counted.count == 2


def test_a_draw_from_many_tokens() -> None:
    w, u = torch.ones(2, 50257), torch.zeros(2, dtype=torch.float64)
    with Kernels() as counted:
        pick(w, u)
    assert counted.count <= 24


def test_rounding_is_nothing_left_over() -> None:
    """Where p = q but for its last digits, what is left of the row is no law to draw from: p is."""
    p = torch.tensor([[0.25 - 2**-53, 0.25 + 2**-53, 0.5], [0.2, 0.3, 0.5]], dtype=torch.float64)
    q = torch.tensor([[0.25, 0.25, 0.5]], dtype=torch.float64)
    steps = block.Steps(torch.stack([p[0] - torch.minimum(p[0], q[0]), p[1]]), torch.zeros(2), torch.ones(2))
    for u, token in ((0.1, 0), (0.4, 1), (0.9, 2)):
        assert block.last_success(p, steps, torch.tensor([0.0, u], dtype=torch.float64)) == (0, token)
