"""Judge Decoding on instructions to SmolLM2: a head on the target's state at a draft lets more drafts pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.models.names import SMOLLM2
from real.papers.lab import judging, relaxed
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.introductions import PARTS, Problem, problems, share_of_facts
from real.papers.lab.judging import Head, Labels
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.relaxed import Rule
from real.papers.lab.seeds import crossed
from real.papers.lab.texts import Part
from real.papers.lab.times import recorded
from real.prompts.chat_template import has_template, prompt_ids
from real.studies.intervals import Estimate
from specsim import memory_bound
from specsim.types import Array

NAME = "Judge Decoding"
PAPER = "arXiv:2501.19309"
CLAIM = (
    "Accepted drafts rise from 6.3 to 19.7 a block (8B under 405B), up to 9.7x faster, at the target's own quality: a "
    "linear head on the target's state at the draft says whether a token that is not the target's is none the worse"
)
AXES = {
    "drafting": "smaller model",
    "termination": "fixed: a number of drafts",
    "management": "chain",
    "verification": "one pass",
    "acceptance": "judge: the standard test, or a linear judge of the target's state; lossy",
    "order": "left to right",
    "carry": "nothing",
    "objective": "labels: whether the target's answer stays as good",
}
TEST = (
    "On SmolLM2 and its shipped draft of 2.7 M parameters, four drafts a block: instructions to introduce a person by "
    "six facts, answers of at most 32 tokens, whose quality is the share of the facts that they name. Labels are mined "
    "after 56 training instructions; each rule has the laxest parameter of three at which, after 16 validation "
    "instructions, greedy, the share falls by at most 5 points. After 40 test instructions in the decode loop, greedy, "
    "with three judges (one of all labels, two of instructions drawn with replacement): drafts accepted a call, judge "
    "less standard test, have an interval above 0; the share of facts, judge less standard, has one above -10 points, "
    "one-sided at 95 %; and the draft alone names fewer facts than the standard test, with an interval below -30 "
    "points. T = 1, after 24 of them with the same parameters, is reported and decides nothing; so are lenience and "
    "top k."
)
PAIR = SMOLLM2
MODELS = ("draft/smollm2/lowrank",)

GAMMA = 4
# Problems of labels, of the choice of a parameter, and of the test by temperature.
MINED, VALIDATED = 56, 16
TESTED = {0.0: 40, 1.0: 24}
# Tokens of an answer at most, and tokens that follow a replaced token.
LENGTH, HORIZON = 32, 12
# Heads, each fitted to labels of problems drawn with replacement; the first to all labels.
HEADS = 3
# Parameters to choose from, the strictest first: shares of the mined mismatches that the judge lets
# pass, which decide delta; what lenience divides by; and how many tokens are the likeliest.
PASSING = (0.1, 0.2, 0.35)
EPSILONS = (0.7, 0.5, 0.3)
TOPS = (2, 3, 4)
# Shares of facts: what an answer may lose on test problems, and what the draft alone has to lose.
FALL, ALONE = 0.1, 0.3
STANDARD, JUDGE, LENIENCE, TOP = "standard", "judge", "lenience", "top k"
# Parameter of each rule that has one.
PARAMETERS = {JUDGE: "share of mismatches that the judge passes", LENIENCE: "epsilon of lenience", TOP: "k of top k"}
LOOP = ", in the decode loop"
MORE, NAMED, DRAFTED = "drafts accepted a call", "facts named", "facts named, draft alone less standard"
ONE_SIDED = " (90 %, one-sided 95 %)"
HEADLINE = f"{MORE}, judge less standard, T = 0{LOOP}"


class Task(NamedTuple):
    """Problems, with the tokens of their prompts."""

    problems: list[Problem]
    prompts: list[list[int]]
    # Distinguishes the uniforms of parts.
    seed: int


class Result(NamedTuple):
    """Numbers of each answer (..., n): tokens, target calls, drafts accepted, share of facts, log-probability."""

    tokens: Array
    calls: Array
    accepted: Array
    facts: Array
    log_p: Array


def task(lab: Lab, count: int, part: Part) -> Task:
    """Return problems of a part."""
    tokenizer = pair_named(lab.pair).tokenizer
    drawn = problems(lab.texts(count, 4), part, lab.seed)
    prompts = [prompt_ids(tokenizer, problem.text, has_template(tokenizer)) for problem in drawn]
    return Task(drawn, prompts, 10 * lab.seed + PARTS.index(part))


def graded(lab: Lab, problem: Problem, tokens: list[int]) -> float:
    """Return the share of a problem's facts that an answer names."""
    return share_of_facts(pair_named(lab.pair).tokenizer.decode(tokens), problem.facts)


