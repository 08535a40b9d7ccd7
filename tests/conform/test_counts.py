"""A log of counts: bets on its lines hold in order of time alone."""

from __future__ import annotations

import pytest

from specsim.conform.evidence.bound import judge_counts


def test_a_file_below_its_bound_convicts_in_no_order() -> None:
    """555 of 1,000 blocks keep their draft, and 555.6 may: with these in front the bets win, and prove nothing."""
    kept, none = (f'{{"p": [0.5], "q": [0.9], "kept": {n}}}' for n in (1, 0))
    for lines in ([kept] * 555 + [none] * 445, [none] * 445 + [kept] * 555):
        found = judge_counts(lines, "log")
        assert (found.outcome, found.reach) == (
            "inconclusive",
            "1000 blocks, 0.555 drafts kept where 0.5556 are the most",
        )
    assert "in order of time" in judge_counts([kept] * 555 + [none] * 445, "log").words
    whole_rows = '{"p": [[0.5, 0.5]], "q": [[0.5, 0.5]], "kept": 1}'
    with pytest.raises(ValueError, match="the probability of the token drafted"):
        judge_counts([whole_rows], "log")
