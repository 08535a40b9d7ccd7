"""Several drafters for one target, compared in one table: `--draft eagle3,ngram,llama-3.2-1b`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check
from specsim.commands.json_form import json_answer, made_here
from specsim.commands.options import Form
from specsim.commands.plan import answer, shown
from specsim.commands.plan.modelled import OF_A_DRAFT
from specsim.commands.plan.options import PlanOptions, asked_options, is_given
from specsim.commands.plan.problem import Problem, read_problem
from specsim.commands.plan.sentence import cells, counted, place, span
from specsim.commands.plan.share import LOOKED_UP
from specsim.latency.memory import memory_use
from specsim.report import forms as style
from specsim.speed.prediction import Prediction

# Sources of acceptance, which an acceptance of its own replaces.
SOURCES = ("alpha", "ranks", "hazards", "histogram", "rows", "tau")
# Options of which several drafters have no common answer, with what to do.
OF_ONE_DRAFTER = {
    "emit": "an engine runs one drafter",
    "plot": "a picture is of one drafter",
    "ranks": "trees are planned for one drafter",
    "nodes": "trees are planned for one drafter",
    "rate": "a load is planned for one drafter",
    "concurrency": "a load is planned for one drafter",
}


class Candidate(NamedTuple):
    """A drafter by its name, the options of its plan, and the plan's inputs and answer."""

    name: str
    options: PlanOptions
    problem: Problem
    answer: answer.Answer


def candidate_options(options: PlanOptions) -> dict[str, PlanOptions]:
    """Return the options of each drafter that `--draft` names, by its name; none if it names one.

    NAME=ALPHA is a drafter with an acceptance of its own. Options of a draft model are left out where drafts are looked
    up, and the share of steps with a draft elsewhere.

    Examples
    --------
    >>> drafters = candidate_options(PlanOptions(draft="eagle3=0.8,ngram", alpha=0.5, drafted_share=0.3))
    >>> [(name, each.alpha, each.drafted_share) for name, each in drafters.items()]
    [('eagle3', 0.8, None), ('ngram', 0.5, 0.3)]
    """
    written = options.draft or ""
    if "," not in written or Path(written).exists():
        return {}
    # Names, each once, and acceptances of their own.
    alphas: dict[str, float | None] = {}
    for part in (part.strip() for part in written.split(",")):
        name, alpha = _parsed(part)
        if not name:
            raise ValueError(f"--draft is {written!r}; a name is missing beside a comma: write NAME,NAME")
        if name in alphas:
            raise ValueError(f"--draft names {name} twice; give each drafter once")
        alphas[name] = alpha

    # Options without an answer for several drafters, or without any drafter that reads them.
    for option, why in OF_ONE_DRAFTER.items():
        if is_given(options, option):
            raise ValueError(f"--{option} beside several drafters in --draft: {why}; give one --draft")
    looked_up = [name for name in alphas if name.lower() in LOOKED_UP]
    if options.drafted_share is not None and not looked_up:
        raise ValueError(
            f"--drafted-share goes with drafts that are looked up ({', '.join(LOOKED_UP)}), and --draft names none"
        )
    if len(looked_up) > 1:
        raise ValueError(
            f"--draft names {' and '.join(looked_up)}, and --drafted-share is of one of them: compare one at a time"
        )
    defaults = {name: PlanOptions._field_defaults[name] for name in OF_A_DRAFT}

    # The options of each: those of all, but for a few.
    candidates = {}
    for name, alpha in alphas.items():
        changes: dict[str, Any] = {"draft": name}
        changes |= defaults if name in looked_up else {"drafted_share": None}
        if alpha is not None:
            changes |= dict.fromkeys(SOURCES) | {"alpha": alpha}
        candidates[name] = options._replace(**changes)
    return candidates


def compare_drafters(candidates: dict[str, PlanOptions], options: PlanOptions, form: Form) -> str:
    """Return what to print of a plan for each drafter; ValueError for anything that is wrong, before any work."""
    # Read the inputs of every plan, then answer each.
    problems = {}
    for name, drafter_options in candidates.items():
        try:
            problems[name] = read_problem(drafter_options)
        except ValueError as error:
            words = str(error)
            raise ValueError(words if name in words else f"--draft {name}: {words}") from None
    plans = [Candidate(name, candidates[name], problem, answer.answer(problem)) for name, problem in problems.items()]
    if form == "json":
        listed = [_fields(plan) | shown.as_json(plan.answer) for plan in plans]
        fields = made_here() | {"asked": asked_options(options), "sentence": sentence(plans), "plans": listed}
        return json_answer("specsim/plan-drafters", fields, indent=None)
    return style.page(_lines(plans), form)


def sentence(plans: Sequence[Candidate]) -> str:
    """Return the drafters at the first point, the fastest first."""
    first = plans[0].answer.points[0]
    where = place(first.batch, first.context, plans[0].answer.unknown)
    fitting = [plan for plan in plans if not answer.is_misfit(plan.problem)]
    # Those that beat plain decoding, by their speedup.
    helping = [plan for plan in fitting if plan.answer.points[0].gamma]
    helping.sort(key=lambda plan: plan.answer.points[0].speedup.value, reverse=True)
    words = f"No: no drafter beats plain decoding (predicted, {where})"
    if helping:
        best = helping[0].answer
        point = best.points[0]
        words = (
            f"{best.helps.capitalize()}: fastest is {helping[0].name}, {span(point.speedup)} times as fast with "
            f"{counted(point.gamma, 'draft')} per block (predicted, {where})"
        )
    elif not fitting:
        words = f"{answer.NO_FIT.capitalize()} at {where}"
    # The other drafters.
    clauses = [f"{plan.name} {span(plan.answer.points[0].speedup)}" for plan in helping[1:]]
    clauses += [f"{plan.name} does not help" for plan in fitting if plan not in helping and helping]
    clauses += [f"{plan.name} does not fit the memory" for plan in plans if plan not in fitting]
    return f"{'; '.join([words, *clauses])}."


