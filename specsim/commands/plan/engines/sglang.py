"""SGLang: options of the command line, the file of lengths by batch, and forced acceptance, as of version 0.5.23.

Options: steps, the most children of a node (top-k) and the tokens verified, which are the drafts and the one before
them. At top-k 1 they are steps + 1. One length for all batches. SGLang takes a tree, and only by these bounds: which
nodes are drafted is up to the draft's confidence.

Adaptive (EAGLE and EAGLE3 at top-k 1, since its pull request 24055): a file of `candidate_steps` by the least batch
they are for; one candidate is a length, 0 turns drafting off. Batches are padded to a captured size before they are
looked up. It takes no context.

Forced, by the environment: `SGLANG_SIMULATE_ACC_LEN` is the mean number of tokens of a step, the last one included. The
method "match-expected" draws the whole number below or above it, one draw for all requests of a batch; "multinomial",
the default of old releases, misses the mean. The token mode "real-draft-token" (pull request 29645) writes the drafts
themselves; the default writes one fixed token, which sends all text to the same experts. DFlash obeys since pull
request 32595.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from specsim.commands.plan.engines.handover import WITHOUT_MODEL, Handover
from specsim.trees.topology import depths

# Drafters by its names; the options of the others are not known here.
NAMES = {"model": "STANDALONE", "eagle": "EAGLE", "eagle3": "EAGLE3", "mtp": "EAGLE", "dflash": "DFLASH"}
# Drafters that make a whole block in one pass: draft models and EAGLE heads draft one by one (sglang#23171 is open).
IN_ONE_PASS = ("dflash",)
# Drafters whose length it can change.
ADAPTIVE = ("eagle", "eagle3", "mtp")


class Bounds(NamedTuple):
    """A tree as an engine takes it: drafting steps, most children of a node, and tokens verified (the root is one)."""

    steps: int
    top_k: int
    tokens: int


def bounds(parents: Sequence[int]) -> Bounds:
    """Return the bounds that a tree of this shape fits into.

    Top-k is raised where an engine that keeps k nodes of each level, with k children each, would have too few.

    Examples
    --------
    >>> bounds([-1, -1, 0])
    Bounds(steps=2, top_k=2, tokens=4)
    """
    steps = int(max(depths(parents), default=0))
    top = max(Counter(parents).values(), default=1)
    while top + (steps - 1) * top**2 < len(parents):
        top += 1
    return Bounds(steps, top, len(parents) + 1)


def options(plan: Handover) -> str:
    """Return the options of the command line."""
    # The drafter's name, and its model unless its heads are part of the target.
    words = ["--speculative-algorithm", _name(plan.method)]
    if plan.method not in WITHOUT_MODEL:
        words += ["--speculative-draft-model-path", shlex.quote(plan.draft)]
    # DFlash drafts a block in one step: it takes the block's tokens alone, of which the first is known.
    limits = bounds(plan.tree) if plan.tree else Bounds(plan.gamma, 1, plan.gamma + 1)
    if plan.method != "dflash":
        words += ["--speculative-num-steps", str(limits.steps), "--speculative-eagle-topk", str(limits.top_k)]
    return " ".join([*words, "--speculative-num-draft-tokens", str(limits.tokens)])


def adaptive(plan: Handover) -> str:
    """Return the content of the file for --speculative-adaptive-config: the draft length by least batch."""
    if plan.method not in ADAPTIVE:
        raise ValueError(f"SGLang changes the length of {', '.join(ADAPTIVE)} drafters alone, not of {plan.method}")
    return json.dumps({str(first): {"candidate_steps": [gamma]} for first, _, gamma in plan.schedule})


def adaptive_notes(plan: Handover) -> list[str]:
    """Return the options that go with the file."""
    longest = plan._replace(schedule=[(1, 1, plan.gamma)])
    return [f"{options(longest)} --speculative-adaptive --speculative-adaptive-config FILE"]


def synthetic(plan: Handover) -> str:
    """Return the variables of the environment that force this acceptance, one a line."""
    _name(plan.method)
    return "\n".join(
        [
            f"SGLANG_SIMULATE_ACC_LEN={1 + plan.accepted:.6f}",
            "SGLANG_SIMULATE_ACC_METHOD=match-expected",
            "SGLANG_SIMULATE_ACC_TOKEN_MODE=real-draft-token",
        ]
    )


def synthetic_notes(plan: Handover) -> list[str]:
    """Return the options that go with the variables, and what they do not keep."""
    lines = [
        f"set them in the environment of a server with {options(plan)}",
        "all requests of a step accept the same number, one of the two whole numbers around the mean",
    ]
    if plan.method == "dflash":
        lines.append("releases before SGLang's pull request 32595 ignore these variables for DFlash")
    return lines


def _name(method: str) -> str:
    """Return SGLang's name of a drafter; ValueError if its options are not known here."""
    if method not in NAMES:
        why = "has options not known here"
        if method in ("ngram", "suffix"):
            why = "takes a budget of its own, not a length"
        raise ValueError(f"SGLang's {method} drafter {why}: nothing is emitted")
    return NAMES[method]
