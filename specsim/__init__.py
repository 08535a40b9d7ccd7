"""specsim: the exact theory of speculative decoding, as a library.

p is always the target law and q the draft law, both after warping, with the vocabulary on the last axis.

The public names and where each is defined stand in the stub beside this file, `__init__.pyi`, which type checkers read.
A name is imported when it is first used (SPEC 1 of scientific Python), so that importing specsim takes no time.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"  # the only place: pyproject.toml reads it here


def _homes() -> dict[str, str]:
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        name.name: str(line.module) for line in stub.body if isinstance(line, ast.ImportFrom) for name in line.names
    }


_HOME = _homes()
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """A public name from its module, or a submodule."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        try:
            return import_module(f"specsim.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"specsim.{name}":
                raise
    # A dunder that a library looks for is asked for often, and by no person.
    from difflib import get_close_matches

    near = [] if name.startswith("_") else get_close_matches(name, __all__, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module 'specsim' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
