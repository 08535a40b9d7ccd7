"""Laws at the edges: p = q, disjoint supports, certain tokens, zeros; no token of probability 0 is emitted."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.conform.cases import Case, make, plain, sizes
from specsim.conform.properties._laws import Look, each, of_laws
from specsim.conform.subject import Subject
from specsim.conform.verdict import Verdict
from specsim.conform.watch import Observation, Watch

KINDS = ("step", "chain", "tree", "decoder")
PAIRS = {
    "p = q": ("3/6 2/6 1/6", "3/6 2/6 1/6"),
    "disjoint supports": ("0 1/2 1/2", "1 0 0"),
    "a certain target": ("0 1 0", "1/3 1/3 1/3"),
    "a certain draft": ("1/2 1/4 1/4", "0 0 1"),
    "zeros in q": ("1/2 1/4 1/4", "1/2 0 1/2"),
    "zeros in p": ("1/2 0 1/2", "1/4 1/2 1/4"),
    "the same certain token": ("0 0 1", "0 0 1"),
    "nearly certain tokens": ("998/1000 1/1000 1/1000", "999/1000 1/2000 1/2000"),
    "rare tokens": ("9998/10000 1/10000 1/10000", "9990/10000 9/10000 1/10000"),  # one is drafted too often
}


def cases(subject: Subject) -> Iterator[Case]:
    """Models without memory, of three tokens."""
    for size in list(sizes(subject))[:2]:
        for words, (p, q) in PAIRS.items():
            if subject.takes_q or "1" in q.split():
                yield make(subject, plain(p.split()), plain(q.split()), size, words)


def look(seen: Observation) -> Look:
    """The joint law; a text that the target cannot emit convicts by itself."""
    whole = seen.case.length
    observed, goal = seen.joint(whole), seen.goal(whole)
    found = of_laws(seen, observed, goal)
    impossible = sum(mass for text, mass in observed.items() if not goal.get(text))
    return found._replace(allowed=seen.rounding) if impossible > seen.rounding else found


def verdict(subject: Subject, watch: Watch) -> Verdict | None:
    """Of a scheme that cannot draw from certain laws, only those that it can."""
    return each("degenerate", subject, watch, cases(subject), look)
