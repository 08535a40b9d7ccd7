"""Checks and measurements on a GPU, in parts that each fit into a few borrowed minutes: `python -m real.gpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from real.gpu.table import markdown

__all__ = ["markdown"]


def __getattr__(name: str) -> Any:
    """Load torch when a name is asked for, not with the package: help needs none."""
    if name != "markdown":
        raise AttributeError(f"module 'real.gpu' has no attribute {name!r}")
    from real.gpu.table import markdown

    return markdown
