"""A drafter that reads text alone under a target that reads an image and then text: captions of digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.models.images import captions
from real.papers.models.images.captions import CONTENT, END, LONGEST, START, WORDS
from real.papers.models.images.data import PIXELS, digits
from real.studies.intervals import Estimate, bootstrap, ratio
from specsim import memory_bound, renewal
from specsim.base.arrays import at, overlap, pick, row_at
from specsim.lengths.blocks import text_survival
from specsim.types import Array
from specsim.verify.chain import tokenwise

NAME = "MLLM"
PAPER = "arXiv:2404.08856"
CLAIM = (
    "Up to 2.37x memory-bound speedup of LLaVA 7B by a drafter of 115 M that reads text alone; "
    "one that sees the image gains little over it, and in captions only"
)
AXES = {
    "drafting": "smaller model: it reads text alone, or one vector of the image besides",
    "termination": "fixed: a number of drafts",
    "management": "chain",
    "verification": "one pass: the target reads the image",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "nothing",
}
TEST = (
    "Of captions of which three in four name the right digit: MBSU(3) of the drafter that reads text alone, decoded, "
    "has an interval above 2; what one vector of the image adds to tau(3), by the renewal law on the same captions, "
    "one below 5 %; and what it adds to acceptance one above 0 on content words, but not on function words."
)
HEADLINE = "MBSU(3), text only"
MODELS = ("captioner", "captioner_text", "captioner_vector")

IMAGES = 200
GAMMAS = (3, 5)
DRAFTERS = {"text only": "captioner_text", "with a vector of the image": "captioner_vector"}
RIGHT, GAIN = "captions that name the right digit", "share that a vector of the image adds to tau(3)"
# Texts and their words (m, t) -> laws of the word after each word, (m, t, V).
Rows = Callable[[Array, Array], Array]


class Decoded(NamedTuple):
    """Captions (n, longest), filled up with END; the words written of each after START, END included; and blocks."""

    words: Array
    written: Array
    blocks: Array


def rows_of(model: Any, images: Tensor) -> Rows:
    """A captioner's laws for these images."""
    return lambda which, words: captions.laws(model, images[which], torch.from_numpy(words)).numpy()


def drafter(model: Any, images: Tensor) -> Rows:
    """A drafter's laws for these images; ValueError for a drafter whose positions count pixels."""
    if model.reads == "pixels":
        raise ValueError(
            f"drafter has {PIXELS} image positions: one for this target reads words alone or one vector of the image"
        )
    return rows_of(model, images)


def written_of(block: Array, emitted: Array) -> Array:
    """How many of a block's first `emitted` words (m,) belong to the text: those up to its first END."""
    ends = (block == END) & (np.arange(block.shape[1]) < emitted[:, None])
    return np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, emitted)


