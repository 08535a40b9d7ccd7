"""The body of `specsim simulate`: models from short specifications, a run, its numbers as text or JSON."""

from __future__ import annotations

import json
import operator
import sys
import warnings
from itertools import accumulate
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from specsim.base import check
from specsim.commands.json_form import interval, json_answer, made_here
from specsim.commands.options import form_of
from specsim.commands.simulate_doubt import disagreement
from specsim.commands.simulate_models import models
from specsim.commands.simulate_options import Simulate
from specsim.exact.chain import expected_tokens
from specsim.report.forms import Cell, Number, Table, page
from specsim.simulation.chain_of_blocks import chain_of, drafted
from specsim.simulation.decode_loop import Setup, find_rule, setup
from specsim.simulation.run import simulate_setup
from specsim.simulation.trace import Trace
from specsim.trees import k_ary, paths
from specsim.verify.params import parsed_params, parsed_step_params

# Most drafts over which the exact value beside a simulation is summed.
SUMMED = 2**16
# Confidence level of the interval that an exact value is held against, and of the rows of a sweep.
LEVEL = 0.99
# Blocks of a run that gives neither blocks nor tokens: tau to about three digits, within seconds.
DEFAULT_BLOCKS = 100_000
# Nodes of the largest tree.
MAX_NODES = 4096


def shape(branching: str | None, scheme: str | None = None) -> list[int] | None:
    """Return the parents of a tree: children per node by level, as 2,2,1, or paths, as 2x3 for two of three tokens.

    For beams 2x3 stays what it is, width and depth.
    """
    if branching is None:
        return None
    separator = "x" if branching.count("x") == 1 else ","
    words = [word.strip() for word in branching.split(separator)]
    if not all(word.isdigit() for word in words):
        raise ValueError(f"tree {branching!r} must be children per node, level by level, as 2,2,1, or paths, as 2x3")
    # Count the nodes: of paths their number times their length, else the products of children.
    numbers = [int(word) for word in words]
    if separator == "x":
        count, length = numbers
        nodes = count * length
    else:
        nodes = sum(accumulate(numbers, operator.mul))
    if nodes > MAX_NODES:
        raise ValueError(f"tree {branching!r} has {nodes} nodes, more than {MAX_NODES}")
    if scheme == "beam" and separator == "x":
        return numbers
    return [int(i) for i in (paths(*numbers) if separator == "x" else k_ary(numbers))]


