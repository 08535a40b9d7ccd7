"""What only bounds a speedup is as tight as the logs allow; errors of a diagnosis are those of all it is made of."""

from __future__ import annotations

from statistics import NormalDist

import pytest

from specsim import convert_acceptance
from specsim.commands import diagnose as command
from specsim.latency import Timing
from specsim.logs.measures import log_acceptance
from specsim.logs.record import EngineLog
from specsim.speed.diagnosis import diagnose
from specsim.speed.prediction import Estimate, interval
from specsim.speed.runs import LogSpeed, plain_step_of
from specsim.speed.terms import PLAIN, Observation, in_steps, solve
from specsim.speed.two_runs import compare_runs

Z = NormalDist().inv_cdf(0.975)
OFF = EngineLog("own", "off", False, token=Timing(1.0, 1e-7))
ON = EngineLog("own", "on", True, length=4, tau=Timing(3.0, 1e-7), cycle=Timing(1.8, 1e-7))


def test_a_bound_is_as_tight_as_one_cycle_allows() -> None:
    """All that is beyond a plain step may be the one term, and no more than that."""
    mends = {mend.what: mend for mend in diagnose([OFF], [ON]).mends}
    for what, cycle in (
        ("drafting at half its cost", 1.4),
        ("no fixed work", 1.0),
        ("verifying 5 tokens for one plain step", 1.0),
    ):
        assert (mends[what].low, mends[what].high) == pytest.approx((3 / 1.8, 3 / cycle), rel=1e-4)
    alpha = float(convert_acceptance(3.0, kind="tau", to="alpha", gamma=4))
    taus = {g: sum(alpha**i for i in range(g + 1)) for g in (1, 2, 3)}
    (shorter,) = (mend for what, mend in mends.items() if what.endswith("a block"))
    best = max(taus, key=lambda g: taus[g] / (1 + 0.8 * g / 4))
    assert shorter.what.startswith(f"{best} draft")
    assert (shorter.low, shorter.high) == pytest.approx((taus[best] / 1.8, taus[best] / (1 + 0.8 * best / 4)), rel=1e-4)


def test_times_of_a_token_and_of_a_cycle_that_disagree_are_not_plausible() -> None:
    """A cycle of 50 ms that emits 2.5 tokens takes 20 ms for each, and not 99."""
    on = ON._replace(length=3, tau=Timing(2.5), cycle=Timing(0.050), token=Timing(0.099))
    off = OFF._replace(token=Timing(0.020))
    found = diagnose([off], [on])
    assert found.verdict == "implausible"
    assert command.sentence(found).startswith("Not plausible (0.20x as measured): a cycle of 50 ms that emits 2.50 tok")
    # The other log of the batch, and a plain step beside a cycle of one token.
    fitting = on._replace(token=Timing(0.0205))
    assert diagnose([off], [fitting]).verdict != "implausible"
    assert any("implausible: on" in note for note in diagnose([off], [fitting, on]).notes)
    assert diagnose([off._replace(cycle=Timing(0.030))], [fitting]).verdict == "implausible"
    assert "a token is timed at 99 ms" in compare_runs(fitting, on).doubt
    # Tokens of steps that had a draft are not those of every step; vLLM's means are of requests and of steps.
    assert diagnose([off], [on._replace(coverage=None)]).verdict == "slower"
    vllm = [run._replace(engine="vLLM") for run in (off, on._replace(token=Timing(0.025)))]
    assert diagnose(vllm[:1], vllm[1:]).verdict == "slower"


def test_a_call_emits_no_more_than_it_verifies() -> None:
    with pytest.raises(ValueError, match=r"2\.50 tokens a call; a call that verifies 2 gives 2 at most"):
        diagnose([OFF], [ON._replace(length=3, tau=Timing(2.5), verified=2)])
    with pytest.raises(ValueError, match="a call that verifies 2 gives 2 at most"):
        log_acceptance(ON._replace(length=3, tau=Timing(2.5), verified=2))


@pytest.mark.parametrize(("plain", "drafted"), [(1e-14, 1e11), (1e11, 1e-14)])
def test_times_too_far_apart_are_refused(plain: float, drafted: float) -> None:
    """An interval overflowed; and in sums of such times the smaller one is lost."""
    off, on = OFF._replace(token=Timing(plain)), ON._replace(tau=Timing(2.5), cycle=None, token=Timing(drafted))
    with pytest.raises(ValueError, match=r"expected times of one model and machine, less than 1e\+06 times apart"):
        diagnose([off], [on])
    assert interval(1.0, 1e300, Z).low is not None


