"""No forward of a model: what a test forbids, so that bad input must be refused before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Whatever computes ends in one of these: decoding, scoring (`laws`), calibration, cycles of fixed
# shapes and of trees.
PLACES = (
    "real.models.cache.Cache.forward", "real.models.llama.forward", "real.train.corpus.train_tokenizer",
    "real.train.states._compute_batches", "real.train.loop.descend",
    # These save weights where the package has its own.
    "real.papers.models.images.raster.train", "real.papers.lab.drafter_training.fitted",
)  # fmt: skip


class Forward(Exception):
    """A model was about to compute, or a long preparation to begin."""


def refuse(*args: Any, **kwargs: Any) -> Any:
    """In the place of a forward."""
    raise Forward


def refusal(result: Any) -> str:
    """The one line in which a command (typer's result) refused its input, with status 2; what it was loading aside."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = (line for line in result.stderr.splitlines() if not line.startswith("loading "))
    assert line.startswith("error: ")
    return str(line)


def forbid(patch: Callable[[str, Any], object]) -> None:
    """Put `refuse` in the place of each, by `monkeypatch.setattr` or the like; it imports torch and transformers."""
    for place in PLACES:
        patch(place, refuse)
