"""No lossless verifier keeps more drafts per pass of the target: more of them convict by themselves.

One path: the largest expectation of any rule after whose blocks the target goes on as it is, which
block verification has (Sun et al. 2025, arXiv:2403.10444). Trees: a text is kept no more often than
it is drafted, nor than the target emits it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from specsim.conform.cases import Case
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import Observation, continued
from specsim.conform.properties._laws import Look, each
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Subject
from specsim.conform.subject_call import inputs
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict
from specsim.exact.chain import expected_tokens
from specsim.exact.tree import texts

KINDS = ("chain", "tree", "decoder")
NEEDS = "a decoder must return single blocks (block=True): its passes may be shared between blocks"


def most(subject: Subject, case: Case) -> float:
    """Return the largest expected number of drafts that any lossless verifier accepts."""
    # One path: block verification is optimal.
    if not case.parents:
        return 0.0
    if subject.kind != "tree":
        return float(expected_tokens(case.p, case.q, rule="block", gamma=case.size)) - 1

    # A tree: sum over texts of min(P[text is drafted], P[the target emits it]).
    drafted: dict[tuple[int, ...], float] = {}
    for choice in inputs(subject, case):
        assert choice.tree is not None
        for text in set(texts(choice.tree)) - {()}:
            drafted[text] = drafted.get(text, 0.0) + choice.weight
    target = {text: mass for n in range(1, case.length) for text, mass in continued(case.p, (), n)}
    return math.fsum(min(mass, target.get(text, 0.0)) for text, mass in drafted.items())


def cases(subject: Subject) -> Iterable[Case]:
    """Return the standard cases; none for a decoder of whole texts, whose passes may be shared between blocks."""
    return () if subject.kind == "decoder" and not subject.block else standard(subject)


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict on the accepted drafts; of a decoder, the tokens beyond one per pass of the target."""
    # Cases with a block that takes several passes of the target.
    several_passes: list[Case] = []

    def look(observation: Observation) -> Look:
        """Compare the mean number of accepted drafts with the largest possible."""
        # A block of several passes is not compared: the bound is of one pass.
        best, accepted = most(subject, observation.case), observation.mean(lambda answer: answer.num_accepted)
        if any(answer.passes > 1 for answer in observation.law):
            several_passes.append(observation.case)
            accepted = 0.0

        # What rounding or chance allow.
        limit = observation.rounding
        if observation.evidence == "Monte Carlo":
            limit = montecarlo.mean_allowed(len(observation.case.parents), observation.runs, observation.delta)
        expected, observed = {"kept drafts": best}, {"kept drafts": accepted}
        return Look(
            max(accepted - best, 0.0),
            limit,
            limit,
            expected,
            observed,
            observation.evidence,
            len(observation.case.parents),
        )

    # Of a whole text the accepted drafts are not known.
    if subject.kind == "decoder" and not subject.block:
        return None
    result = each("bound", subject, trial, cases(subject), look)
    if several_passes:
        words = "a block takes several passes of the target, and the bound is of one"
        return result._replace(outcome="not available", evidence="none", words=words)
    if result.counterexample is None:
        return result

    # Say how many drafts too many.
    shown = result.counterexample
    accepted, best = shown.observed["kept drafts"], shown.expected["kept drafts"]
    words = f"{accepted:.4g} drafts kept per pass of the target, where {best:.4g} are the most ({shown.case})"
    return result._replace(evidence="bound", words=words)
