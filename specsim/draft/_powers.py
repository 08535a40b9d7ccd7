"""Powers t^n and their slopes, by squaring: n is one number, or differs from row to row.

An n that differs is an array (...,), of which `limit` is the largest possible value: a loop over as
many bits has a fixed length, so that it runs under jit.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace
from specsim.draft.iid import inside as int_power
from specsim.types import Array


def slope(a: Array, b: Array, n: Array, limit: int) -> Array:
    """Return s_n = (b^n - a^n) / (b - a), the sum of a^i b^(n-1-i) over i < n, for n >= 1.

    It follows from the bits of n, by s_2n = s_n (a^n + b^n) and s_(n+1) = a s_n + b^n.
    """
    # An n for each row: m is the number that the leading bits of n make, 0 at first, and s, a_m,
    # b_m are s_m, a^m and b^m.
    if not isinstance(n, int):
        xp = array_namespace(a)
        s, a_m, b_m = 0 * a, 1 + 0 * a, 1 + 0 * b
        for bit in reversed(range(limit.bit_length())):
            # From m to 2 m.
            s = s * (a_m + b_m)
            a_m, b_m = a_m * a_m, b_m * b_m

            # From there to 2 m + 1, where the bit is set.
            is_set = (n >> bit) % 2 == 1
            s = xp.where(is_set, a * s + b_m, s)
            a_m = xp.where(is_set, a * a_m, a_m)
            b_m = xp.where(is_set, b * b_m, b_m)
        return s

    # One n for all rows.
    if n <= 2:
        return 1 + 0 * a if n == 1 else a + b
    if n % 2:
        return a * slope(a, b, n - 1, limit) + int_power(b, n - 1)
    return slope(a, b, n // 2, limit) * (int_power(a, n // 2) + int_power(b, n // 2))


def power(t: Array, n: Array, limit: int) -> Array:
    """Return t^n, where n is one number or an array with a number for each row."""
    if isinstance(n, int):
        return int_power(t, n)
    # The power to the number that the leading bits of n make: squared for each bit, and multiplied
    # by t where the bit is set.
    result = 1 + 0 * t
    for bit in reversed(range(limit.bit_length())):
        result = result * result
        is_set = (n >> bit) % 2 == 1
        result = array_namespace(t).where(is_set, t * result, result)
    return result
