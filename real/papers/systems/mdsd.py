"""Several drafts for one position: what rules leave to the optimum, and what drawing without replacement is worth."""

from __future__ import annotations

import warnings

import numpy as np

from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import mean
from real.papers.lab.texts import Texts, texts
from real.papers.lab.tree_lab import rows
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
    "On rows of 2,048 tokens along test texts at T = 1, K = 4, paired by prompt: the optimum without replacement less "
    "that of i.i.d. drafts has an interval above 0, and so has what recursive rejection, with and without replacement, "
    "and K-SEQ each lack to the optimum of their own scheme, all four together at 95 %."
)
HEADLINE = "added to the optimum by drawing without replacement, K = 4 (of four at 95 %)"
MODELS = ()

# Texts, rows of each, and tuples a row where a rule has no closed form.
ROWS, EACH, SAMPLES = 128, 4, 64
COUNTS, TESTED = (2, 4, 8), 4
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
    """Every rule and every optimum on the same rows."""
    # For each number of drafts: the optimum of each scheme, the rules, and their differences.
    test_texts = texts(1.0).of("test", lab.texts(ROWS))
    lab.said("rows of both models")
    p, q = rows(test_texts, EACH)
    measured: dict[str, Estimate] = {}
    off = 0.0
    for k in COUNTS:
        best, by_rule = {}, {}
        for scheme in SCHEMES:
            lab.said(f"the optimum of {k} drafts, {scheme}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                best_of = optimum(p, q, num_drafts=k, scheme=scheme)
            best[scheme], off = best_of.value, max(off, float(np.max(best_of.error)))
            measured[f"optimum of {scheme}, K = {k}"] = _over_prompts(test_texts, best[scheme])
        for rule, scheme in RULES.items():
            lab.said(f"{rule} with {k} drafts")
            by_rule[rule] = accepted(rule, p, q, k, lab.texts(SAMPLES, 4), lab.seed)
            measured[f"acceptance of {rule}, K = {k}"] = _over_prompts(test_texts, by_rule[rule])
            tested = k == TESTED and rule in SHORT
            measured[gap(rule, k)] = _over_prompts(test_texts, best[scheme] - by_rule[rule], tested=tested)
        added = "added to the optimum by drawing without replacement" + of_tested(k, k == TESTED)
        measured[added] = _over_prompts(test_texts, best["without_replacement"] - best["iid"], tested=k == TESTED)
        measured[f"added to that by the likeliest tokens, K = {k}"] = _over_prompts(
            test_texts, best["greedy"] - best["without_replacement"]
        )
    exact = {"vocabulary": float(p.shape[-1]), "rows": float(len(p)), "most that an optimum may be off": off}
    return Record(exact, measured, {})


def gap(rule: str, num_drafts: int) -> str:
    """The name of the difference between a rule and the optimum of its scheme."""
    return f"missing to the optimum, {rule}" + of_tested(num_drafts, num_drafts == TESTED and rule in SHORT)


def of_tested(num_drafts: int, tested: bool) -> str:
    """The end of a name; intervals of the test hold together."""
    return f", K = {num_drafts}" + (" (of four at 95 %)" if tested else "")


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    added = record.measured[HEADLINE]
    short = [record.measured[gap(rule, TESTED)] for rule in SHORT]
    if added.high < 0 or any(estimate.high < 0 for estimate in short):
        return "contradicts"
    return "shows" if added.low > 0 and all(estimate.low > 0 for estimate in short) else "does not show"


def _over_prompts(texts: Texts, values: Array, tested: bool = False) -> Estimate:
    """The mean over rows, with an interval over prompts; the tested intervals hold together."""
    each = values.reshape(len(texts.tokens), -1)
    return mean(texts, each.sum(axis=1), np.full(len(each), each.shape[1]), level=1 - 0.05 / 4 if tested else 0.95)
