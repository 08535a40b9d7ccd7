"""One run of `specsim plan`, from words to words."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from specsim.base import check
from specsim.base.files import check_writable, write_bytes
from specsim.commands.plan import answer, read
from specsim.commands.plan.emit import ENGINES, emit
from specsim.latency import LatencyModel, constant, hardware, roofline
from specsim.latency.roofline import BYTES
from specsim.speed.grid import batch_schedule


def run(
    *, alpha: float | None, ranks: str | None, hazards: Path | None, histogram: Path | None, rows: Path | None,
    target: str | None, draft: str | None, device: str | None, tp: int, draft_tp: int, dtype: str,
    cost_ratio: float | None, verify_cost: str | None, overhead: float, batch: str, context: str, max_gamma: int,
    level: float, engine: str | None, plot: Path | None, as_json: bool,
) -> tuple[str, str]:  # fmt: skip
    """What to print, and what to say beside it; ValueError for anything that is wrong, before the work."""
    batches, contexts = read.whole_numbers(batch, "batch", 1), read.whole_numbers(context, "context", 0)
    check.scalar(level, "level", "(0, 1)")
    if engine is not None and engine not in ENGINES:
        raise ValueError(f"--emit must be one of {', '.join(ENGINES)}, got {engine!r}")
    if plot is not None:
        check_writable(plot)
    given = read.acceptance(alpha, ranks, hazards, histogram, rows)
    curve = None if verify_cost is None else read.numbers(verify_cost, "verify_cost", "(0, inf)")
    if curve is not None:
        if len(curve) < 2:
            raise ValueError("verify_cost has 1 entry; t(1), t(2), ... of one draft or more are needed")
        max_gamma = min(max_gamma, len(curve) - 1)
    latency, notes = _latency(
        target, draft, device, (tp, draft_tp), dtype, cost_ratio, curve, overhead, batches, contexts
    )
    if latency.unit != "s":  # nothing depends on them: one point says all
        if len(batches) * len(contexts) > 1:
            notes = ["the costs given are the same at every batch and context: one point says all"]
        batches, contexts = batches[:1], contexts[:1]
    if plot is not None:
        from specsim.report import plots

        write_bytes(plot, plots.plan(latency, given.acceptance, batches, contexts, max_gamma=max_gamma))
    if engine is not None:
        if engine == "vllm" and tp != draft_tp:  # its `DraftModelProposer` refuses anything else
            raise ValueError(f"vLLM shares a draft model among the devices of its target: plan with --draft-tp {tp}")
        return _emit(engine, latency, given, batches, contexts[0], max_gamma, draft)
    found = answer.answer(latency, given, batches, contexts, max_gamma=max_gamma, level=level, notes=notes)
    if not as_json:
        return answer.text(found), ""
    asked = {"target": target, "draft": draft, "hardware": device, "tp": tp, "draft_tp": draft_tp, "dtype": dtype,
             "cost_ratio": cost_ratio, "verify_cost": curve, "overhead": overhead, "batch": batches,
             "context": contexts, "max_gamma": max_gamma}  # fmt: skip
    return json.dumps({"asked": asked} | answer.as_json(found), allow_nan=False), ""


def _latency(
    target: str | None, draft: str | None, device: str | None, parallel: tuple[int, int], dtype: str,
    cost_ratio: float | None, curve: list[float] | None, overhead: float, batches: list[int], contexts: list[int],
) -> tuple[LatencyModel, list[str]]:  # fmt: skip
    """What cycles cost, and what to say of it."""
    models = {"--target": target, "--draft": draft, "--hardware": device}
    missing = [name for name, value in models.items() if value is None]
    if len(missing) == len(models):
        if cost_ratio is None:
            raise ValueError(
                "what costs what? give --target, --draft and --hardware, or --cost-ratio (0: drafts are free)"
            )
        if (*parallel, dtype) != (1, 1, "bf16"):
            raise ValueError("--tp, --draft-tp and --dtype say nothing of a --cost-ratio; leave them out")
        return constant(cost_ratio, verify_cost=curve, overhead=overhead), []
    if missing:
        raise ValueError(f"{' and '.join(missing)} missing; give all three, or --cost-ratio alone")
    if cost_ratio is not None:
        raise ValueError("--cost-ratio stands instead of --target, --draft and --hardware; give one or the other")
    if curve is not None:
        raise ValueError("--verify-cost goes with --cost-ratio; models and hardware have a curve of their own")
    large, small, gpu = read.shape(str(target)), read.shape(str(draft)), hardware(str(device))
    over = float(check.scalar(overhead, "overhead", "[0, inf)"))
    tp, draft_tp = parallel
    found = roofline(
        large, small, gpu, tensor_parallel=tp, draft_tensor_parallel=draft_tp, dtype=dtype, overhead_s=over / 1e3
    )
    held, notes = gpu.memory * max(parallel) / 1e9, []
    if large.vocab != small.vocab:
        sizes = f"{large.name} has {large.vocab} tokens and {small.name} {small.vocab}"
        notes.append(f"{sizes}: a draft needs the target's tokenizer, padding aside, or an engine that translates")
    for shape, parts in ((large, tp), (small, draft_tp)):
        if shape.heads % parts:
            notes.append(f"{shape.name} has {shape.heads} heads, which {parts} devices cannot share equally")
    for b, s in product(batches, contexts):
        needed = sum(BYTES[dtype] * (m.body + m.head) + 2 * m.kv_values * b * s for m in (large, small)) / 1e9
        if needed > held:
            notes.append(
                f"batch {b}, context {s} does not fit: weights and caches take at least {needed:.0f} GB of {held:.0f}"
            )
    return found, notes


def _emit(
    engine: str, latency: LatencyModel, given: read.Given, batches: list[int], context: int, max_gamma: int,
    draft: str | None,
) -> tuple[str, str]:  # fmt: skip
    top = max(batches)
    found = batch_schedule(latency, given.acceptance, max_batch=top, context=context, max_gamma=max_gamma)
    if engine != "vllm":  # one length for all: that of the first batch
        found = [entry for entry in found if entry[0] <= batches[0] <= entry[1]]
    where = f"batches up to {top}, the last entry beyond" if engine == "vllm" else f"batch {batches[0]}"
    notes = [f"predicted for context {context} and {where}; forced acceptance is for benchmarks: its text is no answer"]
    model = Path(draft or "DRAFT")
    model = model.parent if model.suffix == ".json" else model
    if engine == "vllm" and not model.is_dir():
        notes[0] += '; write the draft\'s folder or hub id for "model"'
    notes += [f"- {said}" for said in (given.words, *latency.assumptions)]
    notes += ["- the first of the ranks alone: trees are not emitted"] * bool(given.ranks)
    return emit(engine, found, given.acceptance, draft=str(model)), "\n".join(notes)
