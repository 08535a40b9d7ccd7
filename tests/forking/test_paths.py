"""The walk through the paths of random decisions, which engines in rationals and in floats share."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import count
from typing import Any

import pytest

from specsim.forking import rational, rational_races
from specsim.forking.paths import NotReproducible, Walk
from specsim.forking.programs import scripted


def test_every_path_is_walked_once_depth_first() -> None:
    """The second question is asked after answer 0 of the first only; answer 1 of it is never followed."""
    walk, paths, is_more = Walk(), [], True
    while is_more:
        walk.start()
        first = walk.choose("a")
        paths.append((first, walk.choose("b", (0, 2))) if first == 0 else (first,))
        is_more = walk.advance()
    assert paths == [(0, 0), (0, 2), (1,)]
    assert walk.path == []


def test_another_question_along_the_same_path_is_refused() -> None:
    """Randomness of the program's own would mix up the answers of two programs."""
    calls = count()

    def races(race: rational_races.Race) -> bool:
        one, other = race.variates(2)
        return bool(one < other * (1 + next(calls)))

    with pytest.raises(NotReproducible, match="along the same path"):
        rational_races.law(races)
    with pytest.raises(scripted.NotReproducible):
        scripted.law(lambda random: bool(random.random() < 1 / (2 + next(calls))))


def test_questions_of_a_row_may_depend_on_its_company() -> None:
    """A row asks once more where another row of its batch does: its law is that of the row alone."""

    def program(rows: list[int], forks: list[rational.Fork]) -> list[bool]:
        u = [fork.uniforms(2) for fork in forks]
        first = [bool(own[0] < F(1, 2 + row)) for row, own in zip(rows, u, strict=True)]
        if not all(first):
            assert len([bool(own[1] < F(1, 3)) for own in u]) == len(rows)
        return first

    assert rational.laws(program, 3) == [{True: F(1, n), False: 1 - F(1, n)} for n in (2, 3, 4)]


def test_engines_in_rationals_and_floats_agree() -> None:
    """One program of two dependent decisions, with its uniforms as an argument and from a generator."""

    def accepted(u: Any, v: Any, half: Any) -> int:
        return 0 if u < half / 2 else 1 + bool(v * half < half / 8)

    exact = rational.law(lambda fork: accepted(*fork.uniforms(2), F(1, 2)))
    floats = scripted.law(lambda random: accepted(random.random(), random.random(), 0.5)).law
    assert {key: float(mass) for key, mass in exact.items()} == floats == {0: 0.25, 1: 0.65625, 2: 0.09375}
