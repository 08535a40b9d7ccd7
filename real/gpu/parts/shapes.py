"""Part `shapes`: an 8B-shaped target under forced acceptance, predicted and measured.

Random weights, real time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial

import torch

from real.gpu.alone import pass_seconds
from real.gpu.book import Part, Row, Task, row_task
from real.gpu.plot import speedups
from real.models.memory import explain_oom
from real.models.model import LanguageModel
from real.models.shapes import find_shape, random_model
from real.studies.calibrate import copy_bandwidth, read_bandwidth
from real.studies.costs import Costs
from real.studies.forced.measure import Timing, measure


@dataclass(frozen=True)
class Settings:
    """Settings of the part; those from `batches` to `cycles` are arguments of `real.studies.forced`."""

    # Names of shapes (`real.models.shapes`), and the type of their weights.
    target: str = "llama-3.1-8b"
    drafts: tuple[str, ...] = ("llama-3.2-1b", "qwen2.5-0.5b")
    dtype: str = "bfloat16"
    batches: tuple[int, ...] = (1, 8)
    gammas: tuple[int, ...] = tuple(range(1, 17))
    calibrated: tuple[int, ...] = (1, 2, 3)
    # Probability with which each draft is accepted.
    alpha: float = 0.8
    # Tokens of a text before the first cycle.
    context: int = 1024
    turns: int = 6
    cycles: int = 4
    # Bytes that are copied, and read, to measure the bandwidths.
    copied_bytes: int = 1 << 32
    # Passes in a row, where a model is timed alone.
    passes: int = 20


TINY = Settings(
    # Heads that share keys, in the type of the whole run: a GPU has other kernels for heads that do
    # not, and for other types.
    target="tiny-grouped",
    drafts=("tiny-grouped",),
    dtype="bfloat16",
    batches=(1, 2),
    gammas=(1, 4),
    calibrated=(1, 2, 3),
    context=48,
    turns=2,
    cycles=2,
    copied_bytes=1 << 20,
    passes=2,
)
# A shape's name, number of texts, tokens of each -> seconds of a pass alone.
PassSeconds = Callable[[str, int, int], float]


def part(device: torch.device, *, tiny: bool) -> Part:
    """Return the part: bandwidths, then costs and a row for each gamma, for each draft, batch and kind of cycle."""
    # Models are made when first needed, and dropped with the part. The share of the bandwidth is
    # relative to that of reading: plain decoding hardly writes.
    settings = TINY if tiny else Settings()
    model_of = cache(partial(_model, settings, device))
    read_rate = cache(lambda: read_bandwidth(device, size=settings.copied_bytes))
    copy_rate = partial(copy_bandwidth, device, size=settings.copied_bytes)

    # Attention looks at as many positions as the texts of the longest run have.
    longest_block = max(settings.gammas) + 1
    span = settings.context + (settings.turns + 1) * settings.cycles * longest_block

    @cache
    def pass_s(name: str, batch: int, tokens: int) -> float:
        """Return the seconds of a model's pass alone."""
        return pass_seconds(model_of(name), batch, tokens, settings.context, span, calls=settings.passes)

    # Bandwidths, then a task for each kind of cycle, draft and batch.
    tasks = [row_task("copy", lambda: {"bytes_per_s": copy_rate(), "read_bytes_per_s": read_rate()})]
    for fixed in (True, False):
        for draft in settings.drafts:
            for batch in settings.batches:
                keys = [_key(draft, batch, fixed, "costs"), *(_key(draft, batch, fixed, g) for g in settings.gammas)]
                tasks.append(Task(keys, partial(_rows, settings, model_of, pass_s, read_rate, draft, batch, fixed)))
    return Part("shapes", asdict(settings), tasks, speedups)


def _key(draft: str, batch: int, fixed: bool, ending: str | int) -> str:
    """Return the name of a row, whose last part is "costs" or a gamma: "50m/graphs/batch 8/gamma 4"."""
    mode = "graphs" if fixed else "eager"
    last = ending if ending == "costs" else f"gamma {ending}"
    return f"{draft}/{mode}/batch {batch}/{last}"


def _model(settings: Settings, device: torch.device, name: str) -> LanguageModel:
    """Return a model of a named shape with random weights, and the target's vocabulary as all models must have."""
    shape = replace(find_shape(name), vocab=find_shape(settings.target).vocab)
    with explain_oom(f"weights shaped {name} in {settings.dtype}", "more free memory on the device"):
        return random_model(shape, dtype=getattr(torch, settings.dtype), device=device)


def _rows(
    settings: Settings,
    model_of: Callable[[str], LanguageModel],
    pass_s: PassSeconds,
    read_rate: Callable[[], float],
    draft: str,
    batch: int,
    fixed: bool,
    wanted: list[str],
) -> Iterator[tuple[str, Row]]:
    """Yield the row of the costs of a draft, batch and kind of cycle, then a row for each wanted gamma."""
    target, costs = model_of(settings.target), None
    memory = f"caches and logits of {batch} texts of {settings.context} tokens, beside the weights"
    with explain_oom(memory, "batch 1" if batch > 1 else "a shorter context"):
        for result in measure(
            target,
            model_of(draft),
            batch=batch,
            context=settings.context,
            fixed=fixed,
            alpha=[settings.alpha] * max(*settings.gammas, *settings.calibrated),
            calibrated=settings.calibrated,
            gammas=[g for g in settings.gammas if _key(draft, batch, fixed, g) in wanted],
            turns=settings.turns,
            cycles=settings.cycles,
        ):
            # Costs come first, then the timings of gammas.
            if isinstance(result, Costs):
                costs = result
                yield _key(draft, batch, fixed, "costs"), {"costs": asdict(result)}
                continue
            assert costs is not None

            # The share of a cycle that is outside the two models. The clock sees no phases in a
            # graph: there the models' passes are timed alone.
            gamma = result.gamma
            if fixed:
                models_s = gamma * pass_s(draft, batch, 1) + pass_s(settings.target, batch, gamma + 1)
                outside, method = 1 - models_s / result.cycle_s_measured, "graphs of the models alone"
            else:
                models_s = costs.phase("draft", gamma) + costs.phase("verify", gamma)
                outside, method = 1 - models_s / costs.cycle(gamma), "phases, each waited for"
            yield _key(draft, batch, fixed, gamma), _timing_row(result) | {
                "draft": draft, "cycle": "graphs" if fixed else "eager", "batch": batch,
                "outside_models": outside, "outside_by": method,
                "plain_read_share": target.weight_bytes / result.plain_s_measured / read_rate(),
            }  # fmt: skip


def _timing_row(timing: Timing) -> Row:
    """Return the values of a timing, with its speedups together under "speedup" as in other parts."""
    speedup = {
        "predicted": timing.speedup_predicted,
        "measured": timing.speedup_measured,
        "error": timing.error,
    }
    return asdict(timing) | {"speedup": speedup}
