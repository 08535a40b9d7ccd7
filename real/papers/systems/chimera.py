"""Chimera: trigrams and full context, beside Medusa's heads with as many parameters."""

from __future__ import annotations

import numpy as np

from real.decode.given_text import Along
from real.decode.proposer import Drafter
from real.draft import heads, trigram
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.drafter_training import trained
from real.papers.lab.offsets import acceptance, difference
from real.papers.lab.text_lab import along, decoded, expected, gain, tau
from real.papers.lab.texts import Texts, texts
from real.papers.lab.writing import cache, pair, target_digest
from real.studies.intervals import Estimate

NAME = "Chimera"
PAPER = "arXiv:2402.15758"
CLAIM = "Over plain decoding 2.7x on average, and later tokens are foretold better than by independent heads"
AXES = {
    "drafting": "trigram + heads: beside each other, with as many parameters",
    "termination": "fixed",
    "management": "chain: the paper's trees are not grown",
    "verification": "one pass",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "states",
    "objective": "states: cross-entropy with the target's rows",
}
TEST = (
    "On test texts at T = 1, in blocks that start everywhere: acceptance of draft k by Chimera less that by Medusa "
    "heads, with as many parameters to 1 %, the same states and as many steps, has an interval above 0 at each k of "
    "1 to 4, and so has what it grows by from k = 1 to k = 4."
)
HEADLINE = "acceptance of draft 4, Chimera less heads"
MODELS = ("draft/trigram", "draft/heads")

GAMMA, TEXTS, PROMPTS, LENGTH = 4, 128, 32, 64
# Texts, seeds and steps of every variant.
ABLATED, SEEDS, STEPS = 64, 2, 150
GROWS = "growth of the difference from draft 1 to draft 4"


def run(lab: Lab) -> Record:
    """Acceptance of both by offset, and tau expected and decoded."""
    # Both drafters along the test texts.
    target = pair().target
    both = {
        "Chimera": trigram.drafting(trigram.shipped(), target),
        "heads": heads.drafting(heads.shipped(), target),
    }
    told = texts(1.0).of("test", lab.texts(TEXTS, 4))
    found: dict[str, list[Along]] = {}
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    exact = {
        "parameters, Chimera": float(sum(w.numel() for w in trigram.shipped().parameters())),
        "parameters, heads": float(sum(w.numel() for w in heads.shipped().parameters())),
    }
    for name, drafter in both.items():
        lab.said(f"{name}: along test texts")
        found[name] = along(drafter, told, GAMMA, 1.0)
        for k, one in enumerate(acceptance(told, found[name]), 1):
            measured[f"acceptance of draft {k}, {name}"] = one

    # Chimera less heads.
    for k in range(GAMMA):
        measured[_less(k + 1)] = difference(told, found["Chimera"], found["heads"], k)
    measured[GROWS] = difference(told, found["Chimera"], found["heads"], GAMMA - 1, 0)
    calls = {name: expected(told, one, GAMMA) for name, one in found.items()}
    predicted |= {f"tokens a block of {GAMMA}, {name}, along the texts": tau(one) for name, one in calls.items()}
    predicted[f"gain in tokens a block of {GAMMA}, along the texts"] = gain(calls["Chimera"], calls["heads"])

    # Texts of the decode loop, and variants of Chimera.
    measured |= _written(lab, both)
    parts = ablated(lab)
    return Record(exact | parts.exact, measured | parts.measured, predicted | parts.predicted)


def ablated(lab: Lab) -> Record:
    """The worth of its parts: each variant is trained anew, with the same steps, parameters and seeds."""
    # Every variant along the test texts, which are repeated for each seed.
    some = texts(1.0).of("test", lab.texts(ABLATED, 2))
    seeds, steps = lab.texts(SEEDS, 1), max(2, round(STEPS * min(1.0, lab.share)))
    tokens, part, group = (np.concatenate([part] * seeds) for part in (some.tokens, some.part, some.group))
    told = Texts(some.prompts * seeds, tokens, part, group, some.pair)
    work = cache() / f"states-{target_digest()}-{lab.share}"
    found: dict[str, list[Along]] = {}
    out = Record({}, {}, {})
    for variant, changes in trigram.VARIANTS.items():
        found[variant] = []
        for seed in range(seeds):
            words = f"{variant}, seed {seed}"
            recipe = trigram.RECIPES["trigram"] | changes | {"seed": lab.seed + seed, "steps": steps}
            net = trained(trigram, recipe, work, lab._replace(said=_nothing))
            lab.said(f"{words}: along test texts")
            found[variant] += along(trigram.drafting(net, pair().target), some, GAMMA, 1.0)
            out.exact[f"parameters, {variant}"] = float(sum(w.numel() for w in net.parameters()))
        for k, one in enumerate(acceptance(told, found[variant]), 1):
            out.measured[f"acceptance of draft {k}, {variant}, of {steps} steps"] = one

    # The whole less each variant.
    for variant in list(trigram.VARIANTS)[1:]:
        for k in range(GAMMA):
            added = difference(told, found["whole"], found[variant], k)
            out.measured[f"acceptance of draft {k + 1}, whole less {variant}"] = added
        both = (expected(told, found[name], GAMMA) for name in ("whole", variant))
        out.predicted[f"gain in tokens a block of {GAMMA}, whole over {variant}"] = gain(*both)
    return out


def _nothing(words: str) -> None:
    """Show no steps of training."""


def _less(k: int) -> str:
    """The name of the difference at draft k."""
    return f"acceptance of draft {k}, Chimera less heads"


def _written(lab: Lab, both: dict[str, Drafter]) -> dict[str, Estimate]:
    """Tokens a block of texts that the decode loop writes anew."""
    told = texts(1.0).of("test", lab.texts(PROMPTS, 2))
    length = max(8, round(LENGTH * min(1.0, 4 * lab.share)))
    out = {}
    for name, drafter in both.items():
        lab.said(f"{name}: decoding")
        out[f"tokens a block of {GAMMA}, {name}"] = tau(decoded(told, drafter, GAMMA, 1.0, lab.seed, length))
    return out


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    found = [record.measured[_less(k + 1)] for k in range(GAMMA)]
    grows = record.measured[GROWS]
    if any(one.high < 0 for one in found) or grows.high < 0:
        return "contradicts"
    return "shows" if all(one.low > 0 for one in [*found, grows]) else "does not show"
