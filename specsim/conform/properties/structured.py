"""Under a mask the law is the target's, masked and normalised anew, at every position; no forbidden token is emitted.

The mask depends on the text, as that of a grammar does, and forbids a token in every row: after
each draft, and in the row of the bonus token, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specsim.conform.cases import Case, make, prompted, restricted, sizes, undrafted
from specsim.conform.properties._laws import each
from specsim.conform.properties.degenerate import look
from specsim.conform.subject import Subject
from specsim.conform.toys import Text, toy
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict
from specsim.types import Array

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "it takes no mask (masks); one that its caller applies makes laws with zeros, which `degenerate` has"

# Most drafts of a case, unless its size is the smallest.
MOST_DRAFTS = 3
# Seed of one-hot drafts whose first tokens the mask does not forbid, so that some are accepted.
ALLOWED = 25


def grammar(text: Text, vocab: int) -> Array:
    """Return which tokens may follow a text: all but one, which changes with the text."""
    return np.arange(vocab) != (sum(text) + 2 * len(text) + 1) % vocab


def cases(subject: Subject) -> Iterator[Case]:
    """Yield positive laws on three tokens, of sizes up to three drafts; without drafts, if the subject takes that."""
    if not subject.masks:
        return
    draft = toy(3, 10, positive=True) if subject.takes_q else toy(3, ALLOWED, one_hot=True)
    for i, size in enumerate(sizes(subject)):
        made = make(subject, toy(3, 0, positive=True), draft, size, "")
        if i and len(made.parents) > MOST_DRAFTS:
            continue
        yield restricted(prompted(subject, made) if subject.takes_q else made, mask=grammar)
    for made in undrafted(subject):
        yield restricted(made, mask=grammar)


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict on a subject that takes a mask."""
    if not subject.masks:
        return None
    return each("structured", subject, trial, cases(subject), look)
