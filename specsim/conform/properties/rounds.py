"""Two rounds of one text have the target's joint law: nothing wrong is carried over, no random number serves twice.

A round alone may be right, and each of two rounds have its law, while the second reuses noise of
the first, a residual that was kept, or a position that was not moved on. So the joint law of all
tokens of both rounds is compared, the second drafted after what the first emitted. What gave the
same answers whenever a path was run again, in whatever order, cannot remember: it is asked only if
it says that it is stateful, or if it was judged by frequencies and is no JAX function that gives
the same whenever it gets the same key. One that says so may count, too: of single drafts three
rounds are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specsim.conform.cases import Case, make, prompted, restricted, sizes, turning
from specsim.conform.observation import Observation
from specsim.conform.observing import follow
from specsim.conform.observing import observe as observe_once
from specsim.conform.properties._laws import Observe, each
from specsim.conform.properties.joint import look
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Answer, Broken, Input, inputs
from specsim.conform.timeout import OutOfTime
from specsim.conform.toys import Text, Toy, plain, toy
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "it does not say that it carries anything from round to round (stateful), and runs along one path agreed"
ROUNDS = 2
# Rounds of a subject that says it remembers, and may count.
LONGER = 3
# Rounds where every token is certain, so that a text has a single path.
LONGEST = 6
# A prompt of more tokens than a block has.
FAR = (0, 1, 1, 0, 2, 0)


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict at the smallest size, on two tokens; of a decoder, one token more than a block can have."""
    # A subject that cannot remember anything from round to round is not asked.
    declared, first = subject.kind == "decoder" or subject.stateful, next(standard(subject))
    if not declared and observe_once(trial, first).evidence != "Monte Carlo":
        return None
    if not declared and trial.caller.is_decided_by_keys(first, inputs(subject, first)):
        return None

    def observe(case: Case, *, exact: bool = False) -> Observation:
        """Return the observation of as many rounds as a case is long."""
        if subject.kind == "decoder" and not subject.block:
            return observe_once(trial, case, exact=exact)
        block = make(subject, case.target, case.draft, sizes(subject)[0], "").length
        # A shrunken counterexample is a case of one round.
        rounds = max(case.length // block, ROUNDS)
        long = case._replace(length=rounds * block, words=f"{case.words}, {rounds} rounds")
        drafted: dict[Text, list[Input]] = {}

        def program(call: Any, random: Any) -> Answer:
            """Return what the rounds emit together."""
            return text_of(trial, case, drafted, rounds, call, random)

        return follow(trial, long, program, exact=exact)

    # Compare the joint law of all rounds.
    result = each("rounds", subject, trial, cases(subject), look, observe)
    if result.counterexample is None:
        return result
    return result._replace(words=f"{result.words}, over {ROUNDS} rounds or more{_cause(subject, observe)}")


def _cause(subject: Subject, observe: Observe) -> str:
    """Return what is carried over, in words.

    Where no law depends on the text, an old row, residual or position is as good as a new one.
    """
    draft = plain(("1/3", "2/3") if subject.takes_q else ("0", "1"))
    try:
        result = look(observe(_case(subject, plain(("2/3", "1/3")), draft)))
    except (Broken, OutOfTime):
        return ""
    if result.distance > result.allowed:
        return "; so it is, too, where no law depends on the text: if one round is right, random numbers are used again"
    return "; not where no law depends on the text: a row, residual or position of one round is used in the next"


def cases(subject: Subject) -> Iterator[Case]:
    """Yield two rounds, which have the paths of one, squared (of single drafts three); then many with a single path."""
    made, whole = _case(subject, *turning(subject)), subject.kind == "decoder" and not subject.block
    longer = subject.stateful and subject.kind != "tree" and sizes(subject)[0] == 1
    rounds = LONGER if longer else ROUNDS
    yield made if whole else made._replace(length=rounds * made.length)
    if subject.stateful or whole:
        # With these seeds target and draft disagree half of the time.
        target, draft = (toy(3, seed, one_hot=True) for seed in (9, 128))
        long = make(subject, target, draft, sizes(subject)[0], "certain tokens")
        long = long._replace(length=LONGEST * long.length)
        # For a decoder of whole texts the length is its limit.
        yield restricted(long._replace(prompt=FAR), limit=2 * LONGEST) if whole else long


def _case(subject: Subject, target: Toy, draft: Toy) -> Case:
    """Return a case of the smallest size; of a decoder of whole texts with one token more than a block can have."""
    made = make(subject, target, draft, sizes(subject)[0], "")
    if subject.kind != "decoder" or subject.block:
        return made
    return restricted(prompted(subject, made), limit=made.length + 1)


def text_of(trial: Trial, case: Case, drafted: dict[Text, list[Input]], rounds: int, call: Any, random: Any) -> Answer:
    """Return what some rounds emit together; `drafted` keeps what can be drafted after a text."""
    run, text, accepted = trial.caller.begin_text(), case.prompt, 0
    for _ in range(rounds):
        after = case._replace(prompt=text)
        choices = drafted.get(text) or drafted.setdefault(text, inputs(trial.subject, after))
        whole = sum(choice.weight for choice in choices)
        chosen = random.choice(len(choices), p=[choice.weight / whole for choice in choices]) if len(choices) > 1 else 0
        answer = call(after, choices[chosen], random, run)
        text, accepted = text + answer.text, accepted + answer.num_accepted
    return Answer(text[len(case.prompt) :], accepted)
