"""Part `trees`: parity with the CPU; tau and cycles of trees beside chains; t(m) of a pass.

The pair is the bundled one, with its target widened to the cost of a large one: texts and tau are
those of trained weights, cycles those of a target that waits for memory. Passes alone, for t(m),
are those of a target of real size with random weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from real import TINY as BUNDLED
from real.decode.graphs import Kept
from real.decode.loop import decode_batch, keyed
from real.decode.tree_plan import TreeVerifier
from real.gpu.alone import pass_seconds, tree_pass_seconds
from real.gpu.book import Part, Row, Task, row_task
from real.gpu.parts import parity
from real.load_pair import load
from real.models.memory import explain_oom
from real.models.shapes import find_shape, random_model
from real.options import read_prompts
from real.studies import intervals
from real.studies.compare.record import Run, run_of, span_of
from real.studies.compare.tree_measure import shape_ranks
from real.studies.compare.tree_settings import TreeSettings
from real.studies.compare.tree_shapes import Entry, chain_entry
from specsim.trees import k_ary, sequoia_tree

# Tree rules whose tokens are compared with the CPU's.
PARITY = (
    TreeVerifier("traversal", k_ary((2, 1, 1)), "without_replacement"),
    TreeVerifier("tokenwise", k_ary((3, 2)), "iid"),
    TreeVerifier("lifted", k_ary((2, 2)), "iid"),
    TreeVerifier("target_only", k_ary((2, 1)), "deterministic"),
)
MODES = ("graphs", "eager")


@dataclass(frozen=True)
class Settings:
    """Settings of the part: of the parity, of the comparison of trees with chains, and of passes timed alone."""

    # Parity: pairs of models, and cases of each.
    pairs: int = 8
    cases: int = 4
    # Comparison: trees with their rules, lengths of chains, and parameters whose cost the target
    # has (0: its own).
    trees: tuple[str, ...] = ("2,1,1,1", "sequoia:8", "sequoia:16")
    rules: tuple[str, ...] = ("tokenwise", "traversal")
    chains: tuple[int, ...] = (2, 4, 8)
    widen_to: int = 1_000_000_000
    dtype: str = "bfloat16"
    # Prompts that are decoded, further ones from which the shapes of trees are chosen, and tokens
    # of each text at most.
    prompts: int = 24
    spare: int = 8
    max_tokens: int = 64
    # Passes alone: the target's shape, positions before the pass, and sizes of the pass.
    target: str = "llama-3.1-8b"
    context: int = 1024
    tokens: tuple[int, ...] = (2, 5, 9, 17, 33, 65)
    # Passes in a row, which are timed together.
    passes: int = 20


TINY = Settings(
    pairs=2,
    cases=2,
    trees=("2,1", "sequoia:3"),
    rules=("traversal",),
    chains=(2,),
    widen_to=0,
    dtype="float32",
    prompts=2,
    spare=1,
    max_tokens=6,
    target="tiny",
    context=48,
    tokens=(2, 5),
    passes=2,
)


def part(device: torch.device, *, tiny: bool) -> Part:
    """Return the part: parity with the CPU, a row for each kind of cycle and entry, and one for each size of a pass.

    An entry is a chain of some length, or a tree with its rule.
    """
    # Parity with eager cycles and with cycles of fixed shapes.
    settings = TINY if tiny else Settings()
    tasks = [
        row_task(
            f"tokens/{mode}",
            partial(parity.same_tokens, range(settings.pairs), settings.cases, device, mode == "graphs", _case),
        )
        for mode in MODES
    ]

    # The comparison of trees with chains.
    run = TreeSettings(settings.trees, "without_replacement", settings.rules, settings.chains, settings.max_tokens)
    keys = {mode: [_key(mode, entry) for entry in run.entries()] for mode in MODES}
    comparisons = {mode: Task(keys[mode], partial(_compared, settings, run, device)) for mode in MODES}

    # Passes alone. The target is made when first needed, and dropped with the part.
    target = cache(partial(_target, settings, device))
    plain_s = cache(lambda: _pass_alone(settings, target(), pass_seconds, 1))
    passes = [row_task(f"pass/{m} tokens", partial(_pass_row, settings, target, plain_s, m)) for m in settings.tokens]

    # Eager cycles, which nobody would run on a GPU, come last: time may be short.
    tasks += [comparisons["graphs"], *passes, comparisons["eager"]]
    return Part("trees", asdict(settings), tasks)


def _key(mode: str, entry: Entry) -> str:
    """Return the name of an entry's row: "graphs/sequoia:8, traversal"."""
    return f"{mode}/{entry.name}, {entry.rule}"


def _case(rng: np.random.Generator) -> dict[str, Any]:
    """Return a random case of `parity.case` with a tree rule; trees take no repetition penalty."""
    rule = PARITY[rng.integers(len(PARITY))]
    options = parity.case(rng)
    warping = replace(options["warping"], repetition_penalty=1.0)
    return options | {"rule": rule, "gamma": int(rng.integers(1, rule.depth + 1)), "warping": warping}


