"""What makes Fractions quicker for the suite on Python 3.11 gives the library's own numbers, types and errors."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
import pytest
from helpers import quick_fractions

RATIONALS = [Fraction(n, d) for n in (-6, -1, 0, 1, 2, 3, 10) for d in (1, 2, 3, 6, 35)] + [Fraction(2**80, 3**50)]
OTHERS = [-6, -1, 0, 1, 2, 15, 2**90, True, 0.5, 1e300, np.int64(6), np.float64(0.25), 1j, "1/2"]
QUICK = quick_fractions.methods()


def library() -> Any:
    """Its Fraction, read anew: the suite may have made the one in use quicker."""
    spec = importlib.util.find_spec("fractions")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Fraction


def told(method: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """What comes of it: a rational's parts and hash, another number and its type, or the error."""
    try:
        found = method(a, b)
    except (TypeError, ZeroDivisionError, OverflowError) as error:
        return type(error), str(error)
    if type(found).__name__ != "Fraction":
        return type(found), found
    assert gcd(found.numerator, found.denominator) == 1
    return found.numerator, found.denominator, hash(found)


@pytest.mark.parametrize("name", QUICK)
def test_every_operation_is_the_librarys(name: str) -> None:
    plain = library()
    for a in RATIONALS:
        its_a = plain(a.numerator, a.denominator)
        for b in (*RATIONALS, *OTHERS):
            its_b = plain(b.numerator, b.denominator) if isinstance(b, Fraction) else b
            assert told(QUICK[name], a, b) == told(getattr(plain, name), its_a, its_b), (a, b)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from 3.12 on the library is as quick")
def test_the_suite_is_run_by_them() -> None:
    used = [vars(Fraction)[name].__module__ for name in QUICK]
    assert set(used) == {quick_fractions.__name__}
