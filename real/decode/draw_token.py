"""The draw of a draft token on a CPU: `specsim.base.arrays.pick` to the bit, in the fewest calls."""

from __future__ import annotations

import torch
from torch import Tensor

from specsim.base.arrays import MANY, pick


def drawn(law: Tensor, u: Tensor) -> Tensor:
    """Tokens (b,) from laws (b, V) at uniforms (b,).

    For one text of a moderate vocabulary `pick` spends its time on finding out what it was given: the sum and the
    look-up are a fourth of it. Everything else goes to `pick`.
    """
    if law.device.type != "cpu" or law.shape[0] != 1 or law.shape[-1] >= MANY:
        return pick(law, u)  # type: ignore[no-any-return]
    cdf = law.cumsum(-1, dtype=torch.float64).numpy()[0]
    most = u.item() * cdf[-1]
    return torch.tensor([cdf.searchsorted(most, "right") if most == most else len(cdf)])  # NaN exceeds nothing
