"""Chimera in the decode loop, on a small part of the bundled pair's texts; its counts, costs and verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from real.decode.loop import Block, Decoded
from real.papers.lab.contract import Lab, Record, checked
from real.papers.lab.times import recorded
from real.papers.systems import chimera
from real.studies.intervals import Estimate

A, B, C = Estimate(2.0, 1.5, 2.5), Estimate(1.0, -0.5, 1.5), Estimate(-1.0, -1.5, -0.5)


def test_chimera_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(chimera, "TEMPERATURES", (0.0,))
    found = checked(chimera.run(Lab(share=0.01)), chimera.HEADLINE)
    at, loop = "T = 0", chimera.LOOP
    new, old = (found.measured[f"tokens a call of 3 drafts, {name}, {at}{loop}"].value for name in chimera.BOTH)
    assert found.measured[chimera.HEADLINE].value == pytest.approx(new / old - 1)
    costs = recorded(0.0)
    cycle = costs.cycle(3) - costs.phase("draft", 3) + chimera.drafting_s("tiny", "Chimera", costs)
    speed = found.predicted[f"{chimera.SPEED}, {at}"]
    assert speed.value == pytest.approx(new * costs.cycle(0) / cycle)
    sizes = [found.exact[f"parameters, {name}, bundled pair"] for name in ("whole", "without context")]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)
    assert chimera.verdict(found) in ("shows", "does not show", "contradicts")


def test_second_drafts_count_where_the_first_was_accepted() -> None:
    """Blocks that accept 0, 1 and 3 of 3 drafts, and one that is cut to a single draft, which is accepted."""
    blocks = [Block(1, 3, 0), Block(2, 3, 1), Block(4, 3, 3), Block(8, 1, 1)]
    reached, accepted = chimera.counts([Decoded([7] * 9, blocks, [], 0.0)])
    assert reached.tolist() == [[4, 2, 1]]
    assert accepted.tolist() == [[3, 1, 1]]


def test_a_pass_of_heads_costs_one_draft_and_one_of_chimera_each() -> None:
    costs = recorded(1.0)
    of_heads = chimera.drafting_s("tiny", "heads", costs) / costs.phase("draft", 1)
    of_chimera = chimera.drafting_s("tiny", "Chimera", costs) / costs.phase("draft", 3)
    # Both have as many parameters and the same head.
    assert of_heads == pytest.approx(of_chimera, rel=0.01)
    tokens, none = np.array([30.0]), np.zeros((1, 3))
    runs = chimera.Runs(tokens, tokens / 2, none, none)
    cycle = costs.cycle(3) - costs.phase("draft", 3)
    assert chimera.speed(runs, costs, 0.01).value == pytest.approx(2 * costs.cycle(0) / (cycle + 0.01))


@pytest.mark.parametrize(
    ("faster", "later", "speed", "verdict"),
    [
        (A, A, A, "shows"),
        (A, B, A, "does not show"),
        (B, A, A, "does not show"),
        (A, A, B, "does not show"),
        (A, C, A, "contradicts"),
        (A, A, C, "contradicts"),
    ],
)
def test_verdicts_of_chimera(faster: Estimate, later: Estimate, speed: Estimate, verdict: str) -> None:
    """Every number at T = 1 is as stated; those at T = 0 show."""
    both = {chimera.FASTER: faster, chimera.LATER: later}
    measured = {f"{name}, T = 0{chimera.LOOP}": A for name in both}
    measured |= {f"{name}, T = 1{chimera.LOOP}": one for name, one in both.items()}
    predicted = {f"{chimera.SPEED}, T = 0": A, f"{chimera.SPEED}, T = 1": speed}
    assert chimera.verdict(Record({}, measured, predicted)) == verdict
