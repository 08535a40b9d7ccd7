"""Projections in few bits: whole numbers and a scale for each group of them, multiplied by torch's own CPU kernels.

Weights alone are quantised, to the nearest code, without data. Activations are rounded to bfloat16 for a product, and
so is what comes out: the kernels are fast in that type alone, twenty times slower in float32. A zero stays a zero, so
that a widened model (see `real.models.widen`) keeps its function but for the codes of its own weights. A row of a
product has the same bits whatever stands beside it; attention has not (1e-7 in float32), which now and then moves a
number to the next bfloat16. So a near tie may fall otherwise in a block than in single steps, as with half types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from real.models.names import parse_weights

GROUP = 32  # columns that share a scale in int4, and of which the kernels want a whole number
_ROWS = 16  # of which the int4 kernel wants a whole number
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
        int8: one a row (rows,). int4: (columns / GROUP, rows, 2), each with what is added to the products, 0.
    columns : int
        Numbers that it reads.
    """

    codes: Tensor
    scales: Tensor
    columns: int

    @property
    def nbytes(self) -> int:
        """Bytes that a product reads."""
        return self.codes.nbytes + self.scales.nbytes

    def numel(self) -> int:
        """Return how many numbers the matrix has, as a tensor says it."""
        rows = self.scales.shape[0] if self.codes.dtype == torch.int8 else self.scales.shape[1]
        return rows * self.columns

    def product(self, x: Tensor) -> Tensor:
        """x W' of (..., columns), in the dtype of x."""
        flat = x.reshape(-1, self.columns).to(_HALF)
        if self.codes.dtype == torch.int8:
            out = _OPS._weight_int8pack_mm(flat, self.codes, self.scales)
        else:
            out = _OPS._weight_int4pack_mm_for_cpu(flat, self.codes, GROUP, self.scales)
        return out.view(*x.shape[:-1], -1).to(x.dtype)  # type: ignore[no-any-return]

    def dense(self) -> Tensor:
        """The matrix that it stands for, exact in float32."""
        if self.codes.dtype == torch.int8:
            return self.codes * self.scales.float()[:, None]
        # What the kernel makes of the identity is rounded to bfloat16; the codes in it are not lost.
        steps = self.scales[..., 0].float().T.repeat_interleave(GROUP, 1)
        return (self.product(torch.eye(self.columns)).T / steps).round() * steps


def quantise(weight: Tensor, kind: str, name: str = "weight") -> Quantised:
    """Round a projection to few bits.

    Parameters
    ----------
    weight : Tensor, shape (rows, columns), float
        The projection, on a CPU, finite.
    kind : str
        "int8": codes -127 to 127, a scale for each row. "int4": codes -8 to 7, a scale for each 32 columns of a row.
    name : str
        What errors call it.

    Returns
    -------
    Quantised
        Each number within half a step of its own, a scale being rounded to bfloat16 first.

    Raises
    ------
    ValueError
        An unknown kind, or a shape that the kernel cannot take.

    Examples
    --------
    >>> found = quantise(torch.linspace(-1, 1, 512).view(16, 32), "int8")
    >>> found.nbytes, found.product(torch.ones(1, 32)).shape
    (544, torch.Size([1, 16]))
    """
    parse_weights(kind)
    rows, columns = weight.shape
    if columns % GROUP:
        raise ValueError(f"weights {kind}: {name} has {columns} columns, and the kernel takes multiples of {GROUP}")
    if kind == "int4" and rows % _ROWS:
        raise ValueError(f"weights {kind}: {name} has {rows} rows, and the kernel takes multiples of {_ROWS}")
    exact = weight.float()
    if kind == "int8":
        scales = _scales(exact.abs().amax(1) / 127)
        codes = (exact / scales.float()[:, None]).round().clamp(-127, 127).to(torch.int8)
        return Quantised(codes, scales, columns)
    groups = exact.view(rows, -1, GROUP)
    scales = _scales(torch.maximum(groups.amax(-1) / 7, groups.amin(-1) / -8))
    codes = (groups / scales.float()[..., None]).round().clamp(-8, 7).to(torch.int32).view(rows, columns)
    packed = _OPS._convert_weight_to_int4pack_for_cpu(codes + 8, 1)
    both = torch.stack([scales, torch.zeros_like(scales)], -1).transpose(0, 1).contiguous()
    return Quantised(packed, both, columns)


def _scales(steps: Tensor) -> Tensor:
    """Steps as the kernels read them; 1 for a group of zeros."""
    return torch.where(steps > 0, steps, 1).to(_HALF)
