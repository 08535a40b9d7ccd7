"""Chimera: trigrams and full context, beside Medusa's heads with as many parameters."""

from __future__ import annotations

from real.decode.along import Along
from real.decode.proposer import Drafter
from real.draft import heads, trigram
from real.studies.intervals import Estimate
from real.systems._offsets import acceptance, difference
from real.systems._record import Lab, Record, Verdict
from real.systems._text_lab import along, decoded, expected, gain, tau
from real.systems._texts import texts
from real.systems._writing import pair

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
GROWS = "growth of the difference from draft 1 to draft 4"


def run(lab: Lab) -> Record:
    """Acceptance by offset of both, tau told and found."""
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
    for k in range(GAMMA):
        measured[_less(k + 1)] = difference(told, found["Chimera"], found["heads"], k)
    measured[GROWS] = difference(told, found["Chimera"], found["heads"], GAMMA - 1, 0)
    calls = {name: expected(told, one, GAMMA) for name, one in found.items()}
    predicted |= {f"tokens a block of {GAMMA}, {name}, along the texts": tau(one) for name, one in calls.items()}
    predicted[f"gain in tokens a block of {GAMMA}, along the texts"] = gain(calls["Chimera"], calls["heads"])
    measured |= _written(lab, both)
    return Record(exact, measured, predicted)


def _less(k: int) -> str:
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
