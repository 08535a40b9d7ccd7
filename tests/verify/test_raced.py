"""A coupled rule at every position of a chain: its tokens, what it keeps of a text, and whether it is lossless."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from specsim import acceptance_rate, guarantee
from specsim.testing import assert_law
from specsim.verify.coupled import acceptance, emit
from specsim.verify.lookup import decoding_rule
from specsim.verify.raced import Raced
from specsim.verify.stepwise import Stepwise

RACE = decoding_rule("race")
P = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])
Q = np.array([[0.1, 0.3, 0.6], [0.3, 0.1, 0.6]])


def blocks(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Uniforms (count, 3, V), drafts (count, 2), kept and next tokens (count,), of the same laws each time."""
    assert isinstance(RACE, Raced)
    u = np.random.default_rng(5).random((count, 3, RACE.numbers(3)))
    drafts = RACE.draw(np.broadcast_to(Q, (count, 2, 3)), u[:, :2])
    kept, token = RACE.verify(RACE.prepare(np.broadcast_to(P, (count, 3, 3)), Q), drafts, u)
    return u, drafts, kept, token


def test_a_block_is_position_by_position_what_both_halves_emit() -> None:
    u, drafts, kept, token = blocks(60)
    for block in range(60):
        both = [emit("race", P[i], Q[min(i, 1)], u[block, i]) for i in range(3)]
        hits = [bool(drafts[block, i] == both[i].token) for i in range(2)]
        assert [int(both[i].drafts[0]) for i in range(2)] == drafts[block].tolist()
        n = hits.index(False) if False in hits else 2
        assert (kept[block], token[block]) == (n, both[n].token)


def test_a_text_tells_how_many_drafts_were_kept() -> None:
    """40,000 blocks at fixed laws: given the first token, it was drafted with the probability b that scores use."""
    assert isinstance(RACE, Raced)
    _, drafts, kept, token = blocks(40_000)
    first = np.where(kept > 0, drafts[:, 0], token)
    b = RACE.posterior(np.repeat(P[:1], 3, axis=0), np.repeat(Q[:1], 3, axis=0), np.arange(3))
    law = np.stack([P[0] * (1 - b), P[0] * b], axis=-1).ravel()
    assert_law(2 * first + (kept > 0), law, false_alarm=1e-9)
    assert RACE.acceptance(P[:2], Q) == pytest.approx([acceptance("race", p, q) for p, q in zip(P, Q, strict=False)])
    assert RACE.acceptance(P[0], Q[0]) == pytest.approx((P[0] * b).sum())
    assert RACE.survival(b) == pytest.approx(np.cumprod(b))


def test_step_and_chain_rules_are_what_they_were() -> None:
    step = decoding_rule("kseq", {"rho": 1.5})
    assert isinstance(step, Stepwise)
    assert step.acceptance(P[:2], Q) == pytest.approx(acceptance_rate(P[:2], Q, rule="kseq", params={"rho": 1.5}))
    assert decoding_rule("block").__name__ == "specsim.verify.chain.block"
    with pytest.raises(ValueError, match=r"^rule 'races' is unknown"):
        decoding_rule("races")


def test_guarantee_runs_races_on_symbols() -> None:
    assert guarantee("race").lossless
    assert guarantee("race") == guarantee("race", family="coupled", scheme="iid")
    assert guarantee("race").cases > 50
    with pytest.raises(ValueError, match=r"^rule 'race' drafts 1, got num_drafts=2$"):
        guarantee("race", num_drafts=2)
    with pytest.raises(ValueError, match=r"^coupled rule 'race' drafts by 'iid', not 'greedy'$"):
        guarantee("race", scheme="greedy")
    with pytest.raises(ValueError, match=r"^coupled rule 'race' asks for no step rule"):
        guarantee("race", step="kseq")


def test_guarantee_convicts_races() -> None:
    assert guarantee("list_race", temperature=0, num_drafts=2).lossless
    convicted = guarantee("tests/mutants/coupled/list_last_arrival_wins.py", num_drafts=2)
    assert convicted.bias == F(1, 15)
    assert not convicted.lossless