def decode(
    target: Rows, draft: Rows, count: int, gamma: int, rng: np.random.Generator, longest: int = LONGEST
) -> Decoded:
    """Write `count` texts by blocks of gamma drafts, verified tokenwise; gamma = 0 is plain decoding.

    A text ends with END or at the longest length. Drafts beyond either are cut after the test, and
    are not counted.
    """
    words = np.full((count, longest + gamma + 1), END)
    words[:, 0] = START
    length, blocks = np.ones(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    which = np.arange(count)
    while len(which):
        now, place = length[which], np.arange(len(which))
        width = min(int(now.max()) + gamma, longest)
        # Places beyond the end are cut later.
        after = np.minimum(now[:, None] - 1 + np.arange(gamma + 1), width - 1)
        block, laws = np.full((len(which), gamma + 1), END), []
        for i in range(gamma):
            laws.append(row_at(draft(which, words[which, :width]), after[:, i]))
            block[:, i] = pick(laws[i], rng.random(len(which)))
            words[which, now + i] = block[:, i]

        # The target's pass, and the test of the drafts.
        p = target(which, words[which, :width])[place[:, None], after]
        q = np.stack(laws, axis=1) if laws else p[:, :0]
        u = rng.random((len(which), tokenwise.uniforms(gamma)))
        num_accepted, token = tokenwise.verify(tokenwise.prepare(p, q), block[:, :gamma], u)
        block[place, num_accepted] = token

        # Write the block up to END or the longest length.
        emitted = np.minimum(written_of(block, num_accepted + 1), longest - now)
        words[which[:, None], now[:, None] + np.arange(gamma + 1)] = block
        length[which] += emitted
        blocks[which] += 1
        which = which[(words[which, length[which] - 1] != END) & (length[which] < longest)]
    real = np.arange(longest) < length[:, None]
    return Decoded(np.where(real, words[:, :longest], END), length - 1, blocks)


def blocks_of(p: Array, q: Array, texts: Decoded, gamma: int) -> Array:
    """Expected blocks (n,) to write each text, from both models' laws (n, t, V) along it."""
    ratios = at(q, texts.words[:, 1:]) / at(p, texts.words[:, 1:])
    # Words that fill a text up are no drafts.
    rows = (ratios[i, :many] for i, many in enumerate(texts.written))
    return np.array([renewal(text_survival(tokenwise.survival, row, gamma)).blocks for row in rows])


def acceptances(p: Array, q: Array, texts: Decoded) -> dict[str, tuple[Array, Array]]:
    """Kind of word -> sums of 1 - TV (n,) over words of that kind, and their number.

    The kind is the one that the target expects at the word's place.
    """
    real = np.arange(p.shape[1]) < texts.written[:, None]
    content = p[..., CONTENT].sum(axis=-1) > 0.5
    kinds = {"content": real & content, "function": real & ~content, "all": real}
    alpha = overlap(p, q)
    return {kind: (np.where(mask, alpha, 0).sum(axis=1), mask.sum(axis=1)) for kind, mask in kinds.items()}


def unigram() -> Array:
    """The frequency of each word in the captions that models learn from."""
    all_captions = captions.captions()
    count = len(digits().learned().labels)
    words, lengths = all_captions.words[:count], all_captions.lengths[:count]
    real = (torch.arange(1, LONGEST) < lengths[:, None]).numpy()
    counts = np.bincount(words[:, 1:].numpy()[real], minlength=len(WORDS))
    return counts / counts.sum()


def run(lab: Lab) -> Record:
    """Captions of the held-out images, by the target alone and by blocks."""
    # The target's captions and laws.
    held, rng = digits().held_out(), np.random.default_rng(lab.seed)
    count = lab.texts(IMAGES)
    images, labels = held.images[:count], held.labels[:count].numpy()
    every, model = np.arange(count), captions.model("captioner")
    target = rows_of(model, images)
    lab.said("the target writes captions")
    texts = decode(target, target, count, 0, rng)
    p = target(every, texts.words[:, :-1])
    digit = np.array([WORDS.index(captions.DIGITS[label]) for label in labels])
    exact: dict[str, float] = {}
    measured = {RIGHT: ratio((texts.words == digit[:, None]).any(axis=1), np.ones(count))}
    predicted: dict[str, Estimate] = {}
    # Blocks at gamma = 3, and acceptances.

    # Each drafter along them and decoded: blocks at gamma = 3, and acceptances, by drafter.
    along: dict[str, tuple[Array, dict[str, tuple[Array, Array]]]] = {}
    for name, weights in DRAFTERS.items():
        small = captions.model(weights)
        draft = drafter(small, images)
        q = draft(every, texts.words[:, :-1])
        along[name] = blocks_of(p, q, texts, 3), acceptances(p, q, texts)
        for kind, (sums, number) in along[name][1].items():
            measured[f"acceptance on {kind} words, {name}"] = ratio(sums, number)
        sizes = [float(sum(weight.numel() for weight in captioner.parameters())) for captioner in (model, small)]
        exact[f"parameters over the target's, {name}"] = sizes[1] / sizes[0]
        for gamma in GAMMAS:
            lab.said(f"drafter {name}, gamma = {gamma}")
            cycle = memory_bound(*sizes).cycle(gamma).value
            tau = ratio(texts.written, blocks_of(p, q, texts, gamma))
            predicted[f"tau({gamma}) by the renewal law, {name}"] = tau
            predicted[f"MBSU({gamma}) by the renewal law, {name}"] = _over(tau, cycle)
            done = decode(target, draft, count, gamma, rng)
            tau = ratio(done.written, done.blocks)
            measured[f"tau({gamma}) decoded, {name}"], measured[f"MBSU({gamma}), {name}"] = tau, _over(tau, cycle)

    # The two drafters compared, and one without a model.
    (alone, by_alone), (seeing, by_seeing) = along.values()
    predicted[GAIN] = bootstrap((alone, seeing), lambda a, b: a.sum(-1) / b.sum(-1) - 1)
    for kind in ("content", "function"):
        measured[added(kind)] = ratio(by_seeing[kind][0] - by_alone[kind][0], by_alone[kind][1])
    measured["share of words that are content"] = ratio(by_alone["content"][1], by_alone["all"][1])
    blind = blocks_of(p, np.broadcast_to(unigram(), p.shape), texts, 3)
    predicted["tau(3) by the renewal law, unigram"] = ratio(texts.written, blind)
    return Record(exact, measured, predicted)


def added(kind: str) -> str:
    """The name of the gain in acceptance by a vector of the image."""
    return f"added to acceptance by a vector of the image, {kind} words"


def verdict(record: Record) -> Verdict:
    """The outcome of TEST; a target that names wrong digits shows nothing."""
    speed, gain = record.measured[HEADLINE], record.predicted[GAIN]
    content, function = (record.measured[added(kind)] for kind in ("content", "function"))
    if record.measured[RIGHT].value < 0.75:
        return "does not show"
    if speed.high < 2 or gain.low > 0.05:
        return "contradicts"
    shows = speed.low > 2 and gain.high < 0.05 and content.low > 0 and function.low <= 0
    return "shows" if shows else "does not show"


def _over(tau: Estimate, cycle: float) -> Estimate:
    """tau over the cost of a cycle, with its interval."""
    return Estimate(*(value / cycle for value in tau))
