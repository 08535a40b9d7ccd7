"""One run of `specsim plan`, from its options to what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from specsim.base.files import check_writable, write_bytes
from specsim.base.unknown import unknown
from specsim.commands.json_form import json_answer, made_here
from specsim.commands.options import Form, form_of
from specsim.commands.plan import answer, drafters, handoff, load_pictures, loops, rates, shown
from specsim.commands.plan.emit import BY_BATCH, ENGINES, TABLES
from specsim.commands.plan.load_options import check_together
from specsim.commands.plan.options import PlanOptions, asked_options
from specsim.commands.plan.problem import Problem, read_problem
from specsim.commands.plan.search import check_size, read_search
from specsim.report.load_curves import Panel


class Output(NamedTuple):
    """The text for standard output, and notes for standard error."""

    text: str
    notes: str = ""


def run(options: PlanOptions) -> Output:
    """Return what to print; raise ValueError for anything that is wrong, before any work."""
    form = _check(options)
    candidates = drafters.candidate_options(options)
    if candidates:
        return Output(drafters.compare_drafters(candidates, options, form))
    problem = read_problem(options)
    if options.nodes != PlanOptions._field_defaults["nodes"] and not problem.drafts.ranks:
        raise ValueError("--nodes is the size of a tree; trees are planned with --ranks, or a --comparison of trees")
    # Loads: requests that arrive at a rate, or a closed loop of clients.
    if options.rate is not None:
        at_rates = rates.answer(options, problem)
        _plot(options, problem, load_pictures.over_rates(at_rates))
        if options.emit is not None:
            return Output(*handoff.handoff(options, problem, handoff.lengths_of_rates(at_rates)))
        return Output(rates.shown(at_rates, options, form))
    if options.concurrency is not None:
        loop = loops.answer(options, problem)
        _plot(options, problem, load_pictures.over_clients(loop))
        if options.emit is not None:
            return Output(*handoff.handoff(options, problem, handoff.lengths_of_clients(loop)))
        return Output(loops.shown(loop, options, form))
    # One batch after the other.
    _plot(options, problem)
    if options.emit is not None:
        return Output(*handoff.handoff(options, problem))
    result = answer.answer(problem)
    if form == "json":
        return Output(json_answer("specsim/plan", _asked(options, problem) | shown.as_json(result), indent=None))
    return Output(shown.text(result, form))


def _check(options: PlanOptions) -> Form:
    """Return the form of the output; raise ValueError for options that do not go together, or that ask for too much."""
    # One form of output, to a file that can be written.
    form = form_of(options, emit=options.emit)
    if options.emit is not None and options.emit not in ENGINES:
        raise unknown("--emit", options.emit, ENGINES)
    if options.plot is not None:
        check_writable(options.plot, ".png")
    if options.unmasked_draft and options.rows is None:
        raise ValueError("--unmasked-draft is about the mask of --rows; leave it out")

    check_together(options)

    # The number of predictions.
    all_contexts = options.emit in (None, *BY_BATCH, *TABLES)
    check_size(read_search(options), whole_schedule=options.emit is not None, all_contexts=all_contexts)
    return form


def _asked(options: PlanOptions, problem: Problem) -> dict[str, Any]:
    """Return how the answer is made, the options with numbers for lists of them, and the types of weights."""
    types = None if problem.costs.types is None else problem.costs.types.as_json()
    search = problem.search
    return {
        **made_here(),
        "asked": {
            **asked_options(options),
            "batch": None if "batch" in problem.costs.unknown else search.batches,
            "context": None if "context" in problem.costs.unknown else search.contexts,
            "max_gamma": search.max_gamma,
            "nodes": search.nodes,
            "dtype": None if types is None else types["products"],
        },
        "weights": types,
    }


def _plot(options: PlanOptions, problem: Problem, panels: Sequence[Panel] = ()) -> None:
    """Write the picture that --plot asks for: of a load its panels, otherwise the heat maps of the plan."""
    if options.plot is None:
        return
    from specsim.report import load_curves, plots

    # The title says where the times come from.
    if options.comparison is not None:
        times = f"times of {options.comparison.name}"
    elif options.log:
        times = f"times of {options.log[0].name}"
    elif options.costs is not None:
        times = f"times of {options.costs.name}"
    elif options.target is not None:
        devices = f"{options.tp} x " if options.tp > 1 else ""
        times = f"{options.target} with {options.draft} on {devices}{options.hardware}"
    else:
        times = f"c = {options.cost_ratio or 0:g}"

    # It says where the acceptance comes from, too.
    files = [path for path in (options.hazards, options.histogram, options.rows) if path is not None]
    if files:
        acceptance = f"acceptance of {files[0].name}"
    elif options.alpha is not None:
        acceptance = f"alpha = {options.alpha:g}"
    elif options.ranks is not None:
        acceptance = f"acceptance by rank {options.ranks}"
    else:
        acceptance = "acceptance of the same record"

    title = f"{times}, {acceptance}"
    if panels:
        write_bytes(options.plot, load_curves.picture(panels, title))
        return
    search = problem.search
    picture = plots.plan(
        problem.latency,
        problem.acceptance,
        search.batches,
        search.contexts,
        max_gamma=search.max_gamma,
        title=title,
    )
    write_bytes(options.plot, picture)
