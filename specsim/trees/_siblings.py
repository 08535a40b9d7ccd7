"""The children of one node: k candidates of a draft scheme, or the k likeliest tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from specsim import discover
from specsim.base.arrays import array_namespace, one_hot
from specsim.types import Array, Draws

Counts = Callable[[Array], Draws]


def _scheme(scheme: str, k: int) -> tuple[Any, bool]:
    """Return the module of a draft scheme, and whether it draws a random number of siblings.

    Raises ValueError if the scheme cannot draw k siblings from one law.
    """
    # Whole paths are drawn independently, so that the children of one node are i.i.d.
    module = discover.find("draft", "iid" if scheme == "paths" else scheme)
    facts = discover.scheme_facts(module)
    if facts.per_draft or (facts.counts is not None and k not in facts.counts):
        raise ValueError(f"scheme {scheme!r} cannot draw {k} siblings from one law")
    return module, facts.random_number


def needs(scheme: str, k: int) -> int:
    """Return the number of uniforms that k children take."""
    if scheme == "deterministic":
        return 0
    scheme_module, is_random = _scheme(scheme, k)
    return int(scheme_module.uniforms(Draws(1, 0, k) if is_random else k))


def _scheme_and_count(scheme: str, q: Array, k: int, draws: Counts | None) -> tuple[Any, Any]:
    """Return the scheme's module, and the number of draws that it takes: k, or the law of that number at q.

    Raises ValueError if `draws` is missing for a random number of draws, or given for a fixed one.
    """
    scheme_module, is_random = _scheme(scheme, k)
    if is_random != (draws is not None):
        use = "needs" if is_random else "takes no"
        raise ValueError(f"scheme {scheme!r} {use} draws, the law of a number of draws")
    # A node with one place for a child makes one draw, whatever `draws` says.
    if draws is not None and k == 1:
        return scheme_module, Draws(1, 0, 1)
    count = k if draws is None else draws(q)
    if isinstance(count, Draws) and count.limit != k:
        raise ValueError(f"draws has a limit of {count.limit} where the shape has {k} siblings")
    return scheme_module, count


def drawn(scheme: str, q: Array, u: Array, k: int, draws: Counts | None) -> Array:
    """Return the k children (..., k) that the uniforms u draw from q; -1 at places that stay empty."""
    if scheme == "deterministic":
        return likeliest(q, k)
    scheme_module, count = _scheme_and_count(scheme, q, k, draws)
    return scheme_module.draw(q, u, count)


def probability(scheme: str, q: Array, drawn: Array, k: int, draws: Counts | None) -> Array:
    """Return the probability (...) that these k children (..., k) are drawn from q."""
    if scheme == "deterministic":
        xp = array_namespace(q)
        return xp.where(xp.all(likeliest(q, k) == drawn, axis=-1), 1, 0)
    scheme_module, count = _scheme_and_count(scheme, q, k, draws)
    return scheme_module.probability(q, drawn, count)


def reported(scheme: str, q: Array, k: int) -> Array:
    """Return the law that a first child is drawn from: q, or the point mass at the likeliest token."""
    if scheme != "deterministic":
        return q
    first_child = likeliest(q, k)[..., 0]
    return one_hot(first_child, q)


def likeliest(q: Array, k: int) -> Array:
    """Return the k likeliest tokens (..., k), -1 where fewer have a probability."""
    xp = array_namespace(q)
    order = xp.argsort(-q, axis=-1, stable=True)[..., :k]
    top = xp.where(xp.take_along_axis(q, order, axis=-1) > 0, order, -1)
    # Places beyond the vocabulary stay empty, too: columns of -1.
    empty_places = [top[..., :1] * 0 - 1] * (k - top.shape[-1])
    return xp.concat([top, *empty_places], axis=-1) if empty_places else top
