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
    """Number of pairs of models and of cases for each; texts of a law test, and how many at a time.

    Ten pairs make a row.
    """

    pairs: int = 20
    cases: int = 4
    texts: int = 1_000_000
    # Attention kernels take at most 65,535 texts x heads.
    batch: int = 16_384


TINY = Settings(pairs=2, cases=3, texts=3_000, batch=1_000)


def part(device: torch.device, *, tiny: bool) -> Part:
    """Texts as on the CPU with the same uniforms; then their law, and a wrong verifier to reject."""
    settings = TINY if tiny else Settings()
    tasks, texts = list[Task](), (settings.texts, settings.batch)
    for fixed in (False, True):
        for first in range(0, settings.pairs, 10):
            seeds = range(first, min(first + 10, settings.pairs))
            key = f"tokens/{_mode(fixed)}/pairs {seeds[0]} to {seeds[-1]}"
            tasks.append(row_task(key, partial(same_tokens, seeds, settings.cases, device, fixed)))
    for dtype in (torch.float32, torch.bfloat16):
        for fixed in (False, True):
            key = f"law/{str(dtype).removeprefix('torch.')}/{_mode(fixed)}"
            tasks.append(row_task(key, partial(law.tested, device, dtype, fixed, *texts, planted=False)))
        if dtype == torch.float32:
            tasks.append(row_task("planted/float32", partial(law.tested, device, dtype, None, *texts, planted=True)))
    return Part("parity", asdict(settings), tasks)


def _mode(fixed: bool) -> str:
    """The name of a kind of cycle."""
    return "graphs" if fixed else "eager"


def case(rng: np.random.Generator) -> dict[str, Any]:
    """Prompts of several lengths, speculation length, end, stop tokens and sampling."""
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
    """Decode random cases here and, eagerly in float64, on the CPU.

    `different` holds the cases that disagree.
    """
    # Random cases of each pair; those that fixed shapes cannot run are left out.
    tokens, run, different = 0, 0, []
    for seed in seeds:
        here, there = _pair(seed, device)
        rng = np.random.default_rng([seed, cases])
        for options in (draw(rng) for _ in range(cases)):
            if fixed and not graphs.supports(*here, options["warping"]):
                continue
            decoded_there = _decoded(there, options, seed, fixed=False)
            decoded_here = _decoded(here, options, seed, fixed=fixed)
            tokens, run = tokens + sum(len(r.tokens) for r in decoded_there), run + 1
            if [(r.tokens, r.blocks) for r in decoded_here] != [(r.tokens, r.blocks) for r in decoded_there]:
                different.append({"seed": seed} | {name: repr(value) for name, value in options.items()})
    return {"cases": run, "tokens": tokens, "different": different, "passed": run > 0 and not different}


Both = tuple[LanguageModel, LanguageModel]


def _pair(seed: int, device: torch.device) -> tuple[Both, Both]:
    """Target and draft on the device, and on the CPU."""
    kind = list(KINDS)[seed % len(KINDS)]
    make: Callable[..., Any] = partial(random_tiny, kind, _VOCAB, kv_heads=1 + seed % 2)
    plain = make(2 * seed), make(2 * seed + 1, near=2 * seed)
    here, there = ((from_hf(a), from_hf(b)) for a, b in ([copy.deepcopy(m).to(device) for m in plain], plain))
    return here, there


def _decoded(pair: Both, options: dict[str, Any], seed: int, *, fixed: bool) -> list[Decoded]:
    """Decode a case with a pair."""
    sources = [keyed(seed, i) for i in range(len(options["prompts"]))]
    return decode_batch(*pair, uniforms=sources, fixed=fixed, **options)