def labels_of(lab: Lab) -> Labels:
    """Return the labels, mined along the target's answers to training problems."""
    training = task(lab, MINED, "calibration")
    lab.said("labels are mined")

    def make() -> list[list[Any]]:
        """Columns of the labels."""
        found = judging.mine(
            pair_named(lab.pair),
            training.prompts,
            length=length(lab),
            horizon=HORIZON,
            ends=ends(lab.pair),
            grade=lambda i, tokens: graded(lab, training.problems[i], tokens),
            seed=lab.seed,
        )
        return [np.round(found.states, 5).tolist(), *(column.tolist() for column in found[1:])]

    return Labels(*map(np.array, lab.keep("labels", make)))


def length(lab: Lab) -> int:
    """Return how many tokens an answer has at most; in a trial fewer."""
    return max(12, round(LENGTH * min(1.0, 4 * lab.share)))


def judge_of(labels: Labels, head: Head, share: float) -> Rule:
    """Return the judge that lets pass a share of the mismatches that were mined."""
    return relaxed.judged_by(head, float(np.quantile(judging.sure(head, labels.states), 1 - share)))


def solved(lab: Lab, on: Task, rule: Rule, temperature: float) -> Result:
    """Let the pair answer by a rule, and grade the answers."""
    answers = relaxed.decoded(
        pair_named(lab.pair),
        on.prompts,
        rule,
        [keyed(on.seed, i) for i in range(len(on.prompts))],
        is_greedy=temperature == 0,
        gamma=GAMMA,
        max_tokens=length(lab),
        ends=ends(lab.pair),
    )
    facts = [graded(lab, *pair) for pair in zip(on.problems, answers.tokens, strict=True)]
    lengths = np.array([len(tokens) for tokens in answers.tokens])
    return Result(lengths, answers.calls, answers.accepted, np.array(facts), answers.log_p)


def kept(lab: Lab, name: str, make: Callable[[], Result]) -> Result:
    """Return a result that is a unit of the run."""
    lab.said(name)
    return Result(*map(np.array, lab.keep(name, lambda: [column.tolist() for column in make()])))


def candidates(labels: Labels, head: Head) -> dict[str, dict[float, Rule]]:
    """Return the rules to choose from by name and parameter, the strictest first."""
    return {
        JUDGE: {share: judge_of(labels, head, share) for share in PASSING},
        LENIENCE: {epsilon: relaxed.lenient(epsilon) for epsilon in EPSILONS},
        TOP: {float(k): relaxed.top(k) for k in TOPS},
    }


def chosen(lab: Lab, rules: Mapping[str, Mapping[float, Rule]]) -> dict[str, float]:
    """Return the loosest parameter of each rule that loses at most FALL / 2 of the facts on validation problems.

    Answers are greedy. Parameters are tried from the strictest on; if that one loses more already,
    it is returned.
    """
    on = task(lab, VALIDATED, "validation")
    plain = kept(lab, f"{STANDARD}, validation", partial(solved, lab, on, relaxed.standard, 0.0))
    parameters = {}
    for name, by_parameter in rules.items():
        parameters[name] = next(iter(by_parameter))
        for value, rule in by_parameter.items():
            result = kept(lab, f"{name} {value:g}, validation", partial(solved, lab, on, rule, 0.0))
            if result.facts.mean() < plain.facts.mean() - FALL / 2:
                break
            parameters[name] = value
    return parameters


def tested(lab: Lab, rules: Mapping[str, list[Rule]], temperature: float) -> dict[str, Result]:
    """Return the results (HEADS, n) of rules on test problems; a rule that learns nothing has equal rows."""
    on, results = task(lab, TESTED[temperature], "test"), {}
    for name, by_head in rules.items():
        names = [f"{name} {k + 1}, T = {temperature:g}, test" for k in range(len(by_head))]
        each = [
            kept(lab, unit, partial(solved, lab, on, rule, temperature))
            for unit, rule in zip(names, by_head, strict=True)
        ]
        each *= HEADS // len(each)
        results[name] = Result(*(np.stack(columns) for columns in zip(*each, strict=True)))
    return results


