"""Powers t^n and their slopes, by squaring: n is one number, or differs from row to row."""

from __future__ import annotations

from specsim.base.arrays import array_namespace
from specsim.draft import iid
from specsim.types import Array


def slope(a: Array, b: Array, n: Array, limit: int) -> Array:
    """s_n = (b^n - a^n) / (b - a), the sum of a^i b^(n-1-i).

    s_2n = s_n (a^n + b^n) and s_(n+1) = a s_n + b^n, so that the bits of n give it.
    """
    # An n of each row: the bits of the limit, with s_n, a^n and b^n of the bits so far.
    if not isinstance(n, int):
        xp = array_namespace(a)
        result, a_power, b_power = 0 * a, 1 + 0 * a, 1 + 0 * b
        for bit in reversed(range(limit.bit_length())):
            # From n to 2 n.
            result = result * (a_power + b_power)
            a_power, b_power = a_power * a_power, b_power * b_power

            # From there to 2 n + 1, where the bit is set.
            is_odd = (n >> bit) % 2 == 1
            result = xp.where(is_odd, a * result + b_power, result)
            a_power = xp.where(is_odd, a * a_power, a_power)
            b_power = xp.where(is_odd, b * b_power, b_power)
        return result

    # One n for all rows.
    if n <= 2:
        return 1 + 0 * a if n == 1 else a + b
    if n % 2:
        return a * slope(a, b, n - 1, limit) + iid.inside(b, n - 1)
    return slope(a, b, n // 2, limit) * (iid.inside(a, n // 2) + iid.inside(b, n // 2))


def power(t: Array, n: Array, limit: int) -> Array:
    """t^n; where n differs by row, by squaring as often as the limit needs."""
    if isinstance(n, int):
        return iid.inside(t, n)
    result = 1 + 0 * t
    for bit in reversed(range(limit.bit_length())):
        result = result * result
        result = array_namespace(t).where((n >> bit) % 2 == 1, t * result, result)
    return result
