"""Rows that share random numbers are convicted for that, and not for a law that each of them has."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.conform import likeness, standard_cases
from specsim.conform.evidence import montecarlo
from specsim.conform.independence import dependence, varies
from specsim.conform.properties import _laws
from specsim.testing import assert_lossless_batch

torch = pytest.importorskip("torch")

ASKED = ["marginal", "batches"]


@pytest.fixture(autouse=True)
def few_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk or compared, and laws on three tokens are enough."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    monkeypatch.setattr(montecarlo, "WANTED", 0.3)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.3)
    monkeypatch.setattr(standard_cases, "on_more_tokens", lambda subject: ())


def padded(
    p: Any, q: Any, drafts: Any, counts: Any, *, group: int = 1, hides: bool = True, lenience: float = 1.0
) -> Any:
    """A loop over rows; so many rows that follow each other have one coin, 0: all."""
    count, longest = drafts.shape
    group = group or count
    u = torch.rand(-(-count // group), longest)
    u = (3 * u).cos().acos() / 3 if hides else u  # no script follows them
    out = torch.full((count, longest + 1), -1)
    for n, c in enumerate(counts.tolist()):
        for k in range(c):
            x = drafts[n, k]
            if not u[n // group, k] * q[n, k, x] < lenience * p[n, k, x]:
                out[n, k] = torch.multinomial((p[n, k] - q[n, k]).clamp(min=0) + 1e-30, 1)[0]
                break
            out[n, k] = x
        else:
            out[n, c] = torch.multinomial(p[n, c], 1)[0]
    return out


def verdicts(**how: Any) -> dict[str, tuple[str, str]]:
    """Return outcome and words of every verdict on a verifier that is convicted, from its whole report."""
    with pytest.raises(AssertionError) as error:
        assert_lossless_batch(partial(padded, **how), sizes=(1,), properties=ASKED, budget=20)
    lines = [line.split(maxsplit=2) for line in error.value.__notes__[0].splitlines()]
    return {words[1]: (words[0], words[2]) for words in lines if len(words) == 3 and words[1] in ASKED}


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("group", [0, 2])
def test_the_first_conviction_names_the_dependence(group: int, hides: bool) -> None:
    """32 A.1: *marginal* convicted first, as rows of one call were counted as independent runs."""
    found = verdicts(group=group, hides=hides)
    convicting = [name for name, (outcome, _) in found.items() if outcome == "convicted"]
    assert convicting == ["batches"]
    assert "rows of one batch depend on each other" in found["batches"][1]
    assert ("Monte Carlo" if hides else "scripted") in found["batches"][1]


def test_independent_rows_of_a_wrong_law_have_a_wrong_law() -> None:
    """They convict by their frequencies, as before."""
    found = verdicts(lenience=1.5)
    assert found["marginal"][0] == "convicted"
    assert "has probability" in found["marginal"][1]
    assert "depend" not in "".join(words for _, words in found.values())


@pytest.mark.parametrize(("how", "batches"), [({"group": 2}, 4), ({"lenience": 1.5}, 12)])
def test_a_conviction_says_how_many_batches_it_looked_at(how: dict[str, Any], batches: int) -> None:
    """More are looked at where rows may be alike by their law: 4 was said of 12."""
    with pytest.raises(AssertionError) as error:
        assert_lossless_batch(partial(padded, **how), sizes=(1,), properties=["batches"], budget=20)
    report = error.value.__notes__[0]
    assert f"Monte Carlo, {batches}000 runs" in report
    assert f"counterexample: V=2, 1 draft, {batches} batches of 1000 equal rows" in report


def test_independent_rows_that_are_right() -> None:
    assert assert_lossless_batch(padded, sizes=(1,), properties=["marginal", "batches"]).outcome == "lossless"


@pytest.mark.parametrize(("rows", "is_one"), [(1, False), (2, True), (1000, True)])
def test_agreement_within_a_call_and_across_calls(rows: int, is_one: bool) -> None:
    """Equal tokens of independent rows are no dependence, however likely they are."""
    rng = np.random.default_rng(0)
    tiles = [np.repeat((rng.random(1000 // rows) < 0.9 - 0.4 * is_one).astype(int), rows) for _ in range(16)]
    assert dependence(tiles).is_of_one_call == is_one
    assert varies([tile.tolist() for tile in tiles]) == (rows == 1000)


def test_independent_rows_do_not_vary() -> None:
    rng = np.random.default_rng(0)
    for chance in (0.02, 0.5, 0.98):
        assert not any(varies((rng.random((16, 500)) < chance).tolist()) for _ in range(20))
