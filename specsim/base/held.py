"""Small arrays that follow from a shape alone, copied once to where they are used.

What a GPU captures may not copy from the host. Whatever is known of a tree's shape is therefore copied in the run that
goes before a capture, and found here by the capture itself.
"""

from __future__ import annotations

from array_api_compat import device, is_numpy_array, is_torch_array

from specsim.base.arrays import array_namespace
from specsim.types import Array

# Nothing is dropped: a captured graph reads these addresses for as long as it lives.
_HELD: dict[tuple[bytes, str, tuple[int, ...], str], Array] = {}


def held(w: Array, like: Array) -> Array:
    """A NumPy array as one of the kind of `like`, where that lies."""
    if not is_numpy_array(w) or is_numpy_array(like):
        return w
    if not is_torch_array(like):
        return array_namespace(like).asarray(w)
    key = (w.tobytes(), w.dtype.str, w.shape, str(device(like)))
    if key not in _HELD:
        import torch

        with torch.inference_mode(False):  # usable with gradients as well as without
            _HELD[key] = torch.asarray(w.copy(), device=device(like))
    return _HELD[key]


def forget() -> None:
    """Drop what is held: for tests, whose pretended devices end."""
    _HELD.clear()
