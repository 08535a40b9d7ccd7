"""One run of `specsim plan`, from words to words."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check
from specsim.base.files import check_writable, write_bytes
from specsim.commands.plan import answer, models, read, shown
from specsim.commands.plan.comparison import Compared, read_comparison
from specsim.commands.plan.emit import ENGINES, emit
from specsim.latency import Hardware, LatencyModel, ModelShape, Timing, constant, hardware, roofline
from specsim.latency.kernels import BYTES, KNOWN, NO_OVERHEAD
from specsim.speed.grid import batch_schedule
from specsim.speed.shapes import fastest_shapes

NONE = (1, 1, "bf16", None)  # nothing said of parallel devices, types and the draft's head
# A schedule asks for every batch size and length: so many predictions take some seconds.
MOST_ASKED = 1 << 18


class Costs(NamedTuple):
    """What cycles cost, what drafts ("model" where only numbers are given), what to say, what intervals allow for.

    steps: the time of a draft step at each level, where that was measured.
    """

    latency: LatencyModel
    method: str = "model"
    notes: tuple[str, ...] = ()
    allowed: float = 0.0
    steps: tuple[float, ...] = ()


def run(
    *,
    alpha: float | None,
    ranks: str | None,
    hazards: Path | None,
    histogram: Path | None,
    rows: Path | None,
    comparison: Path | None,
    target: str | None,
    draft: str | None,
    device: str | None,
    tp: int,
    draft_tp: int,
    dtype: str,
    draft_vocab: int | None,
    cost_ratio: float | None,
    verify_cost: str | None,
    overhead: float | None,
    batch: str,
    context: str,
    max_gamma: int,
    nodes: int,
    level: float,
    engine: str | None,
    plot: Path | None,
    as_markdown: bool,
    as_json: bool,
) -> tuple[str, str]:
    """What to print, and what to say beside it; ValueError for anything that is wrong, before the work."""
    batches, contexts = read.whole_numbers(batch, "batch", 1), read.whole_numbers(context, "context", 0)
    read.bounded(max_gamma, "max_gamma", 1)
    read.bounded(nodes, "nodes", 1)
    check.scalar(level, "level", "(0, 1)")
    if engine is not None and engine not in ENGINES:
        raise ValueError(f"--emit must be one of {', '.join(ENGINES)}, got {engine!r}")
    asked_for = max(batches) if engine is not None else len(batches) * len(contexts)
    if asked_for * max_gamma > MOST_ASKED:
        raise ValueError(
            f"{asked_for} points of {max_gamma} lengths are too many; their product may be {MOST_ASKED} at most"
        )
    if plot is not None:
        check_writable(plot)
    compared = None if comparison is None else read_comparison(comparison)
    if compared is not None and all(one is None for one in (alpha, ranks, hazards, histogram, rows)):
        given = compared.given
    else:
        given = read.acceptance(alpha, ranks, hazards, histogram, rows)
    curve = None if verify_cost is None else read.numbers(verify_cost, "verify_cost", "(0, inf)")
    if curve is not None:
        if len(curve) < 2:
            raise ValueError("verify_cost has 1 entry; t(1), t(2), ... of one draft or more are needed")
        max_gamma = min(max_gamma, len(curve) - 1)
    if compared is not None:
        told = {"--target": target, "--draft": draft, "--hardware": device, "--cost-ratio": cost_ratio,
                "--verify-cost": verify_cost, "--overhead": overhead}  # fmt: skip
        costs = _measured(compared, told, batches, (tp, draft_tp, dtype, draft_vocab))
        max_gamma, nodes = min(max_gamma, compared.most - 1), min(nodes, compared.most - 1)
    elif all(name is None for name in (target, draft, device)):
        costs = _declared(cost_ratio, curve, overhead, (tp, draft_tp, dtype, draft_vocab))
    else:
        missing = [
            name
            for name, value in {"--target": target, "--draft": draft, "--hardware": device}.items()
            if value is None
        ]
        if missing:
            raise ValueError(f"{' and '.join(missing)} missing; give all three, or --cost-ratio alone")
        if cost_ratio is not None:
            raise ValueError("--cost-ratio stands instead of --target, --draft and --hardware; give one or the other")
        if curve is not None:
            raise ValueError("--verify-cost goes with --cost-ratio; models and hardware have a curve of their own")
        if max(tp, draft_tp) > read.MOST["tp"]:
            raise ValueError(f"tp is {max(tp, draft_tp)}; it must be at most {read.MOST['tp']}")
        names = (str(target), str(draft), str(device))
        costs = _modelled(names, (tp, draft_tp), dtype, draft_vocab, overhead, batches, contexts)
    latency, notes = costs.latency, list(costs.notes)
    if latency.unit != "s":  # nothing depends on them: one point says all
        if len(batches) * len(contexts) > 1:
            notes.append("the costs given are the same at every batch and context: one point says all")
        batches, contexts = batches[:1], contexts[:1]
    if plot is not None:
        from specsim.report import plots

        kept = next((f"acceptance of {path.name}" for path in (hazards, histogram, rows) if path is not None), None)
        said = f"acceptance by rank {ranks}" if ranks is not None else "acceptance of the same record"
        kept = kept or (f"alpha = {alpha:g}" if alpha is not None else said)
        parts = f"{tp} x " if tp > 1 else ""
        timed = f"times of {comparison.name}" if comparison is not None else f"c = {cost_ratio or 0:g}"
        timed = timed if target is None else f"{target} with {draft} on {parts}{device}"
        title = f"{timed}, {kept}"
        write_bytes(plot, plots.plan(latency, given.acceptance, batches, contexts, max_gamma=max_gamma, title=title))
    if engine is not None:
        shared = engine in ("vllm", "vllm-synthetic", "sglang") and costs.method != "ngram"
        if shared and tp != draft_tp:  # these engines share a draft among the devices of its target
            name = "SGLang" if engine == "sglang" else "vLLM"
            raise ValueError(f"{name} shares a draft model among the devices of its target: plan with --draft-tp {tp}")
        return _emit(engine, costs, given, batches, contexts[0], max_gamma, nodes, draft)
    found = answer.answer(
        latency,
        given,
        batches,
        contexts,
        max_gamma=max_gamma,
        level=level,
        notes=notes,
        nodes=nodes,
        allowed=costs.allowed,
        steps=costs.steps,
    )
    if not as_json:
        return shown.text(found, as_markdown), ""
    asked = {"comparison": None if comparison is None else str(comparison),
             "target": target, "draft": draft, "hardware": device, "tp": tp, "draft_tp": draft_tp, "dtype": dtype,
             "draft_vocab": draft_vocab, "cost_ratio": cost_ratio, "verify_cost": curve, "overhead": overhead,
             "batch": batches, "context": contexts, "max_gamma": max_gamma, "nodes": nodes}  # fmt: skip
    return json.dumps({"asked": asked} | shown.as_json(found), allow_nan=False), ""


def _measured(
    compared: Compared, told: dict[str, Any], batches: list[int], other: tuple[int, int, str, int | None]
) -> Costs:
    """Costs of a comparison."""
    named = [name for name, value in told.items() if value is not None]
    if named:
        raise ValueError(f"--comparison has costs of its own; leave out {', '.join(named)}")
    if other != NONE:
        raise ValueError("--tp, --draft-tp, --dtype and --draft-vocab say nothing of a --comparison; leave them out")
    if batches != [1]:
        raise ValueError(f"--comparison has the costs of one text at a time; leave out --batch, got {batches}")
    return Costs(compared.latency, notes=compared.notes, steps=compared.steps)


def _declared(
    cost_ratio: float | None, curve: list[float] | None, overhead: float | None, other: tuple[int, int, str, int | None]
) -> Costs:
    """Costs given as numbers."""
    if cost_ratio is None:
        raise ValueError("what costs what? give --target, --draft and --hardware, or --cost-ratio (0: drafts are free)")
    if other != NONE:
        raise ValueError("--tp, --draft-tp, --dtype and --draft-vocab say nothing of a --cost-ratio; leave them out")
    found = constant(cost_ratio, verify_cost=curve, overhead=0 if overhead is None else overhead)
    if overhead is None:
        said = "nothing but passes and steps costs time (--overhead is not given)"
        found = found._replace(assumptions=(*found.assumptions, said))
    return Costs(found)


def _modelled(
    names: tuple[str, str, str],
    parallel: tuple[int, int],
    dtype: str,
    draft_vocab: int | None,
    overhead: float | None,
    batches: list[int],
    contexts: list[int],
) -> Costs:
    """Costs of models on a device."""
    large, gpu = models.shape(names[0]), hardware(names[2])
    vocab = None if draft_vocab is None else check.integer(draft_vocab, "draft_vocab", 1)
    drafter = models.drafter(names[1], large, vocab)
    over = float(check.scalar(0.0 if overhead is None else overhead, "overhead", "[0, inf)"))
    tp, draft_tp = parallel
    found = roofline(
        large,
        drafter.shape or large,
        gpu,
        tensor_parallel=tp,
        draft_tensor_parallel=draft_tp,
        dtype=dtype,
        overhead_s=over / 1e3,
    )
    if drafter.shape is None:
        words = [said for said in found.assumptions if not said.startswith(KNOWN)]
        words.append("no interval: no cycle without a draft model is recorded to compare with")
        found = found._replace(draft=lambda b, s: Timing(0.0), cycle_error=None, assumptions=tuple(words))
    allowed = 0.0
    if overhead is None:
        allowed = answer.OVERHEAD_S
        said = "host and sampling take no time in the values (--overhead is not given); the low ends of intervals, if "
        said += f"there are any, allow {1e3 * allowed:g} ms a cycle, which a measured engine left over"
        kept = [words for words in found.assumptions if words != NO_OVERHEAD]
        found = found._replace(assumptions=(*kept, said))
    notes = [*models.named_after(names[0], large), *drafter.notes]
    notes += _mismatches(large, drafter, parallel)
    notes += _fits(large, drafter.shape, gpu, parallel, dtype, batches, contexts)
    return Costs(found, drafter.method, tuple(notes), allowed)


def _mismatches(large: ModelShape, drafter: models.Drafter, parallel: tuple[int, int]) -> list[str]:
    """What of the pair and the devices does not go together."""
    notes = []
    small = drafter.shape
    if small is not None and large.vocab != small.vocab:
        sizes = f"{large.name} has {large.vocab} tokens and {small.name} {small.vocab}"
        notes.append(f"{sizes}: a draft needs the target's tokenizer, padding aside, or an engine that translates")
    for one, parts in ((large, parallel[0]), (small, parallel[1])):
        if one is not None and one.heads % parts:
            notes.append(f"{one.name} has {one.heads} heads, which {parts} devices cannot share equally")
    return notes


def _fits(
    large: ModelShape,
    small: ModelShape | None,
    gpu: Hardware,
    parallel: tuple[int, int],
    dtype: str,
    batches: list[int],
    contexts: list[int],
) -> list[str]:
    """Points whose weights and caches are larger than the memory."""
    held, notes = gpu.memory * max(parallel) / 1e9, []
    both = [one for one in (large, small) if one is not None]
    for b, s in product(batches, contexts):
        needed = sum(BYTES[dtype] * (m.body + m.head) + 2 * m.kv_values * b * s for m in both) / 1e9
        if needed > held:
            notes.append(
                f"batch {b}, context {s} does not fit: weights and caches take at least {needed:.0f} GB of {held:.0f}"
            )
    return notes


def _emit(
    engine: str,
    costs: Costs,
    given: read.Given,
    batches: list[int],
    context: int,
    max_gamma: int,
    nodes: int,
    draft: str | None,
) -> tuple[str, str]:
    latency, top = costs.latency, max(batches)
    schedule = engine.startswith("vllm")
    found = batch_schedule(latency, given.acceptance, max_batch=top, context=context, max_gamma=max_gamma)
    if not schedule:  # one length for all: that of the first batch
        found = [entry for entry in found if entry[0] <= batches[0] <= entry[1]]
    where = f"batches up to {top}, the last entry beyond" if schedule else f"batch {batches[0]}"
    notes = [f"predicted for context {context} and {where}"]
    if engine.endswith("-synthetic"):
        notes[0] += "; WARNING: acceptance is forced, so the text is no answer: for benchmarks only, never to be served"
    tree: tuple[int, ...] = ()
    if given.ranks and engine == "sglang":
        steps = costs.steps or None
        best = fastest_shapes(
            latency, given.ranks, nodes=nodes, depth=max_gamma, draft_s=steps, batch=batches[0], context=context
        )
        tree = tuple(int(p) for p in best.tree.parents)
        notes.append("- bounds of the best tree; SGLang fills them by the draft's confidence, not by this shape")
    elif given.ranks:
        notes.append("- the first of the ranks alone: this engine takes no trees")
    if schedule and len(found) > 1 and costs.method in ("model", "ngram", "mtp"):
        notes.append("- vLLM says that a length by batch size is tested with EAGLE heads alone: try it first")
    path = Path(draft or "DRAFT")
    path = path.parent if path.suffix == ".json" else path
    named = path.is_dir() or (draft is not None and "/" in draft)
    if engine not in ("aiconfigurator", "llamacpp-synthetic") and costs.method not in ("mtp", "ngram") and not named:
        what = "file (GGUF)" if engine == "llamacpp" else "folder or hub id"
        notes[0] += f'; write the draft\'s {what} for "model"'
    notes += [f"- {said}" for said in latency.assumptions]
    notes.insert(1, f"- {given.acceptance.words}")
    text = emit(engine, found, given.acceptance, draft=str(path), method=costs.method, tree=tree)
    return text, "\n".join(notes)
