"""Trees by stochastic beam search against i.i.d. paths of equal length with equally many nodes."""

from __future__ import annotations

from collections.abc import Sequence

from real.papers.lab import tree_lab as on
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import Tally, gain, tau
from real.papers.lab.texts import texts
from real.papers.lab.tree_lab import Kind
from real.studies.intervals import Estimate
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
    "management": "beam + paths + tree: stochastic beams, i.i.d. paths, trees of constant branching",
    "verification": "tree attention",
    "acceptance": "recursive_wor + recursive",
    "order": "left to right",
    "carry": "nothing",
}
TEST = (
    "By expected tokens of blocks that start where those of 4 i.i.d. paths start, 64 test prompts at T = 1, paired by "
    "prompt: RSD-S of width 4 and length 4 over 4 i.i.d. paths of length 4 under recursive rejection has an interval "
    "of the gain above 0. The same at 8 and 32 nodes is reported and decides nothing."
)
HEADLINE = "tokens a block added by RSD-S, width 4, length 4"
MODELS = ()

PROMPTS, BLOCKS = 64, 12
# Tokens that the decode loop writes after each prompt.
LENGTH = 128
# Width and length: 16, 8 and 32 nodes.
SIZES = ((4, 4), (2, 4), (4, 8))


def kinds(sizes: Sequence[tuple[int, int]]) -> dict[str, Kind]:
    """Beams, constant branching and i.i.d. paths by width and length, with equally many nodes."""
    by_name = {}
    for width, length in sizes:
        branching = (width, *[1] * (length - 1))
        by_name[name_of("RSD-S", width, length)] = Kind("beam", (width, length))
        by_name[name_of("RSD-C", width, length)] = Kind("without_replacement", tuple(trees.k_ary(branching).tolist()))
        by_name[name_of("i.i.d. paths", width, length)] = Kind("paths", tuple(trees.paths(width, length).tolist()))
    return by_name


def name_of(name: str, width: int, length: int) -> str:
    """The name of trees of a size in the record."""
    return f"{name}, width {width}, length {length}"


def run(lab: Lab) -> Record:
    """Every kind at the same starts."""
    prompts, blocks = on.prompts_of(texts(1.0).of("test"), lab.texts(PROMPTS, 3)), lab.texts(BLOCKS, 1)
    sizes = SIZES if lab.share >= 0.1 else SIZES[:1]
    lab.said("blocks of trees")
    by_kind = on.tallies(prompts, kinds(sizes), name_of("i.i.d. paths", *SIZES[0]), blocks, lab.seed)
    measured = {f"tokens a block, {name}": tau(of_kind) for name, of_kind in by_kind.items()}
    for size in sizes:
        for name in ("RSD-S", "RSD-C"):
            added = gain(by_kind[name_of(name, *size)], by_kind[name_of("i.i.d. paths", *size)])
            measured[f"tokens a block added by {name_of(name, *size)}"] = added
    measured |= _in_the_loop(lab, prompts)
    return Record({"blocks of each prompt": float(blocks), "prompts": float(len(prompts))}, measured, {})


def _in_the_loop(lab: Lab, prompts: Sequence[list[int]]) -> dict[str, Estimate]:
    """Tokens a block of the decode loop with each kind of the first size.

    Each writes its own texts.
    """
    length, runs = LENGTH if lab.share >= 0.1 else 6, dict[str, Tally]()
    for name, kind in kinds(SIZES[:1]).items():
        lab.said(f"decoded, {name}")
        runs[name] = on.decoded(prompts, kind, length, lab.seed)
    iid = runs[name_of("i.i.d. paths", *SIZES[0])]
    measured = {f"tokens a block decoded, {name}": tau(run) for name, run in runs.items()}
    for name in ("RSD-S", "RSD-C"):
        whole = name_of(name, *SIZES[0])
        measured[f"tokens a block added in the decode loop by {whole}"] = gain(runs[whole], iid)
    return measured


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    gained = record.measured[HEADLINE]
    if gained.high < 0:
        return "contradicts"
    return "shows" if gained.low > 0 else "does not show"
