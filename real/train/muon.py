"""Muon's step in the number type that the machine multiplies fastest.

Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024). torch's own
takes its products in bfloat16, which a processor without instructions for it multiplies ten times
slower than float32, or worse.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def in_bfloat16(device: str | torch.device = "cpu") -> bool:
    """Return whether the machine has instructions for products of bfloat16, as any GPU has.

    Parameters
    ----------
    device : torch.device
        Where the products are taken.

    Returns
    -------
    bool

    Examples
    --------
    >>> in_bfloat16("cuda")
    True
    """
    if torch.device(device).type != "cpu":
        return True
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Bring all singular values of a matrix near 1, in its own precision.

    The method is Newton and Schulz's iteration.

    Parameters
    ----------
    matrix : Tensor
        (m, n).
    coefficients : tuple of float
        Those of x, x^3 and x^5.
    steps : int
        Iterations.
    eps : float
        Least norm that is divided by.

    Returns
    -------
    Tensor
        (m, n), singular values between about 0.5 and 1.5 after five steps with Muon's coefficients.
    """
    first, third, fifth = coefficients
    # The products x x' are smallest where x has fewer rows than columns.
    wide = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    wide = wide / wide.norm().clamp(min=eps)
    for _ in range(steps):
        # With x for `wide` and x' its transpose: first x + (third x x' + fifth (x x')^2) x.
        gram = wide @ wide.T
        polynomial = torch.addmm(gram, gram, gram, beta=third, alpha=fifth)
        wide = torch.addmm(wide, polynomial, wide, beta=first)
    return wide.T if matrix.shape[0] > matrix.shape[1] else wide


class Muon(torch.optim.Muon):
    """torch's Muon with products in the precision of the weights.

    Either takes up the state of the other.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Take a step along the gradients, at the rate that matches AdamW's.

        Return the value of the closure, if there is one.
        """
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            momentum, decay = group["momentum"], 1 - group["lr"] * group["weight_decay"]
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                # Nesterov's momentum, made orthogonal.
                zeros = torch.zeros_like(weight.grad)
                mean = self.state[weight].setdefault("momentum_buffer", zeros)
                mean.lerp_(weight.grad, 1 - momentum)
                direction = orthogonal(
                    weight.grad.lerp(mean, momentum),
                    group["ns_coefficients"],
                    group["ns_steps"],
                    group["eps"],
                )
                # The update's entries are then about as large as those of an AdamW step.
                size = 0.2 * group["lr"] * math.sqrt(max(weight.shape))
                weight.mul_(decay).add_(direction, alpha=-size)
        return loss
