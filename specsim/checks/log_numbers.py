"""Exact numbers with logarithms and a gradient: objectives run on them, so that gradients compare with ==.

A number is a + sum_n c_n log n over primes n, with rational a and c_n: logarithms of primes are
linearly independent over the rationals, so two are equal iff their coefficients are. With it goes a
gradient, a tuple of such numbers. NumPy's exp, log and sqrt of object arrays call methods of that
name: code written on arrays runs on these as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from specsim.types import Array

# 1 -> the rational part, prime n -> the coefficient of log n; no zeros.
Terms = dict[int, Fraction]
# The key of the rational part.
ONE = 1


class NoValue(ArithmeticError):
    """Raised where a result has no exact value of this form, as the root of 2 or a product of two logarithms."""


class Number:
    """A number with its gradient.

    >>> half = Number.of(Fraction(1, 2))
    >>> half.log() + Number.of(2).log() == 0, (half * 3).value
    (True, {1: Fraction(3, 2)})
    """

    __slots__ = ("slope", "value")

    def __init__(self, value: Terms, slope: tuple[Terms, ...] = ()) -> None:
        self.value, self.slope = value, slope

    @staticmethod
    def of(value: Any) -> Number:
        """Return a rational number, whose gradient is 0."""
        if isinstance(value, Number):
            return value
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, (int, Fraction)):
            raise NoValue(f"{value!r} is no exact number")
        return Number({ONE: Fraction(value)} if value else {})

    def detach(self) -> Number:
        """Return the number as a constant."""
        return Number(self.value)

    def rational(self) -> Fraction:
        """Return the number as a Fraction, if it has no logarithms."""
        if self.value.keys() - {ONE}:
            raise NoValue("a logarithm has no rational value")
        return self.value.get(ONE, Fraction(0))

    def __add__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: (_sum(a.value, b.value), lambda da, db: _sum(da, db)))

    def __mul__(self, other: Any) -> Any:
        def parts(a: Number, b: Number) -> tuple[Terms, Callable[[Terms, Terms], Terms]]:
            """Return the product, and the product rule."""
            return _times(a.value, b.value), lambda da, db: _sum(_times(da, b.value), _times(a.value, db))

        return self._combine(other, parts)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        return self * _inverse(Number.of(_item(other)))

    def __rtruediv__(self, other: Any) -> Any:
        return Number.of(_item(other)) * _inverse(self)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        if not _single(other):
            return NotImplemented
        return self.__add__(-Number.of(_item(other)))

    def __rsub__(self, other: Any) -> Any:
        return (-self).__add__(other)

    def _combine(self, operand: Any, parts: Callable[[Number, Number], Any]) -> Any:
        """Return the result of an operation on this number and another one, with its gradient.

        parts(a, b) returns the value of the result, and the function (da, db) -> its derivative.
        """
        if not _single(operand):
            return NotImplemented
        other = Number.of(_item(operand))
        value, slope = parts(self, other)
        # A shorter gradient ends in zeros.
        size = max(len(self.slope), len(other.slope))
        slopes, other_slopes = ((*n.slope, *[Terms()] * (size - len(n.slope))) for n in (self, other))
        return Number(value, tuple(slope(a, b) for a, b in zip(slopes, other_slopes, strict=True)))

    def exp(self) -> Number:
        """Return e to this: rational where the number is a whole combination of logarithms."""
        if ONE in self.value or any(c.denominator != 1 for c in self.value.values()):
            raise NoValue("this has no rational exponential")
        whole = math.prod((Fraction(n) ** c.numerator for n, c in self.value.items()), start=Fraction(1))
        return Number({ONE: whole}, tuple(_times(d, {ONE: whole}) for d in self.slope))

    def log(self) -> Number:
        """Return the logarithm of a positive rational."""
        number = self.rational()
        if number <= 0:
            raise NoValue(f"the logarithm of {number} is none")
        factors = [(n, Fraction(1)) for n in _primes(number.numerator)]
        factors += [(n, Fraction(-1)) for n in _primes(number.denominator)]
        value = Terms()
        for n, sign in factors:
            value = _sum(value, {n: sign})
        return Number(value, tuple(_times(d, {ONE: 1 / number}) for d in self.slope))

    def sqrt(self) -> Number:
        """Return the root of the square of a rational."""
        number = self.rational()
        root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
        if root * root != number:
            raise NoValue(f"the root of {number} is not rational")
        return Number({ONE: root} if root else {}, tuple(_times(d, {ONE: 1 / (2 * root)}) for d in self.slope))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, Fraction, Number)) and self.value == Number.of(other).value

    def __hash__(self) -> int:
        return hash(frozenset(self.value.items()))

    def __lt__(self, other: Any) -> bool:
        return bool((Number.of(_item(other)) - self).rational() > 0)

    def __gt__(self, other: Any) -> bool:
        return bool((self - Number.of(_item(other))).rational() > 0)

    def __repr__(self) -> str:
        words = [str(c) if n == ONE else f"{c} log {n}" for n, c in sorted(self.value.items())]
        return " + ".join(words) or "0"


def numbers(values: Any) -> Array:
    """Return an array of constants."""
    return np.vectorize(lambda value: Number.of(value).detach(), otypes=[object])(np.asarray(values, dtype=object))


def log_softmax(q: Any) -> Array:
    """Return log q of rows (n, V) of positive Fractions, with gradients in n V logits.

    d log q_x / d z_y = 1{x=y} - q_y.
    """
    q = np.asarray(q, dtype=object)
    count, vocab = q.shape
    log_q = np.empty(q.shape, dtype=object)
    for row, x in np.ndindex(q.shape):
        slope = [Terms()] * (count * vocab)
        for y in range(vocab):
            entry = int(x == y) - q[row, y]
            slope[row * vocab + y] = {ONE: Fraction(entry)} if entry else {}
        log_q[row, x] = Number(Number.of(q[row, x]).log().value, tuple(slope))
    return log_q


def gradient(total: Number, shape: tuple[int, int]) -> Array:
    """Return the gradient of a number in logits (n, V)."""
    slope = (*total.slope, *[Terms()] * (math.prod(shape) - len(total.slope)))
    slopes = np.empty(len(slope), dtype=object)
    slopes[:] = [Number(d) for d in slope]
    return slopes.reshape(shape)


def _single(value: Any) -> bool:
    """Return whether a value is one number, and no array of several."""
    return not (isinstance(value, np.ndarray) and value.ndim)


def _item(value: Any) -> Any:
    """Return a number; NumPy wraps single ones in 0-d arrays."""
    return value.item() if isinstance(value, np.ndarray) else value


def _sum(a: Terms, b: Terms) -> Terms:
    """Return a sum of terms."""
    total = dict(a)
    for n, c in b.items():
        total[n] = total.get(n, Fraction(0)) + c
    return {n: c for n, c in total.items() if c}


def _times(a: Terms, b: Terms) -> Terms:
    """Return a product of terms, of which one must be rational."""
    for rational, terms in ((a, b), (b, a)):
        if not rational.keys() - {ONE}:
            factor = rational.get(ONE, Fraction(0))
            return {n: c * factor for n, c in terms.items() if factor}
    raise NoValue("a product of two logarithms")


def _inverse(number: Number) -> Number:
    """Return one over a rational number."""
    value = number.rational()
    return Number({ONE: 1 / value}, tuple(_times(d, {ONE: -1 / value**2}) for d in number.slope))


def _primes(number: int) -> Iterable[int]:
    """Yield the prime factors of a positive integer, each as often as it divides: 12 gives 2, 2, 3.

    Trial division is quick enough here: the checks have small numbers and powers of 2.
    """
    n = 2
    while n * n <= number:
        while number % n == 0:
            yield n
            number //= n
        n += 1
    if number > 1:
        yield number
