"""The folder is the registry: rules and draft schemes are found by listing their package."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import ModuleType
from typing import NamedTuple

FAMILIES = {
    "step": "specsim.verify.step",
    "chain": "specsim.verify.chain",
    "tree": "specsim.verify.tree",
    "draft": "specsim.draft",
}


def names(family: str) -> list[str]:
    """Names of the modules in a family's folder, sorted."""
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; known: {', '.join(FAMILIES)}")
    package = importlib.import_module(FAMILIES[family])
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_"))


def find(family: str, name: str) -> ModuleType:
    """The module of one rule or scheme; ValueError listing the known names if there is none."""
    loaded = sys.modules.get(f"{FAMILIES.get(family)}.{name}")  # listing a folder takes as long as some sorts
    if loaded is not None and not str(name).startswith("_"):
        return loaded
    known = names(family)
    if name not in known:
        what = "scheme" if family == "draft" else "rule"
        raise ValueError(f"{what} {name!r} is unknown; {family} {what}s: {', '.join(known)}")
    return importlib.import_module(f"{FAMILIES[family]}.{name}")


def rules(family: str) -> dict[str, ModuleType]:
    """Every module of a family by name."""
    return {name: find(family, name) for name in names(family)}


class Algorithm(NamedTuple):
    """One shipped rule: name, family ("step", "chain", "tree"), draft schemes, theorem, paper, first docstring line.

    ``proved`` is what a machine has checked of it: "lossless", "acceptance", each with its Coq theorem.
    """

    name: str
    family: str
    drafts: str
    theorem: str
    paper: str
    summary: str
    proved: dict[str, str]


def algorithms() -> list[Algorithm]:
    """List every verification rule in the installed package.

    Returns
    -------
    list of Algorithm
        name, family, drafts, theorem, paper, summary, proved; the names are what `rule=` takes.

    Raises
    ------
    ImportError
        A file in a rule folder cannot be imported.

    References
    ----------
    Each record's `paper`.

    Examples
    --------
    >>> [a.name for a in algorithms() if a.family == "chain"]
    ['block', 'greedy_block', 'tokenwise']
    """
    return [
        Algorithm(
            name,
            family,
            ", ".join(getattr(module, "CHILDREN", (getattr(module, "DRAFTS", "single"),))),
            module.THEOREM,
            module.PAPER,
            (module.__doc__ or "").strip().splitlines()[0],
            dict(getattr(module, "PROVED", {})),
        )
        for family in ("step", "chain", "tree")
        for name, module in rules(family).items()
    ]
