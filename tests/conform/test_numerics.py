"""Numerics: a distance for every type, and no verdict on the rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim.conform import Report, Subject, Verdict, judge
from specsim.conform.report import line
from specsim.testing.suite import assert_passes
from specsim.types import Array


def chain(wrong: bool = False, careless: bool = False) -> Any:
    """Tokenwise rejection; wrong: it corrects with the target; careless: it keeps laws to two digits."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        if careless and p.dtype != np.float64:
            p = p.round(2)
        p, q = p.astype(np.float64), q.astype(np.float64)
        p = p / p.sum(axis=1, keepdims=True)
        for i, x in enumerate(drafts):
            if not random.random() * q[i, x] < p[i, x]:
                rest = p[i] if wrong else (p[i] - q[i]).clip(0)
                return i, random.choice(p.shape[1], p=rest / rest.sum())
        return len(drafts), random.choice(p.shape[1], p=p[-1])

    return run


def measured(run: Any, *dtypes: str, **facts: Any) -> Verdict:
    (found,) = judge(
        Subject("chain", "chain", run, dtypes=dtypes, sizes=(1,), **facts), properties=["numerics"]
    ).verdicts
    return found


def test_a_distance_and_no_verdict() -> None:
    short, half = measured(chain(), "float32"), measured(chain(), "float32", "float16")
    assert (short.outcome, short.evidence) == ("measured", "scripted")
    assert 1e-10 < short.distance < 1e-6
    assert 1e-6 < half.distance < 1e-2
    assert half.runs > short.runs
    assert half.words.startswith("total variation from its law in float64: float32 ")
    assert "; float16 " in half.words


def test_a_careless_program_is_further_off() -> None:
    """The mutant: what it loses is seen, though nothing is wrong with its rule in float64."""
    assert measured(chain(careless=True), "float32").distance > 1000 * measured(chain(), "float32").distance


def floored(floor: float, dtype: str = "float32", *, of: str = "q") -> Any:
    """Tokenwise rejection that raises a law to a floor in one type alone."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        if p.dtype == dtype:
            p, q = (p.clip(floor), q) if of == "p" else (p, q.clip(floor))
        return chain()(p, q, drafts, random)

    return run


def test_a_floor_of_one_type_is_convicted() -> None:
    """It does nothing to a law without small probabilities, and nothing in float64; rounding cannot have done it."""
    one = measured(floored(1e-3), "float16", "float32")
    assert (one.outcome, one.evidence) == ("convicted", "scripted")
    assert one.reach == "V=3, 1 draft: a certain draft, float32"
    assert one.counterexample is not None
    assert one.distance == pytest.approx(3.34e-4, rel=0.01)
    assert measured(floored(1e-3, "float16"), "float32").outcome == "measured"
    assert measured(floored(1e-3, "float16"), "float16").outcome == "measured", "half precision may be as far off"
    forbidden = measured(floored(5e-5, of="p"), "float32")  # below every probability that is not zero
    assert (forbidden.outcome, forbidden.reach) == ("convicted", "V=3, 1 draft: zeros in p, float32")
    declared = Subject("floor", "chain", floored(1e-3), dtypes=("float32",), sizes=(1,), lossless=False)
    assert judge(declared, properties=["numerics"]).outcome == "lossy by design"


def test_a_floor_within_rounding_is_measured() -> None:
    small, none = measured(floored(1e-5), "float32"), measured(chain(), "float32")
    assert (small.outcome, none.outcome) == ("measured", "measured")
    assert small.distance > 1e-6 > none.distance


def test_a_wrong_rule_is_not_the_fault_of_its_floats() -> None:
    subject = Subject("wrong", "chain", chain(wrong=True), dtypes=("float32",), sizes=(1,))
    found = {v.property: v for v in judge(subject, properties=["marginal", "numerics"]).verdicts}
    assert (found["marginal"].outcome, found["numerics"].outcome) == ("convicted", "measured")
    assert found["marginal"].distance > 0.01 > 1e-6 > found["numerics"].distance


def test_a_distance_does_not_acquit() -> None:
    """The report says what the others say; alone it is undecided, and a test of it is skipped."""
    one = measured(chain(), "float32")
    assert Report("chain", (one,)).status == 2
    assert Report("chain", (one, one._replace(outcome="lossless"))).outcome == "lossless"
    assert line(one).startswith("measured         numerics    scripted, ")
    with pytest.raises(Exception, match="measured"):
        assert_passes(Report("chain", (one,)))


def test_what_cannot_be_measured_says_so() -> None:
    def picky(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        if p.dtype == np.float16:
            raise TypeError("no halves")
        return chain()(p, q, drafts, random)

    def hidden(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        return chain()(p, q, drafts, np.random.Generator(np.random.PCG64(int(float(random.random()) * 2**53))))

    assert "float16 is broken: raised TypeError: no halves" in measured(picky, "float32", "float16").words
    assert (measured(picky, "float16").outcome, measured(hidden, "float32").outcome) == ("not available",) * 2
    assert "float64 has no exact law; not scripted" in measured(hidden, "float32").words
    assert measured(chain()).words == "it names no other types of laws that it takes (dtypes)"
