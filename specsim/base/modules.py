"""A rule, or a module of another family, that is a file of one's own."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

TELLING = ("verify", "draw", "ask", "more", "loss")  # each family's modules have one of these functions


def own_rule(rule: Any) -> ModuleType | None:
    """The rule that a module or the path of a Python file is; None for anything else, such as a rule's name."""
    if isinstance(rule, Path) or (isinstance(rule, str) and rule.endswith(".py")):
        path = Path(rule)
        if not path.is_file():
            raise ValueError(f"rule file {path} does not exist")
        return _loaded(path.resolve(), path.stat().st_mtime_ns)
    return rule if any(callable(getattr(rule, name, None)) for name in TELLING) else None


@lru_cache
def _loaded(path: Path, modified: int) -> ModuleType:
    """The module in a file, imported once for as long as the file stays as it is."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"rule file {path} is not Python")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the file is the user's: whatever it raises is the answer
        raise ValueError(f"rule file {path} cannot be imported: {type(error).__name__}: {error}") from None
    return module
