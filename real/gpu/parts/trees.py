"""Part `trees`: parity with the CPU; tau and cycles of trees beside chains; t(m) of a pass.

The pair is the bundled one, its target at the cost of a large one (cost emulation): texts and tau
are those of trained weights, cycles those of a target that waits for memory. Passes are those of a
target of real size with random weights.
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

PARITY = (
    TreeVerifier("traversal", k_ary((2, 1, 1)), "without_replacement"),
    TreeVerifier("tokenwise", k_ary((3, 2)), "iid"),
    TreeVerifier("lifted", k_ary((2, 2)), "iid"),
    TreeVerifier("target_only", k_ary((2, 1)), "deterministic"),
)
MODES = ("graphs", "eager")


@dataclass(frozen=True)
class Settings:
    """Settings of the parity, of the comparison of trees with chains, and of the passes timed alone."""

    pairs: int = 8
    cases: int = 4
    trees: tuple[str, ...] = ("2,1,1,1", "sequoia:8", "sequoia:16")
    rules: tuple[str, ...] = ("tokenwise", "traversal")
    chains: tuple[int, ...] = (2, 4, 8)
    widen_to: int = 1_000_000_000
    dtype: str = "bfloat16"
    prompts: int = 24
    # Prompts by which shapes are chosen.
    spare: int = 8
    max_tokens: int = 64
    target: str = "llama-3.1-8b"
    context: int = 1024
    tokens: tuple[int, ...] = (2, 5, 9, 17, 33, 65)
    # Passes in a row, where the target is timed alone.
    passes: int = 20


TINY = Settings(2, 2, ("2,1", "sequoia:3"), ("traversal",), (2,), 0, "float32", 2, 1, 6, "tiny", 48, (2, 5), passes=2)


def part(device: torch.device, *, tiny: bool) -> Part:
    """Parity with the CPU, a row for each kind of cycle and entry, and one for each size of a pass."""
    settings = TINY if tiny else Settings()
    tasks = [
        row_task(
            f"tokens/{mode}",
            partial(parity.same_tokens, range(settings.pairs), settings.cases, device, mode == "graphs", _case),
        )
        for mode in MODES
    ]
    run = TreeSettings(settings.trees, "without_replacement", settings.rules, settings.chains, settings.max_tokens)
    keys = {mode: [_key(mode, entry) for entry in run.entries()] for mode in MODES}
    cycles = {mode: Task(keys[mode], partial(_compared, settings, run, device)) for mode in MODES}
    # The target is made when first needed, and gone with the part.
    target = cache(partial(_target, settings, device))
    plain = cache(lambda: _alone(settings, target(), pass_seconds, 1))
    passes = [row_task(f"pass/{m} tokens", partial(_passes, settings, target, plain, m)) for m in settings.tokens]
    # Eager cycles, which nobody would run on a GPU, come last: time may be short.
    tasks += [cycles["graphs"], *passes, cycles["eager"]]
    return Part("trees", asdict(settings), tasks)


def _key(mode: str, entry: Entry) -> str:
    """The name of an entry's row."""
    return f"{mode}/{entry.name}, {entry.rule}"


def _case(rng: np.random.Generator) -> dict[str, Any]:
    """A case of the parity with a tree rule in place of the chain's; trees take no penalty."""
    rule = PARITY[rng.integers(len(PARITY))]
    options = parity.case(rng)
    warping = replace(options["warping"], repetition_penalty=1.0)
    return options | {"rule": rule, "gamma": int(rng.integers(1, rule.depth + 1)), "warping": warping}


