"""DISCO: rolled blocks are the models', totals are expectations, settings are tuned, each part turns the verdict."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from real.decode.loop import keyed
from real.decode.warp import Warping, probabilities
from real.models.model import full_logits
from real.papers.lab import rollouts as on
from real.papers.lab import stopping
from real.papers.lab.contract import Lab, Record, checked
from real.papers.lab.texts import texts
from real.papers.lab.times import recorded
from real.papers.lab.writing import pair
from real.papers.systems import disco
from real.studies.costs import Costs
from real.studies.intervals import Estimate
from specsim.base.arrays import pick
from specsim.control import row_signals
from specsim.control._confidence import network
from specsim.types import Signals

GAMMAS = [0, 1, 2, 4, 10]
FLAT = [0.0] * 5
TOLD = Costs(GAMMAS, [0.1 * g for g in GAMMAS], FLAT, [1.0] * 5, FLAT, FLAT, [1 + 0.1 * g for g in GAMMAS], FLAT)
TIMES = 1 + 0.1 * np.arange(disco.GAMMA + 1)


def made(count: int = 40, places: int = 6) -> on.Rollouts:
    """Blocks whose acceptance is what the draft says of its token."""
    rng = np.random.default_rng(0)
    shape = (count, places, disco.GAMMA)
    rows = rng.dirichlet(np.full(12, 0.3), shape) * 0.9 + 0.1 / 12
    tokens = rows.argmax(-1)
    where = np.broadcast_to(np.arange(1, disco.GAMMA + 1), shape)
    return on.Rollouts(rows.max(-1), row_signals(rows, tokens, where), np.arange(count) % 20, np.ones(count))


def test_rolled_blocks_are_the_models() -> None:
    """Signals and acceptances of cached batches are those of whole passes over each text alone."""
    some = texts(1.0).of("validation", 2)
    some = some._replace(tokens=np.where(np.arange(14) < [[14], [9]], some.tokens[:, :14], -1))
    gamma, found = 3, on.rolled(some, 3, 1.0, 5, places=2)
    assert found.accept.shape == (2, 2, gamma)
    assert found.weight.tolist() == [7, 4.5]
    both, u = pair(), keyed(5, 1)
    for j, t in enumerate((0, 8)):
        text = some.prompts[1] + some.tokens[1, :t].tolist()
        coins = u(len(text), gamma)
        for i in range(gamma):
            q, p = (
                probabilities(full_logits(m, torch.tensor(text))[-1:], Warping()) for m in (both.draft, both.target)
            )
            token = int(pick(q, coins[i : i + 1])[0])
            assert found.signals.own[1, j, i] == pytest.approx(float(q[0, token]), rel=1e-4)
            assert found.accept[1, j, i] == pytest.approx(min(1.0, float(p[0, token] / q[0, token])), rel=1e-3)
            text.append(token)


def test_texts_rolled_apart_are_rolled_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    some = texts(1.0).of("validation", 5)
    whole = on.rolled(some, 2, 1.0, 5, places=3)
    monkeypatch.setattr(on, "TOGETHER", 2)
    apart = on.rolled(some, 2, 1.0, 5, places=3)
    assert apart.accept == pytest.approx(whole.accept, rel=1e-3)
    assert apart.signals.own == pytest.approx(whole.signals.own, rel=1e-3)


def test_nothing_is_accepted_after_the_end_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second token of the vocabulary is taken for an end, so that ends are drafted."""
    some = texts(1.0).of("validation", 4)
    ends = frozenset(range(0, pair().target.vocab_size, 2))
    whole = on.rolled(some, 4, 1.0, 5, places=3)
    monkeypatch.setattr(on, "ends", lambda name: ends)
    found = on.rolled(some, 4, 1.0, 5, places=3)
    over = (found.accept == 0) & (whole.accept > 0)
    assert over.any()
    assert not over[..., 0].any()
    assert (found.accept[~over] == whole.accept[~over]).all()
    assert (over[..., 1:] >= over[..., :-1]).all()


def test_totals_are_expectations_over_coins() -> None:
    part, rng = made(3, 2), np.random.default_rng(1)
    drafts = rng.integers(1, disco.GAMMA + 1, (3, 2))
    tokens, time = stopping.totals(part, drafts, TIMES)
    coins = rng.random((20_000, *part.accept.shape)) < part.accept
    kept = np.minimum(np.cumprod(coins, -1).sum(-1), drafts)
    assert tokens == pytest.approx((1 + kept).mean(0).sum(-1), rel=0.02)
    long = part._replace(weight=np.array([1.0, 3.0, 1.0]))
    assert [w[1] for w in stopping.totals(long, drafts, TIMES)] == pytest.approx([3 * tokens[1], 3 * time[1]])
    assert time == pytest.approx(TIMES[drafts].sum(-1))


