"""Laws at the edges: p = q, disjoint supports, certain tokens, zeros; no token of probability 0 is emitted.

Nor is one where a coin is at its end: after the law is found right, every coin is once exactly 0,
and once 1 - ulp.
"""

from __future__ import annotations

from collections.abc import Iterator

from specsim.conform.cases import ROWS, Case, make, sizes, undrafted
from specsim.conform.observation import Observation
from specsim.conform.properties import _ends
from specsim.conform.properties._laws import Look, each, of_laws
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Broken
from specsim.conform.toys import FAINT, LARGE, faint, plain
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")
PAIRS = {
    "p = q": ("3/6 2/6 1/6", "3/6 2/6 1/6"),
    "disjoint supports": ("0 1/2 1/2", "1 0 0"),
    "a certain target": ("0 1 0", "1/3 1/3 1/3"),
    "a certain draft": ("1/2 1/4 1/4", "0 0 1"),
    "zeros in q": ("1/2 1/4 1/4", "1/2 0 1/2"),
    "zeros in p": ("1/2 0 1/2", "1/4 1/2 1/4"),
    "the same certain token": ("0 0 1", "0 0 1"),
    "an almost certain target": ("9/10 1/10 0", "1 0 0"),
    # What is left after one draft has as much of a token as the draft has.
    "a tie in the second round": ("5/16 7/16 4/16", "1/4 1/4 2/4"),
    "an even target": ("1/3 1/3 1/3", "1/2 1/4 1/4"),
    "nearly certain tokens": ("998/1000 1/1000 1/1000", "999/1000 1/2000 1/2000"),
    # One of the rare tokens is drafted too often.
    "rare tokens": ("9998/10000 1/10000 1/10000", "9990/10000 9/10000 1/10000"),
    "rare tokens left over": ("49994/50000 5/50000 1/50000", "1 0 0"),
}

# Numbers of drafts, or trees, with which each pair is tried.
SIZES = 3
# Pairs whose targets a chain without drafts has, too: a first token of probability 0, and a certain
# one.
UNDRAFTED = ("disjoint supports", "a certain target")

# Types in which what is faint is within rounding.
SHORT = ("float16", "bfloat16")
# Cumulative sums of p, of what is left of p and of either without a token end below 1 in float64
# and in float32.
ROUNDED = ("0 5/23 5/23 1/23 5/23 2/23 5/23 0", "0 4/21 5/21 2/21 3/21 6/21 1/21 0", "0 1 0 0 0 0 0 0")


def cases(subject: Subject) -> Iterator[Case]:
    """Yield memoryless models of three tokens; where laws are handed over, also of many, with a faint residual."""
    for size in list(sizes(subject))[:SIZES]:
        for words, (p, q) in PAIRS.items():
            if subject.takes_q or "1" in q.split():
                yield make(subject, plain(p.split()), plain(q.split()), size, words)
    for words in UNDRAFTED:
        yield from undrafted(subject, words, target=plain(PAIRS[words][0].split()))
    if subject.kind in ROWS and subject.dtype not in SHORT:
        # JAX has compiled the first vocabulary for other cases.
        for vocab in (LARGE,) if subject.arrays == "jax" else FAINT:
            made = make(subject, *faint(vocab), sizes(subject)[0], "faint tokens left over")
            yield made._replace(exact_only=True)


def look(observation: Observation) -> Look:
    """Compare the joint law; a text that the target cannot emit convicts by itself."""
    whole = observation.case.length
    observed, goal = observation.joint(whole), observation.goal(whole)
    result = of_laws(observation, observed, goal)
    impossible = sum(mass for text, mass in observed.items() if not goal.get(text))
    return result._replace(allowed=observation.rounding) if impossible > observation.rounding else result


def at_ends(subject: Subject) -> Iterator[Case]:
    """Yield the cases for coins at their ends: the largest size, no drafts, and a law whose sums are rounded down."""
    made = [case for case in cases(subject) if not case.exact_only]
    most = max(len(case.parents) for case in made)
    yield from (case for case in made if len(case.parents) in (0, most))
    if subject.kind in ROWS:
        p, q, certain = (law.split() for law in ROUNDED)
        yield make(subject, plain(p), plain(q if subject.takes_q else certain), sizes(subject)[0], "sums rounded down")


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict; a scheme that cannot draw from certain laws is asked only for those that it can."""
    before = trial.caller.runs
    try:
        result = each("degenerate", subject, trial, cases(subject), look)
    except Broken as reason:
        # Where sums are rounded down, a coin near 1 may already have left the vocabulary.
        impossible, _ = _ends.first(subject, trial, at_ends(subject))
        if impossible is None:
            raise reason from None
        return _ends.verdict_at_end(subject, impossible, trial.caller.runs - before, while_recording=True)
    if result.counterexample is not None or trial.findings.refused:
        return result
    impossible, tried = _ends.first(subject, trial, at_ends(subject))
    if impossible is not None:
        return _ends.verdict_at_end(subject, impossible, result.runs)
    return result._replace(reach="; ".join(filter(None, [result.reach, tried])))
