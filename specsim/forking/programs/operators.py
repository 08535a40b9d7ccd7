"""Operators of random numbers: how libraries spell them, and in which words those that are not followed are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UFUNCS = {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "multiply": "mul", "divide": "truediv",
    "true_divide": "truediv", "add": "add", "subtract": "sub", "log": "log", "exp": "exp", "negative": "neg",
}  # fmt: skip
SPELLINGS = {
    "lt": "lt", "less": "lt", "le": "le", "gt": "gt", "greater": "gt", "ge": "ge", "mul": "mul", "multiply": "mul",
    "div": "truediv", "add": "add", "sub": "sub",
}  # fmt: skip
_OPERATIONS = {
    "used as a truth value": "bool",
    "rounded to an integer": "int round trunc floor ceil",
    "converted to a float or a complex number": "float complex",
    "used as an index": "index",
    "tested for equality": "eq ne",
    "compared": "lt le gt ge",
    "added to": "add radd iadd",
    "subtracted": "sub rsub isub",
    "multiplied": "mul rmul imul matmul rmatmul",
    "divided": "truediv rtruediv itruediv floordiv rfloordiv divmod rdivmod",
    "taken the remainder of": "mod rmod",
    "taken a power of": "pow rpow ipow",
    "negated": "neg",
    "used as it is, or without its sign": "pos abs",
    "taken bits of": "invert and rand or ror xor rxor lshift rshift",
    "written to": "setitem",
    "searched": "contains",
    "used as a key": "hash",
    "copied by pickle": "reduce reduce_ex",
    "printed": "repr str format",
    "taken a logarithm of": "log",
    "taken the exponential of": "exp",
}
# Name of an operation -> words for it.
REFUSED = {name: words for words, names in _OPERATIONS.items() for name in names.split()}


def refusing(words: str) -> Callable[..., Any]:
    """Return a method that refuses what it is called for."""

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        """Refuse the program."""
        self._refuse(words)

    return refuse


def spelt(name: str) -> Callable[..., Any]:
    """Return a method that does what an operator does."""

    def operate(self: Any, other: Any) -> Any:
        """Apply the operator."""
        return getattr(self, f"__{name}__")(other)

    return operate
