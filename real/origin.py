"""Where the models of a pair come from, and how a pair is shown in one line."""

from __future__ import annotations

from pathlib import PurePath
from typing import NamedTuple

from real.models.model import LanguageModel


class Origin(NamedTuple):
    """Where the models of a pair come from, and what was done to the target: as `real.load` was told."""

    target: str
    draft: str | None
    widened_to: int | None = None
    weights: str | None = None


def described(target: LanguageModel, draft: LanguageModel | None, origin: Origin | None) -> str:
    """Return a pair in one line: its models with their parameters, tokens, device and dtype."""
    target_words, draft_words = f"{_millions(target)} parameters", "None"
    if origin is not None and origin.widened_to is not None:
        target_words += ", cost emulation"
    if origin is not None and origin.weights is not None:
        target_words += f", projections in {origin.weights}"
    if draft is not None:
        draft_words = f"{_name(origin and origin.draft)} ({_millions(draft)})"
    return (
        f"Pair(target={_name(origin and origin.target)} ({target_words}), draft={draft_words}, "
        f"tokens={target.vocab_size:,}, device={target.device}, dtype={str(target.dtype).removeprefix('torch.')})"
    )


def _name(where: str | None) -> str:
    """Return the last two parts of a model's place: the whole of an id of the hub."""
    return "a model in memory" if where is None else repr("/".join(PurePath(where).parts[-2:]))


def _millions(model: LanguageModel) -> str:
    """Return a model's parameters in millions, in words."""
    return f"{model.parameters / 1e6:,.1f} M"
