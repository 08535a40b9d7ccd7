"""Two rounds of one text have the target's joint law: nothing wrong is carried over, no random number serves twice.

A round alone may be right, and each of two rounds have its law, while the second reuses noise of the first, a residual
that was kept, or a position that was not moved on. So the joint law of all tokens of both rounds is compared, the
second drafted after what the first emitted. What gave the same answers whenever a path was run again, in whatever
order, cannot remember: it is asked only if it says that it is stateful, or if it was judged by frequencies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specsim.conform.calls import Answer, Broken, Input, inputs
from specsim.conform.cases import Case, Text, Toy, make, plain, prompted, restricted, sizes, standard, turning
from specsim.conform.guard import OutOfTime
from specsim.conform.properties._laws import Observe, each
from specsim.conform.properties.joint import look
from specsim.conform.subject import Subject
from specsim.conform.verdict import Verdict
from specsim.conform.watch import Observation, Watch

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "it does not say that it carries anything from round to round (stateful), and runs along one path agreed"
ROUNDS = 2


def verdict(subject: Subject, watch: Watch) -> Verdict | None:
    """At the smallest size, on two tokens; of a decoder, one token more than a block can have."""
    declared = subject.kind == "decoder" or subject.stateful
    if not declared and watch(next(standard(subject))).evidence != "Monte Carlo":
        return None

    def observe(case: Case, *, exact: bool = False) -> Observation:
        if subject.kind == "decoder" and not subject.block:
            return watch(case, exact=exact)
        long = case._replace(length=ROUNDS * case.length, words=f"{case.words}, {ROUNDS} rounds")
        drafted: dict[Text, list[Input]] = {}

        def program(call: Any, random: Any) -> Answer:
            return text_of(watch, case, drafted, call, random)

        return watch.follow(long, program, exact=exact)

    found = each("rounds", subject, watch, cases(subject), look, observe)
    if found.counterexample is None:
        return found
    return found._replace(words=f"{found.words}, over {ROUNDS} rounds{_cause(subject, observe)}")


def _cause(subject: Subject, observe: Observe) -> str:
    """Where no law depends on the text, an old row, residual or position is as good as a new one."""
    draft = plain(("1/3", "2/3") if subject.takes_q else ("0", "1"))
    try:
        found = look(observe(_case(subject, plain(("2/3", "1/3")), draft)))
    except (Broken, OutOfTime):
        return ""
    if found.distance > found.allowed:
        return "; so it is where no law depends on the text: if one round is right, random numbers serve twice"
    return "; not so where no law depends on the text: what belongs to the first round is used in the second"


def cases(subject: Subject) -> Iterator[Case]:
    """One: two rounds have the paths of one, squared."""
    yield _case(subject, *turning(subject))


def _case(subject: Subject, target: Toy, draft: Toy) -> Case:
    """At the smallest size; of a decoder of whole texts with one token more than a block can have."""
    made = make(subject, target, draft, sizes(subject)[0], "")
    if subject.kind != "decoder" or subject.block:
        return made
    return restricted(prompted(subject, made), limit=made.length + 1)


def text_of(watch: Watch, case: Case, drafted: dict[Text, list[Input]], call: Any, random: Any) -> Answer:
    """What two rounds emit together; `drafted` keeps what can be drafted after a text."""
    run, text, kept = watch.begun(), case.prompt, 0
    for _ in range(ROUNDS):
        after = case._replace(prompt=text)
        given = drafted.get(text) or drafted.setdefault(text, inputs(watch.subject, after))
        whole = sum(one.weight for one in given)
        chosen = random.choice(len(given), p=[one.weight / whole for one in given]) if len(given) > 1 else 0
        found = call(after, given[chosen], random, run)
        text, kept = text + found.text, kept + found.kept
    return Answer(text[len(case.prompt) :], kept)
