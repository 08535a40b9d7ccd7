"""VocabTrim and MiniCPM4 on a few texts: whose tokens are counted, what is predicted, and that the tests can fail."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from real.draft import feature
from real.papers.lab import trimmed_heads
from real.papers.lab.contract import Lab, Record, checked
from real.papers.lab.times import recorded
from real.papers.lab.writing import pair
from real.papers.systems import minicpm4, vocabtrim
from real.studies.intervals import Estimate

pytestmark = pytest.mark.filterwarnings("ignore:.* calibration tokens for k")


def test_trial_of_minicpm4(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanics: a gain is the quotient of both speedups, which divide tokens by the weights that a cycle reads."""
    monkeypatch.setattr(minicpm4, "TEMPERATURES", (1.0,))
    monkeypatch.setattr(minicpm4, "HEADS", {"full head": 1, "quarter head": 4})
    monkeypatch.setattr(minicpm4, "LEVELS", (1, 2))
    monkeypatch.setattr(minicpm4, "VALIDATED", 2)
    monkeypatch.setattr(minicpm4, "JUDGED", 4)
    record = checked(minicpm4.run(Lab(share=0.01)), f"{minicpm4.GAIN} quarter head, T = 1")
    assert [record.exact[f"tokens of the {head}"] for head in minicpm4.HEADS] == [2048, 512]
    speedups = []
    for head in minicpm4.HEADS:
        share = record.exact[f"weights of a draft step over the target's, {head}"]
        tokens = record.measured[f"tokens a call, {head}, T = 1"].value
        speedups.append(record.measured[f"memory-bound speedup, {head}, T = 1"].value)
        assert speedups[-1] == pytest.approx(tokens / (1 + record.exact[f"best levels, {head}, T = 1"] * share))
    gained = record.measured[f"{minicpm4.GAIN} quarter head, T = 1"].value
    assert gained == pytest.approx(speedups[1] / speedups[0] - 1)
    by_time = [record.predicted[f"speed over plain decoding, {head}, T = 1"].value for head in minicpm4.HEADS]
    assert record.predicted["speed gained by the quarter head, T = 1"].value == pytest.approx(
        by_time[1] / by_time[0] - 1
    )
    known = [record.measured[f"share of tokens that the {head} knows, T = 1"].value for head in minicpm4.HEADS]
    assert known[1] < known[0] == 1


def test_a_head_has_the_tokens_that_the_layer_was_trained_with_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then those of calibration texts, then those of small number."""
    net: Any = trimmed_heads.whole(Lab())
    net.tokens = torch.arange(1000, 1500, dtype=torch.int32)
    counted = np.zeros(2048, dtype=np.int64)
    counted[[1400, 1900]] = 5
    monkeypatch.setattr(feature, "shipped", lambda name: net)
    monkeypatch.setattr(trimmed_heads, "counts", lambda lab, count: counted)
    monkeypatch.setattr(trimmed_heads, "whole", lambda lab: deepcopy(net))
    found = minicpm4.heads(Lab())
    assert found["quarter head"].tokens.tolist() == [*range(11), *range(1000, 1500), 1900]
    eighth = found["eighth head"].tokens.tolist()
    assert (1400 in eighth, set(eighth) <= set(range(1000, 1500))) == (True, True)


def test_the_best_levels_are_those_of_speed_not_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level costs half a target step: three levels save fewer calls than they cost."""
    monkeypatch.setattr(trimmed_heads, "weights_read", lambda net, target: 0.5)
    monkeypatch.setattr(minicpm4, "_calls", lambda net, texts, levels: [{1: 10, 2: 7, 3: 6, 4: 6}[levels]])
    assert minicpm4.best_levels(Lab(), "full head", None, None, "") == 2


def test_levels_come_from_validation_texts_and_calls_from_test_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[tuple[str, str]] = []

    def best_levels(lab: Lab, head: str, net: Any, texts: str, at: str) -> int:
        stages.append((at, texts))
        return 3

    def calls(net: Any, texts: str, levels: int) -> list[int]:
        stages.append((str(levels), texts))
        return [9] * 8

    monkeypatch.setattr(minicpm4, "HEADS", {"full head": 1})
    monkeypatch.setattr(minicpm4, "JUDGED", 8)
    monkeypatch.setattr(minicpm4, "reader", lambda lab, temperature, part: part)
    monkeypatch.setattr(minicpm4, "best_levels", best_levels)
    monkeypatch.setattr(minicpm4, "_calls", calls)
    minicpm4.run(Lab(share=0.01))
    assert stages == [(", T = 0", "validation"), ("3", "test"), (", T = 1", "validation"), ("3", "test")]


def test_a_tree_costs_a_pass_over_its_nodes_and_a_draft_step_a_level() -> None:
    costs, lab = recorded(0.0), Lab()
    without = costs.cycle(8) - costs.phase("draft", 8)
    step = trimmed_heads.draft_s(pair(), costs, 0.5, 3)
    assert minicpm4.cycle_s(lab, costs, 0.5, 3) == pytest.approx(without + step)
    assert step == pytest.approx(trimmed_heads.draft_s(pair(), costs, 0.25, 3) * 2)


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
    assert trimmed_heads.gained(Estimate(0.0, -0.1, 0.1), factor) == pytest.approx((1.0, 0.8, 1.2))


def test_a_step_of_a_head_reads_the_layer_and_its_rows() -> None:
    """The head has a row of 256 numbers for each token."""
    lab, target = Lab(share=0.01), pair().target
    nets = [vocabtrim.net_of(lab, head) for head in vocabtrim.HEADS]
    full, part = (trimmed_heads.weights_read(net, target) for net in nets)
    numbers = trimmed_heads.of_model(target)
    assert (full - part) * numbers == pytest.approx((2048 - 512) * 256)
    layer = sum(w.numel() for w in nets[0].parameters())
    assert full * numbers == pytest.approx(layer + 2048 * 256)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [((0.1, 0.2), (0.1, 0.2), "shows"), ((0.1, 0.2), (-0.1, 0.2), "does not show"), ((-2, -1), (0, 1), "contradicts")],
)
def test_verdicts(first: tuple[float, float], second: tuple[float, float], verdict: str) -> None:
    gains = {0: first, 1: second}
    told = {f"{vocabtrim.GAIN}, T = {at}{vocabtrim.LOOP}": Estimate(0.0, *ends) for at, ends in gains.items()}
    assert vocabtrim.verdict(Record({}, told, {})) == verdict
    of_heads = {f"{minicpm4.GAIN} quarter head, T = {at}": Estimate(0.0, *ends) for at, ends in gains.items()}
    assert minicpm4.verdict(Record({}, of_heads, {})) == verdict
