"""Kinds of study, one file each: what a row takes (INPUTS), what it holds (OUTPUTS), and `row`, which computes it."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from specsim.base.unknown import unknown
from specsim.commands.sweep.inputs import Kind, anything


def names() -> list[str]:
    """Return the kinds of study, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


@lru_cache
def find(name: str) -> Kind:
    """Return the kind of one name; ValueError listing the known names if there is none.

    Examples
    --------
    >>> find("plan").name, find("simulate").inputs["gamma"].column
    ('plan', 'int64')
    """
    if name not in names():
        raise unknown("kind", name, names())
    module = importlib.import_module(f"{__name__}.{name}")
    # TIMED and check may be left out.
    members = vars(module)
    timed, check = members.get("TIMED", False), members.get("check", anything)
    return Kind(name, module.INPUTS, module.OUTPUTS, module.row, check, module.CHUNK, module.MOST, timed)
