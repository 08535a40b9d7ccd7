"""Arguments that have a new name, or a new place: the old call gets one line that says what to write."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """TypeError for an argument under its old name, with the new one; for one release.

    >>> @renamed(sampling="scheme")
    ... def draws(*, scheme: str = "iid") -> str:
    ...     return scheme
    >>> draws(sampling="iid")
    Traceback (most recent call last):
    TypeError: draws: sampling is now scheme
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name in new:
                    raise TypeError(f"{function.__name__}: {name} is now {new[name]}")
            return function(*args, **kwargs)

        return call

    return decorated


def rule_no_longer_first(order: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """TypeError for a call whose first argument is the name of a rule, with the order of today; for one release."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if args and isinstance(args[0], str):
                raise TypeError(f"{function.__name__} takes its rule by name: {function.__name__}({order})")
            return function(*args, **kwargs)

        return call

    return decorated
