"""DistillSpec: a draft learns on by a divergence, on texts of the target, of the draft, or of both."""

from __future__ import annotations

from collections.abc import Mapping

from real.papers.lab import aligned as on
from real.papers.lab.aligned import Bench, Trained
from real.papers.lab.aligning import Plan
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.times import recorded
from real.studies.intervals import Estimate
from specsim import memory_bound

NAME = "DistillSpec"
PAPER = "arXiv:2310.08461"
CLAIM = (
    "A draft that is distilled is 10 to 45 % faster than one that is not; which divergence is best depends on task and "
    "temperature, and text that the draft itself writes is what to distil on"
)
AXES = {
    "drafting": "smaller model",
    "termination": "fixed: a number of drafts",
    "management": "chain",
    "verification": "one pass",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "nothing",
    "objective": "cross_entropy + fkl + rkl + jsd + tvd: on texts of the target, one on others, too",
}
TEST = (
    "On SmolLM2 and its shipped draft of 2.7 M parameters, which was distilled before, by cross-entropy with the "
    "target's rows, and learns on for 20 steps of 4 texts. Five objectives learn from 96 texts that the target wrote "
    "at T = 1; total variation also from texts of the draft, and from half a step's texts of each. Each has the rate, "
    "of two, that is best on validation texts; three seeds; blocks of 3 drafts. A step of the draft costs the same "
    "before and after, so that memory-bound speedup gains what tokens a target call gain. By calls expected along the "
    "target's test answers at T = 1, with intervals over prompts and seeds, all four at 98.75 %, these gains are above "
    "0: that of the divergence and source that are best on validation texts over the draft before, and over "
    "cross-entropy on texts of the target; that of total variation on texts of the draft over the same on texts of the "
    "target, and on texts of both. T = 0 is reported and decides nothing."
)
OF_FOUR, LEVEL = " (of four at 95 %)", 1 - 0.05 / 4
GAIN = "memory-bound speedup gained"
HEADLINE = f"{GAIN} by the best over the draft before, T = 1{OF_FOUR}"
OVER_TOKENS = f"{GAIN} by the best over cross-entropy, T = 1{OF_FOUR}"
OVER_TARGET = f"{GAIN} by text of the draft over text of the target, T = 1{OF_FOUR}"
OVER_MIXED = f"{GAIN} by text of the draft over text of both, T = 1{OF_FOUR}"
DECISIVE = (HEADLINE, OVER_TOKENS, OVER_TARGET, OVER_MIXED)
PAIR = "smollm2"
MODELS = ("draft/smollm2/lowrank",)

PLAN = Plan(steps=20, batch=4, warmup=4)
# The highest rates that each objective may choose from, on validation texts at T = 1.
RATES = (1e-4, 4e-4)
# Texts of the target to learn from, by temperature: the draft writes its own at T = 1, too.
TO_LEARN = {1.0: 96}
# Objective -> its name in numbers.
OBJECTIVES = {
    "cross_entropy": "cross-entropy",
    "fkl": "the forward divergence",
    "rkl": "the reverse divergence",
    "jsd": "JSD",
    "tvd": "total variation",
}
# The divergence that also learns from texts that the draft writes.
ON_POLICY = "tvd"
# Source of texts -> its name in numbers.
SOURCES = {"target": "text of the target", "draft": "text of the draft", "mixed": "text of both"}

# An objective and a source.
Key = tuple[str, str]
FIRST: Key = ("cross_entropy", "target")


def compared() -> list[Key]:
    """Return the objectives and sources that are compared."""
    return [(name, "target") for name in OBJECTIVES] + [(ON_POLICY, source) for source in ("draft", "mixed")]


def words(key: Key) -> str:
    """Return the name of an objective and a source in numbers."""
    return f"{OBJECTIVES[key[0]]} on {SOURCES[key[1]]}"


