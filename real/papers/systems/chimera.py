"""Chimera: trigrams and full context, beside Medusa's heads in the decode loop; its parts are trained anew, too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from real.decode.loop import Decoded, decode_batch, keyed
from real.decode.warp import Warping
from real.draft import heads, trigram
from real.models.names import SMOLLM2, TINY_PAIR
from real.papers.lab.answers import prompts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.drafter_training import trained
from real.papers.lab.pairs import drafter, ends, pair_named
from real.papers.lab.text_lab import Tally, along, by_prompt, expected, gain, tau
from real.papers.lab.texts import Texts, texts
from real.papers.lab.times import recorded
from real.papers.lab.writing import cache, pair, target_digest
from real.studies.costs import Costs
from real.studies.intervals import Estimate, bootstrap
from specsim.types import Array

NAME = "Chimera"
PAPER = "arXiv:2402.15758"
CLAIM = "Over plain decoding 2.7x on average, and later tokens are foretold better than by independent heads"
AXES = {
    "drafting": "trigram + heads: beside each other",
    "termination": "fixed",
    "management": "chain: the paper's trees are not grown",
    "verification": "one pass",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "states",
    "objective": "states: cross-entropy with the target's rows",
}
TEST = (
    "In the decode loop of SmolLM2 after test prompts, greedy and at T = 1, with three drafts a block: the speed of "
    "Chimera over plain decoding, predicted by its calls and the recorded times of the pair's cycles, has an interval "
    "above 1; it gives more tokens a target call than Medusa's heads, and more of its second drafts are accepted where "
    "the first was, both intervals above 0. Equal parameters and the worth of its parts are reported on the bundled "
    "pair, and decide nothing."
)
# Chimera and the heads of a pair's target.
DRAFTERS = {TINY_PAIR: ("trigram", "heads"), SMOLLM2: ("smollm2/trigram", "smollm2/heads")}
PAIR = SMOLLM2
MODELS = tuple(f"draft/{name}" for name in DRAFTERS[PAIR])
BOTH = ("Chimera", "heads")

TEMPERATURES = (0.0, 1.0)
# The length that is best for the pair's draft model, by predicted and by measured time.
GAMMA = 3
PROMPTS, LENGTH = 24, 64
SPEED, FASTER = "speed of Chimera over plain decoding", "tokens a call, Chimera over heads"
LATER = "acceptance of draft 2 after draft 1, Chimera less heads"
LOOP = ", in the decode loop"
HEADLINE = f"{FASTER}, T = 0{LOOP}"
# On the bundled pair: texts, seeds and steps of every variant, and drafts a block.
ABLATED, SEEDS, STEPS, OFFSETS = 32, 3, 100, 4
ON_BUNDLED = ", T = 1, bundled pair"


class Runs(NamedTuple):
    """Tokens and target calls of each prompt (prompts,), and calls with at least so many drafts made and accepted."""

    tokens: Array
    calls: Array
    # Calls (prompts, GAMMA) in which draft k was made and those before it accepted, and in which it was accepted, too.
    reached: Array
    accepted: Array


def run(lab: Lab) -> Record:
    """Both in the loop at each temperature; then equal parameters and the parts of Chimera on the bundled pair."""
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    names = dict(zip(BOTH, DRAFTERS[lab.pair], strict=True))
    for temperature in TEMPERATURES:
        at, costs = f", T = {temperature:g}", recorded(temperature)
        loop = {}
        for name, drafter_name in names.items():
            lab.said(f"decoding with {drafter_name}{at}")
            make = partial(_counted, lab, drafter_name, temperature)
            loop[name] = Runs(*map(np.array, lab.keep(f"loop of {name}{at}", make)))
            measured[f"tokens a call of {GAMMA} drafts, {name}{at}{LOOP}"] = tau(
                Tally(loop[name].tokens, loop[name].calls)
            )
            for k in range(GAMMA):
                measured[f"acceptance of draft {k + 1}, {name}{at}{LOOP}"] = _share(loop[name], k)
            predicted[f"speed of {name} over plain decoding{at}"] = speed(
                loop[name], costs, drafting_s(lab.pair, name, costs)
            )
        new, old = (loop[name] for name in BOTH)
        measured[f"{FASTER}{at}{LOOP}"] = gain(Tally(new.tokens, new.calls), Tally(old.tokens, old.calls))
        measured[f"{LATER}{at}{LOOP}"] = _later(new, old)

    # The bundled pair.
    parts = ablated(lab)
    exact = {f"parameters, {name}": float(_size(lab.pair, name)) for name in BOTH}
    predicted[f"gain in tokens a block of {OFFSETS}, Chimera over heads at equal parameters{ON_BUNDLED}"] = equal(lab)
    return Record(exact | parts.exact, measured, predicted | parts.predicted)


def _counted(lab: Lab, drafter_name: str, temperature: float) -> tuple[list[Any], ...]:
    """Return the numbers of `Runs` of a drafter, once after each test prompt."""
    prompts = prompts_of(lab.pair, "test")[: lab.texts(PROMPTS, 4)]
    runs = decode_batch(
        pair_named(lab.pair).target,
        None,
        prompts,
        max_tokens=max(16, round(LENGTH * min(1.0, 4 * lab.share))),
        gamma=GAMMA,
        uniforms=[keyed(lab.seed + 1, i) for i in range(len(prompts))],
        warping=Warping(temperature),
        stop=ends(lab.pair),
        proposer=drafter(lab.pair, drafter_name),
    )
    reached, accepted = counts(runs)
    return ([len(one.tokens) for one in runs], [len(one.blocks) for one in runs], reached.tolist(), accepted.tolist())


def counts(runs: Sequence[Decoded]) -> tuple[Array, Array]:
    """Return how many calls (prompts, GAMMA) reached draft k and accepted it: a draft behind the text's end is none.

    Examples
    --------
    >>> from real.decode.loop import Block
    >>> text = Decoded([7] * 5, [Block(1, 3, 1), Block(3, 3, 3)], [], 0.0)
    >>> [part.tolist() for part in counts([text])]
    [[[2, 2, 1]], [[2, 1, 1]]]
    """
    drafts = np.arange(1, GAMMA + 1)
    of_texts = [(np.array(one.blocks)[:, 1:2], np.array(one.blocks)[:, 2:]) for one in runs]
    reached = np.array([((drafted >= drafts) & (kept >= drafts - 1)).sum(0) for drafted, kept in of_texts])
    return reached, np.array([(kept >= drafts).sum(0) for _, kept in of_texts])


def _share(runs: Runs, k: int) -> Estimate:
    """How often draft k + 1 is accepted where those before it were."""
    return bootstrap((runs.accepted[:, k], runs.reached[:, k]), _quotient)


def _later(new: Runs, old: Runs) -> Estimate:
    """How much more often the new drafter's second draft is accepted after its first, paired by prompt."""

    def statistic(*sums: Array) -> Array:
        """The difference of each resample."""
        return _quotient(*sums[:2]) - _quotient(*sums[2:])

    return bootstrap((new.accepted[:, 1], new.reached[:, 1], old.accepted[:, 1], old.reached[:, 1]), statistic)


