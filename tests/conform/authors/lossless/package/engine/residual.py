"""What is left over."""

from . import constants


def residual(p, q):
    """Return max(p - q, 0), normalised."""
    out = (p - q).clip(constants.ZERO)
    return out / out.sum()