def run(lab: Lab) -> Record:
    """Align the draft by every objective and source, choose on validation texts, and compare along test answers."""
    bench = on.bench(lab, PLAN, TO_LEARN)
    before = on.before(bench)
    by_key = {key: on.trained(bench, *key, RATES) for key in compared()}
    best = {temperature: best_of(by_key, temperature) for temperature in on.TEMPERATURES}

    # What was trained, on how much, and what is best where it is chosen.
    exact = {
        "seeds": float(bench.seeds),
        "steps": float(bench.plan.steps),
        "tokens to learn from": float(bench.texts.lengths.sum()),
        "weights read by a draft step, in target steps": on.weights_read(bench),
    }
    exact |= {f"best rate of {words(key)}": trained.rate for key, trained in by_key.items()}
    exact |= {f"the best on validation texts at T = {t:g} is {words(key)}": 1.0 for t, key in best.items()}

    # Gains of all at each temperature, the four of TEST, and what the choice of a temperature is worth.
    measured: dict[str, Estimate] = {}
    for temperature in on.TEMPERATURES:
        measured |= _gains(bench, before, by_key, temperature)
    measured |= _decisive(bench, before, by_key, best[1.0])
    measured |= _choices(bench, by_key, best)

    # What tokens a target call are worth, before and after, by weights read and by recorded times.
    predicted: dict[str, Estimate] = {}
    for name, draft in (("the draft before", before), ("the best", by_key[best[1.0]])):
        for temperature in on.TEMPERATURES:
            efficiency, at = on.block_efficiency(bench, draft, temperature), f"{name}, T = {temperature:g}"
            cycle, costs = memory_bound(1.0, on.weights_read(bench)).cycle(on.GAMMA).value, recorded(temperature)
            measured[f"tokens a target call, {at}"] = efficiency
            measured[f"memory-bound speedup, {at}"] = scaled(efficiency, 1 / cycle)
            faster = scaled(efficiency, costs.cycle(0) / costs.cycle(on.GAMMA))
            predicted[f"speed over plain decoding, {at}"] = faster

    # The width of the interval that decides.
    tested = measured[HEADLINE]
    exact["smallest gain that would show"] = (tested.high - tested.low) / 2
    return Record(exact, measured, predicted)


def best_of(by_key: Mapping[Key, Trained], temperature: float) -> Key:
    """Return the divergence and the source that need the fewest target calls along validation texts."""
    divergences = [key for key in by_key if key != FIRST]
    return min(divergences, key=lambda key: float(by_key[key].calls["validation", temperature].sum()))


def _gains(bench: Bench, before: Trained, by_key: Mapping[Key, Trained], temperature: float) -> dict[str, Estimate]:
    """Return the gain of each objective and source over the draft before, along test answers."""
    at, old = f"T = {temperature:g}", before.calls["test", temperature]
    gains = {key: on.gain(bench, trained.calls["test", temperature], old) for key, trained in by_key.items()}
    return {f"{GAIN} by {words(key)}, {at}": gain for key, gain in gains.items()}


def _decisive(bench: Bench, before: Trained, by_key: Mapping[Key, Trained], best: Key) -> dict[str, Estimate]:
    """Return the four gains of TEST, and the last two at T = 0, too."""
    new = by_key[best].calls["test", 1.0]
    measured = {
        HEADLINE: on.gain(bench, new, before.calls["test", 1.0], LEVEL),
        OVER_TOKENS: on.gain(bench, new, by_key[FIRST].calls["test", 1.0], LEVEL),
    }
    for temperature in on.TEMPERATURES:
        end, level = (OF_FOUR, LEVEL) if temperature == 1 else ("", 0.95)
        calls = {source: by_key[ON_POLICY, source].calls["test", temperature] for source in SOURCES}
        for other in ("target", "mixed"):
            name = f"{GAIN} by text of the draft over {SOURCES[other]}, T = {temperature:g}{end}"
            measured[name] = on.gain(bench, calls["draft"], calls[other], level)
    return measured


def _choices(bench: Bench, by_key: Mapping[Key, Trained], best: Mapping[float, Key]) -> dict[str, Estimate]:
    """Return what the best at a temperature gains there over the best at the other; 0 where they are the same."""
    measured = {}
    for temperature, other in ((1.0, 0.0), (0.0, 1.0)):
        calls = [by_key[best[t]].calls["test", temperature] for t in (temperature, other)]
        name = f"{GAIN} by the best at T = {temperature:g} over the best at T = {other:g}, at T = {temperature:g}"
        measured[name] = on.gain(bench, *calls)
    return measured


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """Return a number times a factor."""
    return Estimate(*(factor * value for value in estimate))


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    gains = [record.measured[name] for name in DECISIVE]
    if any(gain.high < 0 for gain in gains):
        return "contradicts"
    return "shows" if all(gain.low > 0 for gain in gains) else "does not show"