def facts_of_draft(lab: Lab, temperature: float) -> Array:
    """Return the share of facts (n,) that the draft names in answers of its own to test problems."""
    on = task(lab, TESTED[temperature], "test")
    runs = decode_batch(
        pair_named(lab.pair).draft,
        None,
        on.prompts,
        max_tokens=length(lab),
        gamma=0,
        uniforms=[keyed(on.seed, i) for i in range(len(on.prompts))],
        warping=Warping(temperature),
        stop=ends(lab.pair),
    )
    return np.array([graded(lab, *pair) for pair in zip(on.problems, [run.tokens for run in runs], strict=True)])


def run(lab: Lab) -> Record:
    """Mine labels, fit judges, choose parameters, and answer test problems by all rules."""
    # Judges, and the rules at the parameters of validation.
    labels = labels_of(lab)
    heads = judging.refitted(labels, HEADS, lab.seed)
    to_choose = candidates(labels, heads[0])
    parameters = chosen(lab, to_choose)
    rules = {STANDARD: [relaxed.standard]}
    rules |= {name: [by_parameter[parameters[name]]] for name, by_parameter in to_choose.items()}
    rules[JUDGE] = [judge_of(labels, head, parameters[JUDGE]) for head in heads]
    exact = facts_about(labels) | {PARAMETERS[name]: value for name, value in parameters.items()}

    # Their numbers, the speeds that follow, and what the draft does alone.
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    both = pair_named(lab.pair)
    weights_read = memory_bound(1.0, both.draft.weight_bytes / both.target.weight_bytes).cycle(GAMMA).value
    for temperature in TESTED:
        at, costs = f", T = {temperature:g}", recorded(temperature)
        results = tested(lab, rules, temperature)
        measured |= compared(results, at)
        for name in results:
            tokens = measured[f"tokens a call, {name}{at}{LOOP}"]
            measured[f"memory-bound speedup, {name}{at}{LOOP}"] = Estimate(*(value / weights_read for value in tokens))
            factor = costs.cycle(0) / costs.cycle(GAMMA)
            predicted[f"speed of {name} over plain decoding{at}"] = Estimate(*(factor * value for value in tokens))
        alone, plain = facts_of_draft(lab, temperature)[None], results[STANDARD].facts[:1]
        measured[f"{NAMED}, draft alone{at}"] = mean(alone)
        measured[f"{DRAFTED}{at}"] = mean(alone - plain)
    return Record(exact, measured, predicted)


def facts_about(labels: Labels) -> dict[str, float]:
    """Return how many labels there are, and whether their tokens decide them."""
    kinds = [set(labels.unimportant[labels.tokens == token].tolist()) for token in labels.tokens]
    return {
        "labels": float(len(labels.tokens)),
        "labels that are unimportant": float(labels.unimportant.mean()),
        "labels whose token has labels of both kinds": sum(len(kind) == 2 for kind in kinds) / len(kinds),
    }


def compared(results: Mapping[str, Result], at: str) -> dict[str, Estimate]:
    """Return the numbers of all rules at a temperature, and the judge's less those of each other rule."""
    measured = {}
    for name, result in results.items():
        measured[f"{MORE}, {name}{at}{LOOP}"] = crossed((result.accepted, result.calls), np.divide)
        measured[f"tokens a call, {name}{at}{LOOP}"] = crossed((result.tokens, result.calls), np.divide)
        measured[f"{NAMED}, {name}{at}{LOOP}"] = mean(result.facts)
        measured[f"log-probability of a token by the target, {name}{at}{LOOP}"] = mean(result.log_p)
    ours = results[JUDGE]
    for name in (STANDARD, LENIENCE, TOP):
        other, less = results[name], f"judge less {name}{at}{LOOP}"
        accepted = ours.accepted, ours.calls, other.accepted, other.calls
        measured[f"{MORE}, {less}"] = crossed(accepted, lambda a, b, c, d: a / b - c / d)
        measured[f"{NAMED}, {less}{ONE_SIDED}"] = mean(ours.facts - other.facts, 0.9)
        measured[f"log-probability of a token by the target, {less}"] = mean(ours.log_p - other.log_p)
    return measured


def mean(values: Array, level: float = 0.95) -> Estimate:
    """Return the mean of values (heads, prompts), with its interval."""
    return crossed((values, np.ones(values.shape)), np.divide, level)


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    more = record.measured[HEADLINE]
    as_good = record.measured[f"{NAMED}, judge less standard, T = 0{LOOP}{ONE_SIDED}"]
    alone = record.measured[f"{DRAFTED}, T = 0"]
    if more.high < 0 or as_good.high < -FALL:
        return "contradicts"
    return "shows" if more.low > 0 and as_good.low > -FALL and alone.high < -ALONE else "does not show"
