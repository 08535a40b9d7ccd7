"""A text stops after its first end token and at its length limit, wherever in a block they fall, with the target's law.

Nothing may follow an end token, drafted and accepted or drawn; what is kept before a limit has the law that it has in a
longer text. A prompt is not counted, and an end token in it ends nothing.
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
ENDS = (0, 1)  # token 0 is False, and an end token all the same


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """The length limit of every decoder of whole texts; end token and limit of what takes them."""
    if not _asked(subject):
        return None
    complete = subject.kind == "decoder" and not subject.block

    def look(seen: Observation) -> Look:
        case, observed = seen.case, dict[tuple[int, ...], float]()
        for answer, mass in seen.law.items():
            rest = [(answer.text, 1.0)]
            if not complete:
                rest = continued(case.p, answer.text, case.length, case.end)
            for text, chance in rest:
                observed[text] = observed.get(text, 0.0) + mass * chance
        return of_laws(seen, observed, seen.goal(case.length))

    return each("truncation", subject, trial, cases(subject), look)


def _asked(subject: Subject) -> bool:
    return subject.stops or (subject.kind == "decoder" and not subject.block)


def cases(subject: Subject) -> Iterator[Case]:
    """On two tokens: limits within the first block and within a later one; then each token as the end."""
    if not _asked(subject):
        return
    if subject.kind == "decoder" and not subject.block:
        made = prompted(subject, make(subject, *turning(subject), sizes(subject)[0], ""))
        for limit in (1, made.length + 1):
            yield restricted(made, limit=limit)
        for end in ENDS if subject.stops else ():
            yield restricted(made, limit=made.length + 1, end=end)
        return
    made = prompted(subject, make(subject, *turning(subject), sizes(subject)[min(1, len(sizes(subject)) - 1)], ""))
    for limit in range(1, made.length if subject.kind != "decoder" else 1):
        yield restricted(made, limit=limit)
    for end in ENDS:
        yield restricted(made, end=end)