def test_means_are_shown_with_three_digits() -> None:
    said = command.text(diagnose([OFF], [ON._replace(length=2.63158, tau=Timing(1.9))]))
    assert "verifying 3.63 tokens" in said
    assert "3.63158" not in said


def test_every_draft_kept_is_a_path_of_the_tree() -> None:
    """A tree of 15 nodes in 3 levels emits 4 tokens then, not 16."""
    found = diagnose([OFF], [ON._replace(length=3, verified=16)])
    assert found.certain is not None
    assert found.certain.value == pytest.approx(4 / 1.8)


def test_the_bound_of_every_draft_kept_is_as_wide_as_the_cycle() -> None:
    """4 tokens over a cycle that is known to 5 %: the interval is that of a ratio whose numerator is certain."""
    found = diagnose([OFF], [ON._replace(cycle=Timing(1.8, 0.09))])
    assert found.certain is not None
    assert found.certain.low is not None
    assert found.certain.high is not None
    width = 2 * Z * (5 / 1.8) * 0.05
    assert found.certain.high - found.certain.low == pytest.approx(width, rel=0.05)


@pytest.mark.parametrize(("cycle", "cause"), [(1.6, "acceptance"), (1.7, "drafting, verifying and fixed work")])
def test_the_cause_is_what_loses_most(cycle: float, cause: str) -> None:
    """Of five tokens at most three come: a factor of 5/3, beside a cycle of 1.6 or 1.7 plain steps."""
    assert diagnose([OFF], [ON._replace(cycle=Timing(cycle, 1e-7))]).cause == cause


def test_a_cycle_worked_out_from_tokens_has_the_errors_of_both() -> None:
    found = diagnose([OFF], [ON._replace(cycle=None, token=Timing(0.6, 0.006), tau=Timing(3.0, 0.15))])
    assert found.cycle is not None
    assert found.cycle.value == pytest.approx(1.8)
    assert found.cycle.low is not None
    assert found.cycle.value - found.cycle.low == pytest.approx(Z * 1.8 * (0.01**2 + 0.05**2) ** 0.5, rel=1e-3)


def test_a_plain_step_is_one_step_for_sure() -> None:
    """In plain steps the error of the step itself cancels where it stands in both."""
    terms = solve([Observation(PLAIN, 1.0, 0.2), Observation((1, 2, 2, 1), 2.0, 0.1)])
    assert in_steps(terms, PLAIN) == pytest.approx((1.0, 0.0), abs=1e-12)
    value, error = in_steps(terms, (1, 2, 2, 1))
    assert value == pytest.approx(2.0)
    assert error == pytest.approx((0.1**2 + (2 * 0.2) ** 2) ** 0.5)


def test_plain_runs_are_pooled() -> None:
    found = plain_step_of([OFF._replace(token=Timing(1.0, 0.1)), OFF._replace(token=Timing(2.0, 0.2))], 0.02)
    assert found == pytest.approx(((1 / 0.01 + 2 / 0.04) / 125, 125**-0.5))


@pytest.mark.parametrize(
    ("speeds", "said"),
    [
        ((1.3, 0.9, 0.8), ["switch it off from batch 8 on: it is slower there in every log"]),
        ((1.3, 0.9, 1.1), []),
        ((0.9, 1.1, 0.8), []),
        ((1.3, 1.2, 1.1), []),
    ],
)
def test_off_from_a_batch_on_is_said_where_every_larger_one_is_slower(
    speeds: tuple[float, ...], said: list[str]
) -> None:
    estimates = [Estimate(speed, speed, speed) for speed in speeds]
    by_log = tuple(LogSpeed("on", float(8**i), 4, estimate) for i, estimate in enumerate(estimates))
    by_batch = tuple((log.batch, log.speedup) for log in by_log)
    found = diagnose([OFF], [ON])._replace(by_batch=by_batch, by_log=by_log)
    assert command._switch_off_lines(found) == said
    assert all(line in command.text(found) for line in said)


def test_off_from_a_batch_on_is_said_only_where_every_log_is_slower() -> None:
    """The first log is slower at batch 8, and the second, with fewer drafts, is faster there."""
    speeds = [(1.0, 4, 1.3), (1.0, 1, 1.2), (8.0, 4, 0.6), (8.0, 1, 1.1), (64.0, 4, 0.5), (64.0, 1, 0.9)]
    by_log = tuple(LogSpeed(f"on{length}", batch, length, Estimate(s, s, s)) for batch, length, s in speeds)
    lines = command._switch_off_lines(diagnose([OFF], [ON])._replace(by_log=by_log))
    assert lines == ["switch it off from batch 64 on: it is slower there in every log"]
