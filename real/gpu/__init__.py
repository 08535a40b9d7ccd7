"""Checks and measurements on a GPU, in parts that each fit into a few borrowed minutes: `python -m real.gpu`."""

from real.gpu.table import markdown

__all__ = ["markdown"]
