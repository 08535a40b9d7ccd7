"""Good calls of what `real` has in public; see good_calls.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OF_REAL = (
    "real.Pair.generate",
    "real.Pair.score",
    "real.Pair.stopping",
    "real.Warping",
    "real.compare",
    "real.load",
)


def calls_of_real() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Public functions of `real`, and of the pair that is bundled, each with a good call."""
    import real

    pair = real.load(real.TINY / "target", real.TINY / "draft")
    good: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (pair.generate, {"prompt": "a = 1\n", "max_tokens": 4}),
        (pair.score, {"text": [5, 6, 7]}),
        (pair.stopping, {"strings": ["\n"]}),
        (real.Warping, {"temperature": 0.7}),
        (real.compare, {"pair": pair, "prompts": ["a = 1\n"], "gammas": [1], "max_tokens": 4}),
        (real.load, {"target": real.TINY / "target", "draft": real.TINY / "draft"}),
    ]
    return dict(zip(OF_REAL, good, strict=True))
