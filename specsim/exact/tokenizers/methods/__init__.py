"""Ways from a draft's tokens to the target's, one file each.

`propose` returns every proposal with its probability, `draft_row` the law against which one of its tokens is
tested, `LOSSLESS` whether the target's law of tokens is kept. Every method verifies by rejection (T01): a
token x is kept with probability min(1, p(x) / q(x)), or replaced by one of the normalised max(p - q, 0).
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from specsim.base.unknown import unknown


def names() -> list[str]:
    """Return the methods, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def find(name: str) -> ModuleType:
    """Return the method of one name; ValueError listing the known names if there is none.

    Examples
    --------
    >>> find("exact_match").LOSSLESS, find("transferred").LOSSLESS
    (True, False)
    """
    if name not in names():
        raise unknown("method", name, names())
    return importlib.import_module(f"{__name__}.{name}")
