"""The comparison of an exhibit of the museum with a convicted subject, at the inputs of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from specsim.conform.cases import Case
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import Observation, distance
from specsim.conform.properties import contract
from specsim.conform.subject import Subject
from specsim.conform.symptoms import SMALL, symptoms

# Schemes that draw a single draft from q.
ONE_BY_ONE = {"iid", "without_replacement", "paths"}
# observe(exhibit, case) returns the exact law of an exhibit in a case; None if it is broken there.
ObserveExhibit = Callable[[Subject, Case], Observation | None]


def compared(
    subject: Subject, exhibit: Subject, probes: list[Observation], observe_exhibit: ObserveExhibit
) -> Literal["law", "first", "symptoms", ""]:
    """Return what an exhibit shares with the subject: its law, the first token's, or symptoms.

    They must agree at every comparable input, including one where the subject is wrong. An empty
    text stands for no likeness.
    """
    same_law, same_symptoms = True, True
    # Whether both are wrong at some input, and whether all tokens of some such input were compared.
    both_wrong, whole_law = False, False

    for probe in probes:
        length = _comparable_length(subject, exhibit, probe.case)
        observation = observe_exhibit(exhibit, probe.case) if length else None
        if observation is None:
            continue

        # Laws, and symptoms of answers that mean the same.
        subject_law, exhibit_law = _law(subject, probe, length), _law(subject, observation, length)
        tolerance = _tolerance(probe, exhibit_law)
        same_law = same_law and distance(subject_law, exhibit_law) <= tolerance
        symptoms_here = symptoms_of(subject, probe)
        are_alike = symptoms_here is not None and symptoms_here == symptoms_of(exhibit, observation)
        means_same = _answer_meaning(subject) == _answer_meaning(exhibit)
        same_symptoms = same_symptoms and are_alike and means_same
        if not same_law and not same_symptoms:
            return ""

        # An exhibit that is right where the subject is wrong explains nothing.
        if is_wrong(subject, probe, length):
            if not is_wrong(subject, observation, length, probe):
                return ""
            both_wrong, whole_law = True, whole_law or length == probe.case.length

    if not both_wrong:
        return ""
    if not same_law:
        return "symptoms"
    return "law" if whole_law else "first"


def is_wrong(subject: Subject, observation: Observation, length: int = 0, judged_as: Observation | None = None) -> bool:
    """Return whether an observed law differs from the target's by more than chance or rounding.

    `length` is the number of tokens of the law, by default all of the case. The tolerance is that
    of the observation `judged_as`, by default its own.
    """
    if subject.kind == "drafter":
        look = contract.look(observation)
        return look.distance > look.allowed
    length = length or observation.case.length
    goal = observation.goal(length)
    return distance(observation.joint(length), goal) > _tolerance(judged_as or observation, goal)


def _tolerance(observation: Observation, law: dict[Any, float]) -> float:
    """Return the distance from a law that chance or rounding explains in an observation."""
    if observation.evidence == "Monte Carlo":
        return montecarlo.allowed(list(law.values()), observation.runs, observation.delta)
    return max(observation.rounding, SMALL)


def symptoms_of(subject: Subject, observation: Observation) -> tuple[str, ...] | None:
    """Return the symptoms of an observation; None of a text, whose drafts are not known."""
    meaning = _answer_meaning(subject)
    return symptoms(observation, is_step=meaning == "step") if meaning in ("block", "step") else None


def _law(subject: Subject, observation: Observation, length: int) -> dict[Any, float]:
    """Return the law to compare: a drafter's with its rows, else of the first `length` tokens."""
    if subject.kind == "drafter":
        return {(answer.text, answer.q): mass for answer, mass in observation.law.items()}
    return dict(observation.joint(length))


def _answer_meaning(subject: Subject) -> str:
    """Return what the answers of a subject are: a "block", a whole "text", a "step" or a "drafter".

    In a block the accepted drafts are known; in a step it is not known whether the token was
    accepted.
    """
    if subject.kind == "decoder":
        return "block" if subject.block else "text"
    return {"chain": "block", "tree": "block"}.get(subject.kind, subject.kind)


def _comparable_length(subject: Subject, exhibit: Subject, case: Case) -> int:
    """Return how many first tokens of a case have laws that can be compared; 0 for none."""
    # What the case asks for beside drafts.
    if case.mask is not None and not exhibit.masks:
        return 0
    if (case.limit, case.end) != (None, None) and exhibit.stops != subject.stops:
        return 0
    if "drafter" in (subject.kind, exhibit.kind):
        return case.length if subject.kind == exhibit.kind else 0

    # Drafts come from a law that the exhibit is not made for, or the exhibit makes its own drafts.
    needs_no_q = not exhibit.takes_q and subject.takes_q
    makes_drafts = exhibit.kind == "decoder" and subject.kind != "decoder"
    if needs_no_q or makes_drafts:
        return 0

    # The shape of the drafts: a step takes siblings, a tree anything, the others a chain.
    is_chain = case.parents == tuple(range(-1, len(case.parents) - 1))
    are_siblings = set(case.parents) == {-1}
    if not {"step": are_siblings, "tree": True}.get(exhibit.kind, is_chain):
        return 0

    # Different schemes draw alike only in a chain.
    schemes = {subject.scheme, exhibit.scheme}
    if len(schemes) > 1 and not (is_chain and schemes <= ONE_BY_ONE):
        return 0

    # Of a text and a block only the laws of the first token are the same.
    subject_is_text = _answer_meaning(subject) == "text"
    exhibit_is_text = _answer_meaning(exhibit) == "text"
    return case.length if subject_is_text == exhibit_is_text else 1
