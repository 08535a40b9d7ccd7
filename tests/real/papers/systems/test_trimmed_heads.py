"""VocabTrim and MiniCPM4 on a few texts: whose tokens are counted, what is predicted, and that the tests can fail."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from real.papers.lab import trimmed_heads
from real.papers.lab.contract import Lab, Record, checked
from real.papers.lab.texts import Texts, texts
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
    whole, part = (trimmed_heads.weights_read(list(range(n)), pair()) for n in (2048, 512))
    assert whole == pytest.approx(pair().draft.weight_bytes / pair().target.weight_bytes)
    assert 0 < part < whole


def test_trial_of_minicpm4(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanics only, on counts that are given and texts that are short."""
    counted = {name: np.arange(2048)[:: 1 if i else -1] for i, name in enumerate(trimmed_heads.SOURCES)}
    short: Any = few()
    monkeypatch.setattr(minicpm4, "texts", lambda temperature: _Held(short))
    monkeypatch.setattr(trimmed_heads, "counts", lambda lab: counted)
    monkeypatch.setattr(trimmed_heads, "KEPT", (256, 1024))
    monkeypatch.setattr(minicpm4, "NODES", 4)
    record = checked(minicpm4.run(Lab(share=0.01)), minicpm4.HEADLINE)
    assert minicpm4.verdict(record) in ("shows", "does not show", "contradicts")


def test_trial_of_vocabtrim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanics: the gain is the quotient of both speedups, which divide tokens by the weights that a cycle reads."""
    monkeypatch.setattr(vocabtrim, "TEMPERATURES", (0.0,))
    monkeypatch.setattr(vocabtrim, "VALIDATED", 2)
    record = checked(vocabtrim.run(Lab(share=0.01)), vocabtrim.HEADLINE)
    assert record.exact["tokens of the full head"] == 2048
    assert record.exact["tokens of the trimmed head"] == 512
    speedups = {}
    for head in vocabtrim.HEADS:
        gamma = record.exact[f"best length, {head}, T = 0"]
        share = record.exact[f"weights of a draft step over the target's, {head}"]
        tokens = record.measured[f"tokens a call, {head}, T = 0{vocabtrim.LOOP}"].value
        speedups[head] = record.measured[f"memory-bound speedup, {head}, T = 0{vocabtrim.LOOP}"].value
        assert speedups[head] == pytest.approx(tokens / (1 + gamma * share))
    gained = speedups[vocabtrim.TRIMMED] / speedups[vocabtrim.FULL] - 1
    assert record.measured[vocabtrim.HEADLINE].value == pytest.approx(gained)
    by_time = [record.predicted[f"speed over plain decoding, {head}, T = 0"].value for head in vocabtrim.HEADS]
    gain = record.predicted["speed gained by the trimmed head, T = 0"].value
    assert gain == pytest.approx(by_time[1] / by_time[0] - 1)


def test_a_memory_bound_gain_counts_the_weights_that_a_cycle_reads() -> None:
    """As many tokens a call from 1 + 2 x 0.25 instead of 1 + 2 x 1 target steps: twice as fast."""
    factor = vocabtrim.cheaper(dict(zip(vocabtrim.HEADS, (1.0, 0.25), strict=True)), dict.fromkeys(vocabtrim.HEADS, 2))
    assert vocabtrim.gained(Estimate(0.0, -0.1, 0.1), factor) == pytest.approx((1.0, 0.8, 1.2))


def test_a_step_of_a_head_reads_the_layer_and_its_rows() -> None:
    """The head has a row of 256 numbers for each token."""
    lab = Lab(share=0.01)
    full, part = (vocabtrim.weights_read(lab, head) for head in vocabtrim.HEADS)
    numbers = vocabtrim.of_model(pair().target)
    assert (full - part) * numbers == pytest.approx((2048 - 512) * 256)
    layer = sum(w.numel() for w in vocabtrim.net_of(lab, vocabtrim.FULL).parameters())
    assert full * numbers == pytest.approx(layer + 2048 * 256)


class _Held:
    def __init__(self, told: Texts) -> None:
        self._told = told

    def of(self, part: str, count: int | None = None) -> Texts:
        return self._told


def test_sources_are_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimmed_heads, "training_texts", lambda lab: few())
    found = trimmed_heads.counts(Lab())
    assert {name: int(values.sum()) for name, values in found.items()} == dict.fromkeys(trimmed_heads.SOURCES, 96)
    assert len({tuple(values) for values in found.values()}) == 3


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [((0.1, 0.2), (0.1, 0.2), "shows"), ((0.1, 0.2), (-0.1, 0.2), "does not show"), ((-2, -1), (0, 1), "contradicts")],
)
def test_verdicts(first: tuple[float, float], second: tuple[float, float], verdict: str) -> None:
    gains = {0: first, 1: second}
    told = {f"{vocabtrim.GAIN}, T = {at}{vocabtrim.LOOP}": Estimate(0.0, *ends) for at, ends in gains.items()}
    assert vocabtrim.verdict(Record({}, told, {})) == verdict
    alone = Record({}, {minicpm4.HEADLINE: Estimate(0.0, *second)}, {})
    assert minicpm4.verdict(alone) == {"shows": "shows"}.get(verdict, "does not show")
