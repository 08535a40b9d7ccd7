"""Terms of a cycle are told apart where logs do so, recovered inside their intervals, and named where they are not."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.latency import Timing
from specsim.logs.record import EngineLog
from specsim.speed.diagnosis import diagnose
from specsim.speed.parts import NAMES
from specsim.speed.terms import PLAIN, Observation, known, solve

STEP, DRAFT, TOKEN, FIXED = 10e-3, 1.5e-3, 0.4e-3, 2.5e-3  # seconds
SEEDS = 40  # logs of each case
WHOLE = {
    "one length": [(4, 5)],
    "two lengths": [(4, 5), (1, 2)],
    "trees": [(3, 4), (3, 16), (7, 16), (1, 2)],
}


def rank(given: list[tuple[F, ...]]) -> int:
    """Exact, by elimination."""
    rows, found = [list(row) for row in given], 0
    for column in range(4):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            share = rows[i][column] / rows[found][column]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


ROWS = st.one_of(
    st.tuples(st.just(1), st.integers(0, 16), st.integers(0, 64), st.just(1)),
    st.tuples(st.just(0), st.integers(1, 16), st.just(0), st.just(0)),
    st.tuples(st.just(1), st.just(0), st.integers(1, 64), st.just(0)),
    st.tuples(st.just(0), st.just(0), st.just(0), st.just(1)),
)


@given(st.lists(ROWS, max_size=5), ROWS)
def test_a_sum_is_known_exactly_where_the_rank_says_so(rows: list[tuple[int, ...]], asked: tuple[int, ...]) -> None:
    terms = solve([Observation(row, 1.0, 0.01) for row in (PLAIN, *rows)])
    exact = [tuple(map(F, row)) for row in ((1, 0, 0, 0), *rows)]
    assert known(terms, asked) == (rank([*exact, tuple(map(F, asked))]) == rank(exact))


def cycle(length: float, verified: float) -> float:
    return STEP + length * DRAFT + (verified - 1) * TOKEN + FIXED


def noisy(generator: np.random.Generator, value: float, spread: float = 0.01) -> Timing:
    return Timing(value * (1 + spread * generator.standard_normal()), spread * value)


def logs(generator: np.random.Generator, shapes: list[tuple[int, int]], **timed: float) -> list[Any]:
    """Runs with speculation on; `timed` are parts that the first says itself."""
    runs = [
        EngineLog(
            "own",
            f"on {i}",
            True,
            length=g,
            verified=m,
            tau=Timing(1 + g / 2, 0.01),
            cycle=noisy(generator, cycle(g, m)),
        )
        for i, (g, m) in enumerate(shapes)
    ]
    return [runs[0]._replace(**{name: noisy(generator, value) for name, value in timed.items()}), *runs[1:]]


def plain(generator: np.random.Generator) -> list[EngineLog]:
    return [EngineLog("own", "off", False, token=noisy(generator, STEP))]


TRUE: dict[str, Any] = {
    "drafting": lambda g, m: g * DRAFT,
    "verifying": lambda g, m: STEP + (m - 1) * TOKEN,
    "fixed work": lambda g, m: FIXED,
}
CASES: dict[str, Any] = {
    "draft and pass timed": (WHOLE["one length"], {"draft": 4 * DRAFT, "verify": STEP + 4 * TOKEN}),
    "two lengths, draft timed": (WHOLE["two lengths"], {"draft": 4 * DRAFT}),
    "trees": (WHOLE["trees"], {}),
    "one length": (WHOLE["one length"], {}),
    "two lengths": (WHOLE["two lengths"], {}),
    "draft timed": (WHOLE["one length"], {"draft": 4 * DRAFT}),
}


@pytest.mark.parametrize("case", CASES)
def test_known_terms_are_recovered_inside_their_intervals(case: str) -> None:
    shapes, timed = CASES[case]
    g, m = shapes[0]
    inside = tried = 0
    for seed in range(SEEDS):
        generator = np.random.default_rng(seed)
        found: Any = diagnose(plain(generator), logs(generator, shapes, **timed))
        for part in found.parts:
            true = sum(TRUE[name](g, m) for name in part.names) / STEP
            tried += 1
            assert part.steps.high - part.steps.low < 0.5
            inside += part.steps.low <= true <= part.steps.high
    # 95 % of them, less four standard errors of a share of so many independent logs.
    assert inside / tried >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / SEEDS)


APART: dict[str, Any] = {
    "one length": [NAMES],
    "two lengths": [("drafting", "verifying"), ("fixed work",)],
    "draft timed": [("drafting",), ("verifying", "fixed work")],
    "two lengths, draft timed": [(name,) for name in NAMES],
    "draft and pass timed": [(name,) for name in NAMES],
    "trees": [(name,) for name in NAMES],
}


@pytest.mark.parametrize(("case", "seed"), list(product(APART, range(4))))
def test_terms_that_cannot_be_told_apart_are_named_as_such(case: str, seed: int) -> None:
    shapes, timed = CASES[case]
    generator = np.random.default_rng(seed)
    found = diagnose(plain(generator), logs(generator, shapes, **timed))
    assert [part.names for part in found.parts] == APART[case]
    assert bool(found.missing) == any(len(names) > 1 for names in APART[case])


@settings(max_examples=25)
@given(st.floats(0, 0.2), st.floats(0, 0.1), st.floats(0, 2), st.integers(1, 12), st.integers(1, 3))
def test_runs_of_one_length_never_tell_the_terms_apart(
    draft: float, token: float, fixed: float, g: int, runs: int
) -> None:
    """In all such cases, however exact the times are and however often they were taken."""
    time = Timing(1 + g * draft + g * token + fixed, 1e-6)
    on = [EngineLog("own", str(i), True, length=g, tau=Timing(1 + g / 2, 0.01), cycle=time) for i in range(runs)]
    found = diagnose([EngineLog("own", "off", False, token=Timing(1.0, 1e-6))], on)
    assert [part.names for part in found.parts] == [NAMES]
    assert len(found.missing) == 2


def test_what_is_said_to_be_missing_tells_them_apart() -> None:
    generator = np.random.default_rng(0)
    runs = logs(generator, WHOLE["one length"])
    found = diagnose(plain(generator), runs)
    assert found.missing == ("the time of drafting a block", "a target pass over 5 tokens")
    timed = runs[0]._replace(draft=Timing(4 * DRAFT, 1e-5), verify=Timing(STEP + 4 * TOKEN, 1e-5))
    assert len(diagnose(plain(generator), [timed]).parts) == 3


def test_noise_that_hides_a_term_joins_it_to_the_others() -> None:
    """Two lengths tell fixed work by the algebra, and not by times that are uncertain by a fifth."""
    generator = np.random.default_rng(0)
    off = [EngineLog("own", "off", False, token=Timing(STEP, 0.2 * STEP))]
    on = [
        run._replace(cycle=run.cycle._replace(error=0.2 * run.cycle.value))
        for run in logs(generator, WHOLE["two lengths"])
    ]
    assert [part.names for part in diagnose(off, on).parts] == [NAMES]


def test_predicted_speedups_are_those_of_the_terms() -> None:
    exact: dict[str, Any] = {
        "length": 4,
        "blocks": 10_000,
        "drafted": 40_000,
        "accepted": 20_000,
        "kept": (8000, 6000, 4000, 2000),
    }
    on = EngineLog(
        "own",
        "on",
        True,
        **exact,
        cycle=Timing(cycle(4, 5), 1e-7),
        draft=Timing(4 * DRAFT, 1e-7),
        verify=Timing(STEP + 4 * TOKEN, 1e-7),
    )
    found = diagnose([EngineLog("own", "off", False, token=Timing(STEP, 1e-7))], [on])
    mends = {mend.what: mend for mend in found.mends}
    assert mends["every draft kept"].value == pytest.approx(5 * STEP / cycle(4, 5), rel=1e-4)
    assert mends["no fixed work"].value == pytest.approx(3 * STEP / (cycle(4, 5) - FIXED), rel=1e-4)
    assert mends["drafting at half its cost"].value == pytest.approx(3 * STEP / (cycle(4, 5) - 2 * DRAFT), rel=1e-4)
    assert mends["verifying 5 tokens for one plain step"].value == pytest.approx(
        3 * STEP / (cycle(4, 5) - 4 * TOKEN), rel=1e-4
    )
    shorter = {g: (1 + sum(exact["kept"][:g]) / 10_000) * STEP / cycle(g, g + 1) for g in (1, 2, 3)}
    best = max(shorter, key=shorter.__getitem__)
    (other,) = (mend for mend in found.mends if mend.what.endswith("a block"))
    assert other.what == ("1 draft a block" if best == 1 else f"{best} drafts a block")
    assert other.value == pytest.approx(shorter[best], rel=1e-4)


def test_a_bound_holds_whatever_the_terms_are() -> None:
    """What the logs only bound lies between no term and all of it, for every split of the same cycle."""
    whole = cycle(4, 5)
    on = EngineLog("own", "on", True, length=4, tau=Timing(3.0, 1e-7), cycle=Timing(whole, 1e-7))
    mends = {m.what: m for m in diagnose([EngineLog("own", "off", False, token=Timing(STEP, 1e-7))], [on]).mends}
    for draft, token in product(np.linspace(0, 1, 5), repeat=2):
        rest = whole - STEP
        drafting, verifying = draft * rest, (1 - draft) * token * rest
        fixed = rest - drafting - verifying
        for what, less in (
            ("drafting at half its cost", drafting / 2),
            ("no fixed work", fixed),
            ("verifying 5 tokens for one plain step", verifying),
        ):
            assert mends[what].basis == "bounded"
            assert mends[what].low <= 3 * STEP / (whole - less) <= mends[what].high


def test_acceptance_is_the_cause_where_drafts_are_lost() -> None:
    off = [EngineLog("own", "off", False, token=Timing(0.01, 1e-4))]
    on = EngineLog("own", "on", True, length=4, tau=Timing(1.1, 0.01), token=Timing(0.012, 1e-4))
    found = diagnose(off, [on])
    assert (found.verdict, found.cause) == ("slower", "acceptance")
    assert diagnose(off, [on._replace(tau=Timing(4.9, 0.01))]).cause != "acceptance"


def test_times_off_the_line_are_flagged() -> None:
    off = [EngineLog("own", "off", False, token=Timing(1.0, 1e-3))]
    times = {1: 1.5, 2: 1.7, 3: 1.9, 6: 4.0}
    on = [
        EngineLog("own", str(g), True, length=g, tau=Timing(1.5, 0.01), cycle=Timing(t, 1e-3)) for g, t in times.items()
    ]
    assert any("do not lie on a line" in note for note in diagnose(off, on).notes)
    assert not any("do not lie on a line" in note for note in diagnose(off, on[:3]).notes)


ON, OFF = (
    EngineLog("vLLM", "on.log", True, model="a", length=1, tau=Timing(1.5, 0.1), token=Timing(0.01, None)),
    EngineLog("vLLM", "off.log", False, model="a", token=Timing(0.01, None)),
)
BAD: dict[str, Any] = {
    "two kinds": ([OFF._replace(engine="SGLang")], [ON], "off.log is of SGLang, on.log of vLLM; expected one engine"),
    "ours and theirs": (
        [OFF._replace(engine="own")],
        [ON],
        "off.log is of own, on.log of vLLM; expected one engine; JSON of ours says of which: engine beside runs",
    ),
    "models": ([OFF._replace(model="b")], [ON], r"models b \(off.log\), a \(on.log\); expected one"),
    "off speculates": ([ON], [ON], "on.log speculates; expected a log of the same engine with speculation off"),
    "on does not": ([OFF], [OFF], "off.log does not speculate; expected a log with speculation on"),
    "no time": ([OFF._replace(token=None)], [ON], "off.log has no time per token"),
    "no time on": ([OFF], [ON._replace(token=None)], "on.log has no time per token or cycle"),
    "batches": ([OFF._replace(batch=8.0)], [ON], r"batches \[8.0\] off and \[1.0\] on; expected one batch in both"),
    "none": ([], [ON], "got 0 and 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_runs_that_are_no_pair_are_refused(case: str) -> None:
    off, on, said = BAD[case]
    with pytest.raises(ValueError, match=said):
        diagnose(off, on)
