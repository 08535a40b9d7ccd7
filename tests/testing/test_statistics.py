"""The law test's two error rates hold, exactly where a binomial sum gives them and on seeded simulations."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from specsim.testing import assert_law, law_test

LAWS = {
    "coin": np.array([0.5, 0.5]),
    "skewed": np.array([0.9, 0.05, 0.03, 0.02, 0.0]),
    "uniform": np.full(20, 0.05),
    "zipf": 1 / np.arange(1, 101) / (1 / np.arange(1, 101)).sum(),
}


def passed(chance: float, samples: int, false_alarm: float) -> list[bool]:
    """The verdict on k heads, k = 0..samples."""
    law = [chance, 1 - chance]
    return [law_test([k, samples - k], law, false_alarm=false_alarm).passed for k in range(samples + 1)]


@pytest.mark.parametrize("false_alarm", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("samples", [10, 300])
@pytest.mark.parametrize("chance", [0.5, 0.1, 0.01])
def test_false_alarms_of_a_coin_exactly(chance: float, samples: int, false_alarm: float) -> None:
    fails = np.flatnonzero(~np.array(passed(chance, samples, false_alarm)))
    assert binom.pmf(fails, samples, chance).sum() <= false_alarm


@pytest.mark.parametrize("samples", [300, 5000])
@pytest.mark.parametrize("chance", [0.5, 0.1])
def test_misses_of_a_coin_at_the_detectable_distance_exactly(chance: float, samples: int) -> None:
    for false_alarm in (0.2, 1e-3):
        far = chance + law_test([samples, 0], [chance, 1 - chance], false_alarm=false_alarm).detectable
        assert far < 1  # a claim about something
        passes = np.flatnonzero(passed(chance, samples, false_alarm))
        assert binom.pmf(passes, samples, far).sum() <= false_alarm


@pytest.mark.parametrize("name", LAWS)
def test_false_alarm_rate_on_simulated_data(name: str) -> None:
    law, delta, runs = LAWS[name], 0.2, 500
    rng = np.random.default_rng(0)
    fails = sum(not law_test(c, law, false_alarm=delta).passed for c in rng.multinomial(400, law, size=runs))
    assert fails <= runs * delta


@pytest.mark.parametrize("name", LAWS)
def test_detectable_distance_on_simulated_data(name: str) -> None:
    """A sampler at exactly the stated distance is found at least as often as stated."""
    law, delta, runs, samples = LAWS[name], 0.2, 300, 4000
    detectable = law_test(np.eye(len(law))[0] * samples, law, false_alarm=delta).detectable
    assert detectable < 0.25
    least = law.argmin()
    true = law * (1 - detectable / (1 - law[least]))  # mass `detectable` moved to the rarest token
    true[least] = law[least] + detectable
    assert np.abs(true - law).sum() / 2 == pytest.approx(detectable)
    rng = np.random.default_rng(1)
    fails = sum(not law_test(c, law, false_alarm=delta).passed for c in rng.multinomial(samples, true, size=runs))
    assert fails >= runs * (1 - delta)


def test_numbers_of_one_test() -> None:
    test = law_test([520, 480], [0.5, 0.5], false_alarm=1e-6)
    assert test.samples == 1000
    assert test.distance == pytest.approx(0.02)
    spread = np.sqrt(np.log(1e6) / 2000)  # McDiarmid; the mean distance is at most 1/2 sum sqrt(p (1 - p) / N)
    assert test.threshold == pytest.approx(0.5 * 2 * np.sqrt(0.25 / 1000) + spread)
    assert test.detectable == pytest.approx(test.threshold + 0.5 * np.sqrt(1 / 1000) + spread)
    assert test.passed
    assert law_test([52000, 48000], [0.5, 0.5]).passed is False
    looser, tighter = (law_test([520, 480], [0.5, 0.5], false_alarm=d).threshold for d in (1e-9, 1e-2))
    assert tighter < test.threshold < looser


def test_fractions_are_laws_too() -> None:
    assert law_test([1, 1], [Fraction(1, 2)] * 2).distance == 0


def test_assert_law_says_what_it_saw() -> None:
    assert assert_law(np.zeros((10, 100), dtype=np.int64), [1.0, 0.0]).samples == 1000
    with pytest.raises(
        AssertionError,
        match=r"TV 0\.5 from the claimed law, above 0\.09892 \(1000 samples, false-alarm rate 1e-06\)",
    ):
        assert_law([0] * 1000, [0.5, 0.5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [0.2, 0.3, 0.5]), r"counts has shape \(2,\) and law \(3,\); both must be \(V,\)"),
        (([0, 0], [0.5, 0.5]), r"counts sum to 0: nothing was sampled"),
        (([-1, 2], [0.5, 0.5]), r"counts\[0\] is -1\.0; it must lie in \[0, inf\)"),
        (([1, 2], [0.5, 0.6]), r"law sums to 1\.1; probabilities must sum to 1"),
    ],
    ids=["shapes", "empty", "negative", "law"],
)
def test_messages(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        law_test(*arguments)


def test_false_alarm_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"false_alarm is 0; it must lie in \(0, 1\)"):
        law_test([1, 1], [0.5, 0.5], false_alarm=0)


@pytest.mark.parametrize("samples", [[0, 1, 2], [-1, 0], []], ids=["beyond the law", "negative", "none"])
def test_samples_that_are_no_outcomes(samples: list[int]) -> None:
    with pytest.raises(ValueError, match="samples"):
        assert_law(samples, [0.5, 0.5])


def test_false_alarm_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="false_alarm"):
        law_test([1, 1], [0.5, 0.5], false_alarm=1)
