"""K-SEQ on i.i.d. paths: against one draft, against recursive rejection, and against what its theorem promises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from real.decode.clock import PHASES
from real.papers.lab.answers import prompts_of, texts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import gain, tau
from real.papers.lab.texts import Texts
from real.papers.lab.times import recorded
from real.papers.lab.tree_blocks import Starts, tallies
from real.papers.lab.tree_lab import Kind, rows_by_text
from real.studies.intervals import Estimate
from specsim import optimal_acceptance, trees
from specsim.verify.step import kseq

NAME = "SpecTr"
PAPER = "arXiv:2310.15141"
CLAIM = (
    "K-SEQ keeps at least 1 - 1/e of what the optimal transport of K i.i.d. drafts keeps; "
    "decoding is 2.13 times faster, 1.37 times over speculative decoding with one draft"
)
AXES = {
    "drafting": "smaller model",
    "termination": "fixed: a length",
    "management": "paths: drafted side by side",
    "verification": "tree attention",
    "acceptance": "kseq",
    "order": "left to right",
    "carry": "nothing",
}
TEST = (
    "On SmolLM2 at T = 1, test prompts. By expected tokens of blocks that start where those of one draft start, paired "
    "by prompt: K-SEQ on 4 i.i.d. paths of length 4 over one draft of length 4 has an interval of the gain above 0. On "
    "rows of 49,152 tokens along answers K-SEQ of 2, 4 and 8 drafts keeps at least 1 - 1/e of the optimum on every "
    "row. Speed over one draft and over plain decoding is predicted by the pass times that are recorded beside "
    "`specsim-real compare`, and decides nothing."
)
HEADLINE = "tokens a block added by K-SEQ to one draft, K = 4, T = 1"
PAIR = "smollm2"
MODELS = ("draft/smollm2/lowrank",)

# Prompts; blocks of each; trees of each kind at each start of a block; drafts of a path.
PROMPTS, BLOCKS, TREES, LENGTH = 42, 4, 2, 4
# Numbers of drafts of a row, and of paths of a block.
COUNTS, TESTED = (2, 4, 8), 4
ROWS, EACH = 42, 4
LEAST = 1 - 1 / math.e
ONE = "one draft"
SHARE = "least share of the optimum that K-SEQ keeps on a row"


def kinds(counts: Sequence[int]) -> dict[str, Kind]:
    """One draft, and i.i.d. paths under both rules."""
    many = {k: tuple(trees.paths(k, LENGTH).tolist()) for k in counts}
    return (
        {ONE: Kind("paths", tuple(trees.paths(1, LENGTH).tolist()))}
        | {f"K-SEQ, K = {k}": Kind("paths", shape, "kseq") for k, shape in many.items()}
        | {f"recursive, K = {k}": Kind("paths", shape, "recursive") for k, shape in many.items()}
    )


def shares(texts: Texts, each: int) -> dict[int, float]:
    """Number of i.i.d. drafts -> the least acceptance of K-SEQ over the optimum, over rows."""
    least = dict.fromkeys(COUNTS, 1.0)
    for p, q in rows_by_text(texts, each, 1.0):
        for k in COUNTS:
            kept = kseq.acceptance(kseq.prepare(p, q, k)) / optimal_acceptance(p, q, num_drafts=k)
            least[k] = min(least[k], float(np.min(kept)))
    return least


def _shares(lab: Lab) -> dict[str, float]:
    """Return the least shares by name, and the number of rows, along texts of the target at T = 1."""
    lab.said("rows of both models")
    test_texts = texts_of(lab, 1.0, "test", ROWS)
    least = {f"{SHARE}, K = {k}, T = 1": share for k, share in shares(test_texts, EACH).items()}
    return {"rows": float(len(test_texts.rows) * EACH)} | least


def run(lab: Lab) -> Record:
    """Every kind after the same prompts, K-SEQ against the optimum on rows, and predicted speeds."""
    # Rows.
    exact: dict[str, float] = {"1 - 1/e": LEAST, **lab.keep("rows", lambda: _shares(lab))}

    # Blocks from the same starts.
    counts = COUNTS[:2] if lab.share >= 0.1 else (TESTED,)
    prompts = prompts_of(lab.pair, "test")[: lab.texts(PROMPTS, 3)]
    starts = Starts(prompts, ONE, lab.texts(BLOCKS, 1), lab.texts(TREES, 1))
    by_kind = tallies(starts, kinds(counts), lab)
    exact["trees of each kind"] = float(by_kind[ONE].blocks.sum())
    measured = {f"tokens a block, {name}, T = 1": tau(of_kind) for name, of_kind in by_kind.items()}
    for k in counts:
        new = by_kind[f"K-SEQ, K = {k}"]
        measured[f"tokens a block added by K-SEQ to one draft, K = {k}, T = 1"] = gain(new, by_kind[ONE])
        measured[f"the same to recursive rejection, K = {k}, T = 1"] = gain(new, by_kind[f"recursive, K = {k}"])
    exact["smallest gain that would show"] = (measured[HEADLINE].high - measured[HEADLINE].low) / 2
    return Record(exact, measured, _predicted(measured))


def _predicted(measured: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Speeds by the recorded pass times: two paths are a pass over nine tokens, the longest that was timed."""
    costs = recorded(1.0)
    plain, one = costs.cycle(0), costs.cycle(LENGTH)
    # Two paths take as many draft steps as one, and the pass and the rule of eight drafts.
    two = sum(costs.phase(name, LENGTH if name == "draft" else 2 * LENGTH) for name in PHASES)
    speeds = {
        f"speed over plain decoding, {ONE}, T = 1": _times(measured[f"tokens a block, {ONE}, T = 1"], plain / one)
    }
    if (name := "tokens a block, K-SEQ, K = 2, T = 1") in measured:
        added = measured["tokens a block added by K-SEQ to one draft, K = 2, T = 1"]
        speeds["speed over plain decoding, K-SEQ, K = 2, T = 1"] = _times(measured[name], plain / two)
        over_one = Estimate(*(1 + value for value in added))
        speeds["speed over one draft, K-SEQ, K = 2, T = 1"] = _times(over_one, one / two)
    return speeds


def _times(estimate: Estimate, factor: float) -> Estimate:
    """A number and its interval, times a factor without spread."""
    return Estimate(*(factor * value for value in estimate))


def verdict(record: Record) -> Verdict:
    """TEST, as computed; a row below the bound contradicts the theorem."""
    gained = record.measured[HEADLINE]
    if gained.high < 0 or any(record.exact[f"{SHARE}, K = {k}, T = 1"] < LEAST for k in COUNTS):
        return "contradicts"
    return "shows" if gained.low > 0 else "does not show"
