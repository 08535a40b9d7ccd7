"""No lossless verifier keeps more drafts per pass of the target: more of them convict by themselves.

One path: the largest expectation of any rule after whose blocks the target goes on as it is, which block verification
has (Sun et al. 2025, arXiv:2403.10444). Trees: a text is kept no more often than it is drafted, nor than the target
emits it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from specsim.conform.cases import Case, standard
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import Observation, continued
from specsim.conform.properties._laws import Look, each
from specsim.conform.subject import Subject
from specsim.conform.subject_call import inputs
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict
from specsim.exact.chain import expected_tokens
from specsim.exact.tree import texts

KINDS = ("chain", "tree", "decoder")
NEEDS = "a decoder must return single blocks (block=True): its passes may be shared between blocks"


def most(subject: Subject, case: Case) -> float:
    """Drafts that a lossless verifier keeps at most, in expectation."""
    if not case.parents:
        return 0.0
    if subject.kind != "tree":
        return float(expected_tokens(case.p, case.q, rule="block", gamma=case.size)) - 1
    drafted: dict[tuple[int, ...], float] = {}
    for one in inputs(subject, case):
        assert one.tree is not None
        for text in set(texts(one.tree)) - {()}:
            drafted[text] = drafted.get(text, 0.0) + one.weight
    target = {text: mass for n in range(1, case.length) for text, mass in continued(case.p, (), n)}
    return math.fsum(min(mass, target.get(text, 0.0)) for text, mass in drafted.items())


def cases(subject: Subject) -> Iterable[Case]:
    """The standard ones; a decoder of whole texts may look ahead at passes that it shares between blocks."""
    return () if subject.kind == "decoder" and not subject.block else standard(subject)


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Kept drafts; of a decoder, tokens beyond one for every pass of the target."""

    again: list[Case] = []

    def look(seen: Observation) -> Look:
        best, kept = most(subject, seen.case), seen.mean(lambda answer: answer.kept)
        if any(answer.passes > 1 for answer in seen.law):
            again.append(seen.case)
            kept = 0.0
        limit = seen.rounding
        if seen.evidence == "Monte Carlo":
            limit = montecarlo.mean_allowed(len(seen.case.parents), seen.runs, seen.delta)
        expected, observed = {"kept drafts": best}, {"kept drafts": kept}
        return Look(max(kept - best, 0.0), limit, limit, expected, observed, seen.evidence, len(seen.case.parents))

    if subject.kind == "decoder" and not subject.block:
        return None
    found = each("bound", subject, trial, cases(subject), look)
    if again:
        words = "a block takes several passes of the target, and the bound is of one"
        return found._replace(outcome="not available", evidence="none", words=words)
    if found.counterexample is None:
        return found
    kept, best = (law["kept drafts"] for law in (found.counterexample.observed, found.counterexample.expected))
    words = (
        f"{kept:.4g} drafts kept per pass of the target, where {best:.4g} are the most ({found.counterexample.case})"
    )
    return found._replace(evidence="bound", words=words)
