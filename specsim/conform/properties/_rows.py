"""Rows that batches are made of: their laws tell what a row has in common with others."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.conform.cases import Case, make, sizes, undrafted
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Input, inputs
from specsim.conform.toys import Text, Toy, plain


class Row(NamedTuple):
    """A row of a batch: its laws, and what can be drafted in it."""

    case: Case
    inputs: list[Input]


class Batch(NamedTuple):
    """The rows of one call, and what they are in words; `smallest` unless they have more drafts than they must."""

    rows: list[Row]
    words: str
    smallest: bool = True


def certain(subject: Subject) -> tuple[Row, Row]:
    """Return a row that is certain to accept its drafts, and one that is certain to reject them."""
    draft = plain(("1/2", "1/4", "1/4")) if subject.takes_q else plain((1, 0, 0))
    case = make(subject, plain((1, 0, 0)), draft, sizes(subject)[0], "")
    other = case if subject.takes_q else case._replace(draft=plain((0, 0, 1)))
    return Row(case, inputs(subject, case)[:1]), Row(other, inputs(subject, other)[-1:])


def even(subject: Subject) -> Row:
    """Return a row of two equally likely texts: its certain draft is accepted half of the time; all else follows."""
    half, zero = Fraction(1, 2), Fraction(0)
    rows: dict[Text, Any] = {(): (half, half), (0,): (zero, 2 * half), (1,): (2 * half, zero)}
    target = Toy({text: np.array(row, dtype=object) for text, row in rows.items()}, 1)
    case = make(subject, target, plain((1, 0)), sizes(subject)[0], "")
    return Row(case, inputs(subject, case))


def drawn(subject: Subject) -> tuple[Row, Row]:
    """Return a row that rejects its drafts and corrects evenly, and one that accepts them and has an even bonus.

    Nothing is random in them but a draw from a row, which rows of a batch must not share.
    """
    half, zero = Fraction(1, 2), Fraction(0)
    bonus: dict[Text, Any] = {(): (2 * half, zero), (0,): (half, half), (1,): (half, half)}
    accepting = Toy({text: np.array(row, dtype=object) for text, row in bonus.items()}, 1)
    pairs = ((plain((0, half, half)), plain((1, 0, 0))), (accepting, plain((1, 0))))
    cases = [make(subject, target, draft, sizes(subject)[0], "") for target, draft in pairs]
    rejected, accepted = (Row(case, inputs(subject, case)) for case in cases)
    return rejected, accepted


def larger(subject: Subject) -> Iterator[Row]:
    """Yield a row of every size but the smallest, of the first standard case that has it."""
    cases = {case.parents: case for case in reversed(list(standard(subject))) if not case.exact_only}
    smallest = make(subject, plain((1, 0)), plain((1, 0)), sizes(subject)[0], "").parents
    for parents, case in sorted(cases.items(), key=lambda item: len(item[0])):
        if parents not in (smallest, ()):
            yield Row(case, inputs(subject, case))


def empty(subject: Subject) -> Iterator[Row]:
    """Yield a row without drafts of two equally likely tokens, if the subject takes such rows."""
    for case in undrafted(subject, target=plain(("1/2", "1/2"))):
        yield Row(case, inputs(subject, case))
