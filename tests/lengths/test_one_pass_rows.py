"""Acceptance of drafts of one pass along texts: over all texts it is that of the decoder, in floats and rationals."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from specsim.exact import chain
from specsim.exact.small_laws import rational_table
from specsim.lengths.blocks import renewal
from specsim.lengths.one_pass_rows import _ratios, from_one_pass_rows
from specsim.verify.chain import tokenwise

GAMMA, LENGTH = 2, 4
Text = tuple[int, ...]


def drafts_of(rng: np.random.Generator) -> dict[Text, Any]:
    """Marginals of a block, one for each text that it may start after."""
    starts = [text for n in range(LENGTH) for text in itertools.product((0, 1), repeat=n)]
    return {text: np.array([rational_table(rng, 2, 0)[()] for _ in range(GAMMA)]) for text in starts}


def calls(target: chain.Table, drafts: dict[Text, Any], prefix: Text = ()) -> F:
    """The expected target calls for LENGTH tokens, by every block from every start."""
    left = LENGTH - len(prefix)
    if left <= 0:
        return F(0)
    size = min(GAMMA, left - 1)
    texts = [t for n in range(size) for t in itertools.product((0, 1), repeat=n)]
    draft = {(*prefix, *text): drafts[prefix][len(text)] for text in texts}
    law = chain.blocks(tokenwise, target, draft, size, prefix)
    return 1 + sum(mass * calls(target, drafts, prefix + block) for block, mass in law.items())


@pytest.mark.parametrize("tables", [3, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_mean_over_texts_is_the_number_of_calls_of_the_decoder(tables: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(tables):
        target, drafts = rational_table(rng, 2, LENGTH), drafts_of(rng)
        mean = F(0)
        for text, mass in chain.target_law(target, LENGTH).items():
            if mass:
                p = np.array([target[text[:t]][y] for t, y in enumerate(text)])
                q = np.array([drafts[text[:t]] for t in range(LENGTH)])
                mean += mass * renewal(tokenwise.survival(_ratios(p, q, np.array(text)))).blocks
        assert mean == calls(target, drafts)


def test_the_record_is_of_blocks_up_to_gamma_and_pools_texts() -> None:
    p = np.full((6, 2), 0.5)
    q = np.array([[[0.5, 0.5], [0.75, 0.25]]] * 6)
    kept = from_one_pass_rows(p, q, np.array([0, 0, 1, 1, 1, 1]), [3, 3], source="a file")
    assert kept.longest == 2
    assert kept.hazards(1) == [1.0]
    assert kept.hazards(2)[0] == 1
    assert 0.5 <= kept.hazards(2)[1] <= 1
    assert "do not see each other" in kept.words


def test_a_token_that_the_target_cannot_write_is_named() -> None:
    p, q = np.array([[1.0, 0.0]]), np.full((1, 1, 2), 0.5)
    with pytest.raises(ValueError, match="token 0 has probability 0"):
        from_one_pass_rows(p, q, np.array([1]), [1], source="a file")
