"""What of speculation's gain remains where the target's weights are in few bits: `python tests/bench/bench_weights.py`.

The bundled target at the cost of so many million parameters, as it is and rounded to int8 and int4 (weights only), in
turn, visit by visit: t(m), the time of a target pass over m tokens, a draft step, and what a text costs with gamma
drafts. Losslessness is with respect to each target as it is rounded: acceptance is measured on its own texts, and how
far its laws are from those of the target in float32 is stated. One thread; CPU time, since that is steadier where
others use the machine too.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import statistics
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer

import real
from real.decode.loop import Loop, keyed
from real.decode.options import DecodeOptions
from real.decode.score import score
from real.decode.warp import Warping
from real.load_pair import load
from real.models.model import full_logits
from real.options import read_prompts
from real.pair import Pair
from real.studies.calibrate import again
from specsim.base.provenance import processor

TINY = Path(real.__file__).parent / "tiny"
KINDS = ("float32", "int8", "int4")


class Part(NamedTuple):
    """One target: its pair, tau by gamma with the standard error over prompts, and distance of its laws."""

    pair: Pair
    tau: dict[int, tuple[float, float]]
    distance: float


class CpuClock:
    """Seconds of CPU time by phase, as `real.decode.clock.Clock` takes them of the wall clock."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def mark(self, phase: str) -> None:
        now = time.process_time()
        if phase:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now


def part(kind: str, millions: int, prompts: list[str], tokens: int, gammas: list[int], laws: list[Any]) -> Part:
    """Load one target, let it write, and score its texts; the first one's laws are those that others are held to."""
    widen = millions * 1_000_000 or None
    pair = load(TINY / "target", TINY / "draft", widen_to=widen, weights=None if kind == "float32" else kind)
    taus: dict[int, list[float]] = {gamma: [] for gamma in gammas}
    for i, prompt in enumerate(prompts):
        ids = list(pair.tokenizer(prompt)["input_ids"])
        text = pair.generate(prompt, gamma=4, max_tokens=tokens, first_key=i)
        assert not isinstance(text, list)
        scored = score(pair.target, pair.draft, ids, text.tokens, Warping())
        for gamma in gammas:
            taus[gamma].append(scored.tau(gamma))
    ids = torch.tensor(list(pair.tokenizer("".join(prompts))["input_ids"])[:200])
    own = full_logits(pair.target, ids).softmax(-1)
    laws.append(own)
    away = float((own - laws[0]).abs().sum(-1).mean() / 2)
    spread = {g: (float(np.mean(t)), float(np.std(t, ddof=1)) / len(t) ** 0.5) for g, t in taus.items()}
    return Part(pair, spread, away)


def loop(pair: Pair, text: list[int], gamma: int, clock: CpuClock) -> Loop:
    """Blocks of gamma drafts after one text, on a clock."""
    options = DecodeOptions(gamma, mark=clock.mark)
    return Loop(pair.target, pair.draft if gamma else None, [text], gamma + 1, [keyed(0, 0)], options)


def timed(parts: dict[str, Part], gammas: list[int], rounds: int) -> dict[str, dict[int, dict[str, float]]]:
    """Median seconds by phase of a block, for each target and length; all take turns, the first round is dropped."""
    clock = CpuClock()
    text = list(parts["float32"].pair.tokenizer(read_prompts(TINY / "prompts.json")[0])["input_ids"])
    loops = {(kind, g): loop(one.pair, text, g, clock) for kind, one in parts.items() for g in (0, *gammas)}
    found: dict[Any, list[dict[str, float]]] = {key: [] for key in loops}
    for round_ in range(rounds + 1):
        for key in loops if round_ % 2 else reversed(loops):
            again(loops[key], key[1])  # finds its weights in the cache as it leaves them itself
            clock.seconds = {}
            clock.mark("")
            again(loops[key], key[1])
            clock.mark("host")
            if round_:
                found[key].append(clock.seconds)
    out: dict[str, dict[int, dict[str, float]]] = {kind: {} for kind in parts}
    for (kind, g), blocks in found.items():
        names = {name for block in blocks for name in block}
        out[kind][g] = {n: statistics.median(block.get(n, 0.0) for block in blocks) for n in names}
        out[kind][g]["cycle"] = statistics.median(sum(block.values()) for block in blocks)
    return out


def table(parts: dict[str, Part], times: dict[str, dict[int, dict[str, float]]], gammas: list[int]) -> list[str]:
    """A row for each target: bytes, distance, plain step, t(m) over t(1), gain by gamma, the best, its share."""
    heads = [f"t({g + 1})/t(1)" for g in gammas] + [f"gain, gamma {g}" for g in gammas]
    lines = [
        f"{'target':<9}{'MB read':>9}{'law, TV':>9}{'step ms':>9}{'faster':>8}"
        + "".join(f"{h:>15}" for h in heads)
        + f"{'best':>7}{'of gain left':>14}"
    ]
    lines.append("-" * len(lines[0]))
    bests: list[float] = []
    for kind, one in parts.items():
        t, plain = times[kind], times[kind][0]["cycle"]
        rise = [t[g]["verify"] / t[0]["verify"] for g in gammas]
        gains = [one.tau[g][0] * plain / t[g]["cycle"] for g in gammas]
        bests.append(max(1.0, *gains))
        left = f"{(bests[-1] - 1) / (bests[0] - 1):.0%}" if bests[0] > 1 else "no gain"
        lines.append(
            f"{kind:<9}{one.pair.target.weight_bytes / 1e6:>9.1f}{one.distance:>9.4f}{1e3 * plain:>9.2f}"
            f"{times['float32'][0]['cycle'] / plain:>8.2f}"
            + "".join(f"{x:>15.2f}" for x in (*rise, *gains))
            + f"{bests[-1]:>7.2f}{left:>14}"
        )
    return lines


def main(
    widen: Annotated[int, typer.Option(min=0, help="Millions of parameters to emulate the cost of; 0: as it is.")] = 50,
    count: Annotated[int, typer.Option("--prompts", min=2, help="Prompts whose texts are scored.")] = 16,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens of a text.")] = 48,
    gamma: Annotated[list[int], typer.Option(min=1, help="Speculation length; repeatable.")] = [1, 2, 4, 8],  # noqa: B006
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of visits; one more is run and dropped.")] = 15,
) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    prompts, laws = read_prompts(TINY / "prompts.json")[:count], []  # type: tuple[list[str], list[Any]]
    parts = {kind: part(kind, widen, prompts, tokens, gamma, laws) for kind in KINDS}
    times = timed(parts, gamma, rounds)
    name = f"Bundled target at the cost of {widen} M parameters (cost emulation)" if widen else "Bundled pair"
    print(f"{processor()}, torch {torch.__version__}, one thread, CPU time")
    print(f"{name}; activations in float32, products of int8 and int4 in bfloat16; median of {rounds} rounds in turn.")
    print("Lossless with respect to each target as it is rounded. gain: tau over the cycle in plain steps of the same")
    print(
        f"target, tau being that of {len(prompts)} texts that it wrote; of gain left: best gain less 1, over float32's."
    )
    print("", *table(parts, times, gamma), sep="\n")
    for kind, one in parts.items():
        told = ", ".join(f"{tau:.2f} ±{error:.2f} at {g}" for g, (tau, error) in one.tau.items())
        steps = {g: times[kind][g]["draft"] / g / times[kind][0]["cycle"] for g in gamma}
        print(f"{kind}: tau {told}; a draft step costs {statistics.median(steps.values()):.2f} plain steps")


if __name__ == "__main__":
    typer.run(main)