def _compared(settings: Settings, run: TreeSettings, device: torch.device, wanted: list[str]) -> Iterator[Any]:
    """Yield a row for each wanted entry, decoded in turn with plain decoding, prompt by prompt."""
    # The pair, and prompts; the last ones decide the shapes of trees.
    what = f"the bundled target at the cost of {settings.widen_to} parameters"
    with explain_oom(what, "more free memory on the device"):
        dtype = getattr(torch, settings.dtype)
        folders = BUNDLED / "target", BUNDLED / "draft"
        pair = load(*folders, device=device, dtype=dtype, widen_to=settings.widen_to or None)
    texts = read_prompts(BUNDLED / "prompts.json")[: settings.prompts + settings.spare]
    ids = [list(pair.tokenizer(text)["input_ids"]) for text in texts]
    prompts, spare = ids[: settings.prompts], ids[settings.prompts :]
    ranks = shape_ranks(pair, spare, run, len(prompts), lambda stage: None)

    # For each kind of cycle that is wanted: plain decoding, then the wanted entries.
    jobs: dict[str, tuple[str, Entry]] = {}
    for mode in MODES:
        if any(key.startswith(mode) for key in wanted):
            jobs[f"{mode}/plain"] = (mode, chain_entry(0, "block"))
    for mode in MODES:
        entries = {_key(mode, entry): entry for entry in run.entries(ranks)}
        jobs |= {key: (mode, entry) for key, entry in entries.items() if key in wanted}

    # Each prompt is decoded with every job; every other prompt takes them in the reverse order.
    kept, runs = Kept(len(jobs)), {key: list[Run]() for key in jobs}
    for i, prompt in enumerate(prompts):
        for key in list(jobs) if i % 2 else reversed(list(jobs)):
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
                kept=kept,
            )
            runs[key].append(run_of(decoded))

    # Rows, each beside plain decoding with the same kind of cycle.
    for key in wanted:
        mode, entry = jobs[key]
        yield key, _row(entry, runs[key], runs[f"{mode}/plain"]) | {"cycle": mode}


def _row(entry: Entry, runs: list[Run], plain: list[Run]) -> Row:
    """Tau, cycle and speedup of an entry, with intervals over prompts."""
    tokens, blocks = np.array([run.tokens for run in runs]), np.array([len(run.accepted) for run in runs])
    steps, cycles = (np.array([run.cycle for run in each]) for each in (plain, runs))
    tau, speed = intervals.ratio(tokens, blocks), intervals.speedup(tokens, blocks, steps, cycles)
    return {
        "name": entry.name, "rule": entry.rule, "tree": entry.is_tree, "parents": list(entry.parents),
        "levels": entry.length, "tokens": int(tokens.sum()), "target_calls": int(blocks.sum()),
        "tau": {"measured": tau.value, "interval": span_of(tau)},
        "cycle_s": float(np.median(cycles)), "plain_s": float(np.median(steps)),
        "speedup": {"measured": speed.value, "interval": span_of(speed)},
    }  # fmt: skip


def _target(settings: Settings, device: torch.device) -> Any:
    """A target of real size with random weights."""
    with explain_oom(f"weights shaped {settings.target} in {settings.dtype}", "more free memory on the device"):
        return random_model(find_shape(settings.target), dtype=getattr(torch, settings.dtype), device=device)


def _alone(settings: Settings, target: Any, seconds: Callable[..., float], tokens: Any) -> float:
    """Seconds of a pass alone, over tokens in a row or over a tree."""
    span = settings.context + 2 * max(settings.tokens)
    return seconds(target, 1, tokens, settings.context, span, calls=settings.passes)


def _passes(settings: Settings, target: Callable[[], Any], plain: Callable[[], float], tokens: int) -> Row:
    """A pass over a tree of this many rows, and one over as many tokens in a row, in plain steps."""
    shape = sequoia_tree([0.55, 0.11, 0.06, 0.04], nodes=tokens - 1).parents
    tree, chain = (
        _alone(settings, target(), seconds, what)
        for seconds, what in ((tree_pass_seconds, shape), (pass_seconds, tokens))
    )
    steps = {"plain_steps": tree / plain(), "chain_plain_steps": chain / plain()}
    return {"tokens": tokens, "tree_s": tree, "chain_s": chain, "plain_s": plain()} | steps
