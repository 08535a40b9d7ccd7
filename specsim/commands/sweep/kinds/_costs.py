"""Costs of passes in studies of plans: a cost ratio, or models on a device, as `specsim plan` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from specsim.base import limits
from specsim.commands.plan import models
from specsim.commands.plan.memory import misfits
from specsim.commands.sweep.inputs import Input, one_of, real, text, whole
from specsim.latency import LatencyModel, Timing, constant, hardware, roofline
from specsim.latency.memory import Placed
from specsim.latency.weights import TYPES

NAMED = ("target", "draft", "hardware")
# Tokens of the longest context, and the most devices that share a model.
CONTEXT = 1 << 30
PARTS = 1024


def _draft(name: str) -> None:
    """Refuse the name of a drafter that is not known."""
    models.drafter(name, models.shape("llama-3.1-8b"), None)


INPUTS: dict[str, Input] = {
    "cost_ratio": real("[0, inf)", None),
    "target": text(models.target, None, names_files=True),
    "draft": text(_draft, None, names_files=True),
    "hardware": text(hardware, None),
    "tp": whole(1, PARTS, 1),
    "dtype": one_of("bf16", "fp16", "fp8", "int8", "fp4", default="bf16"),
    # In ms with models, else in target steps.
    "overhead": real("[0, inf)", 0.0),
    "batch": whole(1, limits.MAX_BATCH, 1),
    "context": whole(0, CONTEXT, 1024),
}


def check(axes: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise ValueError unless the axes give either cost_ratio, or target, draft and hardware."""
    names = [name for name in NAMED if name in axes]
    if "cost_ratio" in axes:
        for name in (*names, "tp", "dtype"):
            if name in axes:
                raise ValueError(f"{name} cannot be combined with cost_ratio: remove one of them")
    elif missing := [name for name in NAMED if name not in axes]:
        raise ValueError(
            f"the costs are incomplete, {', '.join(missing)} missing: give target, draft and hardware, or cost_ratio"
        )


def costs(point: Mapping[str, Any]) -> LatencyModel:
    """Return the costs of passes at this point; times are cached, those of a file until it changes.

    ValueError if the models and their caches are larger than the memory.
    """
    files = tuple(INPUTS[name].source(point[name]) for name in ("target", "draft") if point[name] is not None)
    if point["target"] is not None:
        placed = _placed(files, *(point[name] for name in ("target", "draft", "tp", "dtype")))
        unfit = misfits(placed, hardware(point["hardware"]), [point["batch"]], [point["context"]])
        if unfit:
            raise ValueError(unfit[0].note)
    return _costs(files, *(point[name] for name in ("cost_ratio", *NAMED, "tp", "dtype", "overhead")))


@lru_cache(maxsize=64)
def _placed(files: tuple[str, ...], target: str, draft: str, tp: int, dtype: str) -> list[Placed]:
    """Return the models with their types of weights and devices.

    files: hashes of the files, so that the cache does not serve a changed file.
    """
    large = models.target(target)
    small = models.drafter(draft, large, None).shape
    placed = [Placed(large, TYPES[dtype], tp)]
    return placed if small is None else [*placed, Placed(small, TYPES[dtype], 1)]


@lru_cache(maxsize=64)
def _costs(
    files: tuple[str, ...],
    ratio: float | None,
    target: str,
    draft: str,
    device: str,
    tp: int,
    dtype: str,
    overhead: float,
) -> LatencyModel:
    """Return the latency model of these inputs.

    files: hashes of the files, so that the cache does not serve a changed file.
    """
    if ratio is not None:
        return constant(ratio, overhead=overhead)
    # The roofline of both models; times are cached.
    large = models.target(target)
    small = models.drafter(draft, large, None).shape
    gpu = hardware(device)
    latency = roofline(large, small or large, gpu, tensor_parallel=tp, dtype=dtype, overhead_s=overhead / 1e3)
    # n-grams: no pass drafts, and no such cycle is recorded to compare with.
    if small is None:
        latency = latency._replace(draft=lambda b, s: Timing(0.0), cycle_error=None)
    cached = lru_cache(maxsize=1 << 16)
    return latency._replace(target=cached(latency.target), draft=cached(latency.draft))
