"""The draw of a draft token on a CPU: `specsim.base.arrays.pick` to the bit, in the fewest calls."""

from __future__ import annotations

import torch
from torch import Tensor

from specsim.base.arrays import MANY, pick


def drawn(law: Tensor, u: Tensor) -> Tensor:
    """Tokens (b,) from laws (b, V) at uniforms (b,).

    For one text of a moderate vocabulary `pick` spends most of its time on the kind of its arguments: the sum and the
    look-up take a fourth of it. Other arguments go to `pick`.
    """
    if law.device.type != "cpu" or law.shape[0] != 1 or law.shape[-1] >= MANY:
        return pick(law, u)  # type: ignore[no-any-return]
    cdf = law.cumsum(-1, dtype=torch.float64).numpy()[0]
    most = u.item() * cdf[-1]
    # NaN exceeds no sum: the token behind the last, as `pick` has it.
    return torch.tensor([cdf.searchsorted(most, "right") if most == most else len(cdf)])
