"""Instructions whose answers can be checked: a person is to be introduced by six facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from real.papers.lab.texts import Part

NAMES = {
    "He": ("Amir", "Felix", "Hugo", "Ivan", "Leo", "Luis", "Omar", "Oscar", "Peter", "Tom"),
    "She": ("Anna", "Clara", "Ines", "Lena", "Lucy", "Maria", "Mia", "Nora", "Ruth", "Zoe"),
}
JOBS = (
    "baker",
    "carpenter",
    "chef",
    "dentist",
    "farmer",
    "gardener",
    "lawyer",
    "librarian",
    "nurse",
    "painter",
    "pilot",
    "plumber",
    "singer",
    "tailor",
)
CITIES = (
    "Athens",
    "Berlin",
    "Boston",
    "Cairo",
    "Chicago",
    "Dublin",
    "Lima",
    "Lisbon",
    "Madrid",
    "Oslo",
    "Paris",
    "Prague",
    "Rome",
    "Tokyo",
    "Toronto",
)
HOBBIES = (
    "chess",
    "cooking",
    "dancing",
    "fishing",
    "football",
    "golf",
    "hiking",
    "sailing",
    "skiing",
    "swimming",
    "tennis",
    "yoga",
)
PETS = ("cat", "dog", "duck", "goat", "hamster", "horse", "monkey", "parrot", "pig", "rabbit", "snake", "turtle")
TEMPLATES = (
    "Introduce {name} to a new class in two sentences. Say that {name} is a {age}-year-old {job} from {city} who likes "
    "{hobby} and has a {pet}.",
    "Write two sentences about {name}. {pronoun} is {age} years old, works as a {job}, lives in {city}, likes {hobby} "
    "and has a pet {pet}.",
)
PARTS: tuple[Part, ...] = ("calibration", "validation", "test")


class Problem(NamedTuple):
    """An instruction, and the words that a complete answer to it holds."""

    text: str
    facts: tuple[str, ...]


def problems(count: int, part: Part, seed: int = 0) -> list[Problem]:
    """Return problems of a part, drawn at random; the templates take turns.

    Parts share names, jobs and other words; a person of six facts hardly ever comes twice.

    Examples
    --------
    >>> problems(1, "test")[0].facts
    ('Anna', '37', 'gardener', 'Cairo', 'sailing', 'snake')
    """
    rng = np.random.default_rng([seed, PARTS.index(part)])
    drawn = []
    for i in range(count):
        pronoun = str(rng.choice(list(NAMES)))
        facts = {"name": str(rng.choice(NAMES[pronoun])), "age": str(rng.integers(20, 80))}
        lists = {"job": JOBS, "city": CITIES, "hobby": HOBBIES, "pet": PETS}
        facts |= {key: str(rng.choice(words)) for key, words in lists.items()}
        text = TEMPLATES[i % len(TEMPLATES)].format(pronoun=pronoun, **facts)
        drawn.append(Problem(text, tuple(facts.values())))
    return drawn


def share_of_facts(answer: str, facts: Sequence[str]) -> float:
    """Return the share of facts whose word stands in an answer, also within a longer word.

    Examples
    --------
    >>> share_of_facts("Tom, a baker, has two cats.", ("Tom", "baker", "cat", "Oslo"))
    0.75
    """
    lowered = answer.lower()
    return sum(fact.lower() in lowered for fact in facts) / len(facts)
