"""Digits described in words, a captioner that reads an image's pixels and then words, and drafters that do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.papers.models import store
from real.papers.models.images.data import HELD_OUT, LEVELS, PIXELS, SIDE, digits
from real.train.loop import Schedule, fit, silent
from real.train.recipe import Shape
from real.train.step import build

UNIT = "nats a word"
OPENINGS = ("the picture shows", "this is an image of", "in this drawing we see", "there is")
NOUNS = ("handwritten digit", "number", "digit")
JOINTS = (",", ". it is", ", which is")
ENDS = ("and", ".")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
STROKES = ("thin", "medium", "thick")
SLANTS = ("stand straight", "lean left", "lean right")
INK = ("the ink is even", "most ink is on the top half", "most ink is on the bottom half")
PARTS = ("<s> </s> a written with strokes that .", *OPENINGS, *NOUNS, *JOINTS, *ENDS, *DIGITS, *STROKES, *SLANTS, *INK)
WORDS = tuple(dict.fromkeys(" ".join(PARTS).split()))
START, END = WORDS.index("<s>"), WORDS.index("</s>")
# Words of the longest caption, both ends included.
LONGEST = 30
_TOLD = f"{' '.join((*DIGITS, *STROKES, *SLANTS))} even most top bottom".split()
# Whether each word is one that only the image decides.
CONTENT = np.array([word in _TOLD for word in WORDS])
_ALIKE = {"batch": 24, "rate": 8e-3, "seed": 0, "order": 1, "captions": 0}
RECIPES: dict[str, dict[str, Any]] = {
    "captioner": {"reads": "pixels", "shape": [3, 64, 176, 4], "steps": 450} | _ALIKE,
    "captioner_text": {"reads": "nothing", "shape": [1, 32, 88, 2], "steps": 250} | _ALIKE,
    "captioner_vector": {"reads": "vector", "shape": [1, 32, 88, 2], "steps": 250} | _ALIKE,
}


class Captions(NamedTuple):
    """A caption for each image.

    Parameters
    ----------
    words : Tensor, shape (n, LONGEST), int64
        Indices into WORDS: START, the caption, END as often as it takes.
    lengths : Tensor, shape (n,), int64
        Words of each, START and the first END included.
    """

    words: Tensor
    lengths: Tensor


def described(image: Tensor, label: int) -> tuple[str, str, str, str]:
    """Digit, stroke, slant and ink of an image (64,), in words."""
    ink = image.reshape(SIDE, SIDE).numpy().astype(np.float64)
    down, across = np.indices((SIDE, SIDE))
    share = ink / (ink.sum() + 1e-9)
    x, y = (share * across).sum(), (share * down).sum()
    slant = (share * (across - x) * (down - y)).sum()
    # Limits of the three words of each kind.
    stroke = STROKES[1]
    if ink.mean() < 4.3:
        stroke = STROKES[0]
    elif ink.mean() > 5.2:
        stroke = STROKES[2]
    lean = SLANTS[0]
    if slant < -0.6:
        lean = SLANTS[2]
    elif slant > 0.3:
        lean = SLANTS[1]
    half = INK[0]
    if y < 3.35:
        half = INK[1]
    elif y > 3.6:
        half = INK[2]
    return DIGITS[label], stroke, lean, half


def caption(image: Tensor, label: int, rng: np.random.Generator) -> list[int]:
    """A caption of an image (64,): its content is the image's, its wording is drawn."""
    digit, stroke, slant, ink = described(image, label)
    opening, noun, joint, end = (ways[rng.integers(len(ways))] for ways in (OPENINGS, NOUNS, JOINTS, ENDS))
    sentence = f"<s> {opening} a {noun} {digit} {joint} written with {stroke} strokes that {slant} {end} {ink} . </s>"
    return [WORDS.index(word) for word in sentence.split()]


