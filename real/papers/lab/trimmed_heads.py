"""Heads of the most frequent tokens of a source, for a draft model of the bundled pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from real.decode.loop import decode_batch, keyed
from real.draft.restricted import most_frequent, trimmed
from real.models.model import LanguageModel
from real.pair import Pair
from real.papers.lab.contract import Lab
from real.papers.lab.texts import TOGETHER, Texts, training_texts
from real.papers.lab.writing import pair
from real.train.corpus import stdlib_files, token_stream
from specsim.types import Array

SOURCES = ("target-written", "draft-written", "corpus")
KEPT = (128, 256, 512, 1024, 1536)
# The source of the counts and the number of tokens; ("full", V) for the whole head.
Head = tuple[str, int]


def counts(lab: Lab) -> dict[str, Array]:
    """Counts of each token in equally many tokens of every source."""
    return sources(lab, pair(), training_texts(lab))


def sources(lab: Lab, both: Pair, told: Texts) -> dict[str, Array]:
    """Counts of each token in texts of the target, of the draft after the same prompts, and the corpus.

    All sources have equally many tokens.
    """
    lab.said("texts of the draft")
    mine = written(both.draft, told)
    number = told.tokens.size
    found: list[int] = []
    files = list(stdlib_files().items())
    # Every eighth file, so that the files are not those of its first letters alone.
    for name, path in [one for first in range(8) for one in files[first::8]]:
        if len(found) < number:
            found += token_stream(both.tokenizer, {name: path.read_text(encoding="utf-8")}).tolist()
    streams = (told.tokens.ravel(), mine.ravel(), np.array(found[:number]))
    return {name: np.bincount(w, minlength=both.target.vocab_size) for name, w in zip(SOURCES, streams, strict=True)}


def written(model: LanguageModel, told: Texts, seed: int = 2) -> Array:
    """Texts of the same lengths that a model writes after the same openings."""
    made = []
    for i in range(0, len(told.prompts), TOGETHER):
        prompts = told.prompts[i : i + TOGETHER]
        keys = [keyed(seed, i + j) for j in range(len(prompts))]
        runs = decode_batch(model, None, prompts, max_tokens=told.tokens.shape[1], gamma=0, uniforms=keys)
        made += [run.tokens for run in runs]
    return np.array(made)


def heads(found: Mapping[str, Array], both: Pair, sizes: Sequence[int]) -> dict[Head, list[int]]:
    """Tokens of every head, the end token in all of them."""
    end = both.tokenizer.eos_token_id
    made = {(source, k): most_frequent(values, k, end) for source, values in found.items() for k in sizes}
    vocab = both.target.vocab_size
    return {**made, ("full", vocab): list(range(vocab))}


def weights_read(ids: list[int], both: Pair) -> float:
    """Bytes of weights of a draft step with this head over those of a target step."""
    return trimmed(both.draft, ids).weight_bytes / both.target.weight_bytes
