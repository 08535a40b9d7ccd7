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
    """Named shapes, and arguments of forced acceptance: each draft is accepted with probability `alpha`."""

    target: str = "llama-3.1-8b"
    drafts: tuple[str, ...] = ("llama-3.2-1b", "qwen2.5-0.5b")
    dtype: str = "bfloat16"
    batches: tuple[int, ...] = (1, 8)
    gammas: tuple[int, ...] = tuple(range(1, 17))
    calibrated: tuple[int, ...] = (1, 2, 3)
    alpha: float = 0.8
    context: int = 1024
    turns: int = 6
    cycles: int = 4
    copied_bytes: int = 1 << 32
    # Passes in a row, where a model is timed alone.
    passes: int = 20


TINY = Settings(
    # Heads that share keys, in the type of the whole run: a GPU has other kernels for the rest.
    "tiny-grouped",
    ("tiny-grouped",),
    "bfloat16",
    (1, 2),
    (1, 4),
    (1, 2, 3),
    context=48,
    turns=2,
    cycles=2,
    copied_bytes=1 << 20,
    passes=2,
)
# A shape's name, texts, tokens of each -> seconds of a pass.
Alone = Callable[[str, int, int], float]


def part(device: torch.device, *, tiny: bool) -> Part:
    """Bandwidths, then graphs and eager cycles for each draft and batch, a row for each gamma."""
    # Models are made when first needed, and gone with the part. A decode step only reads.
    settings = TINY if tiny else Settings()
    models = cache(partial(_model, settings, device))
    bandwidth = cache(lambda: read_bandwidth(device, size=settings.copied_bytes))
    copied = partial(copy_bandwidth, device, size=settings.copied_bytes)
    span = settings.context + (settings.turns + 1) * settings.cycles * (max(settings.gammas) + 1)

    @cache
    def alone(name: str, batch: int, tokens: int) -> float:
        """Seconds of a model's pass alone."""
        return pass_seconds(models(name), batch, tokens, settings.context, span, calls=settings.passes)

    # Bandwidths, then a task for each kind of cycle, draft and batch.
    tasks = [row_task("copy", lambda: {"bytes_per_s": copied(), "read_bytes_per_s": bandwidth()})]
    for fixed in (True, False):
        for draft in settings.drafts:
            for batch in settings.batches:
                keys = [_key(draft, batch, fixed, "costs"), *(_key(draft, batch, fixed, g) for g in settings.gammas)]
                tasks.append(Task(keys, partial(_rows, settings, models, alone, bandwidth, draft, batch, fixed)))
    return Part("shapes", asdict(settings), tasks, speedups)


def _key(draft: str, batch: int, fixed: bool, what: str | int) -> str:
    """Name of a row; the last part is "costs" or a gamma."""
    mode = "graphs" if fixed else "eager"
    ending = what if what == "costs" else f"gamma {what}"
    return f"{draft}/{mode}/batch {batch}/{ending}"


def _model(settings: Settings, device: torch.device, name: str) -> LanguageModel:
    """A model with random weights and the target's vocabulary, which all models must share."""
    shape = replace(find_shape(name), vocab=find_shape(settings.target).vocab)
    with explain_oom(f"weights shaped {name} in {settings.dtype}", "more free memory on the device"):
        return random_model(shape, dtype=getattr(torch, settings.dtype), device=device)


def _rows(
    settings: Settings,
    models: Callable[[str], LanguageModel],
    alone: Alone,
    bandwidth: Callable[[], float],
    draft: str,
    batch: int,
    fixed: bool,
    wanted: list[str],
) -> Iterator[tuple[str, Row]]:
    """Yield the calibration of a draft, batch and kind of cycle, then its gammas."""
    target, costs = models(settings.target), None
    what = f"caches and logits of {batch} texts of {settings.context} tokens, beside the weights"
    with explain_oom(what, "batch 1" if batch > 1 else "a shorter context"):
        for result in measure(
            target,
            models(draft),
            batch=batch,
            context=settings.context,
            fixed=fixed,
            alpha=[settings.alpha] * max(*settings.gammas, *settings.calibrated),
            calibrated=settings.calibrated,
            gammas=[g for g in settings.gammas if _key(draft, batch, fixed, g) in wanted],
            turns=settings.turns,
            cycles=settings.cycles,
        ):
            if isinstance(result, Costs):
                costs = result
                yield _key(draft, batch, fixed, "costs"), {"costs": asdict(result)}
                continue
            # Costs come first. The rest of a cycle is what the two models alone do not take.
            assert costs is not None
            if fixed:
                parts = result.gamma * alone(draft, batch, 1) + alone(settings.target, batch, result.gamma + 1)
                outside, by = 1 - parts / result.cycle_s_measured, "graphs of the models alone"
            else:
                inside = costs.phase("draft", result.gamma) + costs.phase("verify", result.gamma)
                outside, by = 1 - inside / costs.cycle(result.gamma), "phases, each waited for"
            yield _key(draft, batch, fixed, result.gamma), _timing(result) | {
                "draft": draft, "cycle": "graphs" if fixed else "eager", "batch": batch,
                "outside_models": outside, "outside_by": by,
                "plain_read_share": target.weight_bytes / result.plain_s_measured / bandwidth(),
            }  # fmt: skip


def _timing(timing: Timing) -> Row:
    """The row of a timing."""
    speedup = {
        "predicted": timing.speedup_predicted,
        "measured": timing.speedup_measured,
        "error": timing.error,
    }
    return asdict(timing) | {"speedup": speedup}
