"""Acceptance of a log: by its right names, with intervals that hold the truth, in a form that plan takes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import specsim
from specsim.latency import Timing
from specsim.logs.measures import log_acceptance, log_tau
from specsim.logs.record import EngineLog

RUN = EngineLog("own", "on.csv", True, length=3, blocks=100, drafted=300, accepted=150, kept=(80, 50, 20))


def test_every_number_has_its_right_name() -> None:
    found = log_acceptance(RUN)
    values = {kind: one.value for kind, one in found.measures.items()}
    for kind in ("kept", "draft_rate", "output_share", "alpha"):
        assert values[kind] == pytest.approx(specsim.convert_acceptance(2.5, kind="tau", to=kind, gamma=3))
    assert found.hazards is not None
    assert found.hazards.hazards.tolist() == [0.8, 50 / 80, 20 / 50]  # not the rates of all blocks
    same = specsim.estimate_hazards([0, 1, 2, 3], 3, counts=[20, 30, 30, 20])
    assert found.hazards.hazards.tolist() == same.hazards.tolist()
    assert log_tau(RUN) == pytest.approx(same.tau(3, wary=True))


def test_totals_alone_have_the_largest_error_that_any_law_has() -> None:
    """Bhatia and Davis: the law that keeps all or nothing has it, and none has more."""
    bare = RUN._replace(kept=())
    bound = log_tau(bare).error
    assert bound is not None
    assert bound == pytest.approx(math.sqrt(1.5 * 1.5 / 100))
    for counts in ([50, 0, 0, 50], [20, 30, 30, 20], [0, 50, 50, 0]):
        lengths = np.repeat([0, 1, 2, 3], counts)
        assert lengths.mean() == 1.5
        assert lengths.std() / 10 <= bound + 1e-12


@pytest.mark.parametrize("accepted", [0, 300])
def test_all_drafts_accepted_or_none_is_not_certain(accepted: int) -> None:
    """The hundred blocks show no spread; one more draft, accepted or rejected, stands for it."""
    bare = RUN._replace(kept=(), accepted=accepted)
    assert log_tau(bare).error == pytest.approx(math.sqrt(3 / 100 / 100))
    tau = log_acceptance(bare).measures["tau"]
    assert tau.low is not None
    assert tau.high is not None
    assert tau.high - tau.low > 0.03


def test_intervals_hold_the_truth() -> None:
    generator, inside = np.random.default_rng(1), {"positions": 0, "totals": 0}
    alpha = np.array([0.8, 0.6, 0.5])
    tau = 1 + float(alpha.cumprod().sum())
    for _ in range(100):
        came, kept = 400, []
        for a in alpha:
            came = int(generator.binomial(came, a))
            kept.append(came)
        run = RUN._replace(blocks=400, drafted=1200, accepted=sum(kept), kept=tuple(kept))
        for name, one in (("positions", run), ("totals", run._replace(kept=()))):
            value, error = log_tau(one)
            assert error is not None
            inside[name] += abs(value - tau) <= 1.96 * error
    assert inside["positions"] >= 86  # 95, less four standard errors
    assert inside["totals"] >= inside["positions"]


def test_blocks_that_differ_are_said_to() -> None:
    found = log_acceptance(RUN._replace(drafted=250, length=2.5))
    assert not found.fixed
    assert any("lower bounds" in note for note in found.notes)
    assert "alpha" not in found.measures  # it has no one length
    bare = RUN._replace(drafted=250, length=2.5, kept=())
    assert "intervals need the most drafts that a block may have: --gamma" in log_acceptance(bare).notes
    assert not any("--gamma" in note for note in log_acceptance(bare, length=3).notes)
    assert log_tau(bare).error is None
    assert log_tau(RUN._replace(drafted=250, length=2.5, kept=()), length=3).error is not None


def test_a_length_that_some_blocks_did_not_have_is_not_fixed() -> None:
    assert log_acceptance(RUN).fixed
    assert not log_acceptance(RUN._replace(drafted=290)).fixed


def test_a_share_of_drafts_alone_needs_the_length() -> None:
    """Neither blocks nor a printed mean: tau = 1 + length x share, without an error."""
    run = RUN._replace(blocks=None, kept=())
    assert log_tau(run) == (pytest.approx(1 + 3 * 0.5), None)
    assert log_acceptance(run).measures["tau"].low is None


def test_printed_means_have_the_error_of_their_spread() -> None:
    run = EngineLog("SGLang", "on.log", True, length=3, tau=Timing(2.0, 0.1))
    assert log_acceptance(run).measures["tau"][1:] == pytest.approx((2 - 0.196, 2 + 0.196), abs=1e-3)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (RUN._replace(speculating=False), "without speculation; expected drafts"),
        (RUN._replace(length=None), "does not say how many drafts a block has; give --gamma"),
        (RUN._replace(blocks=None, accepted=None, kept=()), "does not say how many tokens a target call emits"),
        (EngineLog("a", "b", True, length=1, tau=Timing(2.5)), "2.50 tokens a call; 1 drafts give 2 at most"),
    ],
)
def test_what_has_no_acceptance_is_refused(run: EngineLog, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        log_acceptance(run)
