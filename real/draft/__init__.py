"""Drafters beside a draft model: one file a drafter; the folder is the registry.

`_contract` states what such a file has. A drafter is a frozen record
(`real.decode.proposer.Drafter`), which `decode_batch` takes as its `proposer`.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from specsim.base.unknown import unknown


def names() -> list[str]:
    """Return names of the drafters, sorted."""
    return sorted(file.name for file in pkgutil.iter_modules(__path__) if not file.name.startswith("_"))


def find(name: str) -> ModuleType:
    """Return the module of a drafter.

    ValueError for a name that is not there, or a module that lacks what the contract asks.
    """
    known = names()
    if name not in known:
        raise unknown("drafter", name, known, "drafters")
    module = importlib.import_module(f"{__name__}.{name}")
    # Imported here, so that a command's help loads no torch.
    from real.draft._contract import flaw

    lack = flaw(vars(module))
    if lack:
        raise ValueError(f"drafter {name!r} {lack}")
    return module
