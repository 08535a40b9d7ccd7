"""llama.cpp: options of `llama-server`, since they are called `--spec-...`.

One length for all batches. It drafts less where the draft is not confident; a least confidence of 0 makes it draft what
is planned. N-gram look-up has budgets of its own.

Forced (since its pull request 27711): `--spec-synth-rates` are unconditional, as many as `--spec-draft-n-max`.
"""

from __future__ import annotations

import shlex

from specsim.commands.plan.engines.handover import WITHOUT_MODEL, Handover

# Drafters by its names; the options of the others are not known here.
NAMES = {"model": "draft-simple", "eagle3": "draft-eagle3", "mtp": "draft-mtp", "dflash": "draft-dflash"}
# Drafters that make a whole block in one pass.
IN_ONE_PASS = ("dflash",)


def options(plan: Handover) -> str:
    """Return the options of the command line."""
    if plan.method not in NAMES:
        raise ValueError(
            f"which options llama.cpp has for a drafter {plan.method} is not known here: nothing is emitted"
        )
    words = ["--spec-type", NAMES[plan.method]]
    if plan.method not in WITHOUT_MODEL:
        words += ["--model-draft", shlex.quote(plan.draft)]
    return " ".join([*words, "--spec-draft-n-max", str(plan.gamma), "--spec-draft-p-min", "0"])


def synthetic(plan: Handover) -> str:
    """Return the options that force this acceptance."""
    rates = ",".join(f"{rate:.6g}" for rate in plan.survival)
    return f"--spec-draft-n-max {plan.gamma} --spec-synth-rates {rates}"