def _quotient(top: Array, bottom: Array) -> Array:
    """The quotient of sums over prompts, 0 where nothing was reached."""
    total = bottom.sum(-1)
    return top.sum(-1) / np.where(total > 0, total, 1)


def speed(runs: Runs, costs: Costs, draft_s: float) -> Estimate:
    """Return speed over plain decoding, at the times of the pair's cycles and these seconds of drafting a block."""
    cycle = costs.cycle(GAMMA) - costs.phase("draft", GAMMA) + draft_s
    return Estimate(*(costs.cycle(0) / cycle * value for value in tau(Tally(runs.tokens, runs.calls))))


def drafting_s(pair_name: str, name: str, costs: Costs) -> float:
    """Return the predicted seconds in which a drafter makes a block.

    Drafting reads weights: the layers and the head of the pair's draft model, which was timed, or
    a network and its head. The heads read theirs once, in one pass; Chimera once a draft.
    """
    both, net = pair_named(pair_name), _net(pair_name, name)
    scored = both.target.vocab_size if net.tokens is None else len(net.tokens)
    own_bytes = (_size(pair_name, name) + scored * net.hidden) * both.draft.dtype.itemsize
    share: float = own_bytes / both.draft.weight_bytes
    return share * costs.phase("draft", 1 if name == "heads" else GAMMA)


