"""A drafter that reads text alone: its decode loop against laws that are written out, and the verdict."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from real.papers.lab import contract
from real.papers.lab.contract import Lab, Record
from real.papers.models.images import captions
from real.papers.models.images.captions import END, START
from real.papers.models.images.data import digits
from real.papers.systems import mllm
from real.studies.intervals import Estimate
from specsim.testing.statistics import assert_law
from specsim.types import Array

LONGEST = 5
# The law of the next word by the last one: START, END, and two words.
TARGET = np.array([[0.0, 0.1, 0.6, 0.3], [0.25] * 4, [0.0, 0.3, 0.2, 0.5], [0.0, 0.5, 0.4, 0.1]])
DRAFT = np.array([[0.0, 0.3, 0.3, 0.4], [0.25] * 4, [0.1, 0.2, 0.3, 0.4], [0.0, 0.2, 0.2, 0.6]])


def rows(table: Array, which: Array, words: Array) -> Array:
    return table[words]


target, draft = partial(rows, TARGET), partial(rows, DRAFT)


def every_text(prefix: tuple[int, ...] = (START,)) -> dict[tuple[int, ...], float]:
    """Every text the target can write, and its probability."""
    if prefix[-1] == END or len(prefix) == LONGEST:
        return {prefix: 1.0}
    texts: dict[tuple[int, ...], float] = {}
    for word, chance in enumerate(TARGET[prefix[-1]]):
        if chance:
            texts |= {text: chance * mass for text, mass in every_text((*prefix, word)).items()}
    return texts


def as_decoded(texts: list[tuple[int, ...]]) -> mllm.Decoded:
    words = np.array([[*text, *[END] * (LONGEST - len(text))] for text in texts])
    written = np.array([len(text) - 1 for text in texts])
    return mllm.Decoded(words, written, np.zeros_like(written))


def expected_blocks(gamma: int) -> float:
    """Of a text of the target's, by the renewal law, summed over all texts."""
    texts = every_text()
    told = as_decoded(list(texts))
    before = told.words[:, :-1]
    return float(np.dot(list(texts.values()), mllm.blocks_of(TARGET[before], DRAFT[before], told, gamma)))


@pytest.mark.parametrize("gamma", [0, 1, 3])
def test_decoded_texts_follow_the_targets_law(gamma: int) -> None:
    """Whatever is drafted beyond the end; what fills a text up is not counted."""
    count, texts = 20_000, every_text()
    done = mllm.decode(target, draft, count, gamma, np.random.default_rng(gamma), LONGEST)
    place = {text: i for i, text in enumerate(texts)}
    found = [tuple(row[: many + 1]) for row, many in zip(done.words.tolist(), done.written, strict=True)]
    assert_law(np.array([place[text] for text in found]), np.array(list(texts.values())), false_alarm=1e-9)
    assert all((row[many + 1 :] == END).all() for row, many in zip(done.words, done.written, strict=True))
    if gamma == 0:
        assert (done.blocks == done.written).all()
        return
    assert abs(done.blocks.mean() - expected_blocks(gamma)) < 5 * done.blocks.std() / math.sqrt(count)


def test_expected_blocks_by_hand() -> None:
    """One draft: a text of one word takes one block; of two, another one if the first draft is refused."""
    one = as_decoded([(START, END), (START, 2, END)])
    before = one.words[:, :-1]
    found = mllm.blocks_of(TARGET[before], DRAFT[before], one, 1)
    kept = min(1.0, DRAFT[START, 2] / TARGET[START, 2])
    np.testing.assert_allclose(found, [1.0, 2.0 - kept])


def test_what_is_written_of_a_block() -> None:
    block = np.array([[2, 3, 2, 3], [2, END, 3, END], [2, 3, 2, END], [2, 3, END, 2], [END, END, END, END]])
    assert mllm.written_of(block, np.array([3, 4, 3, 3, 2])).tolist() == [3, 2, 3, 3, 1]