def _parsed(part: str) -> tuple[str, float | None]:
    """Return the name and the acceptance of NAME or NAME=ALPHA."""
    name, equals, alpha = part.rpartition("=")
    if not equals or Path(part).exists():
        return part, None
    try:
        value = float(alpha)
    except ValueError:
        raise ValueError(f"--draft {part}: the acceptance is {alpha!r}; expected a number, as {name}=0.8") from None
    return name, float(check.scalar(value, f"--draft {name}: alpha", "[0, 1]"))


def _lines(plans: Sequence[Candidate]) -> list[str | style.Table]:
    """Return the sentence, the table, and what the plans rest on."""
    lines: list[str | style.Table] = [sentence(plans), "", _table(plans), ""]
    lines += [f"{plan.name}: {plan.problem.acceptance.words}" for plan in plans]
    lines.append(
        "drafters differ most in their acceptance: --draft NAME=ALPHA gives one its own; break-even is the acceptance "
        "from which it pays"
    )
    # Notes and assumptions, each once, with the drafters that have it unless all do.
    lines += [f"note: {words}" for words in _shared({plan.name: plan.answer.notes for plan in plans})]
    lines.append("everything above is predicted; it takes for granted:")
    assumptions = {
        plan.name: [words for words in plan.answer.assumptions if words != plan.problem.acceptance.words]
        for plan in plans
    }
    lines += [f"- {words}" for words in _shared(assumptions)]
    return lines


def _shared(words: Mapping[str, Sequence[str]]) -> list[str]:
    """Return each text once; a text that only some drafters have begins with their names."""
    texts = dict.fromkeys(text for texts in words.values() for text in texts)
    lines = []
    for text in texts:
        names = [name for name, drafter_texts in words.items() if text in drafter_texts]
        lines.append(text if len(names) == len(words) else f"{', '.join(names)}: {text}")
    return lines


def _table(plans: Sequence[Candidate]) -> style.Table:
    """Return a row per point and drafter, under the row of column names."""
    # Column names; the level stands there only if some speedup has an interval.
    level = plans[0].answer.level
    has_interval = any("[" in span(point.speedup) for plan in plans for point in plan.answer.points)
    speedup = f"speedup, {100 * level:g}%" if has_interval else "speedup"
    head = ["drafter", "batch", "context", "gamma", "tau", speedup, "tokens\nper s", "draft's\nGB", "all GB"]
    head += ["break-even", "depends most on"]

    def row(plan: Candidate, index: int) -> list[style.Cell]:
        """Return the cells of one drafter at one point."""
        point = plan.answer.points[index]
        speed, (weights, total) = point.tokens_per_time.value, _gigabytes(plan, point)
        return [
            plan.name,
            *cells(point.batch, point.context, plan.answer.unknown),
            style.Number(str(point.gamma) if point.gamma else "off", point.gamma),
            style.Number(f"{point.tau.value:.2f}", point.tau.value),
            style.Number(span(point.speedup), point.speedup.value, point.speedup.low, point.speedup.high),
            style.Number(f"{speed:.0f}", speed),
            style.Number(f"{weights:.1f}", weights),
            style.Number(f"{total:.1f}", total),
            *_of_the_first_point(plan, index),
        ]

    # All drafters at the first point, then at the next one.
    points = range(len(plans[0].answer.points))
    return [head, *(row(plan, index) for index in points for plan in plans)]


def _of_the_first_point(plan: Candidate, index: int) -> list[style.Cell]:
    """Return the break-even acceptance and the worst doubt, which are of the first point."""
    if index:
        return ["", ""]
    even = plan.answer.break_even
    worst = [f"{doubt.assumption}, if {doubt.failing}: {doubt.speedup:.2f}" for doubt in plan.answer.doubts[:1]]
    return ["none" if even is None else style.Number(f"{even:.2f}", even), *(worst or [""])]


def _gigabytes(plan: Candidate, point: Prediction) -> tuple[float, float]:
    """Return GB of the draft model's weights, and of all weights and caches, at a point."""
    # The target stands first, then the draft model if there is one.
    placed = plan.problem.costs.placed
    _, *draft_models = placed
    weights = memory_use(draft_models, batch=0, context=0).total
    return weights / 1e9, memory_use(placed, batch=point.batch, context=point.context).total / 1e9


def _fields(plan: Candidate) -> dict[str, Any]:
    """Return the JSON fields of a drafter that its plan lacks; `memory_gb` is at the first point."""
    first_point = plan.answer.points[0]
    weights, total = _gigabytes(plan, first_point)
    return {
        "draft": plan.name,
        "method": plan.problem.costs.method,
        "acceptance": plan.problem.acceptance.words,
        "drafted_share": plan.problem.costs.share,
        "draft_weights_gb": weights,
        "memory_gb": total,
    }
