"""Systems of the literature on trained models: one file each; the folder is the registry.

`real.papers.lab.contract` states what such a file has; the other files of that folder run it, keep
and show what it finds.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, cast

from specsim.base.unknown import unknown

if TYPE_CHECKING:
    from real.papers.lab.contract import System


def names() -> list[str]:
    """Names of the systems, sorted."""
    return sorted(file.name for file in pkgutil.iter_modules(__path__))


def find(name: str) -> System:
    """A system by the name of its file.

    ValueError for one that is not there, or that lacks what the contract asks.
    """
    known = names()
    if name not in known:
        raise unknown("system", name, known)
    system = importlib.import_module(f"{__name__}.{name}")
    # Here: a command's help loads no NumPy.
    from real.papers.lab.contract import flaw

    wrong = flaw(vars(system))
    if wrong:
        raise ValueError(f"system {name!r} {wrong}")
    return cast("System", system)
