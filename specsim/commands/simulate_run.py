"""The body of `specsim simulate`: models from short specifications, a run, its numbers as text or JSON."""

from __future__ import annotations

import json
import operator
import sys
import warnings
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from specsim.base.reading import MOST_BYTES, read_text
from specsim.commands.errors import sentence
from specsim.commands.json_form import interval, json_answer
from specsim.commands.options import form_of
from specsim.commands.simulate import Simulate
from specsim.exact.chain import expected_tokens
from specsim.report.forms import Table, page
from specsim.simulation.chain_of_blocks import chain_of, drafted
from specsim.simulation.decode_loop import Setup, find_rule, setup
from specsim.simulation.run import simulate_setup
from specsim.simulation.toys.models import Automaton, context_free, markov, mixture
from specsim.simulation.toys.texts import ngram, recorded
from specsim.simulation.trace import Trace
from specsim.trees import k_ary, paths
from specsim.types import Array
from specsim.verify.params import parsed_params, parsed_step_params

SUMMED = 2**16  # drafts that the exact value beside a simulation may take
LEVEL = 0.99
KINDS = ("law:1/2,.3,.2", "markov:FILE.npy", "text:FILE:ORDER", "mixture:WEIGHTS.npy:LAWS.npy", "recorded:ROWS.npy")
MAX_NODES = 4096  # of a tree


def models(target: str, draft: str) -> tuple[Automaton, Automaton]:
    """Target and draft from specifications, as KINDS lists them.

    Texts have one vocabulary, the characters of both.
    """
    parts = {name: _parts(name, spec) for name, spec in (("target", target), ("draft", draft))}
    texts = {name: _text(name, rest) for name, (kind, rest) in parts.items() if kind == "text"}
    vocab = "".join(sorted(set("".join(text for text, _ in texts.values()))))
    made = []
    for name, (kind, rest) in parts.items():
        if kind == "law":
            made.append(_law(name, rest))
        elif kind == "markov":
            made.append(markov(_table(name, rest)))
        elif kind == "mixture":
            weights, _, components = rest.partition(":")
            made.append(mixture(_table(name, weights), _table(name, components)))
        elif kind == "recorded":
            made.append(recorded(*[_table(name, rest)] * 2)[0])
        else:
            text, order = texts[name]
            made.append(ngram(text, order=order, vocab=vocab))
    return made[0], made[1]


def _parts(name: str, spec: str) -> tuple[str, str]:
    kind, colon, rest = spec.partition(":")
    if kind not in [known.partition(":")[0] for known in KINDS] or not colon or not rest:
        raise ValueError(f"{name} {spec!r} is no model; give {' or '.join(KINDS)}")
    return kind, rest


def _law(name: str, rest: str) -> Automaton:
    try:
        # A float where there is no fraction: Fraction("1e999999999") would write all those digits out.
        return context_free([float(Fraction(word) if "/" in word else word) for word in rest.split(",")])
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{name} law:{rest}: {error}") from None


def _table(name: str, path: str) -> Array:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{name}: {path} cannot be read as an array ({sentence(error)})") from None


def _text(name: str, rest: str) -> tuple[str, int]:
    path, _, order = rest.rpartition(":")
    if not path or not order.isdigit():
        raise ValueError(f"{name} text:{rest} must end in the order, as in text:FILE:2")
    try:
        return read_text(Path(path), MOST_BYTES), int(order)
    except (OSError, ValueError) as error:
        raise ValueError(f"{name}: {path} cannot be read as text ({sentence(error)})") from None


def shape(branching: str | None, scheme: str | None = None) -> list[int] | None:
    """Parents of a tree from children per node, level by level, as 2,2,1, or paths, as 2x3 for two of three tokens.

    For beams 2x3 stays what it is, width and depth.
    """
    if branching is None:
        return None
    separator = "x" if branching.count("x") == 1 else ","
    words = [word.strip() for word in branching.split(separator)]
    if not all(word.isdigit() for word in words):
        raise ValueError(f"tree {branching!r} must be children per node, level by level, as 2,2,1, or paths, as 2x3")
    numbers = [int(word) for word in words]
    nodes = numbers[0] * numbers[1] if separator == "x" else sum(accumulate(numbers, operator.mul))
    if nodes > MAX_NODES:
        raise ValueError(f"tree {branching!r} has {nodes} nodes, more than {MAX_NODES}")
    if scheme == "beam" and separator == "x":
        return numbers
    return [int(i) for i in (paths(*numbers) if separator == "x" else k_ary(numbers))]


