"""VocabTrim: a draft whose head has only the tokens that are frequent in what the target writes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from real.decode.loop import decode_batch, keyed
from real.decode.proposer import Drafter
from real.decode.warp import Warping
from real.draft import feature
from real.models.names import SMOLLM2
from real.papers.lab import trimmed_heads as on
from real.papers.lab.answers import prompts_of, texts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.text_lab import Tally, along, best, expected, gain, tau
from real.papers.lab.times import recorded
from real.studies.costs import Costs
from real.studies.intervals import Estimate, ratio

NAME = "VocabTrim"
PAPER = "arXiv:2506.22694"
CLAIM = "A draft's head cut to what the target writes raises the memory-bound speedup, by 16 % for Llama-3.2-3B"
AXES = {
    "drafting": "smaller model + restricted head: EAGLE's layer",
    "termination": "fixed",
    "management": "chain",
    "verification": "one pass",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "states",
    "objective": "counts: of target-written tokens",
}
TEST = (
    "In the decode loop of SmolLM2 after test prompts, greedy and at T = 1, an EAGLE layer drafts, with its whole head "
    "of 49,152 tokens or with the 8,192 that the target writes most often; each has the length, of one to four drafts, "
    "that is best on validation texts in memory-bound speedup. The trimmed head's gain in memory-bound speedup has an "
    "interval above 0 at both temperatures. Speed by the recorded times of the pair is predicted and decides nothing."
)
PAIR = SMOLLM2
MODELS = (f"draft/{on.LAYER[PAIR]}",)
HEADS = FULL, TRIMMED = "full head", "trimmed head"

TEMPERATURES = (0.0, 1.0)
LENGTHS = (1, 2, 3, 4)
# Texts to choose a length on; prompts and tokens of the loop.
VALIDATED, PROMPTS, LENGTH = 8, 24, 64
# The bundled layer knows all tokens: a trial trims it to one of so many, by as many calibration texts.
SHARE, CALIBRATED = 4, 64
GAIN, LOOP = "memory-bound speedup gained by the trimmed head", ", in the decode loop"
HEADLINE = f"{GAIN}, T = 0{LOOP}"


def run(lab: Lab) -> Record:
    """Both heads in the loop at each temperature, each with its own length of a block."""
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    nets = {head: net_of(lab, head) for head in HEADS}
    target = pair_named(lab.pair).target
    read = {head: on.weights_read(net, target) for head, net in nets.items()}
    exact = {f"weights of a draft step over the target's, {head}": share for head, share in read.items()}
    exact |= {f"tokens of the {head}": float(on.scored(net, target)) for head, net in nets.items()}
    for temperature in TEMPERATURES:
        at, costs = f", T = {temperature:g}", recorded(temperature)

        # The best lengths on validation texts, and both heads in the loop.
        gammas = {head: length(lab, head, temperature, read[head]) for head in HEADS}
        loop: dict[str, Tally] = {}
        for head, gamma in gammas.items():
            exact[f"best length, {head}{at}"] = float(gamma)
            lab.said(f"decoding with the {head}{at}")
            make = partial(_counted, lab, head, temperature, gamma)
            tokens, calls, within = (np.array(part) for part in lab.keep(f"loop of the {head}{at}", make))
            loop[head] = Tally(tokens, calls)
            measured[f"tokens a call, {head}{at}{LOOP}"] = tau(loop[head])
            measured[f"memory-bound speedup, {head}{at}{LOOP}"] = on.scaled(
                tau(loop[head]), 1 / on.cost(read[head], gamma)
            )
            measured[f"share of tokens that the trimmed head knows, texts of the {head}{at}"] = ratio(within, tokens)

        # The trimmed head over the full one: by weights read, and by recorded times.
        both = gain(loop[TRIMMED], loop[FULL])
        measured[f"{GAIN}{at}{LOOP}"] = on.gained(both, cheaper(read, gammas))
        seconds = {head: cycle_s(lab, costs, read[head], gammas[head]) for head in HEADS}
        predicted[f"speed gained by the trimmed head{at}"] = on.gained(both, seconds[FULL] / seconds[TRIMMED])
        for head in HEADS:
            speed = on.scaled(tau(loop[head]), costs.cycle(0) / seconds[head])
            predicted[f"speed over plain decoding, {head}{at}"] = speed
    return Record(exact, measured, predicted)


def net_of(lab: Lab, head: str) -> Any:
    """Return EAGLE's layer with a head: the whole one, or the tokens that it was shipped with."""
    if head == FULL:
        return on.whole(lab)
    net = feature.shipped(on.LAYER[lab.pair])
    if net.tokens is not None:
        return net
    return on.trimmed(lab, on.counts(lab, CALIBRATED), pair_named(lab.pair).target.vocab_size // SHARE)


def drafter_of(lab: Lab, head: str) -> Drafter:
    """Return EAGLE's layer with a head as a drafter."""
    return feature.drafter(net_of(lab, head), pair_named(lab.pair).target)


def cheaper(read: Mapping[str, float], gammas: Mapping[str, int]) -> float:
    """Return the weights read in a cycle with the full head over those with the trimmed head."""
    return on.cost(read[FULL], gammas[FULL]) / on.cost(read[TRIMMED], gammas[TRIMMED])


def cycle_s(lab: Lab, costs: Costs, share: float, gamma: int) -> float:
    """Return predicted seconds of a cycle: drafting takes the draft model's time, by the weights that are read."""
    draft_s = on.draft_s(pair_named(lab.pair), costs, share, gamma)
    return costs.cycle(gamma) - costs.phase("draft", gamma) + draft_s


def length(lab: Lab, head: str, temperature: float, share: float) -> int:
    """Return the length of a block with the most memory-bound speedup on validation texts."""
    told = texts_of(lab, temperature, "validation", VALIDATED)
    lab.said(f"along validation texts at T = {temperature:g} with the {head}")

    def make() -> list[float]:
        """Expected calls over all texts, by length."""
        found = along(drafter_of(lab, head), told, LENGTHS[-1], temperature)
        return [float(expected(told, found, gamma).blocks.sum()) for gamma in LENGTHS]

    calls = lab.keep(f"validation with the {head}, T = {temperature:g}", make)
    chosen: int = best({g: 1 / (blocks * on.cost(share, g)) for g, blocks in zip(LENGTHS, calls, strict=True)})
    return chosen


def _counted(lab: Lab, head: str, temperature: float, gamma: int) -> tuple[list[int], list[int], list[int]]:
    """Return tokens, target calls, and tokens that the trimmed head knows, after each test prompt."""
    prompts = prompts_of(lab.pair, "test")[: lab.texts(PROMPTS, 4)]
    runs = decode_batch(
        pair_named(lab.pair).target,
        None,
        prompts,
        max_tokens=max(16, round(LENGTH * min(1.0, 4 * lab.share))),
        gamma=gamma,
        uniforms=[keyed(lab.seed + 1, i) for i in range(len(prompts))],
        warping=Warping(temperature),
        stop=ends(lab.pair),
        proposer=drafter_of(lab, head),
    )
    known = set(net_of(lab, TRIMMED).tokens.tolist())
    within = [sum(token in known for token in one.tokens) for one in runs]
    return [len(one.tokens) for one in runs], [len(one.blocks) for one in runs], within


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    found = [record.measured[f"{GAIN}, T = {at:g}{LOOP}"] for at in TEMPERATURES]
    if any(one.high < 0 for one in found):
        return "contradicts"
    return "shows" if all(one.low > 0 for one in found) else "does not show"
