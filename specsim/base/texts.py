"""Tools of every process: the rows that a pass must give, texts to write, groups of texts."""

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
    """The rows that one pass must give: laws of `model` at `places`, each given the tokens it sees.

    tokens (b, N): the texts, tentative tokens included. places (b, n): the positions whose laws are
    asked for. seen (b, n, N): the positions that each place looks at. With no places there is no
    pass.
    """

    tokens: Array
    places: Array
    seen: Array
    model: Whose = "target"


def before(places: Array, length: int) -> Array:
    """Return the mask (b, n, N) of the positions left of each place (b, n)."""
    return np.arange(length) < places[..., None]


def alike(keys: Array, live: Array) -> Iterator[tuple[int, Array]]:
    """Yield each key (b,) of the live texts with the numbers of the texts that have it.

    A rule takes blocks of one length at a time; the key is that length.
    """
    for key in np.unique(keys[live]):
        yield int(key), np.flatnonzero(live & (keys == key))


def host(numbers: Array) -> Array:
    """Return counts as NumPy integers, whatever library a rule ran on: control flow needs them."""
    return np.asarray(numbers.cpu() if hasattr(numbers, "cpu") else numbers).astype(np.int64)


def verified(rule: ModuleType, p: Array, q: Array, drafts: Array, u: Array) -> tuple[Array, Array]:
    """Run a chain rule on drafts (n, size); return the number accepted and the token after, both (n,).

    u (n, m) may hold more uniforms than the rule takes.
    """
    num_uniforms = int(rule.uniforms(drafts.shape[1]))
    num_accepted, token = rule.verify(rule.prepare(p, q), drafts, u[:, :num_uniforms])
    return host(num_accepted), token


def copied(w: Array) -> Array:
    """Return a copy of an array, to write into."""
    return array_namespace(w).asarray(w, copy=True)


def empty_text(batch: int, length: int) -> Array:
    """Return texts (b, N) of token 0."""
    return np.zeros((batch, length), dtype=np.int64)


def tokens_like(numbers: Array, like: Array) -> Array:
    """Return NumPy integers or flags in the library of `like`, on its device."""
    if isinstance(like, np.ndarray):
        return numbers
    return array_namespace(like).asarray(numbers, device=array_api_compat.device(like))
