"""Captions of digits, and the models that read images, or do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from real.papers.models.images import captions
from real.papers.models.images.captions import CONTENT, DIGITS, END, LONGEST, PARTS, START, WORDS, Captions, Reader
from real.papers.models.images.data import PIXELS, digits
from real.train.recipe import Shape

TINY = Shape(1, 8, 8, 1)


def picture(*lit: tuple[int, int], level: int = 15) -> Tensor:
    """An image with these pixels (row, column) lit."""
    image = torch.zeros(8, 8, dtype=torch.int64)
    for row, column in lit:
        image[row, column] = level
    return image.flatten()


def test_captions_begin_end_and_name_the_digit() -> None:
    told, labels = captions.captions(), digits().labels
    assert told.words.shape == (1797, LONGEST)
    assert int(told.lengths.max()) == LONGEST
    for words, length, label in zip(told.words.tolist(), told.lengths.tolist(), labels.tolist(), strict=True):
        text = [WORDS[word] for word in words]
        assert words[0] == START
        assert words.index(END) == length - 1
        assert set(text[length:]) <= {"</s>"}
        assert [word for word in text if word in DIGITS] == [DIGITS[label]]


def test_what_is_said_is_the_images_how_it_is_said_is_drawn() -> None:
    one, other = captions.captions(0).words[:300], captions.captions(1).words[:300]
    assert torch.equal(one, captions.captions.__wrapped__(0).words[:300])
    told = [[[w for w in row if CONTENT[w]] for row in words.tolist()] for words in (one, other)]
    assert told[0] == told[1]
    assert (one != other).any(1).float().mean() > 0.8


def test_images_in_words() -> None:
    upright = picture(*[(row, 3) for row in range(8)])
    assert captions.described(upright, 1) == ("one", "thin", "stand straight", "the ink is even")
    down = picture(*[(i, i) for i in range(8)])
    assert captions.described(down, 7)[2] == "lean left"
    assert captions.described(down.reshape(8, 8).flip(1).flatten(), 7)[2] == "lean right"
    assert captions.described(picture(*[(0, c) for c in range(8)]), 4)[3] == "most ink is on the top half"
    assert captions.described(picture(*[(7, c) for c in range(8)]), 4)[3] == "most ink is on the bottom half"
    assert captions.described(torch.full((64,), 5), 8)[1] == "medium"
    assert captions.described(torch.full((64,), 9), 8)[1] == "thick"


def test_words_and_those_that_only_the_image_decides() -> None:
    assert len(set(WORDS)) == len(WORDS)
    assert set(" ".join(PARTS).split()) == set(WORDS)
    blind = {word for word, told in zip(WORDS, CONTENT, strict=True) if not told}
    assert {"thick", "seven", "left", "straight", "top", "even"} <= set(WORDS) - blind
    assert {"<s>", "</s>", ".", "the", "ink", "half", "digit", "and"} <= blind


@pytest.mark.parametrize(("reads", "before"), [("pixels", PIXELS), ("vector", 1), ("nothing", 0)])
def test_positions_count_what_a_model_reads(reads: str, before: int) -> None:
    """And the law of the next word comes from an image if the model reads one."""
    model = Reader(reads, TINY, seed=0).eval()
    seen: list[Tensor] = []

    def noted(module: Any, args: tuple[Any, ...], told: dict[str, Any]) -> None:
        seen.append(told["position_ids"] if "position_ids" in told else args[1])

    model.llama.model.rotary_emb.register_forward_pre_hook(noted, with_kwargs=True)
    words, images = captions.captions().words[:2, :9], digits().images[:2]
    laws = captions.laws(model, images, words)
    assert laws.shape == (2, 9, len(WORDS))
    torch.testing.assert_close(laws.sum(-1), torch.ones(2, 9, dtype=torch.float64))
    (places,) = seen
    assert places[0].tolist() == list(range(before + 9))
    other = captions.laws(model, digits().images[2:4], words)
    assert torch.equal(laws, other) == (reads == "nothing")
    longer = captions.laws(model, images, captions.captions().words[:2, :10])
    torch.testing.assert_close(longer[:, :9], laws)  # no word looks ahead


def test_what_fills_a_caption_up_teaches_nothing() -> None:
    model, images = Reader("nothing", TINY, seed=0).eval(), digits().images[:4]
    words, lengths = captions.captions().words[:4].clone(), torch.tensor([12, 20, 9, 30])
    before = captions._loss(model, images, Captions(words, lengths))
    words[torch.arange(LONGEST) >= lengths[:, None]] = 5
    assert captions._loss(model, images, Captions(words, lengths)) == before
    words[1, 19] = 5
    assert captions._loss(model, images, Captions(words, lengths)) != before


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"^name 'nonsense' is no captioner; known: captioner, "):
        captions.train("nonsense")
    model = Reader("nothing", TINY, seed=0)
    pixels = torch.zeros(1, PIXELS + 3, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"^words has 67 positions; a caption has 30, and pixels are not words$"):
        captions.laws(model, digits().images[:1], pixels)


@pytest.mark.parametrize(("name", "most"), [("captioner", 0.23), ("captioner_text", 0.38), ("captioner_vector", 0.3)])
def test_the_captioners_know_captions(name: str, most: float) -> None:
    assert 0.1 < captions.held_out(name, captions.model(name)) < most


def test_the_captioner_sees_the_digit() -> None:
    """Where a caption of the held out has its digit, the target mostly expects it; a drafter without eyes cannot."""
    held, told = digits().held_out(), captions.captions().words[-200:]
    digit = torch.tensor([WORDS.index(word) for word in DIGITS])
    place = torch.isin(told, digit).int().argmax(1)
    found = {}
    for name in ("captioner", "captioner_text"):
        laws = captions.laws(captions.model(name), held.images, told[:, :-1])
        guess = laws[torch.arange(200), place - 1][:, digit].argmax(-1)
        found[name] = float(np.mean((guess == held.labels).numpy()))
    assert found["captioner"] > 0.75
    assert found["captioner_text"] < 0.25
