"""Smaller cases that a counterexample may shrink to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations as pairs

import numpy as np

from specsim.conform.cases import Case, make, prompted, restricted, truncates
from specsim.conform.subject import Subject
from specsim.conform.toys import plain
from specsim.exact.small_laws import row_of

# Largest vocabulary of a shrunken counterexample.
SHRUNKEN = 3


def simple(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield smaller cases for a counterexample: models without memory, few tokens, simple rationals."""
    weights: dict[int, list[tuple[int, ...]]] = {
        2: [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (1, 0), (0, 1)],
        3: [(1, 1, 1), (1, 1, 2), (2, 1, 1), (3, 2, 1), (1, 2, 3), (1, 1, 0), (0, 1, 1)],
    }
    rows = {vocab: [row_of(*row_weights) for row_weights in choices] for vocab, choices in weights.items()}
    # The tree of the case may be larger than those that the subject names.
    subject = subject._replace(shapes=(case.parents,)) if subject.kind == "tree" else subject
    size = case.size if subject.kind != "tree" else 0
    # The smallest come first. Fewer drafts are not tried: cases with fewer were acquitted before.
    for vocab in range(2, min(case.target.vocab, SHRUNKEN) + 1):
        for p in rows[vocab]:
            for q in rows[vocab] if subject.takes_q else np.eye(vocab, dtype=int).tolist():
                # Truncation of equal probabilities depends on the order of tokens.
                if truncates(case.sampling_params) and any(0 < a == b for row in (p, q) for a, b in pairs(row, 2)):
                    continue
                # A mask might leave nothing of p.
                if case.mask is not None and 0 in p:
                    continue
                made = make(subject, plain(p), plain(q), size, "", case.sampling_params)
                shown = prompted(subject, made) if case.prompt else made
                yield restricted(shown, limit=case.limit, end=case.end, mask=case.mask)
