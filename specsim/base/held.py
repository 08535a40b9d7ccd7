"""Small arrays that depend on a shape alone, copied once to the device that uses them.

A program that a GPU captures may not copy from the host. Arrays that depend on a tree's shape are
therefore copied in the run before a capture, and the capture reads these copies.
"""

from __future__ import annotations

from array_api_compat import device, is_numpy_array, is_torch_array

from specsim.base.arrays import array_namespace
from specsim.types import Array

# Nothing is dropped: a captured graph reads these addresses for as long as it lives.
_HELD: dict[tuple[bytes, str, tuple[int, ...], str], Array] = {}


def held(w: Array, like: Array) -> Array:
    """Return a NumPy array in the library and on the device of `like`; copied to torch only once."""
    if not is_numpy_array(w) or is_numpy_array(like):
        return w
    if not is_torch_array(like):
        return array_namespace(like).asarray(w)
    key = (w.tobytes(), w.dtype.str, w.shape, str(device(like)))
    if key not in _HELD:
        import torch

        # Outside of inference mode the copy can be used with gradients, too.
        with torch.inference_mode(False):
            _HELD[key] = torch.asarray(w.copy(), device=device(like))
    return _HELD[key]


def forget() -> None:
    """Drop what is held: for tests, whose pretended devices end."""
    _HELD.clear()