def test_acceptance_by_kinds_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the target expects, where a text has words."""
    monkeypatch.setattr(mllm, "CONTENT", np.array([False, False, True, False]))
    told = as_decoded([(START, 2, 3, END), (START, 3, END)])
    before = told.words[:, :-1]
    found = mllm.acceptances(TARGET[before], DRAFT[before], told)
    alpha = np.minimum(TARGET, DRAFT).sum(axis=-1)
    np.testing.assert_allclose(found["content"][0], [alpha[START], alpha[START]])
    np.testing.assert_allclose(found["function"][0], [alpha[2] + alpha[3], alpha[3]])
    assert [found[kind][1].tolist() for kind in ("content", "function", "all")] == [[1, 1], [2, 1], [3, 2]]


def test_a_drafter_with_image_positions_is_refused() -> None:
    images = digits().held_out().images[:2]
    with pytest.raises(ValueError, match=r"^drafter has 64 image positions: one for this target reads words alone"):
        mllm.drafter(captions.Reader("pixels", captions.Shape(1, 8, 8, 1), 0), images)
    for reads in ("nothing", "vector"):
        law = mllm.drafter(captions.Reader(reads, captions.Shape(1, 8, 8, 1), 0), images)(
            np.array([1]), np.array([[START]])
        )
        assert law.shape == (1, 1, len(captions.WORDS))
        assert law.sum() == pytest.approx(1)


def test_the_unigram_is_that_of_captions_without_what_fills_them_up() -> None:
    law = mllm.unigram()
    assert law.sum() == pytest.approx(1)
    assert law[START] == 0
    assert law[END] == pytest.approx(1 / (captions.captions().lengths[:-200] - 1).double().mean().item())


PROTOTYPE = {
    mllm.HEADLINE: (2.53, 2.5, 2.56),
    mllm.RIGHT: (0.77, 0.7, 0.83),
    mllm.added("content"): (0.04, 0.02, 0.06),
    mllm.added("function"): (-0.002, -0.004, 0.0),
    mllm.GAIN: (0.006, 0.001, 0.011),
}


@pytest.mark.parametrize(
    ("name", "values", "verdict"),
    [
        (mllm.HEADLINE, (2.53, 2.5, 2.56), "shows"),
        (mllm.HEADLINE, (2.05, 1.95, 2.15), "does not show"),
        (mllm.HEADLINE, (1.5, 1.4, 1.6), "contradicts"),
        (mllm.RIGHT, (0.74, 0.7, 0.8), "does not show"),
        (mllm.GAIN, (0.045, 0.03, 0.06), "does not show"),
        (mllm.GAIN, (0.09, 0.07, 0.11), "contradicts"),
        (mllm.added("content"), (0.01, -0.01, 0.03), "does not show"),
        (mllm.added("function"), (0.01, 0.005, 0.015), "does not show"),
    ],
)
def test_the_verdict_turns_with_each_number(name: str, values: tuple[float, float, float], verdict: str) -> None:
    found = {key: Estimate(*(values if key == name else held)) for key, held in PROTOTYPE.items()}
    predicted = {mllm.GAIN: found.pop(mllm.GAIN)}
    assert mllm.verdict(Record({}, found, predicted)) == verdict


def test_a_few_captions() -> None:
    record = mllm.run(Lab(share=0.0))
    assert contract.checked(record, mllm.HEADLINE) == record
    for name in mllm.DRAFTERS:
        told = record.predicted[f"tau(3) by the renewal law, {name}"].value
        assert record.measured[f"tau(3) decoded, {name}"].value == pytest.approx(told, abs=0.5)
        for gamma in mllm.GAMMAS:
            cycle = 1 + gamma * record.exact[f"parameters over the target's, {name}"]
            assert record.measured[f"MBSU({gamma}), {name}"].value == pytest.approx(
                record.measured[f"tau({gamma}) decoded, {name}"].value / cycle
            )
    alone, seeing = (record.predicted[f"tau(3) by the renewal law, {name}"].value for name in mllm.DRAFTERS)
    assert record.predicted[mllm.GAIN].value == pytest.approx(seeing / alone - 1)
    assert record.measured[mllm.RIGHT].value > 0.5, "each caption by its own digit"
    assert record.predicted["tau(3) by the renewal law, unigram"].value < 1.2
