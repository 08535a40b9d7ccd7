"""Part `parity`: the loop on the device writes the CPU's tokens, and texts that have the target's law."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from real.decode import graphs
from real.decode.loop import Decoded, decode_batch, keyed
from real.decode.warp import Warping
from real.gpu import law
from real.gpu.book import Part, Row, Task, row_task
from real.gpu.models import KINDS, random_tiny
from real.models.model import LanguageModel, from_hf

_VOCAB = 8
_WARPINGS = (
    Warping(),
    Warping(0.6),
    Warping(0),
    Warping(0.8, top_k=4, top_p=0.9, repetition_penalty=1.3),
    Warping(0.9, min_p=0.05, logit_bias=((2, 0.7),)),
)


@dataclass(frozen=True)
class Settings:
    """Settings of the part."""

    # Pairs of models, ten to a row, and random cases that each pair decodes.
    pairs: int = 20
    cases: int = 4
    # Texts of a law test, and how many are decoded at a time.
    texts: int = 1_000_000
    # Attention kernels take at most 65,535 texts x heads.
    batch: int = 16_384


TINY = Settings(pairs=2, cases=3, texts=3_000, batch=1_000)


def part(device: torch.device, *, tiny: bool) -> Part:
    """Return the part: texts are the CPU's with the same uniforms; texts have the target's law; a fault is rejected."""
    settings = TINY if tiny else Settings()
    tasks = list[Task]()

    # The same tokens as on the CPU, with eager cycles and with cycles of fixed shapes.
    for fixed in (False, True):
        for first in range(0, settings.pairs, 10):
            seeds = range(first, min(first + 10, settings.pairs))
            key = f"tokens/{_mode(fixed)}/pairs {seeds[0]} to {seeds[-1]}"
            tasks.append(row_task(key, partial(same_tokens, seeds, settings.cases, device, fixed)))

    # The law of many texts in each dtype, and after that of float32 a wrong verifier.
    law_test = partial(law.tested, device, texts=settings.texts, batch=settings.batch)
    for dtype in (torch.float32, torch.bfloat16):
        for fixed in (False, True):
            key = f"law/{str(dtype).removeprefix('torch.')}/{_mode(fixed)}"
            tasks.append(row_task(key, partial(law_test, dtype=dtype, fixed=fixed, planted=False)))
        if dtype == torch.float32:
            tasks.append(row_task("planted/float32", partial(law_test, dtype=dtype, fixed=None, planted=True)))
    return Part("parity", asdict(settings), tasks)


def _mode(fixed: bool) -> str:
    """Return the name of a kind of cycle: of fixed shapes ("graphs") or not ("eager")."""
    return "graphs" if fixed else "eager"


def case(rng: np.random.Generator) -> dict[str, Any]:
    """Return random arguments of `decode_batch`: 1 to 5 prompts of 1 to 6 tokens, and options."""
    sizes = rng.integers(1, 7, size=rng.integers(1, 6))
    return {
        "prompts": [rng.integers(_VOCAB, size=size).tolist() for size in sizes],
        "max_tokens": int(rng.integers(1, 25)),
        "gamma": int(rng.integers(0, 7)),
        "stop": frozenset(rng.choice(_VOCAB, size=rng.integers(0, 3), replace=False).tolist()),
        "warping": _WARPINGS[rng.integers(len(_WARPINGS))],
    }


def same_tokens(
    seeds: range,
    cases: int,
    device: torch.device,
    fixed: bool,
    draw: Callable[[np.random.Generator], dict[str, Any]] = case,
) -> Row:
    """Decode random cases on the device and, eagerly, on the CPU; return the row of the comparison.

    Both use float64 and the same uniforms. Each seed makes a pair of models, and decodes `cases`
    cases that `draw` returns. `different` holds the cases whose tokens or blocks differ.
    """
    num_tokens, num_cases, different = 0, 0, []
    for seed in seeds:
        on_device, on_cpu = _pairs(seed, device)
        rng = np.random.default_rng([seed, cases])
        for options in (draw(rng) for _ in range(cases)):
            # Cases that cycles of fixed shapes cannot run are left out.
            if fixed and not graphs.supports(*on_device, options["warping"]):
                continue
            expected = _decode(on_cpu, options, seed, fixed=False)
            decoded = _decode(on_device, options, seed, fixed=fixed)
            num_cases += 1
            num_tokens += sum(len(run.tokens) for run in expected)
            if [(run.tokens, run.blocks) for run in decoded] != [(run.tokens, run.blocks) for run in expected]:
                different.append({"seed": seed} | {name: repr(value) for name, value in options.items()})

    # Without a case the check has shown nothing.
    passed = num_cases > 0 and not different
    return {"cases": num_cases, "tokens": num_tokens, "different": different, "passed": passed}


# Target and draft.
Models = tuple[LanguageModel, LanguageModel]


def _pairs(seed: int, device: torch.device) -> tuple[Models, Models]:
    """Return target and draft with the weights of a seed, on the device and then on the CPU."""
    kind = list(KINDS)[seed % len(KINDS)]
    make: Callable[..., Any] = partial(random_tiny, kind, _VOCAB, kv_heads=1 + seed % 2)
    target, draft = make(2 * seed), make(2 * seed + 1, near=2 * seed)
    target_copy, draft_copy = (copy.deepcopy(model).to(device) for model in (target, draft))
    return (from_hf(target_copy), from_hf(draft_copy)), (from_hf(target), from_hf(draft))


def _decode(models: Models, options: dict[str, Any], seed: int, *, fixed: bool) -> list[Decoded]:
    """Decode the prompts of a case, with uniforms keyed by the seed and the number of the prompt."""
    sources = [keyed(seed, i) for i in range(len(options["prompts"]))]
    return decode_batch(*models, uniforms=sources, fixed=fixed, **options)
