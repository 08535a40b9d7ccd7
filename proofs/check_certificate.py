"""Check a claimed optimal acceptance of n i.i.d. drafts on exact rationals; it trusts only the theorems named here.

Upper bound (`weak_duality'`): no lossless rule hits more often than 1 + p(H) - q(H)^n, for any set H.
Attained (`marriage_exact`, `winner_lossless`): if w(S) >= q(S)^n for every set S, some selection among the drafts has
winners of law w; verified alone against w, the winner is kept with probability sum min(p, w), and the output law is p.
For every S it is enough to look at the prefixes of the order of w/q (`prefix_optimal`, `below_prefix`); with S the rest
after such a prefix this reads w(rest) <= 1 - (1 - q(rest))^n.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational


def check_certificate(
    p: Sequence[Fraction], q: Sequence[Fraction], n: int, value: Fraction, h: Sequence[bool], w: Sequence[Fraction]
) -> None:
    """ValueError, which says what fails, unless H and w prove that value is the optimum."""
    if not len(p) == len(q) == len(h) == len(w):
        raise ValueError(f"p, q, H and w have {len(p)}, {len(q)}, {len(h)} and {len(w)} entries")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n must be an integer of at least 1, got {n!r}")
    for name, law in (("p", p), ("q", q), ("w", w), ("value", [value])):
        for i, mass in enumerate(law):
            if not isinstance(mass, Rational):
                raise ValueError(f"{name}[{i}] = {mass!r} is not an exact rational")
            if mass < 0:
                raise ValueError(f"{name}[{i}] = {mass} is negative")
        if name != "value" and sum(law) != 1:
            raise ValueError(f"{name} sums to {sum(law)}")
    bound = 1 + sum(a for a, inside in zip(p, h, strict=True) if inside)
    bound -= sum(b for b, inside in zip(q, h, strict=True) if inside) ** n
    if bound != value:
        raise ValueError(f"H proves the bound {bound}, not {value}")
    for i, mass in enumerate(w):
        if mass and not q[i]:
            raise ValueError(f"w[{i}] = {mass}, but no draft is token {i}")
    won = drafted = Fraction(0)
    for i in sorted((i for i in range(len(q)) if q[i]), key=lambda i: Fraction(w[i]) / q[i]):
        won, drafted = won + w[i], drafted + q[i]
        if won < drafted**n:
            raise ValueError(f"up to token {i} the winner has {won}, but all drafts lie there with {drafted**n}")
    kept = sum(min(a, b) for a, b in zip(p, w, strict=True))
    if kept != value:
        raise ValueError(f"the plan keeps a draft with probability {kept}, not {value}")
