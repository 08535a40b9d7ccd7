"""Costs of a cycle: from a record, from numbers, or from models on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.base import check
from specsim.base.dtypes import short_name
from specsim.commands.plan import doubts, lists, models, read
from specsim.commands.plan.comparison import Comparison
from specsim.commands.plan.memory import Misfit, misfits
from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.share import LOOKED_UP, drafted_share
from specsim.commands.plan.stored import Types, chosen_cache, chosen_types
from specsim.latency import (
    Constants,
    LatencyModel,
    ModelShape,
    Timing,
    constant,
    hardware,
    in_one_pass,
    roofline,
    weight_only,
)
from specsim.latency.kernels import KNOWN, NO_OVERHEAD
from specsim.latency.memory import Placed
from specsim.lengths.acceptance_record import Acceptance
from specsim.speed.ssd import cached_drafts

# Types of weights whose passes are recorded, for --cost-ratio, and the longest block in these passes.
TIMED = ("int8", "int4")
TIMED_DRAFTS = 16
# Options about the weights of a draft model.
OF_A_DRAFT = ("draft_tp", "draft_weights", "draft_vocab")
# Options about models on a device, and options about costs of any kind: a comparison has its own.
ON_A_DEVICE = ("tp", "draft_tp", "dtype", "draft_vocab", "kv_dtype")
OF_COSTS = (
    *("target", "draft", "hardware", "cost_ratio", "verify_cost", "overhead", "weights", "draft_weights", "one_pass"),
    *("cache_hits", "experts_overhead"),
)


class Costs(NamedTuple):
    """Costs of cycles that have a draft, with notes and limits.

    method: the kind of drafter; "model" if only numbers are given. notes: remarks for the reader.
    hidden_overhead: overhead of a cycle that is in no value, but in the low ends of intervals.
    level_steps: time of a draft step at each level, if it was measured. types: of weights, if
    models are known. share: of the target calls that have a draft. max_drafts: the longest block
    whose costs are known, None without limit. misfits: points at which models do not fit the devices.
    """

    latency: LatencyModel
    method: str = "model"
    notes: tuple[str, ...] = ()
    hidden_overhead: float = 0.0
    level_steps: tuple[float, ...] = ()
    types: Types | None = None
    share: float = 1.0
    max_drafts: int | None = None
    misfits: tuple[Misfit, ...] = ()


def plan_costs(
    options: PlanOptions,
    record: Comparison | None,
    acceptance: Acceptance,
    batches: Sequence[int],
    contexts: Sequence[int],
) -> Costs:
    """Return the costs of a comparison, or as declared, or of models on a device.

    Raise ValueError for options that do not go together.
    """
    # Looked-up drafts have target calls without a draft, on which their acceptance says nothing: their share is needed.
    drafter = (options.draft or "").lower()
    if record is not None:
        drafter = "a comparison"
    share = drafted_share(drafter, options.drafted_share)

    # Costs of a cycle of draft steps and one pass.
    if record is not None:
        costs = _measured(options, record, batches)
    elif all(name is None for name in (options.target, options.draft, options.hardware)):
        costs = _declared(options, batches)
    else:
        costs = _modelled(options, batches, contexts)
    costs = costs._replace(share=share)

    # Other ways to draft.
    if costs.method in LOOKED_UP and (options.one_pass or options.cache_hits is not None):
        raise ValueError("drafts that are looked up take no time: leave out --one-pass and --cache-hits")
    if options.one_pass and not costs.latency.one_pass:
        costs = costs._replace(latency=in_one_pass(costs.latency))
    if options.cache_hits is not None:
        hits = read.numbers(options.cache_hits, "cache_hits", "[0, 1]")
        costs = costs._replace(latency=cached_drafts(costs.latency, acceptance, hits))
    return costs


def _is_given(options: PlanOptions, name: str) -> bool:
    """Return whether an option differs from its default."""
    return bool(getattr(options, name) != options._field_defaults[name])


def _refuse_on_a_device(options: PlanOptions, source: str) -> None:
    """Raise ValueError for options about models on a device, beside another source of costs."""
    misplaced = [f"--{name.replace('_', '-')}" for name in ON_A_DEVICE if _is_given(options, name)]
    if misplaced:
        raise ValueError(f"{', '.join(misplaced)}: it says nothing of a {source}; leave it out")


def _measured(options: PlanOptions, record: Comparison, batches: Sequence[int]) -> Costs:
    """Return the costs of a comparison."""
    named = [f"--{name.replace('_', '-')}" for name in OF_COSTS if _is_given(options, name)]
    if named:
        raise ValueError(f"--comparison has costs of its own; leave out {', '.join(named)}")
    _refuse_on_a_device(options, "--comparison")
    if tuple(batches) != (1,):
        raise ValueError(f"--comparison has the costs of one text at a time; leave out --batch, got {_listed(batches)}")
    return Costs(record.latency, notes=record.notes, level_steps=record.steps, max_drafts=record.most - 1)


def _declared(options: PlanOptions, batches: Sequence[int]) -> Costs:
    """Return costs that are given as numbers."""
    # Options that numbers include, or that belong to models.
    if options.cost_ratio is None:
        raise ValueError(
            "costs are missing: give --target, --draft and --hardware, or --cost-ratio (0: drafts are free)"
        )
    _refuse_on_a_device(options, "--cost-ratio")
    if options.experts_overhead is not None:
        raise ValueError("--experts-overhead is of models on a device; with --cost-ratio it is part of --verify-cost")
    if options.draft_weights is not None:
        raise ValueError("--draft-weights is of models on a device; with --cost-ratio it is part of that number")
    overhead = 0 if options.overhead is None else options.overhead

    # Passes take the times that are given, or those recorded for quantised weights.
    if options.weights is None:
        curve = _verify_cost(options)
        latency = constant(options.cost_ratio, verify_cost=curve, overhead=overhead)
        max_drafts = None if curve is None else len(curve) - 1
    else:
        if options.weights not in TIMED:
            raise ValueError(f"--weights with --cost-ratio must be {' or '.join(TIMED)}, got {options.weights!r}")
        if options.verify_cost is not None:
            raise ValueError("--weights and --verify-cost both say what passes cost; give one of them")
        if batches[0] != 1:
            raise ValueError(
                f"--weights with --cost-ratio was timed for one sequence; leave out --batch, got {_listed(batches)}"
            )
        latency = weight_only(options.weights, options.cost_ratio, overhead=overhead)
        max_drafts = TIMED_DRAFTS

    if options.overhead is None:
        words = "nothing but passes and steps costs time (--overhead is not given)"
        latency = latency._replace(assumptions=(*latency.assumptions, words))
    return Costs(latency, max_drafts=max_drafts)


def _verify_cost(options: PlanOptions) -> list[float] | None:
    """Return the times of passes over 1, 2, ... tokens, if they are given."""
    if options.verify_cost is None:
        return None
    curve = read.numbers(options.verify_cost, "verify_cost", "(0, inf)")
    if len(curve) < 2:
        raise ValueError("verify_cost has 1 entry; t(1), t(2), ... of one draft or more are needed")
    return curve


def _listed(values: Sequence[int]) -> str:
    """Return a list of numbers as it is typed."""
    return ",".join(map(str, values))


def _check_models(options: PlanOptions) -> None:
    """Raise ValueError for options that do not go with models on a device."""
    # All three, and no costs as numbers.
    names = {"--target": options.target, "--draft": options.draft, "--hardware": options.hardware}
    missing = [name for name, value in names.items() if value is None]
    if missing:
        raise ValueError(f"{' and '.join(missing)} missing; give all three, or --cost-ratio alone")
    if options.cost_ratio is not None:
        raise ValueError("--cost-ratio stands instead of --target, --draft and --hardware; give one or the other")
    if options.verify_cost is not None:
        raise ValueError("--verify-cost goes with --cost-ratio; models and hardware have a curve of their own")
    # Options of a draft model need one.
    if options.draft in LOOKED_UP:
        of_draft = [name for name in OF_A_DRAFT if _is_given(options, name)]
        if of_draft:
            name = f"--{of_draft[0].replace('_', '-')}"
            raise ValueError(f"{name} is of a draft model, and --draft {options.draft} has none; leave it out")
    parallel = max(options.tp, options.draft_tp)
    if parallel > lists.MOST["tp"]:
        raise ValueError(f"tp is {parallel}; it must be at most {lists.MOST['tp']}")


def _modelled(options: PlanOptions, batches: Sequence[int], contexts: Sequence[int]) -> Costs:
    """Return the costs of models on a device."""
    _check_models(options)
    assert options.target is not None
    assert options.draft is not None
    assert options.hardware is not None

    # The models, the device, and the types of numbers.
    target, device = models.target(options.target), hardware(options.hardware)
    scored = None if options.draft_vocab is None else check.integer(options.draft_vocab, "draft_vocab", 1)
    drafter = models.drafter(options.draft, target, scored)
    dtype = None if options.dtype is None else short_name(options.dtype)
    types = chosen_types(dtype, options.weights, options.draft_weights, target, drafter.shape, device)
    cache = chosen_cache(options.kv_dtype, target)
    overhead_ms = 0.0 if options.overhead is None else options.overhead
    parallel = options.tp, options.draft_tp

    # Times by the roofline of the device.
    latency = roofline(
        target,
        drafter.shape or target,
        device,
        tensor_parallel=options.tp,
        draft_tensor_parallel=options.draft_tp,
        dtype=types.products,
        weight_bytes=types.target,
        draft_weight_bytes=types.draft,
        kv_bytes=cache.width,
        overhead_s=float(check.scalar(overhead_ms, "overhead", "[0, inf)")) / 1e3,
        constants=_constants(options.experts_overhead, target),
    )
    if drafter.shape is None:
        latency = _without_draft_model(latency)
    if cache.words:
        latency = latency._replace(assumptions=(*latency.assumptions, cache.words))

    # Without --overhead it is in no value, but the low ends of intervals allow for it.
    hidden_overhead = 0.0
    if options.overhead is None:
        hidden_overhead = doubts.OVERHEAD_S
        words = (
            "host and sampling take no time in the values (--overhead is not given); the low ends of intervals, if "
            f"there are any, allow {1e3 * hidden_overhead:g} ms a cycle, which a measured engine left over"
        )
        others = [assumption for assumption in latency.assumptions if assumption != NO_OVERHEAD]
        latency = latency._replace(assumptions=(*others, words))

    # Notes on the shapes, and points that do not fit the memory.
    notes = [*models.named_after(options.target, target), *drafter.notes, *types.notes]
    notes += [note for shape in (target, drafter.shape) if shape is not None for note in models.config_notes(shape)]
    notes += _mismatches(target, drafter, parallel)
    placed = [Placed(target, types.target, options.tp, cache.width)]
    if drafter.shape is not None:
        placed.append(Placed(drafter.shape, types.draft, options.draft_tp, cache.width))
    unfit = misfits(placed, device, batches, contexts)
    notes += [misfit.note for misfit in unfit]
    return Costs(latency, drafter.method, tuple(notes), hidden_overhead, types=types, misfits=unfit)


def _without_draft_model(latency: LatencyModel) -> LatencyModel:
    """Return the costs if drafts are looked up: draft steps take no time."""
    words = [assumption for assumption in latency.assumptions if not assumption.startswith(KNOWN)]
    words.append("no interval: no cycle without a draft model is recorded to compare with")
    return latency._replace(draft=lambda batch, context: Timing(0.0), cycle_error=None, assumptions=tuple(words))


def _constants(experts_ms: float | None, target: ModelShape) -> Constants:
    """Return the constants of the device, with the fixed time of all layers with experts."""
    if experts_ms is None:
        return Constants()
    fixed = float(check.scalar(experts_ms, "experts_overhead", "[0, inf)"))
    if not target.moe_layers:
        raise ValueError(f"--experts-overhead is {fixed:g} ms, but {target.name} has no experts")
    return Constants(experts_s=fixed / 1e3 / target.moe_layers)


def _mismatches(target: ModelShape, drafter: models.Drafter, parallel: tuple[int, int]) -> list[str]:
    """Return notes on what does not go together: vocabularies, or heads and devices."""
    notes = []
    draft = drafter.shape
    if draft is not None and target.vocab != draft.vocab:
        sizes = f"{target.name} has {target.vocab} tokens and {draft.name} {draft.vocab}"
        notes.append(f"{sizes}: a draft needs the target's tokenizer, padding aside, or an engine that translates")
    for shape, devices in ((target, parallel[0]), (draft, parallel[1])):
        if shape is not None and shape.heads % devices:
            notes.append(f"{shape.name} has {shape.heads} heads, which {devices} devices cannot share equally")
    return notes
