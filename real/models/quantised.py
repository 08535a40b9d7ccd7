"""Projections in few bits: whole numbers and a scale for each group, multiplied by torch's kernels.

Weights alone are quantised, to the nearest code, without data; int4 keeps the codes that a GGUF
file has in Q4_0 or Q4_1. Activations are rounded to bfloat16 for a product, and so is what comes
out: the kernels are fast in that type alone, twenty times slower in float32. A zero stays a zero,
so that a widened model (see `real.models.widen`) keeps its function but for the codes of its own
weights. A row of a product has the same bits whatever stands beside it; attention has not (1e-7 in
float32), which now and then moves a number to the next bfloat16. So a near tie may fall otherwise
in a block than in single steps, as with half types.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from real.models.names import parse_weights

# Columns that share a scale in int4; the kernels take multiples of it.
GROUP = 32
# The int4 kernel takes multiples of this number of rows.
_ROWS = 16
# The only type in which the kernels are fast.
_HALF = torch.bfloat16
_OPS: Any = torch.ops.aten


@dataclass(frozen=True, slots=True)
class Quantised:
    """A projection (rows, columns) in few bits.

    Parameters
    ----------
    codes : Tensor
        As the kernel wants them: int8 (rows, columns), or two to a byte in an order of its own.
    scales : Tensor, bfloat16
        int8: one a row (rows,). int4: (columns / GROUP, rows, 2), each with the offset of its
        group: a number is code * scale + offset.
    columns : int
        Numbers that it reads.
    """

    codes: Tensor
    scales: Tensor
    columns: int

    @property
    def nbytes(self) -> int:
        """Return the bytes that a product reads."""
        return self.codes.nbytes + self.scales.nbytes

    def numel(self) -> int:
        """Return how many numbers the matrix has, as `Tensor.numel` does."""
        rows = self.scales.shape[0] if self.codes.dtype == torch.int8 else self.scales.shape[1]
        return rows * self.columns

    def product(self, x: Tensor) -> Tensor:
        """Return x W' for x (..., columns), in the dtype of x."""
        flat = x.reshape(-1, self.columns).to(_HALF)
        if self.codes.dtype == torch.int8:
            out = _OPS._weight_int8pack_mm(flat, self.codes, self.scales)
        else:
            out = _OPS._weight_int4pack_mm_for_cpu(flat, self.codes, GROUP, self.scales)
        return out.view(*x.shape[:-1], -1).to(x.dtype)  # type: ignore[no-any-return]

    def dense(self) -> Tensor:
        """Return the matrix (rows, columns) that the codes stand for, exact in float32."""
        if self.codes.dtype == torch.int8:
            return self.codes * self.scales.float()[:, None]
        # The codes of int4 are in the kernel's order. With scales of 1 and offsets of 0 the product
        # with the identity gives them.
        unit = torch.zeros_like(self.scales)
        unit[..., 0] = 1
        codes = replace(self, scales=unit).product(torch.eye(self.columns)).T
        scale, offset = (w.float().T.repeat_interleave(GROUP, 1) for w in self.scales.unbind(-1))
        return codes * scale + offset


def quantise(weight: Tensor, kind: str, name: str = "weight") -> Quantised:
    """Round a projection to few bits.

    Parameters
    ----------
    weight : Tensor, shape (rows, columns), float
        The projection, on a CPU, finite.
    kind : str
        "int8": codes -127 to 127, a scale for each row. "int4": codes -8 to 7, a scale and an
        offset for each 32 columns of a row.
    name : str
        What errors call it.

    Returns
    -------
    Quantised
        Each number within half a step of its own, scales and offsets being rounded to bfloat16
        first.

    Raises
    ------
    ValueError
        An unknown kind, or a shape that the kernel cannot take.

    Examples
    --------
    >>> projection = quantise(torch.linspace(-1, 1, 512).view(16, 32), "int8")
    >>> projection.nbytes, projection.product(torch.ones(1, 32)).shape
    (544, torch.Size([1, 16]))
    """
    # Refuse shapes that the kernels cannot take.
    parse_weights(kind)
    rows, columns = weight.shape
    if columns % GROUP:
        raise ValueError(f"weights {kind}: {name} has {columns} columns, and the kernel takes multiples of {GROUP}")
    if kind == "int4" and rows % _ROWS:
        raise ValueError(f"weights {kind}: {name} has {rows} rows, and the kernel takes multiples of {_ROWS}")

    # Eight bits: codes around 0, a scale for each row.
    exact = weight.float()
    if kind == "int8":
        scales = _scales(exact.abs().amax(1) / 127)
        codes = (exact / scales.float()[:, None]).round().clamp(-127, 127).to(torch.int8)
        return Quantised(codes, scales, columns)

    # Four bits: codes, scale and offset of each group, in the kernel's own order.
    groups = exact.view(rows, -1, GROUP)
    scales, offsets = _nearest(groups)
    codes = _codes(groups, scales, offsets).to(torch.int32).view(rows, columns)
    packed = _OPS._convert_weight_to_int4pack_for_cpu(codes + 8, 1)
    scales_and_offsets = torch.stack([scales, offsets], -1).transpose(0, 1).contiguous()
    return Quantised(packed, scales_and_offsets, columns)


def _nearest(groups: Tensor) -> tuple[Tensor, Tensor]:
    """Return scale and offset of each group (rows, n, 32) in four bits, by the nearest of three ways.

    The ways: codes -8 to 7 around 0, with a positive scale; around 0, with a scale of the sign for
    which code -8 is the larger extreme; and between the extremes of the group, with an offset. So a
    group of a GGUF file keeps the codes that it has there: one of Q4_0 in the second way, one of
    Q4_1 in the third.
    """
    # Scale and offset of each way.
    low, high = groups.amin(-1), groups.amax(-1)
    around = _scales(torch.maximum(high / 7, low / -8))
    signed = _scales(torch.where(high > -low, high, low) / -8)
    between = _scales((high - low) / 15)
    no_offset = torch.zeros_like(around)
    ways = [(around, no_offset), (signed, no_offset), (between, (low + 8 * between.float()).to(_HALF))]

    # Errors (3, rows, n) of the ways, infinite where a way cannot be taken: the second must not cut
    # off the other extreme, whose code would be 8 if it is above 7.5, and the third has no code for
    # 0, which has to stay 0.
    errors = torch.stack([_error(groups, scales, offsets) for scales, offsets in ways])
    errors[1, (groups / signed.float()[..., None]).amax(-1) > 7.5] = torch.inf
    errors[2, (groups == 0).any(-1)] = torch.inf
    best = errors.argmin(0, keepdim=True)
    all_scales, all_offsets = (torch.stack(parts) for parts in zip(*ways, strict=True))
    return all_scales.gather(0, best)[0], all_offsets.gather(0, best)[0]


def _codes(groups: Tensor, scales: Tensor, offsets: Tensor) -> Tensor:
    """Return the nearest codes of groups, as whole numbers in float32."""
    return ((groups - offsets.float()[..., None]) / scales.float()[..., None]).round().clamp(-8, 7)


def _error(groups: Tensor, scales: Tensor, offsets: Tensor) -> Tensor:
    """Return for each group the sum of squared differences between its numbers and their codes' values."""
    rounded = _codes(groups, scales, offsets) * scales.float()[..., None] + offsets.float()[..., None]
    return (rounded - groups).square().sum(-1)


def _scales(steps: Tensor) -> Tensor:
    """Return steps as the kernels read them; 1 for a group of zeros."""
    rounded = steps.to(_HALF)
    return torch.where(rounded != 0, rounded, 1)