def run(told: Simulate) -> tuple[str, bool]:
    """(what to print, whether the run was finished); a bar with the time left shows progress on a terminal."""
    much = {name: _whole(n, name) for name, n in (("blocks", told.blocks), ("tokens", told.tokens))}
    if told.blocks is None and told.tokens is None:
        much["blocks"] = 100_000
    parents = shape(told.tree, told.scheme)

    # What runs is checked once; the simulation and the exact value beside it both read the setup.
    params = _params(told) if told.param else {}
    step_params = parsed_step_params(told.step, told.step_param or [])
    target, draft = models(told.target, told.draft)
    if (told.gamma is None) == (told.tree is None):
        raise ValueError(
            "give --gamma (drafted positions of a block) or --tree (children per level, as 2,2,1), not both"
        )
    what = setup(
        target,
        draft,
        rule=told.rule,
        num_drafts=told.num_drafts,
        scheme=told.scheme,
        step=told.step,
        gamma=told.gamma,
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
            nonlocal trace
            bar.update(task, completed=share)
            trace = so_far

        try:
            trace = simulate_setup(
                what,
                burn_in=told.burn_in,
                sequences=told.sequences,
                seed=told.seed,
                backend=told.backend,
                checkpoint=told.checkpoint,
                force=told.force,
                progress=progress,
                blocks=much["blocks"],
                tokens=much["tokens"],
            )
            finished = True
        except KeyboardInterrupt:
            finished = False
    if trace is None:
        return "interrupted before the first sequences were finished", False
    numbers = summary(trace, exact_tau(what, much["blocks"], told.burn_in, told.sequences), finished)
    form = form_of(told)
    if form == "json":
        return json_answer("specsim/simulate", numbers), finished
    return page(lines(numbers), form), finished


def _note(message: Warning | str, *place: Any, **more: Any) -> None:
    """A warning in one line, without the place in the code that Python shows."""
    print(f"note: {message}", file=sys.stderr)


def _whole(n: float | None, name: str) -> int | None:
    if n is None:
        return None
    if not n.is_integer():
        raise ValueError(f"{name} must be a whole number, got {n}")
    return int(n)


def _params(told: Simulate) -> dict[str, Any]:
    """Return the rule's own parameters, as it annotates them."""
    _, rule = find_rule(told.rule, ["tree"] if told.tree else ["chain", "step"])
    return parsed_params(rule, told.param or [])


def exact_tau(what: Setup, blocks: int | None, burn_in: int, sequences: int) -> float | None:
    """Return the tokens per block that the blocks counted have on average; None where it would take too long to say.

    Texts that end with their tokens, not their blocks, have no such average unless all blocks are alike.
    """
    pair, run = what.pair, what.loop
    is_alike = len(pair.p) == 1
    if run.lasting or (blocks is None and not is_alike):
        return None
    # The mean of the blocks counted is that of all blocks, less the burn-in.
    if drafted(run, pair) <= SUMMED:
        counted = -(-(blocks or 1) // sequences)
        chain = chain_of(what)
        first = burn_in * chain.mean(burn_in) if burn_in else 0
        return float(((burn_in + counted) * chain.mean(burn_in + counted) - first) / counted)
    # More drafts than can be summed over: one law for all contexts has a closed form.
    if is_alike and run.family == "chain":
        try:
            return float(expected_tokens(pair.p[0], pair.q[0], gamma=run.depth, rule=run.rule))
        except ValueError:  # too many products of ratios
            return None
    return None


def summary(trace: Trace, exact: float | None, finished: bool) -> dict[str, Any]:
    """The numbers of a trace, ready for JSON."""
    low, high = trace.tau_interval(LEVEL) if len(trace.kept) > 1 else (None, None)
    ends = trace.hazard_intervals(LEVEL).tolist()
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
        "level": LEVEL,
        "kept": trace.histogram.tolist(),
        "hazards": hazards,
        "contexts": int((trace.starts > 0).sum()),
        "seconds": trace.seconds,
    }


def lines(numbers: dict[str, Any]) -> list[str | Table]:
    """Return the same to read: words, and a table."""
    tau, exact = numbers["tau"], numbers["tau_exact"]
    spread = "" if tau["low"] is None else f"  {LEVEL:.0%} interval {tau['low']:.4f} .. {tau['high']:.4f}"
    rows = [["kept", "of blocks", "draft", "kept if reached", f"{LEVEL:.0%} interval"]]
    for i, n in enumerate(numbers["kept"]):
        row = [str(i), f"{n / numbers['blocks']:.2%}", "", "", ""]
        if i < len(numbers["hazards"]) and numbers["hazards"][i] is not None:
            hazard = numbers["hazards"][i]
            row[2:] = [str(i + 1), f"{hazard['value']:.4f}", f"{hazard['low']:.4f} .. {hazard['high']:.4f}"]
        rows.append(row)
    out: list[str | Table] = [
        f"blocks {numbers['blocks']}  tokens {numbers['tokens']}  in {numbers['seconds']:.2f} s",
        f"tau {tau['value']:.4f}{spread}" + ("" if exact is None else f"  exact {exact:.4f}"),
        "",
        rows,
    ]
    return out if numbers["finished"] else ["interrupted; what was finished:", *out]