def run(options: Simulate) -> tuple[str, bool]:
    """Run; return the text to print, and whether the run was finished. A terminal shows a bar with the time left."""
    # Sizes, and the level of intervals.
    level = float(check.scalar(options.level, "level", "(0, 1)"))
    blocks, tokens = _whole(options.blocks, "blocks"), _whole(options.tokens, "tokens")
    if blocks is None and tokens is None:
        blocks = DEFAULT_BLOCKS
    parents = shape(options.tree, options.scheme)

    # The setup is checked once; the simulation and the exact value beside it both read it.
    params = _params(options) if options.param else {}
    step_params = parsed_step_params(options.step, options.step_param or [])
    target, draft = models(options.target, options.draft)
    if (options.gamma is None) == (options.tree is None):
        raise ValueError("give --gamma (drafts of a block) or --tree (children per level, as 2,2,1), not both")
    run_setup = setup(
        target,
        draft,
        rule=options.rule,
        num_drafts=options.num_drafts,
        scheme=options.scheme,
        step=options.step,
        gamma=options.gamma,
        parents=parents,
        params=params,
        step_params=step_params,
    )

    # Run with a bar; an interruption leaves what was finished.
    trace: Trace | None = None
    console = Console(stderr=True)
    with (
        warnings.catch_warnings(),
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        warnings.showwarning = _note
        task = bar.add_task("simulating", total=1.0)

        def progress(share: float, so_far: Trace | None) -> None:
            """Move the bar on, and hold the unfinished trace."""
            nonlocal trace
            bar.update(task, completed=share)
            trace = so_far

        try:
            trace = simulate_setup(
                run_setup,
                burn_in=options.burn_in,
                sequences=options.sequences,
                seed=options.seed,
                backend=options.backend,
                checkpoint=options.checkpoint,
                force=options.force,
                progress=progress,
                blocks=blocks,
                tokens=tokens,
            )
            finished = True
        except KeyboardInterrupt:
            finished = False
    if trace is None:
        return "interrupted before the first sequences were finished", False

    # The numbers, and a note if the exact tau lies far outside the measured interval.
    exact = exact_tau(run_setup, blocks, options.burn_in, options.sequences)
    numbers = summary(trace, exact, finished, level)
    if words := disagreement(summary(trace, exact, finished, LEVEL), run_setup.loop.depth):
        _note(words)
    form = form_of(options)
    if form == "json":
        return json_answer("specsim/simulate", made_here() | numbers), finished
    return page(lines(numbers), form), finished


def _note(message: Warning | str, *place: Any, **details: Any) -> None:
    """Print a warning in one line; Python's `showwarning` would add its place in the code."""
    print(f"note: {message}", file=sys.stderr)


def _whole(n: float | None, name: str) -> int | None:
    """Return a whole number, None for None; ValueError for another number."""
    if n is None:
        return None
    if not n.is_integer():
        raise ValueError(f"{name} must be a whole number, got {n}")
    return int(n)


def _params(options: Simulate) -> dict[str, Any]:
    """Return the values of --param, each in the type that the rule's `Params` annotates."""
    _, rule = find_rule(options.rule, ["tree"] if options.tree else ["chain", "step"])
    return parsed_params(rule, options.param or [])


def exact_tau(run_setup: Setup, blocks: int | None, burn_in: int, sequences: int) -> float | None:
    """Return the exact mean tokens per block of the counted blocks; None where it would take too long to compute.

    None also for texts that end after a number of tokens, unless all blocks are alike: how many blocks are counted
    depends on the draws there.
    """
    pair, run = run_setup.pair, run_setup.loop
    is_alike = len(pair.p) == 1
    if run.lasting or (blocks is None and not is_alike):
        return None
    # Tokens of the counted blocks of a sequence: those of all its blocks, less those of the burn-in.
    if drafted(run, pair) <= SUMMED:
        counted = -(-(blocks or 1) // sequences)  # rounded up
        chain = chain_of(run_setup)
        burn_in_tokens = burn_in * chain.mean(burn_in) if burn_in else 0
        all_tokens = (burn_in + counted) * chain.mean(burn_in + counted)
        return float((all_tokens - burn_in_tokens) / counted)
    # More drafts than can be summed over: one law for all contexts has a closed form.
    if is_alike and run.family == "chain":
        try:
            return float(expected_tokens(pair.p[0], pair.q[0], gamma=run.depth, rule=run.rule))
        except ValueError:
            # Too many products of ratios.
            return None
    return None


def summary(trace: Trace, exact: float | None, finished: bool, level: float) -> dict[str, Any]:
    """Return the numbers of a trace, ready for JSON."""
    low, high = trace.tau_interval(level) if len(trace.kept) > 1 else (None, None)
    # A draft that no block came to has no hazard.
    ends = trace.hazard_intervals(level).tolist()
    hazards = [
        None if np.isnan(hazard) else interval(float(hazard), *pair)
        for hazard, pair in zip(trace.hazards, ends, strict=True)
    ]
    return {
        "settings": json.loads(trace.settings),
        "finished": finished,
        "blocks": trace.blocks,
        "tokens": int(trace.lengths.sum()),
        "tau": interval(trace.tau, low, high),
        "tau_exact": exact,
        "level": level,
        "kept": trace.histogram.tolist(),
        "hazards": hazards,
        "contexts": int((trace.starts > 0).sum()),
        "seconds": trace.seconds,
    }


def lines(numbers: dict[str, Any]) -> list[str | Table]:
    """Return the numbers as text: words, and a table of accepted drafts."""
    tau, exact = numbers["tau"], numbers["tau_exact"]
    shown_level = f"{100 * numbers['level']:g}%"
    spread = "" if tau["low"] is None else f"  {shown_level} interval {tau['low']:.4f} .. {tau['high']:.4f}"
    # Row i: the share of blocks that accepted i drafts, and the hazard of the draft after them.
    rows: list[list[Cell]] = [["kept", "of blocks", "draft", "kept if reached", f"{shown_level} interval"]]
    for accepted, count in enumerate(numbers["kept"]):
        share = count / numbers["blocks"]
        hazard_cells: list[Cell] = ["", "", ""]
        hazard = numbers["hazards"][accepted] if accepted < len(numbers["hazards"]) else None
        if hazard is not None:
            low, high = hazard["low"], hazard["high"]
            hazard_cells = [
                str(accepted + 1),
                Number(f"{hazard['value']:.4f}", hazard["value"]),
                Number(f"{low:.4f} .. {high:.4f}", None, low, high),
            ]
        rows.append([str(accepted), Number(f"{share:.2%}", share), *hazard_cells])
    # The words above it.
    out: list[str | Table] = [
        f"blocks {numbers['blocks']}  tokens {numbers['tokens']}  in {numbers['seconds']:.2f} s",
        f"tau {tau['value']:.4f}{spread}" + ("" if exact is None else f"  exact {exact:.4f}"),
        "",
        rows,
    ]
    return out if numbers["finished"] else ["interrupted; what was finished:", *out]
