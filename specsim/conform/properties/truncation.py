"""A text stops after its first end token and at its length limit, wherever in a block they fall, with the target's law.

Nothing may follow an end token, drafted and accepted or drawn; what is kept before a limit has the
law that it has in a longer text. A prompt is not counted, and an end token in it ends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from specsim.conform.cases import Case, make, prompted, restricted, sizes, turning
from specsim.conform.observation import Observation, continued
from specsim.conform.properties._laws import Look, each, of_laws
from specsim.conform.subject import Subject
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("chain", "tree", "decoder")
NEEDS = "its caller ends texts: it takes no end token and no limit (stops)"
# End tokens that are tried: token 0 is False in Python, and an end token all the same.
ENDS = (0, 1)


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict: the length limit of a decoder of whole texts; end token and limit where they are taken."""
    if not _is_concerned(subject):
        return None
    # A decoder of whole texts returns complete texts; the target continues all others.
    complete = subject.kind == "decoder" and not subject.block

    def look(observation: Observation) -> Look:
        """Compare the law of whole texts; the target continues what is not complete."""
        case, observed = observation.case, dict[tuple[int, ...], float]()
        for answer, mass in observation.law.items():
            rest = [(answer.text, 1.0)]
            if not complete:
                rest = continued(case.p, answer.text, case.length, case.end)
            for text, chance in rest:
                observed[text] = observed.get(text, 0.0) + mass * chance
        return of_laws(observation, observed, observation.goal(case.length))

    return each("truncation", subject, trial, cases(subject), look)


def _is_concerned(subject: Subject) -> bool:
    """Return whether the subject ends texts: it takes ends and limits, or decodes whole texts."""
    return subject.stops or (subject.kind == "decoder" and not subject.block)


def cases(subject: Subject) -> Iterator[Case]:
    """Yield cases on two tokens: limits within the first block and within a later one; then each token as the end."""
    if not _is_concerned(subject):
        return

    # A decoder of whole texts: a limit of one token, and one that is a token more than a block.
    if subject.kind == "decoder" and not subject.block:
        made = prompted(subject, make(subject, *turning(subject), sizes(subject)[0], ""))
        for limit in (1, made.length + 1):
            yield restricted(made, limit=limit)
        for end in ENDS if subject.stops else ():
            yield restricted(made, limit=made.length + 1, end=end)
        return

    # Single blocks, of the second smallest size and the third: every limit within one, and every end
    # token.
    for size in sizes(subject)[1:3] or sizes(subject):
        made = prompted(subject, make(subject, *turning(subject), size, ""))
        for limit in range(1, made.length if subject.kind != "decoder" else 1):
            yield restricted(made, limit=limit)
        for end in ENDS:
            yield restricted(made, end=end)
