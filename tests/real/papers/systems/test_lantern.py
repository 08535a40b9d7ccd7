"""LANTERN on digits: neighbours, what a rule costs along rows, and what the verdict makes of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from real.papers.lab import contract
from real.papers.lab.contract import Lab, Record
from real.papers.models.images import raster
from real.papers.systems import lantern
from real.studies.intervals import Estimate
from specsim import acceptance_rate
from specsim.types import Array


def smooth(texts: int = 12, pixels: int = 4, levels: int = 8) -> tuple[Array, Array]:
    """Laws with one hump, that of the draft wider and beside it: as those of grey levels."""
    rng, every = np.random.default_rng(0), np.arange(levels)
    middle = rng.uniform(0, levels - 1, (texts, pixels, 1))
    humps = [np.exp(-(((every - middle - off) / width) ** 2)) for off, width in ((0.0, 1.0), (1.0, 1.8))]
    p, q = (hump / hump.sum(axis=-1, keepdims=True) for hump in humps)
    return p, q


def test_neighbours_leave_the_level_itself_out() -> None:
    near = lantern.nearest(5)
    assert near.tolist() == [[1, 2, 3, 4], [0, 2, 3, 4], [1, 3, 0, 4], [2, 4, 1, 0], [3, 2, 1, 0]]
    drawn = lantern.shuffled(3, 16)
    for level, row in enumerate(drawn.tolist()):
        assert sorted(row) == sorted(set(range(16)) - {level})
    assert (drawn != lantern.shuffled(4, 16)).any()
    assert len({tuple(np.argsort(row)) for row in drawn}) > 1, "each level has an order of its own"


def test_rows_are_those_of_the_pixels_from_the_first_to_the_last() -> None:
    """The first is read off at the class, and nothing at the last pixel."""
    texts = torch.randint(16, (3, 65), generator=torch.Generator().manual_seed(0))
    texts[:, :1] = raster.opening(torch.tensor([3, 3, 4]))
    texts[1, 1:-1] = texts[0, 1:-1]
    texts[1, -1] = (texts[0, -1] + 1) % 16
    found = lantern.rows(raster.model("raster_draft"), texts)
    assert found.shape == (3, 64, 16)
    assert (found[0] == found[1]).all()
    assert (found[0, 0] != found[2, 0]).any()


def test_a_table_that_holds_the_level_itself_is_refused() -> None:
    p, q = smooth()
    with pytest.raises(ValueError, match=r"^neighbours\[2, 0\] is 2, which is the token itself$"):
        lantern.cost(p, q, "lantern", {"neighbours": np.array([[1], [0], [2], *[[0]] * 5]), "delta": 0.1})


def test_the_cost_of_a_rule() -> None:
    p, q = smooth()
    exact = lantern.cost(p, q, "rejection")
    np.testing.assert_allclose(exact.acceptance, np.minimum(p, q).sum(axis=-1).mean(axis=-1))
    assert max(np.abs(exact.tv).max(), np.abs(exact.w1).max()) < 1e-14
    params = {"epsilon": 1e-6}  # nearly all drafts are kept
    kept = lantern.cost(p, q, "lenience", params)
    moved = [
        np.mean([stats.wasserstein_distance(range(8), range(8), *pair) for pair in zip(*rows, strict=True)])
        for rows in zip(p, q, strict=True)
    ]
    np.testing.assert_allclose(kept.w1, moved, rtol=0.05)
    np.testing.assert_allclose(kept.tv, kept.acceptance - exact.acceptance, atol=1e-12)


def test_curves_are_read_at_one_acceptance() -> None:
    accepted = np.array([[0.5, 0.5], [0.6, 0.7], [0.8, 0.9]])
    np.testing.assert_allclose(lantern.read(accepted, 2 * accepted - 1, 0.65), 0.3)
    np.testing.assert_allclose(lantern.read(accepted, np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]]), 0.7), [2.0, 2.0])
    flat = np.array([0.5, 0.5])  # delta changed nothing
    assert lantern.read(flat, np.array([1.0, 1.0]), 0.5) == 1.0
    none = np.zeros(1)
    curves = [[lantern.Cost(np.array([a]), none, none) for a in line] for line in ((0.1, 0.5), (0.3, 0.9))]
    assert lantern.shared(*curves) == 0.4


def test_what_is_found_along_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lantern, "FEW", (4,))
    p, q = smooth()
    record = lantern.compared_rules(p, q)
    assert contract.checked(record, lantern.HEADLINE) == record
    assert record.exact["largest |TV - price of the acceptance|"] < 1e-12
    price = record.measured["acceptance of nearest, k = 4, delta = 0.2"].value - acceptance_rate(p, q).mean()
    assert record.measured["TV of nearest, k = 4, delta = 0.2"].value == pytest.approx(price)
    assert record.measured["TV of zeroed, k = 4, delta = 0"].low > 0.01
    assert record.measured["acceptance of zeroed, k = 4, delta = 0"] == record.measured["acceptance of rejection"]


def test_exchanged_tables_change_the_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lantern, "FEW", (4,))
    monkeypatch.setattr(lantern, "TABLES", 1)
    near, drawn = lantern.nearest(8), lantern.shuffled(0, 8)

    def saved(first: Array, second: Array) -> Estimate:
        monkeypatch.setattr(lantern, "nearest", lambda levels: first)
        monkeypatch.setattr(lantern, "shuffled", lambda seed, levels: second)
        return lantern.compared_rules(*smooth()).measured[lantern.HEADLINE]

    one, other = saved(near, drawn), saved(drawn, near)
    assert abs(one.value) > 0.01
    np.testing.assert_allclose(one, [-other.value, -other.high, -other.low], atol=1e-12)
    np.testing.assert_allclose(saved(near, near), 0, atol=1e-12)


def test_w1_at_one_acceptance_is_the_difference_of_curves() -> None:
    """The second curve is worth 0.3 more of W1 wherever the acceptance is the same."""
    accepted = [np.linspace(low, low + 0.1, 20) for low in (0.2, 0.5, 0.8)]
    one = [lantern.Cost(a, a, 2 * a) for a in accepted]
    other = [lantern.Cost(a + 0.05, a, 2 * (a + 0.05) + 0.3) for a in accepted]
    np.testing.assert_allclose(lantern.less(other, one, lantern.shared(one, other)), 0.3)


GOOD = {
    lantern.HEADLINE: Estimate(0.2, 0.1, 0.3),
    "speed of relaxed over exact speculation, T = 1": Estimate(1.2, 1.1, 1.3),
    "speed of relaxed over exact speculation, T = 0": Estimate(1.2, 1.1, 1.3),
    "digits read, relaxed less exact, delta = 0.2, T = 1": Estimate(0.0, -0.04, 0.04),
    "digits read, relaxed less exact, delta = 0.2, T = 0": Estimate(0.0, -0.04, 0.04),
}


@pytest.mark.parametrize("name", GOOD)
def test_the_verdict_turns_with_each_interval(name: str) -> None:
    """A bound inside of one is shown by none; one beyond its bound contradicts."""
    assert lantern.verdict(Record({}, GOOD, {})) == "shows"
    for low, high, verdict in ((-1.0, 2.0, "does not show"), (-1.0, -0.1, "contradicts")):
        found = GOOD | {name: Estimate((low + high) / 2, low, high)}
        assert lantern.verdict(Record({}, found, {})) == verdict


def test_a_few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lantern, "FEW", (4,))
    monkeypatch.setattr(lantern, "TABLES", 1)
    monkeypatch.setattr(lantern, "GAMMAS", (2,))
    monkeypatch.setattr(lantern, "TURNS", 1)
    monkeypatch.setattr(lantern, "COMPLETIONS", 1)
    said: list[str] = []
    found = lantern.run(Lab(share=0.0, said=said.append)).measured
    assert said[0] == "the target writes images"
    assert found[lantern.HEADLINE].value > 0
    assert 0.6 < found["acceptance of rejection"].value < 0.8
    assert 0.02 < found["TV of zeroed, k = 4, delta = 0"].value < 0.08
    for at in ("T = 1", "T = 0"):
        assert found[f"tokens a pass, relaxed over exact, {at}"].value > 1
        assert found[f"digits read, exact, {at}"].value > 0.5
