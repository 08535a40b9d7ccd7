"""What every process is written in: the rows a pass has to give, texts with places to write, groups of texts alike."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Literal, NamedTuple

import array_api_compat
import numpy as np

from specsim.base.arrays import array_namespace
from specsim.types import Array

Whose = Literal["target", "draft"]


class Asked(NamedTuple):
    """The rows that one pass has to give: of `model`, p(. at places | those tokens that are seen).

    tokens (b, N): the texts, tentative tokens included. places (b, n): whose laws. seen (b, n, N): which positions each
    of them looks at. A pass over no places is none.
    """

    tokens: Array
    places: Array
    seen: Array
    model: Whose = "target"


def before(places: Array, length: int) -> Array:
    """Every position left of each place (b, n): what a model that reads from left to right sees."""
    return np.arange(length) < places[..., None]


def alike(keys: Array, live: Array) -> Iterator[tuple[int, Array]]:
    """(key, the texts that have it) of the texts (b,) that are live: a rule takes blocks of one length at a time."""
    for key in np.unique(keys[live]):
        yield int(key), np.flatnonzero(live & (keys == key))


def host(numbers: Array) -> Array:
    """Counts as NumPy's, from whatever library a rule ran on: they say what runs next."""
    return np.asarray(numbers.cpu() if hasattr(numbers, "cpu") else numbers).astype(np.int64)


def verified(rule: ModuleType, p: Array, q: Array, drafts: Array, u: Array) -> tuple[Array, Array]:
    """What a chain rule says of drafts (n, size): how many are kept (n,), and the token behind them (n,)."""
    kept, token = rule.verify(rule.prepare(p, q), drafts, u[:, : int(rule.uniforms(drafts.shape[1]))])
    return host(kept), token


def copied(w: Array) -> Array:
    """An array of its own, to write into."""
    return array_namespace(w).asarray(w, copy=True)


def empty_text(batch: int, length: int) -> Array:
    """Texts (b, N) of token 0."""
    return np.zeros((batch, length), dtype=np.int64)


def tokens_like(numbers: Array, like: Array) -> Array:
    """NumPy's integers or flags in the library of `like`, on its device."""
    if isinstance(like, np.ndarray):
        return numbers
    return array_namespace(like).asarray(numbers, device=array_api_compat.device(like))
