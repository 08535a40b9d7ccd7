"""Costs of models on a device, by its roofline."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.base import check
from specsim.base.dtypes import short_name
from specsim.commands.plan import doubts, lists, models
from specsim.commands.plan.cost_record import Costs
from specsim.commands.plan.memory import misfits
from specsim.commands.plan.options import PlanOptions, is_given
from specsim.commands.plan.share import LOOKED_UP
from specsim.commands.plan.stored import cache_notes, chosen_cache, chosen_types
from specsim.latency import Constants, LatencyModel, ModelShape, Timing, hardware, roofline
from specsim.latency.kernels import KNOWN, NO_OVERHEAD
from specsim.latency.memory import Placed

# Options about the weights of a draft model.
OF_A_DRAFT = ("draft_tp", "draft_weights", "draft_vocab")


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
        of_draft = [name for name in OF_A_DRAFT if is_given(options, name)]
        if of_draft:
            name = f"--{of_draft[0].replace('_', '-')}"
            raise ValueError(f"{name} is of a draft model, and --draft {options.draft} has none; leave it out")
    parallel = max(options.tp, options.draft_tp)
    if parallel > lists.MOST["tp"]:
        raise ValueError(f"tp is {parallel}; it must be at most {lists.MOST['tp']}")


def modelled_costs(options: PlanOptions, batches: Sequence[int], contexts: Sequence[int]) -> Costs:
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
        assumptions = [assumption for assumption in latency.assumptions if assumption != NO_OVERHEAD]
        latency = latency._replace(assumptions=(*assumptions, doubts.hidden_words(hidden_overhead)))

    # Notes on the shapes, and points that do not fit the memory.
    notes = [*models.named_after(options.target, target), *drafter.notes, *types.notes]
    notes += [note for shape in (target, drafter.shape) if shape is not None for note in models.config_notes(shape)]
    notes += [*_mismatches(target, drafter, parallel), *cache_notes(cache, device)]
    placed = [Placed(target, types.target, options.tp, cache.width)]
    if drafter.shape is not None:
        placed.append(Placed(drafter.shape, types.draft, options.draft_tp, cache.width))
    unfit = misfits(placed, device, batches, contexts)
    notes += [misfit.note for misfit in unfit]
    return Costs(
        latency, drafter.method, tuple(notes), hidden_overhead, types=types, misfits=unfit, placed=tuple(placed)
    )


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
