"""Trees by stochastic beam search against i.i.d. paths of equal length with equally many nodes."""

from __future__ import annotations

from real.papers.lab import tree_blocks as on
from real.papers.lab.answers import prompts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import gain, tau
from real.papers.lab.tree_lab import Kind
from specsim import trees

NAME = "RSD"
PAPER = "arXiv:2402.14160"
CLAIM = (
    "Drafts without replacement, verified by recursive rejection, are kept more often than i.i.d. ones: "
    "at equal draft length always, at equal numbers of nodes in most cases"
)
AXES = {
    "drafting": "smaller model",
    "termination": "fixed: a length and a width",
    "management": "beam + paths: stochastic beams, and i.i.d. paths",
    "verification": "tree attention",
    "acceptance": "recursive_wor + recursive",
    "order": "left to right",
    "carry": "nothing",
}
TEST = (
    "By expected tokens of blocks that start where those of 4 i.i.d. paths start, on SmolLM2 at T = 1, test prompts, "
    "paired by prompt: RSD-S of width 4 and length 4 over 4 i.i.d. paths of length 4 under recursive rejection has an "
    "interval of the gain above 0. Both have 16 nodes."
)
HEADLINE = "tokens a block added by RSD-S, width 4, length 4, T = 1"
PAIR = "smollm2"
MODELS = ("draft/smollm2/lowrank",)

# Prompts; blocks of each; trees of each kind at each start of a block.
PROMPTS, BLOCKS, TREES = 42, 6, 4
SIZE = (4, 4)
BEAMS, IID = "RSD-S", "i.i.d. paths"


def kinds(width: int, length: int) -> dict[str, Kind]:
    """Beams and i.i.d. paths of a width and a length, with equally many nodes."""
    return {BEAMS: Kind("beam", (width, length)), IID: Kind("paths", tuple(trees.paths(width, length).tolist()))}


def of_size(name: str) -> str:
    """The end of a name: which trees they are, at which temperature."""
    return f"{name}, width {SIZE[0]}, length {SIZE[1]}, T = 1"


def run(lab: Lab) -> Record:
    """Every kind at the same starts."""
    prompts = prompts_of(lab.pair, "test")[: lab.texts(PROMPTS, 3)]
    starts = on.Starts(prompts, IID, lab.texts(BLOCKS, 1), lab.texts(TREES, 1))
    by_kind = on.tallies(starts, kinds(*SIZE), lab)
    measured = {f"tokens a block, {of_size(name)}": tau(of_kind) for name, of_kind in by_kind.items()}
    measured[HEADLINE] = gain(by_kind[BEAMS], by_kind[IID])

    beams = measured[HEADLINE]
    exact = {
        "prompts": float(len(prompts)),
        "trees of each kind": float(by_kind[IID].blocks.sum()),
        "smallest gain that would show": (beams.high - beams.low) / 2,
    }
    return Record(exact, measured, {})


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    gained = record.measured[HEADLINE]
    if gained.high < 0:
        return "contradicts"
    return "shows" if gained.low > 0 else "does not show"