def _compared(settings: Settings, run: TreeSettings, device: torch.device, wanted: list[str]) -> Iterator[Any]:
    """Yield a row for each wanted key, from entries that take turns with plain decoding, prompt by prompt."""
    # The pair.
    dtype = getattr(torch, settings.dtype)
    with explain_oom(
        f"the bundled target at the cost of {settings.widen_to} parameters", "more free memory on the device"
    ):
        pair = load(
            BUNDLED / "target", BUNDLED / "draft", device=device, dtype=dtype, widen_to=settings.widen_to or None
        )

    # Prompts; from the last ones, which are not timed, the shapes of trees are chosen.
    texts = read_prompts(BUNDLED / "prompts.json")[: settings.prompts + settings.spare]
    ids = [list(pair.tokenizer(text)["input_ids"]) for text in texts]
    prompts, spare = ids[: settings.prompts], ids[settings.prompts :]
    ranks = shape_ranks(pair, spare, run, len(prompts), lambda stage: None)

    # Jobs by key, as (mode, entry). For each kind of cycle that is wanted: plain decoding, then the
    # wanted entries.
    jobs: dict[str, tuple[str, Entry]] = {}
    for mode in MODES:
        if any(key.startswith(mode) for key in wanted):
            jobs[f"{mode}/plain"] = (mode, chain_entry(0, "block"))
    for mode in MODES:
        entries = {_key(mode, entry): entry for entry in run.entries(ranks)}
        jobs |= {key: (mode, entry) for key, entry in entries.items() if key in wanted}

    # Each prompt is decoded with every job; every other prompt takes them in the reverse order.
    captured_cycles, runs = Kept(len(jobs)), {key: list[Run]() for key in jobs}
    for i, prompt in enumerate(prompts):
        order = list(jobs) if i % 2 else list(reversed(jobs))
        for key in order:
            mode, entry = jobs[key]
            (decoded,) = decode_batch(
                pair.target,
                pair.draft if entry.length else None,
                [prompt],
                max_tokens=settings.max_tokens,
                gamma=entry.length,
                uniforms=[keyed(0, i)],
                stop=pair.stopping(),
                rule=entry.verifier,
                fixed=mode == "graphs",
                kept=captured_cycles,
            )
            runs[key].append(run_of(decoded))

    # Rows, each beside plain decoding with the same kind of cycle.
    for key in wanted:
        mode, entry = jobs[key]
        yield key, _row(entry, runs[key], runs[f"{mode}/plain"]) | {"cycle": mode}


def _row(entry: Entry, runs: list[Run], plain: list[Run]) -> Row:
    """Return the tau, cycle and speedup of an entry, with intervals over prompts.

    `runs` are those of the entry and `plain` those of plain decoding, one for each prompt.
    """
    # For each prompt: tokens, blocks, and the seconds of a cycle (of a plain step in plain
    # decoding).
    tokens = np.array([run.tokens for run in runs])
    blocks = np.array([len(run.accepted) for run in runs])
    plain_s = np.array([run.cycle for run in plain])
    cycle_s = np.array([run.cycle for run in runs])
    tau, speedup = intervals.ratio(tokens, blocks), intervals.speedup(tokens, blocks, plain_s, cycle_s)
    return {
        "name": entry.name, "rule": entry.rule, "tree": entry.is_tree, "parents": list(entry.parents),
        "levels": entry.length, "tokens": int(tokens.sum()), "target_calls": int(blocks.sum()),
        "tau": {"measured": tau.value, "interval": span_of(tau)},
        "cycle_s": float(np.median(cycle_s)), "plain_s": float(np.median(plain_s)),
        "speedup": {"measured": speedup.value, "interval": span_of(speedup)},
    }  # fmt: skip


def _target(settings: Settings, device: torch.device) -> Any:
    """Return a target of real size with random weights."""
    with explain_oom(f"weights shaped {settings.target} in {settings.dtype}", "more free memory on the device"):
        return random_model(find_shape(settings.target), dtype=getattr(torch, settings.dtype), device=device)


def _pass_alone(settings: Settings, target: Any, time_pass: Callable[..., float], tokens: Any) -> float:
    """Return the seconds of a pass of one text: over a number of tokens (`pass_seconds`), or over a tree.

    For `tree_pass_seconds`, `tokens` are the parents of the tree.
    """
    span = settings.context + 2 * max(settings.tokens)
    return time_pass(target, 1, tokens, settings.context, span, calls=settings.passes)


def _pass_row(settings: Settings, target: Callable[[], Any], plain_s: Callable[[], float], tokens: int) -> Row:
    """Return t(m) for m = `tokens`: a pass over a tree with as many rows, and one over tokens in a row.

    Both in seconds and in plain steps. A tree of m rows has the text's last token and m - 1 nodes,
    in the best shape for a typical acceptance by rank.
    """
    parents = sequoia_tree([0.55, 0.11, 0.06, 0.04], nodes=tokens - 1).parents
    tree_s = _pass_alone(settings, target(), tree_pass_seconds, parents)
    chain_s = _pass_alone(settings, target(), pass_seconds, tokens)
    steps = {"plain_steps": tree_s / plain_s(), "chain_plain_steps": chain_s / plain_s()}
    return {"tokens": tokens, "tree_s": tree_s, "chain_s": chain_s, "plain_s": plain_s()} | steps
