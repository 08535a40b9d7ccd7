"""VocabTrim and MiniCPM4 on a few texts: whose tokens are counted, what is predicted, and that the tests can fail."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from real.decode.blocks import predict_along
from real.decode.warp import Warping
from real.draft import lm, restricted
from real.papers.lab.contract import Lab, Record, checked
from real.papers.lab.texts import Texts, texts
from real.papers.lab.times import Times
from real.papers.lab.tree_lab import Reader
from real.papers.lab.writing import pair
from real.papers.systems import minicpm4, vocabtrim
from real.studies.intervals import Estimate
from specsim import trees
from specsim.verify.tree import target_only

pytestmark = pytest.mark.filterwarnings("ignore:.* calibration tokens for k")


@cache
def few() -> Texts:
    """Four test texts of 24 tokens."""
    told = texts(1.0).of("test", 4)
    return told._replace(tokens=told.tokens[:, :24])


def test_calls_along_a_head_are_those_of_the_drafter() -> None:
    ids = restricted.most_frequent(np.bincount(few().tokens.ravel(), minlength=2048), 30, 0)
    found = vocabtrim.tallies(
        few(),
        {("some", 30): ids},
        pair(),
    )["some", 30][3]
    drafter = restricted.drafter(lm.drafter(pair().draft), ids, 0)
    calls = [
        predict_along(drafter.along(pair().target, prompt, text, 3, Warping())).blocks
        for prompt, text in zip(few().prompts, few().tokens.tolist(), strict=True)
    ]
    assert sorted(found.blocks) == pytest.approx(sorted(calls), rel=1e-4)


def test_a_tree_is_worth_what_target_only_keeps() -> None:
    prompt = tuple(few().prompts[0])
    target = Reader(pair().target)
    grown = trees.eagle2_tree(Reader(pair().draft), top_k=2, depth=2, nodes=4, prefix=prompt)
    paths: list[tuple[int, ...]] = [()]
    for parent, token in zip(grown.tree.parents.tolist(), grown.tree.tokens.tolist(), strict=True):
        paths.append((*paths[parent + 1], token))
    p = np.stack([target((*prompt, *path)) for path in paths])
    law = target_only.transition(target_only.prepare(p, grown.q, grown.tree))
    exact = 1 + float(law.sum(-1) @ np.array([0, *grown.tree.depth]))
    assert minicpm4.expected(target, prompt, grown) == pytest.approx(exact, rel=1e-9)


def test_a_smaller_head_reads_fewer_weights() -> None:
    whole, part = (vocabtrim.weights_read(list(range(n)), pair()) for n in (2048, 512))
    assert whole == pytest.approx(pair().draft.weight_bytes / pair().target.weight_bytes)
    assert 0 < part < whole


def test_trial_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanics only, on counts that are given and texts that are short."""
    counted = {name: np.arange(2048)[:: 1 if i else -1] for i, name in enumerate(vocabtrim.SOURCES)}
    short: Any = few()
    for module in (vocabtrim, minicpm4):
        monkeypatch.setattr(module, "texts", lambda temperature: _Held(short))
    monkeypatch.setattr(vocabtrim, "counts", lambda lab: counted)
    monkeypatch.setattr(vocabtrim, "KEPT", (256, 1024))
    monkeypatch.setattr(minicpm4, "NODES", 4)
    monkeypatch.setattr(vocabtrim, "own_times", lambda lab: Times(_costs(), (_costs(),)))
    for system in (vocabtrim, minicpm4):
        record = checked(system.run(Lab(share=0.01)), system.HEADLINE)
        assert system.verdict(record) in ("shows", "does not show", "contradicts")


class _Held:
    def __init__(self, told: Texts) -> None:
        self._told = told

    def of(self, part: str, count: int | None = None) -> Texts:
        return self._told


def _costs() -> Any:
    class Told:
        cycle = staticmethod(lambda gamma: 1.0 + 0.2 * gamma)
        phase = staticmethod(lambda name, gamma: 0.15 * gamma)

    return Told()


def test_sources_are_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabtrim, "training_texts", lambda lab: few())
    found = vocabtrim.counts(Lab())
    assert {name: int(values.sum()) for name, values in found.items()} == dict.fromkeys(vocabtrim.SOURCES, 96)
    assert len({tuple(values) for values in found.values()}) == 3


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [((0.1, 0.2), (0.1, 0.2), "shows"), ((0.1, 0.2), (-0.1, 0.2), "does not show"), ((-2, -1), (0, 1), "contradicts")],
)
def test_verdicts(first: tuple[float, float], second: tuple[float, float], verdict: str) -> None:
    told = {vocabtrim.HEADLINE: Estimate(0.0, *first), vocabtrim.SPEED: Estimate(0.0, *second)}
    assert vocabtrim.verdict(Record({}, told, {})) == verdict
    alone = Record({}, {minicpm4.HEADLINE: Estimate(0.0, *second)}, {})
    assert minicpm4.verdict(alone) == {"shows": "shows"}.get(verdict, "does not show")
