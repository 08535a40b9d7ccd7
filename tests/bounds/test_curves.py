"""Acceptance against the number of drafts: closed forms, sampled ones, and what they are compared with."""

from __future__ import annotations

import numpy as np
import pytest

from specsim import acceptance_rate, discover, optimal_acceptance, verify_step
from specsim.bounds.curves import Point, acceptance_curves
from specsim.checks import backends
from specsim.draft import without_replacement
from specsim.exact.step import enumerate_step
from specsim.verify import hits
from specsim.verify.step import recursive_wor


def rows(vocab: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    p, q, _ = backends.laws(vocab, count, seed=1)
    return p, q


def points(found: list[Point]) -> dict[tuple[str, str, int], Point]:
    return {(c.rule, c.scheme, c.num_drafts): c for c in found}


def test_closed_forms_are_means_over_the_rows() -> None:
    p, q = rows(6, 20)
    found = points(acceptance_curves(p, q, num_drafts=[1, 3]))
    assert found["recursive", "iid", 3].value == pytest.approx(
        acceptance_rate(p, q, rule="recursive", num_drafts=3).mean()
    )
    assert found["", "greedy", 3].value == pytest.approx(optimal_acceptance(p, q, num_drafts=3, scheme="greedy").mean())
    assert found["rejection", "iid", 1].value == pytest.approx(acceptance_rate(p, q).mean())
    assert not any((rule == "rejection" and k > 1) or rule == "greedy" for rule, _, k in found)  # K = 1 only; lossy
    assert {c.error for c in found.values() if c.rule} == {0.0}


def test_no_rule_beats_the_optimum_of_its_scheme() -> None:
    p, q = rows(6, 20)
    found = points(acceptance_curves(p, q, num_drafts=[1, 2, 3]))
    compared = [(c, found["", c.scheme, c.num_drafts]) for c in found.values() if ("", c.scheme, 1) in found]
    assert len(compared) > 20
    assert all(c.value <= best.value + c.error + best.error + 1e-12 for c, best in compared)
    assert found["optimal", "distinct", 2].value == pytest.approx(found["", "distinct", 2].value, abs=1e-12)


def test_sampled_where_the_sum_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval holds the value by enumeration, and is narrow enough to say something."""
    p, q = rows(5, 30)
    wanted = np.mean([enumerate_step(recursive_wor, a, b, 3)[1] for a, b in zip(p, q, strict=True)])
    monkeypatch.setattr(recursive_wor, "MAX_PATHS", 1)
    found = points(acceptance_curves(p, q, num_drafts=[3], samples=400))["recursive_wor", "without_replacement", 3]
    assert 0 < found.error < 0.01
    assert abs(found.value - wanted) < found.error


def test_a_draft_that_repeats_is_one_draft() -> None:
    """Of two tokens a third draft repeats the second: every token is drafted, so each is hit once."""
    p, q = np.array([0.2, 0.8, 0.0]), np.array([0.5, 0.5, 0.0])
    hit = hits._hit(recursive_wor, without_replacement, p, q, 3, np.random.default_rng(0).random((20, 3)))
    assert hit == pytest.approx(np.ones(20))


def test_the_interval_is_that_of_a_mean_over_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-widths of independent rows add in squares; a hundredth of the normal law lies outside."""
    p, q = rows(5, 6)
    found = hits.sampled(recursive_wor, "without_replacement", p, q, 3, 50, seed=2)
    again = np.random.default_rng(2)
    seen = [
        hits._hit(recursive_wor, without_replacement, a, b, 3, again.random((50, 3))) for a, b in zip(p, q, strict=True)
    ]
    errors = [2.5758 * hit.std(ddof=1) / 50**0.5 for hit in seen]
    assert found.value == pytest.approx(np.mean(seen, axis=1))
    assert found.error == pytest.approx(errors)
    monkeypatch.setattr(recursive_wor, "MAX_PATHS", 1)
    point = points(acceptance_curves(p, q, num_drafts=[3], samples=50, seed=2))[
        "recursive_wor", "without_replacement", 3
    ]
    assert (point.value, point.error) == pytest.approx((np.mean(seen), np.linalg.norm(errors) / 6))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_drafts": [0]}, "num_drafts must be at least 1, got 0"),
        ({"q": [[0.5, 0.4]]}, r"q\[0\] sums to 0.9"),
        ({"samples": 1}, "samples must be at least 2, got 1"),
        ({"p": [[[0.5, 0.5]]], "q": [[[0.5, 0.5]]]}, r"rows \(n, V\), got shape \(1, 1, 2\)"),
    ],
)
def test_bad_input(changes: dict[str, object], message: str) -> None:
    arguments = {"p": [[0.5, 0.5]], "q": [[0.5, 0.5]], "num_drafts": [1]} | changes
    with pytest.raises(ValueError, match=message):
        acceptance_curves(arguments.pop("p"), arguments.pop("q"), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rule", "scheme"), [("greedy_draft", "greedy"), ("spechub", "hub")])
def test_drafts_that_the_scheme_cannot_draw_are_refused(rule: str, scheme: str) -> None:
    """Both would turn i.i.d. pairs into another law than p, without a word."""
    u = [0.1] * discover.find("step", rule).uniforms(2)
    with pytest.raises(ValueError, match=rf"^drafts\[1\] cannot have been drawn '{scheme}' from its row of q"):
        verify_step([0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [[2, 1], [0, 1]], [u, u], rule=rule)
    assert verify_step([0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [2, 1], u, rule=rule).token in (0, 1, 2)


def test_an_error_is_not_taken_for_a_sum_that_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any ValueError in a rule turned into sampled drafts."""

    def broken(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(discover.find("step", "kseq"), "prepare", broken)
    with pytest.raises(ValueError, match=r"^broken$"):
        acceptance_curves(*rows(5, 2), num_drafts=[2])


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each point, and after each row whose drafts are sampled; pieces of samples change no number."""
    told: list[tuple[float, int]] = []
    p, q = rows(5, 3)
    monkeypatch.setattr(recursive_wor, "MAX_PATHS", 1)
    whole = acceptance_curves(p, q, num_drafts=[3])
    monkeypatch.setattr(hits, "PIECE", 40)
    found = acceptance_curves(p, q, num_drafts=[3], progress=lambda share, so_far: told.append((share, len(so_far))))
    assert found == whole
    assert told == sorted(told)
    assert told[-1] == (1.0, len(found))
    assert len(told) == len(found) + len(p)
