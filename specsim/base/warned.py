"""Warnings that show the line of the user's code that called the package."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

import numpy as np

_PACKAGE = Path(__file__).parents[1]
# Folders and files whose frames may lie between the caller and the warning: both packages, and
# decorators around functions.
_OURS = (str(_PACKAGE), str(_PACKAGE.with_name("real")), str(Path(np.__file__).parent), contextlib.__file__)


def warn(message: str) -> None:
    """Issue a UserWarning that shows the nearest line outside of the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
