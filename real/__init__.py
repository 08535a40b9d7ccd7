"""specsim on real language models: the same rule files, run, counted and timed (torch, transformers)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from real.decode.warp import Warping
    from real.load_pair import load
    from real.pair import Pair
    from real.studies.compare.comparison import Comparison
    from real.studies.compare.from_python import compare
    from real.writing import Generation

__all__ = ["TINY", "Comparison", "Generation", "Pair", "Warping", "compare", "load"]
# The folder of the bundled pair: target, draft and prompts.json.
TINY = Path(__file__).parent / "tiny"
# The module of each name, which is imported when the name is used.
_HOME = {
    "Comparison": "real.studies.compare.comparison",
    "compare": "real.studies.compare.from_python",
    "Generation": "real.writing",
    "Pair": "real.pair",
    "load": "real.load_pair",
    "Warping": "real.decode.warp",
}


def __getattr__(name: str) -> Any:
    """Return a public name from its module.

    So torch and transformers are loaded with the first name that needs them: help needs neither.
    """
    if name not in _HOME:
        from difflib import get_close_matches

        near = get_close_matches(name, __all__, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'real' has no attribute {name!r}{hint}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names, too, which are not loaded yet."""
    return sorted([*globals(), *__all__])
