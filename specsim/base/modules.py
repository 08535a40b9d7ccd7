"""A rule, or a module of another family, that is a file of one's own."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

TELLING = ("verify", "draw", "ask", "more", "loss")  # each family's modules have one of these functions

# Modules that an extra of this package installs -> that extra.
EXTRAS = {"jax": "jax", "jaxlib": "jax", "torch": "real", "transformers": "real"}


def own_rule(rule: Any) -> ModuleType | None:
    """The rule that a module or the path of a Python file is; None for anything else, such as a rule's name."""
    if isinstance(rule, Path) or (isinstance(rule, str) and rule.endswith(".py")):
        return read(Path(rule), "rule")
    return rule if any(callable(getattr(rule, name, None)) for name in TELLING) else None


def read(path: Path, kind: str) -> ModuleType:
    """The module in a user's file, imported once for as long as the file says the same; `kind` is for errors."""
    if not path.is_file():
        raise ValueError(f"{kind} file {path} does not exist")
    try:
        return _loaded(path.resolve(), path.read_bytes())
    except (Exception, SystemExit) as error:  # the file is the user's: whatever it raises is the answer
        raise not_imported(path, kind, error) from None


def not_imported(path: Path, kind: str, error: BaseException) -> ValueError:
    """Return the error for a user's file that cannot be imported, with the extra that has a missing module."""
    remedy = ""
    if isinstance(error, ModuleNotFoundError):
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        remedy = f": install the extra `{extra}` (specsim-llm[{extra}])" if extra else ""
    return ValueError(f"{kind} file {path} cannot be imported: {type(error).__name__}: {error}{remedy}")


@lru_cache
def _loaded(path: Path, source: bytes) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None:
        raise ImportError("its name does not end in .py")
    module = importlib.util.module_from_spec(spec)
    exec(compile(source, path, "exec"), vars(module))  # bytecode may be of what the file was
    return module