def _net(pair_name: str, name: str) -> Any:
    """The network of a drafter, as it is shipped."""
    shipped = dict(zip(BOTH, DRAFTERS[pair_name], strict=True))[name]
    return (heads if name == "heads" else trigram).shipped(shipped)


def _size(pair_name: str, name: str) -> int:
    """How many numbers of a drafter are trained."""
    return sum(w.numel() for w in _net(pair_name, name).parameters())


def equal(lab: Lab) -> Estimate:
    """Return what Chimera gains over heads with as many parameters, trained as long, on the bundled pair."""
    told = texts(1.0).of("test", lab.texts(ABLATED, 2))
    lab.said("equal parameters, along test texts of the bundled pair")
    found = (along(drafter(TINY_PAIR, name), told, OFFSETS, 1.0) for name in DRAFTERS[TINY_PAIR])
    calls = [expected(told, one, OFFSETS) for one in found]
    return gain(calls[0], calls[1])


def ablated(lab: Lab) -> Record:
    """The worth of Chimera's parts: each variant is trained anew, with the same steps, parameters and seeds."""
    # Expected calls of every variant and seed along the test texts.
    told = texts(1.0).of("test", lab.texts(ABLATED, 2))
    seeds, steps = lab.texts(SEEDS, 1), max(2, round(STEPS * min(1.0, lab.share)))
    out, calls = Record({}, {}, {}), dict[str, Array]()
    for variant, changes in trigram.VARIANTS.items():
        recipe = trigram.RECIPES["trigram"] | changes | {"steps": steps}
        out.exact[f"parameters, {variant}, bundled pair"] = float(
            sum(w.numel() for w in trigram.network(recipe).parameters())
        )
        each = []
        for seed in range(seeds):
            lab.said(f"{variant}, seed {seed}, of {steps} steps")
            make = partial(_calls, lab, told, recipe | {"seed": lab.seed + seed})
            each.append(np.array(lab.keep(f"{variant}, seed {seed}", make)))
        calls[variant] = np.array(each)

    # The whole over each variant, over all seeds and in the seed where it is least.
    tokens = by_prompt(told, told.lengths)
    for variant in list(trigram.VARIANTS)[1:]:
        name = f"gain in tokens a block of {OFFSETS}, whole over {variant}{ON_BUNDLED}"
        pairs = list(zip(calls["whole"], calls[variant], strict=True))
        of_seeds = [gain(Tally(tokens, new), Tally(tokens, old)) for new, old in pairs]
        totals = (Tally(seeds * tokens, calls[one].sum(0)) for one in ("whole", variant))
        out.predicted[name] = gain(*totals)
        out.predicted[f"{name}, least of {SEEDS} seeds"] = min(of_seeds, key=lambda one: one.value)
    return out


def _calls(lab: Lab, told: Texts, recipe: dict[str, Any]) -> list[float]:
    """Expected calls (prompts,) of a variant that is trained now."""
    work = cache() / f"states-{target_digest()}-{lab.share}"
    net = trained(trigram, recipe, work, lab._replace(said=_nothing))
    found = along(trigram.drafter(net, pair().target), told, OFFSETS, 1.0)
    return list(map(float, expected(told, found, OFFSETS).blocks))


def _nothing(words: str) -> None:
    """Show no steps of training."""


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    found = [record.measured[f"{name}, T = {at:g}{LOOP}"] for name in (FASTER, LATER) for at in TEMPERATURES]
    fast = [record.predicted[f"{SPEED}, T = {at:g}"] for at in TEMPERATURES]
    if any(one.high < 0 for one in found) or any(one.high < 1 for one in fast):
        return "contradicts"
    return "shows" if all(one.low > 0 for one in found) and all(one.low > 1 for one in fast) else "does not show"