def test_the_fastest_setting_is_found_and_gains() -> None:
    part = made()
    family = [stopping.Setting("survival", {"theta": theta}, most) for theta in (0.25, 0.9) for most in (2, 10)]
    tried = stopping.lengths_of(part, family)
    whole = [stopping.lengths(part, setting) for setting in family]
    assert all((drafts == alone).all() for (_, drafts), alone in zip(tried, whole, strict=True))
    assert whole[0].max() == 2 < whole[1].max()
    best = stopping.tuned(part, tried, TIMES)
    static = stopping.tuned(
        part, stopping.lengths_of(part, disco._families({False: None, True: None})["static"]), TIMES
    )
    speeds = [np.divide(*(w.sum() for w in stopping.totals(part, drafts, TIMES))) for _, drafts in tried]
    assert best == family[int(np.argmax(speeds))]
    found, bound = stopping.gain(part, best, static, TIMES), stopping.bound(part, static, TIMES)
    assert 0 < found.low < found.value < bound.value


def test_a_network_learns_what_the_draft_knows() -> None:
    part = made()
    layers = on.trained(part, own=False, steps=60, seed=0)
    score = network(part.signals, layers)
    assert score.shape == part.accept.shape
    assert on.ranking(score, part) > 0.6
    assert on.ranking(part.accept, part) > on.ranking(score, part) > on.ranking(-score, part)
    mixed = on.shuffled(part, 0)
    assert abs(on.ranking(part.accept, mixed) - 0.5) < 0.03
    again = on.trained(part, own=False, steps=60, seed=0)
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(layers, again, strict=True))


def test_a_trial_runs_through() -> None:
    record = checked(disco.run(Lab(0, 0.005, costs={"own": TOLD})), disco.HEADLINE)
    assert disco.verdict(record) in ("shows", "does not show", "contradicts")
    for temperature in (0.0, 1.0):
        for name in (disco.PRODUCT, "clairvoyant (a bound)"):
            assert disco.gained(name, temperature) in record.measured
    assert record.measured[disco.gained("clairvoyant (a bound)", 1.0)].low > 0
    assert {disco.OVER_HEURISTIC, disco.NOTHING} <= set(record.measured)
    assert disco.gained(disco.PRODUCT, 1.0) + disco.LOOP in record.measured


def test_recorded_times_are_those_of_the_records() -> None:
    results = Path(disco.__file__).parents[2] / "results"
    for temperature, name in ((1.0, "smollm2"), (0.0, "smollm2-greedy")):
        record = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
        assert asdict(recorded(temperature)) == record["costs"]


def told(**changed: tuple[float, float]) -> Record:
    """A record that shows, with some intervals changed."""
    names = {"static": disco.HEADLINE, "heuristic": disco.OVER_HEURISTIC, "nothing": disco.NOTHING}
    spans = {"static": (0.01, 0.05), "heuristic": (0.02, 0.06), "nothing": (-0.01, 0.01)} | changed
    measured = {names[key]: Estimate(sum(span) / 2, *span) for key, span in spans.items()}
    return Record({}, measured, {})


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "shows"),
        ({"static": (-0.01, 0.03)}, "does not show"),
        ({"heuristic": (-0.01, 0.03)}, "does not show"),
        ({"heuristic": (-0.03, -0.01)}, "contradicts"),
        ({"static": (-0.03, -0.01)}, "contradicts"),
        ({"nothing": (0.01, 0.02)}, "does not show"),
    ],
)
def test_each_part_of_the_test_turns_the_verdict(changed: Any, verdict: str) -> None:
    assert disco.verdict(told(**changed)) == verdict


def test_signals_keep_their_places() -> None:
    """Blocks of a text stand side by side, as controllers that learn meet them."""
    part = made(4, 3)
    setting = stopping.Setting("heuristic", {"first": 4}, disco.GAMMA)
    found = stopping.lengths(part, setting)
    kept = stopping.kept_of(part)
    for text in range(4):
        length = 4
        for place in range(3):
            assert found[text, place] == min(length, disco.GAMMA)
            n = found[text, place]
            length = length + 2 if min(kept[text, place], n) == n else max(1, length - 1)
    assert isinstance(part.signals, Signals)
