"""VocabTrim on a pair of 16,384 tokens, whose head is most of a draft's weights.

The pair is trained, not shipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from real.load_pair import load
from real.pair import Pair
from real.papers.lab import texts as on
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import VISITS
from real.papers.lab.texts import Texts
from real.papers.lab.times import timed
from real.papers.systems import vocabtrim
from real.studies.intervals import Estimate

NAME = "VocabTrim, 16,384 tokens"
PAPER = vocabtrim.PAPER
CLAIM = vocabtrim.CLAIM
AXES = vocabtrim.AXES
TEST = (
    "With a pair of 16,384 tokens, trained as the bundled one is, on test texts of its target at T = 1, with the "
    "length of a block chosen on validation texts for every head and the number of tokens there, too, among 256 to "
    "4,096 of the 16,384: both gains of a head of the tokens most frequent in the target's own texts over the full "
    "head have intervals above 0, that in memory-bound speedup and that in speed by times measured at the pair's own "
    "cost. What target-written counts add to corpus counts is reported and decides nothing."
)
HEADLINE = vocabtrim.HEADLINE
MODELS = ()
VOCAB = 16_384

OVER_CORPUS = "memory-bound speedup that the best head of target-written counts adds to that of corpus counts"
# Sizes of heads: the 204,800 counted tokens are 50 for each of 4,096.
KEPT = (256, 512, 1024, 2048, 4096)


def run(lab: Lab) -> Record:
    """Texts of the pair's own target, and the gains of its heads along them."""
    # Texts, counts and heads.
    if lab.pair is None:
        raise ValueError("pair is missing: a folder that `specsim-real train-pair` made")
    both = load(lab.pair / "target", lab.pair / "draft")
    lab.said("texts of the target")
    all_texts = texts(lab, both, lab.pair)
    lab.said("texts to count tokens of")
    counted = vocabtrim.sources(lab, both, training_texts(lab, both, all_texts.of("calibration")))
    heads = vocabtrim.heads(counted, both, [k for k in KEPT if k < both.target.vocab_size])

    # Gains of all heads, and the best ones.
    lab.said("texts along every head")
    weighed = vocabtrim.weighed(both, heads, all_texts.of("validation"), all_texts.of("test"))
    lab.said("time of cycles at the pair's own cost")
    record = vocabtrim.study(lab, both, weighed, timed(both, lab.texts(VISITS, 2)))
    names = (*vocabtrim.SOURCES, "full")
    chosen = {source: vocabtrim.best(weighed.tuned, weighed.sizes, (source,)) for source in names}
    more = {OVER_CORPUS: over_corpus(weighed)}
    exact = {f"tokens of the best head, {source}": float(choice.head[1]) for source, choice in chosen.items()}
    exact |= {f"drafts of its blocks, {source}": float(choice.gamma) for source, choice in chosen.items()}
    exact["tokens counted of every source"] = float(counted["target-written"].sum())
    return Record({**exact, **record.exact}, {**record.measured, **more}, record.predicted)


def over_corpus(weighed: vocabtrim.Weighed) -> Estimate:
    """The gain of the best head by the target's texts over the best one by the corpus."""
    new, old = (vocabtrim.best(weighed.tuned, weighed.sizes, (source,)) for source in ("target-written", "corpus"))
    return vocabtrim.bound_gain(weighed, new, old)


def texts(lab: Lab, both: Pair, folder: Path) -> Texts:
    """Texts of the pair's target after its own prompts, split by prompt as the shipped ones are."""
    prompt_texts = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))["prompts"]
    prompts = [list(both.tokenizer(text)["input_ids"]) for text in prompt_texts]
    group = np.arange(lab.texts(on.EACH * len(prompts))) % len(prompts)
    length = max(2 * on.PIECE, round(on.LENGTH * min(1.0, 4 * lab.share)))
    empty = Texts(
        [prompts[i] for i in group], np.zeros((len(group), length)), np.array(on.SPLIT)[group % len(on.SPLIT)], group
    )
    return empty._replace(tokens=vocabtrim.written(both.target, empty, lab.seed))


def training_texts(lab: Lab, both: Pair, calibration: Texts) -> Texts:
    """Texts of the pair's target after pieces of its calibration texts, 640 of 320 tokens."""
    width = calibration.tokens.shape[1] // on.PIECE * on.PIECE
    pieces = calibration.tokens[:, :width].reshape(-1, on.PIECE)[: lab.texts(on.MORE)]
    length = max(16, round(on.LONGER * min(1.0, 4 * lab.share)))
    group = np.arange(len(pieces))
    empty = Texts(pieces.tolist(), np.zeros((len(pieces), length)), np.full(len(pieces), "calibration"), group)
    return empty._replace(tokens=vocabtrim.written(both.target, empty, lab.seed + 1))


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    return vocabtrim.verdict(record)
