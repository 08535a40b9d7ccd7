"""Several drafts for one position: what rules leave to the optimum, and what drawing without replacement is worth."""

from __future__ import annotations

import warnings

import numpy as np

from real.papers.lab.answers import texts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import mean
from real.papers.lab.texts import Texts
from real.papers.lab.tree_lab import rows_by_text
from real.studies.intervals import Estimate
from specsim import discover
from specsim.bounds.optimum import optimum
from specsim.draft import without_replacement
from specsim.types import Array

NAME = "MDSD"
PAPER = "arXiv:2502.18779"
CLAIM = (
    "The optimum of several drafts can be computed for vocabularies of thousands; existing rules stay below it, "
    "and drawing without replacement raises it"
)
AXES = {
    "drafting": "smaller model",
    "termination": "fixed: one position",
    "management": "siblings: drawn with and without replacement, and the likeliest",
    "verification": "given rows: of both models along texts of the target",
    "acceptance": "recursive + kseq + optimal + recursive_wor: each against the optimum of its scheme",
    "order": "left to right",
    "carry": "nothing",
}
TEST = (
    "On rows of 49,152 tokens along SmolLM2's answers to test prompts at T = 1, K = 4, paired by prompt: the optimum "
    "without replacement less that of i.i.d. drafts has an interval above 0, and so has what recursive rejection, with "
    "and without replacement, and K-SEQ each lack to the optimum of their own scheme, all four together at 95 %. The "
    "same at T = 0.6 is reported and decides nothing."
)
HEADLINE = "added to the optimum by drawing without replacement, K = 4, T = 1 (of four at 95 %)"
PAIR = "smollm2"
MODELS = ("draft/smollm2/lowrank",)

# Texts, rows of each, and tuples a row where a rule has no closed form.
ROWS, EACH, SAMPLES = 42, 4, 32
COUNTS, TESTED = (2, 4), 4
TEMPERATURES = (1.0, 0.6)
RULES = {
    "recursive": "iid",
    "kseq": "iid",
    "optimal": "iid",
    "greedy_draft": "greedy",
    "recursive_wor": "without_replacement",
}
SCHEMES = ("iid", "without_replacement", "greedy")
# Rules that are older than the optimum.
SHORT = ("recursive", "kseq", "recursive_wor")
WITHOUT, LIKELIEST = "added to the optimum by drawing without replacement", "added to that by the likeliest tokens"
OFF = "most that an optimum may be off"
# The end of a name whose interval holds together with three others.
OF_FOUR = " (of four at 95 %)"


def accepted(name: str, p: Array, q: Array, num_drafts: int, samples: int, seed: int) -> Array:
    """Acceptance (n,) of a rule on each row: exact, or the mean over sampled drafts."""
    rule = discover.find("step", name)
    if name != "recursive_wor":
        rates: Array = rule.acceptance(rule.prepare(p, q, num_drafts))
        return rates
    means = []
    for i, (p_row, q_row) in enumerate(zip(p, q, strict=True)):
        u = np.random.default_rng([seed, num_drafts, i]).random((samples, without_replacement.uniforms(num_drafts)))
        wide = [np.broadcast_to(w, (samples, len(w))) for w in (p_row, q_row)]
        x = without_replacement.draw(wide[1], u, num_drafts)
        law = rule.transition(rule.prepare(*wide, num_drafts), x)
        means.append(np.take_along_axis(law, x, axis=-1).sum(axis=-1).mean())
    return np.array(means)


def run(lab: Lab) -> Record:
    """Every rule and every optimum on the same rows, at each temperature."""
    measured: dict[str, Estimate] = {}
    exact: dict[str, float] = {}
    for temperature in TEMPERATURES:
        test_texts = texts_of(lab, temperature, "test", ROWS)
        numbers = _numbers(lab, test_texts, temperature)
        at = f", T = {temperature:g}"
        exact[OFF + at] = float(np.max(numbers.pop(OFF)))
        for name, values in numbers.items():
            is_tested = temperature == 1.0 and name in (f"{WITHOUT}, K = {TESTED}", *map(gap, SHORT))
            measured[name + at + (OF_FOUR if is_tested else "")] = _over_prompts(test_texts, values, is_tested)
    exact["rows at each temperature"] = float(len(test_texts.rows) * EACH)
    return Record(exact, measured, {})


def _numbers(lab: Lab, test_texts: Texts, temperature: float) -> dict[str, Array]:
    """Acceptances, optima and their differences (n, EACH), by name; and how far an optimum may be off."""
    by_text: list[dict[str, Array]] = []
    for i, (p, q) in enumerate(rows_by_text(test_texts, EACH, temperature)):
        lab.said(f"rows at T = {temperature:g}, text {i + 1} of {len(test_texts.rows)}")
        numbers: dict[str, Array] = {OFF: np.zeros(EACH)}
        for k in COUNTS:
            # The optimum of each scheme, with what its certificate leaves open.
            best = {}
            for scheme in SCHEMES:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    best_of = optimum(p, q, num_drafts=k, scheme=scheme)
                best[scheme] = best_of.value
                numbers[f"optimum of {scheme}, K = {k}"] = best_of.value
                numbers[OFF] = np.maximum(numbers[OFF], best_of.error)
            numbers[f"{WITHOUT}, K = {k}"] = best["without_replacement"] - best["iid"]
            numbers[f"{LIKELIEST}, K = {k}"] = best["greedy"] - best["without_replacement"]

            # The rules, each beside the optimum of its scheme.
            for rule, scheme in RULES.items():
                rates = accepted(rule, p, q, k, lab.texts(SAMPLES, 4), lab.seed + i)
                numbers[f"acceptance of {rule}, K = {k}"] = rates
                numbers[gap(rule, k)] = best[scheme] - rates
        by_text.append(numbers)
    return {name: np.stack([numbers[name] for numbers in by_text]) for name in by_text[0]}


def gap(rule: str, num_drafts: int = TESTED) -> str:
    """The name of the difference between a rule and the optimum of its scheme."""
    return f"missing to the optimum, {rule}, K = {num_drafts}"


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    added = record.measured[HEADLINE]
    short = [record.measured[f"{gap(rule)}, T = 1{OF_FOUR}"] for rule in SHORT]
    if added.high < 0 or any(estimate.high < 0 for estimate in short):
        return "contradicts"
    return "shows" if added.low > 0 and all(estimate.low > 0 for estimate in short) else "does not show"


def _over_prompts(texts: Texts, values: Array, is_tested: bool) -> Estimate:
    """The mean over rows, with an interval over prompts; the tested intervals hold together."""
    level = 1 - 0.05 / 4 if is_tested else 0.95
    return mean(texts, values.sum(axis=1), np.full(len(values), values.shape[1]), level=level)
