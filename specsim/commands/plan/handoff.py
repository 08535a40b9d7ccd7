"""The plan as an engine takes it, with notes on its assumptions and its use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from specsim.commands.plan import cells, loops, rates
from specsim.commands.plan.answer import EVERYWHERE, is_misfit
from specsim.commands.plan.emit import EMITTERS, TABLES, check_one_pass, handover, takes_batches
from specsim.commands.plan.load_options import load_of
from specsim.commands.plan.loads import of_costs, where_it_holds
from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.problem import Problem
from specsim.commands.plan.sentence import cells as point_cells
from specsim.commands.plan.sentence import counted, place
from specsim.commands.plan.share import LOOKED_UP
from specsim.speed.grid import batch_schedule
from specsim.speed.plan import plan
from specsim.speed.shapes import fastest_shapes

# Stands for a model that the engine can load, if only a name of the table or of a kind of drafter is known.
PLACEHOLDER = "REPLACE-WITH-"
# Engines that share a draft model among the devices of its target, and their names.
SHARING = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}

# (First batch, last batch, length) of each range of batches.
Schedule = list[tuple[int, int, int]]


class LoadLengths(NamedTuple):
    """Block lengths at the batches of a load, increasing, 0 for plain decoding; and the load in words."""

    by_batch: tuple[tuple[int, int], ...]
    words: str


def lengths_of_clients(loop: loops.Answer) -> LoadLengths:
    """Return the best length at each number of clients, all of which decode together; 0 where plain writes more."""
    points = sorted(loop.points, key=lambda point: point.concurrency)
    lengths = [(point.concurrency, point.gamma if point.speedup.value > 1 else 0) for point in points]
    if len(points) == 1:
        return LoadLengths(tuple(lengths), f"a closed loop of {counted(points[0].concurrency, 'client')}")
    clients = ", ".join(str(point.concurrency) for point in points)
    return LoadLengths(tuple(lengths), f"closed loops of {clients} clients")


def lengths_of_rates(at_rates: rates.Answer) -> LoadLengths:
    """Return the best length at each rate, for the number of sequences that decode together there in the mean."""
    lengths: dict[int, int] = {}
    for line in sorted(at_rates.lines, key=lambda line: line.rate):
        seen = line.speculative if line.gamma else line.plain
        if seen is not None:
            lengths[max(round(seen.running), 1)] = line.gamma
    listed = ", ".join(f"{line.rate:g}" for line in at_rates.lines)
    sizes = ", ".join(map(str, sorted(lengths)))
    return LoadLengths(
        tuple(sorted(lengths.items())), f"{listed} requests a second, at which {sizes} sequences decode in the mean"
    )


def handoff(options: PlanOptions, problem: Problem, of_load: LoadLengths | None = None) -> tuple[str, str]:
    """Return what the engine reads, and notes for the person who pastes it.

    of_load: the lengths of a load, which stand instead of those of batches.
    """
    engine = str(options.emit)
    _check_devices(options, problem)
    _check_known(engine, options, problem)
    if is_misfit(problem):
        raise ValueError(f"nothing to tell {engine}: {problem.costs.misfits[0].note}")
    if engine in TABLES:
        if of_load is not None:
            raise ValueError(
                f"--emit {engine} is a table by batch and context; with --{load_of(options)} give --json or --csv"
            )
        return _table(engine, problem)
    if problem.costs.latency.one_pass:
        check_one_pass(engine, problem.costs.method)

    # Lengths by batch, or the length at the first batch for engines that take a single one.
    if of_load is None:
        schedule, schedule_notes = _schedule(engine, problem)
    else:
        problem = _with_acceptance_of(of_load, options, problem)
        schedule = _ranges(of_load) if takes_batches(engine, problem.costs.method) else [_first(of_load)]
        schedule_notes = [f"predicted for {of_load.words}; numbers between take the next one's length"]
    synthetic = engine.endswith("-synthetic")
    if synthetic:
        schedule_notes[0] += (
            "; WARNING: acceptance is forced, so the text is no answer: for benchmarks only, never to be served"
        )

    # A tree, for the engine that takes one.
    tree: tuple[int, ...] = ()
    if problem.drafts.ranks and _takes_tree(engine, problem):
        tree = _best_tree(problem)

    # The engine's own words.
    draft, method = loadable_draft(options.draft, engine), problem.costs.method
    handed = handover(engine, schedule, problem.acceptance, draft=draft, method=method, tree=tree)
    text = EMITTERS[engine].write(handed)
    notes = [*_tree_notes(engine, problem), *(f"- {note}" for note in EMITTERS[engine].notes(handed))]
    if draft.startswith(PLACEHOLDER) and any(draft in words for words in (text, *notes)):
        kind = "file (GGUF)" if engine == "llamacpp" else "folder or hub id"
        schedule_notes[0] += f"; write the draft's {kind} in place of {draft}"
        if options.draft is None and options.comparison is None:
            notes.append(_drafter_note(problem))

    # The notes: the first assumption stands below the first note on the schedule, the others last.
    first_note, *other_notes = schedule_notes
    first_assumption, *other_assumptions = _assumptions(problem, load_of(options))
    return text, "\n".join([first_note, first_assumption, *other_notes, *notes, *other_assumptions])


def _drafter_note(problem: Problem) -> str:
    """Return a note on what is taken to draft where no option says it."""
    if problem.costs.latency.one_pass:
        return (
            "- no --draft says what drafts: this is for a draft model that fills masks in one pass (PARD); DFlash and "
            "P-EAGLE heads have other names: give their config.json as --draft"
        )
    return "- no --draft says what drafts: this is for a draft model; EAGLE heads and others have names"


def loadable_draft(draft: str | None, engine: str) -> str:
    """Return the draft's folder or hub id if an engine can load it, else a placeholder for it.

    Examples
    --------
    >>> loadable_draft("eagle3", "vllm"), loadable_draft("llama-3.2-1b", "llamacpp")
    ('REPLACE-WITH-PATH-OF-eagle3', 'REPLACE-WITH-GGUF-OF-llama-3.2-1b')
    """
    path = Path(draft or "DRAFT")
    path = path.parent if path.name == "config.json" else path
    name = re.sub(r"[^\w.-]", "-", path.name or "DRAFT")
    if engine.startswith("llamacpp"):
        return f"{PLACEHOLDER}GGUF-OF-{name}"
    if path.is_dir():
        return str(path)
    is_hub_id = draft is not None and not path.exists() and re.fullmatch(r"[^/\s]+/[^/\s]+", draft) is not None
    return str(path) if is_hub_id else f"{PLACEHOLDER}PATH-OF-{name}"


def _check_devices(options: PlanOptions, problem: Problem) -> None:
    """Raise ValueError if the engine shares the draft among other devices than were planned."""
    engine = str(options.emit)
    names = [name for start, name in SHARING.items() if engine.startswith(start)]
    if names and problem.costs.method not in LOOKED_UP and options.tp != options.draft_tp:
        raise ValueError(
            f"{names[0]} shares a draft model among the devices of its target: plan with --draft-tp {options.tp}"
        )


def _check_known(engine: str, options: PlanOptions, problem: Problem) -> None:
    """Raise ValueError if lengths by batch, or by context, are asked for and measured times do not say theirs."""
    axes: tuple[str, ...] = ()
    if engine in TABLES:
        axes = ("batch", "context")
    elif takes_batches(engine, problem.costs.method):
        axes = ("batch",)
    unknown = [axis for axis in axes if axis in problem.costs.unknown]
    if unknown:
        source, remedy = "--costs", f"add a column {unknown[0]}"
        if options.log:
            source, remedy = "--log", f"give --costs with a column {unknown[0]}"
        raise ValueError(
            f"--emit {engine} gives lengths by {unknown[0]}, and the times of {source} do not say their {unknown[0]}: "
            f"{remedy}"
        )


def _with_acceptance_of(of_load: LoadLengths, options: PlanOptions, problem: Problem) -> Problem:
    """Return the problem with the acceptance of the first number of clients, where logs have one at each batch.

    ValueError if an engine is to force one acceptance, and the numbers of clients have several.
    """
    if load_of(options) != "concurrency" or not problem.by_point:
        return problem
    (first, _), *others = of_load.by_batch
    near = problem.near(first)
    if str(options.emit).endswith("-synthetic"):
        for clients, _ in others:
            if problem.near(clients).acceptance != near.acceptance:
                raise ValueError(
                    f"concurrency {first} and {clients} have different acceptance in the logs, and {options.emit} "
                    "forces one: give one --concurrency"
                )
    return near


def _assumptions(problem: Problem, load: str = "") -> list[str]:
    """Return points that do not fit, and the assumptions of the plan, a note each."""
    general = [problem.acceptance.words, EVERYWHERE, *problem.latency.assumptions]
    if load:
        general = [problem.acceptance.words, where_it_holds(problem, load), *of_costs(problem)]
    return [f"- {words}" for words in (*(misfit.note for misfit in problem.costs.misfits), *general)]


def _table(engine: str, problem: Problem) -> tuple[str, str]:
    """Return the lengths by batch and context, and notes."""
    table = cells.cells(problem)
    text = cells.as_csv(table) if engine == "csv" else cells.as_json(table, problem)
    note = "lengths by batch and context, each predicted at its first batch and context; no engine reads this file"
    return text, "\n".join([note, *_assumptions(problem)])


def _schedule(engine: str, problem: Problem) -> tuple[Schedule, list[str]]:
    """Return (first batch, last batch, length) for each range of batches that the engine takes, and notes on them."""
    latency, acceptance, search = problem.latency, problem.acceptance, problem.search
    top, context = max(search.batches), search.contexts[0]
    # Over several contexts: the length by batch that loses least at all of them.
    by_batch = takes_batches(engine, problem.costs.method)
    _, context_word = point_cells(1, context, problem.costs.unknown)
    if by_batch and len(search.contexts) > 1:
        table = cells.by_batch(latency, acceptance, search.contexts, max_batch=top, max_gamma=search.max_gamma)
        contexts = ", ".join(map(str, search.contexts))
        return table.schedule, [
            f"predicted for contexts {contexts} and batches up to {top}, {_beyond(engine, table.schedule)}",
            f"- no engine takes lengths by context: these lose {table.lost:.1%} at most, at batch {table.batch}, "
            f"context {table.context}",
        ]
    # At one context: the best length by batch, or that of the first batch.
    if by_batch:
        schedule = batch_schedule(latency, acceptance, max_batch=top, context=context, max_gamma=search.max_gamma)
        return schedule, [f"predicted for context {context_word} and batches up to {top}, {_beyond(engine, schedule)}"]
    batch = search.batches[0]
    (best,) = plan(latency, acceptance, batches=[batch], contexts=[context], max_gamma=search.max_gamma)
    return [(batch, batch, best.gamma)], [f"predicted for {place(batch, context, problem.costs.unknown)}"]


def _beyond(engine: str, schedule: Schedule) -> str:
    """Return what an engine does at batches that were not planned."""
    if engine == "tensorrt-llm" and len(schedule) > 1:
        return "no drafts beyond"
    return "the last entry beyond"


def _ranges(of_load: LoadLengths) -> Schedule:
    """Return the first and last batch of each range, with the length at its last."""
    entries: Schedule = []
    first, last, last_gamma = 1, 0, -1
    for batch, gamma in of_load.by_batch:
        if gamma == last_gamma:
            # The range before has the same length: it goes on.
            entries.pop()
        else:
            first = last + 1
        last, last_gamma = batch, gamma
        entries.append((first, last, gamma))
    return entries


def _first(of_load: LoadLengths) -> tuple[int, int, int]:
    """Return the range of the first batch, for engines that take one length."""
    return _ranges(of_load)[0]


def _best_tree(problem: Problem) -> tuple[int, ...]:
    """Return the parents of the fastest tree at the first point."""
    search = problem.search
    best = fastest_shapes(
        problem.latency,
        problem.drafts.ranks,
        nodes=search.nodes,
        depth=search.max_gamma,
        draft_s=problem.costs.level_steps or None,
        batch=search.batches[0],
        context=search.contexts[0],
    )
    return tuple(int(parent) for parent in best.tree.parents)


def _takes_tree(engine: str, problem: Problem) -> bool:
    """Return whether an engine drafts trees with the plan's drafter: SGLang does, but not with DFlash."""
    return engine == "sglang" and problem.costs.method != "dflash"


def _tree_notes(engine: str, problem: Problem) -> list[str]:
    """Return a note on how an engine uses the acceptance by rank; [] without ranks. SGLang alone takes a tree."""
    if not problem.drafts.ranks:
        return []
    if _takes_tree(engine, problem):
        return ["- bounds of the best tree; SGLang fills them by the draft's confidence, not by this shape"]
    if engine == "sglang-adaptive":
        return [
            "- the first of the ranks alone: SGLang adapts the length of chains (top-k 1), and no tree; --emit sglang "
            "gives the tree of one batch"
        ]
    if engine == "sglang-synthetic":
        return ["- the first of the ranks alone: SGLang forces the acceptance of chains (top-k 1), and of no tree"]
    return ["- the first of the ranks alone: this engine takes no trees"]
