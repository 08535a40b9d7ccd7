"""Objectives say what a draft learns: a number for each row of both laws. One file each."""

from specsim.objective._value import loss

__all__ = ["loss"]
