"""The subjects of one file, judged one after the other: they share its budget and its false-alarm rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specsim.conform import own_process
from specsim.conform.likeness import Exhibits
from specsim.conform.subject import Subject
from specsim.conform.verdict import ALL, Report, Verdict

# Looks at a subject: the second gets what is left of the budget, and each an equal part of the
# false-alarm rate.
LOOKS = 2
# Seconds for which a second look is not worth its beginning.
LEAST = 0.5


def judge_all(
    subjects: Sequence[Subject],
    *,
    budget: float,
    false_alarm: float,
    properties: Sequence[str] | None = None,
    begin: Callable[[Subject, float], None] = lambda subject, seconds: None,
    say: Callable[[Verdict], None] = lambda verdict: None,
    end: Callable[[Report], None] = lambda report: None,
) -> list[Report]:
    """Return a report for every subject; each may use its share of the time that those before it have left.

    What is left in the end goes to the properties that are undecided for want of time. An
    interruption ends all of it.

    Parameters
    ----------
    subjects : sequence of Subject
        What is judged, in this order.
    budget, false_alarm : float
        Seconds, and the probability of convicting any correct subject, for all of them together.
    properties : sequence of str, optional
        Names of properties; all that concern a subject if not given.
    begin, say, end : callable
        Called with a subject and its seconds before it is judged, with every verdict, and with every report; after a
        second look, with that of both.
    """
    looks = LOOKS if len(subjects) > 1 else 1
    rate, seconds_left = false_alarm / len(subjects) / looks, budget
    reports, exhibits = list[Report](), Exhibits()

    def judged(subject: Subject, seconds: float, names: Sequence[str] | None) -> Report:
        """Judge one subject, and subtract its seconds from those that are left."""
        nonlocal seconds_left
        begin(subject, seconds)
        report = own_process.judge(
            subject, budget=seconds, properties=names, false_alarm=rate, say=say, exhibits=exhibits
        )
        seconds_left -= report.seconds
        return report

    # First look: equal shares of what is left.
    for done, subject in enumerate(subjects):
        report = judged(subject, max(seconds_left, LEAST) / (len(subjects) - done), properties)
        reports.append(report)
        end(report)
        if report.interrupted:
            return reports

    # Second look, at what was undecided for want of time.
    late = [i for i, report in enumerate(reports) if any(verdict.wants_time for verdict in report.verdicts)]
    for done, i in enumerate(late):
        seconds = seconds_left / (len(late) - done)
        if looks == 1 or seconds < LEAST:
            break
        names = [verdict.property for verdict in reports[i].verdicts if verdict.wants_time]
        second = judged(subjects[i], seconds, properties if ALL in names else names)
        reports[i] = merged(reports[i], second)
        # The report of both looks: the first may have convicted where the second did not look.
        end(reports[i])
        if second.interrupted:
            break
    return reports


def merged(first: Report, second: Report) -> Report:
    """Return the report of two looks: an undecided property has the verdict of the second."""
    verdicts = {verdict.property: verdict for verdict in first.verdicts}
    if not second.interrupted:
        verdicts.pop(ALL, None)
    for verdict in second.verdicts:
        earlier = verdicts.get(verdict.property)
        if earlier is None or earlier.outcome == "inconclusive":
            verdicts[verdict.property] = verdict
    return first._replace(
        verdicts=tuple(verdicts.values()),
        complete=first.complete if second.interrupted else second.complete,
        resemblance=second.resemblance or first.resemblance,
        seconds=first.seconds + second.seconds,
        loaded=tuple(dict.fromkeys([*first.loaded, *second.loaded])),
        unhashed=tuple(dict.fromkeys([*first.unhashed, *second.unhashed])),
    )
