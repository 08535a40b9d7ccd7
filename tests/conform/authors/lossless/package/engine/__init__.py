"""An engine of three files, with relative imports."""

from .rejection import verify

__all__ = ["verify"]