@lru_cache(maxsize=1)
def captions(seed: int = 0) -> Captions:
    """The captions of `digits()`, one each."""
    data, rng = digits(), np.random.default_rng(seed)
    texts = [caption(image, int(label), rng) for image, label in zip(data.images, data.labels, strict=True)]
    words = torch.full((len(texts), LONGEST), END)
    for i, text in enumerate(texts):
        words[i, : len(text)] = torch.tensor(text)
    return Captions(words, torch.tensor([len(text) for text in texts]))


class Reader(nn.Module):
    """A Llama over words, which reads before them 64 pixels, one vector of them, or nothing.

    Its positions count the slots that it reads: those of a drafter that reads words alone count
    words alone.
    """

    def __init__(self, reads: str, shape: Shape, seed: int) -> None:
        super().__init__()
        self.reads = reads
        before = {"pixels": PIXELS, "vector": 1, "nothing": 0}[reads]
        self.llama = build(shape, LEVELS + len(WORDS), before + LONGEST, seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + 1)
            self.look = nn.Linear(PIXELS, shape.hidden) if reads == "vector" else None

    def forward(self, images: Tensor, words: Tensor) -> Tensor:
        """Logits of the word after each of words (n, t), given images (n, 64): (n, t, WORDS)."""
        if words.shape[1] > LONGEST:
            raise ValueError(f"words has {words.shape[1]} positions; a caption has {LONGEST}, and pixels are not words")
        tokens = LEVELS + words
        if self.reads == "pixels":
            logits = self.llama(torch.cat([images, tokens], 1), use_cache=False).logits[:, PIXELS:]
        elif self.look is not None:
            seen = self.look(images / (LEVELS / 2) - 1)[:, None]
            read = torch.cat([seen, self.llama.model.embed_tokens(tokens)], 1)
            logits = self.llama(inputs_embeds=read, use_cache=False).logits[:, 1:]
        else:
            logits = self.llama(tokens, use_cache=False).logits
        following: Tensor = logits[..., LEVELS:]
        return following


def laws(model: Any, images: Tensor, words: Tensor) -> Tensor:
    """The laws of the word after each of words (n, t), shape (n, t, WORDS), in float64."""
    with torch.no_grad():
        return torch.softmax(model(images, words).double(), -1)


def _loss(model: Any, images: Tensor, batch: Captions) -> Tensor:
    """Cross-entropy of captions; the words that fill a caption up do not count."""
    logits, following = model(images, batch.words[:, :-1]), batch.words[:, 1:]
    real = torch.arange(LONGEST - 1) < batch.lengths[:, None] - 1
    return F.cross_entropy(logits[real], following[real])


def _untrained(name: str) -> Reader:
    """The captioner of a recipe, untrained."""
    if name not in RECIPES:
        raise ValueError(f"name {name!r} is no captioner; known: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    return Reader(recipe["reads"], Shape(*recipe["shape"]), recipe["seed"])


def train(name: str, show_stage: Callable[[str], None] = silent) -> Any:
    """Train one of them on the images that are not held out."""
    model, recipe = _untrained(name), RECIPES[name]
    images, all_captions = digits().learned().images, captions(recipe["captions"])
    drawn = torch.Generator().manual_seed(recipe["order"])

    def loss(step: int) -> Tensor:
        """The loss of random images' captions."""
        which = torch.randint(len(images), (recipe["batch"],), generator=drawn)
        return _loss(model, images[which], Captions(all_captions.words[which], all_captions.lengths[which]))

    fit(model, loss, Schedule(recipe["steps"], recipe["rate"]), show_stage=show_stage)
    return model


def held_out(name: str, module: Any) -> float:
    """Cross-entropy of the captions of the images held out."""
    all_captions = captions(RECIPES[name]["captions"])
    last = Captions(all_captions.words[-HELD_OUT:], all_captions.lengths[-HELD_OUT:])
    with torch.no_grad():
        return float(_loss(module, digits().held_out().images, last))


def model(name: str) -> Any:
    """The model with the weights that are shipped, in float32."""
    return store.load(name, _untrained(name), RECIPES[name])
