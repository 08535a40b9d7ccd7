"""What cycles cost, by what a user says of them: a record, numbers, or models on a device."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from specsim.base import check
from specsim.commands.plan import doubts, models, read
from specsim.commands.plan.comparison import Compared
from specsim.commands.plan.share import LOOKED_UP, drafted_share
from specsim.commands.plan.stored import Types, chosen_types
from specsim.latency import (
    Constants,
    Hardware,
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
from specsim.lengths.acceptance import Acceptance
from specsim.speed.cache import cached_drafts

SHAPES = ("weights", "draft_weights", "one_pass", "cache_hits", "experts_overhead", "drafted_share")
TIMED = ("int8", "int4")  # weights whose passes are recorded, for --cost-ratio
Other = tuple[int, int, str | None, int | None]
NONE: Other = (1, 1, None, None)  # nothing said of parallel devices, types and the draft's head


class Told(NamedTuple):
    """What was said of costs, as the options of `specsim plan` are called; numbers are read already."""

    target: str | None = None
    draft: str | None = None
    hardware: str | None = None
    tp: int = 1
    draft_tp: int = 1
    dtype: str | None = None
    draft_vocab: int | None = None
    cost_ratio: float | None = None
    verify_cost: list[float] | None = None
    overhead: float | None = None
    weights: str | None = None
    draft_weights: str | None = None
    one_pass: bool = False
    cache_hits: list[float] | None = None
    experts_overhead: float | None = None
    drafted_share: float | None = None


class Costs(NamedTuple):
    """What cycles cost, what drafts ("model" where only numbers are given), what to say, what intervals allow for.

    steps: the time of a draft step at each level, where that was measured. types: of weights, where models are known.
    share: of the target's steps that have a draft; the costs are those of such a step.
    """

    latency: LatencyModel
    method: str = "model"
    notes: tuple[str, ...] = ()
    allowed: float = 0.0
    steps: tuple[float, ...] = ()
    types: Types | None = None
    share: float = 1.0


def of(told: Told, compared: Compared | None, acceptance: Acceptance, batches: list[int], contexts: list[int]) -> Costs:
    """Costs of a comparison, or as declared, or of models on a device; ValueError for what does not go together."""
    share = drafted_share(_drafting(told, compared), told.drafted_share)
    found = _told(told, compared, batches, contexts)
    found = found._replace(share=share)
    if found.method in LOOKED_UP and (told.one_pass or told.cache_hits is not None):
        raise ValueError("drafts that are looked up take no time: leave out --one-pass and --cache-hits")
    if told.one_pass and not found.latency.one_pass:
        found = found._replace(latency=in_one_pass(found.latency))
    if told.cache_hits is not None:
        found = found._replace(latency=cached_drafts(found.latency, acceptance, told.cache_hits))
    return found


def _drafting(told: Told, compared: Compared | None) -> str:
    """Return the kind of drafter, which decides whether steps without a draft matter; "" where only costs are given."""
    if compared is not None:
        return "a comparison"
    return "" if told.draft is None else told.draft.lower()


def _told(told: Told, compared: Compared | None, batches: list[int], contexts: list[int]) -> Costs:
    other = (told.tp, told.draft_tp, told.dtype, told.draft_vocab)
    if compared is not None:
        return _measured(compared, told, batches, other)
    if all(name is None for name in (told.target, told.draft, told.hardware)):
        return _declared(told, batches, other)
    names = {"--target": told.target, "--draft": told.draft, "--hardware": told.hardware}
    missing = [name for name, value in names.items() if value is None]
    if missing:
        raise ValueError(f"{' and '.join(missing)} missing; give all three, or --cost-ratio alone")
    if told.cost_ratio is not None:
        raise ValueError("--cost-ratio stands instead of --target, --draft and --hardware; give one or the other")
    if told.verify_cost is not None:
        raise ValueError("--verify-cost goes with --cost-ratio; models and hardware have a curve of their own")
    if max(told.tp, told.draft_tp) > read.MOST["tp"]:
        raise ValueError(f"tp is {max(told.tp, told.draft_tp)}; it must be at most {read.MOST['tp']}")
    return _modelled(told, batches, contexts)


def _measured(
    compared: Compared, told: Told, batches: list[int], other: tuple[int, int, str | None, int | None]
) -> Costs:
    """Costs of a comparison."""
    said = ("target", "draft", "hardware", "cost_ratio", "verify_cost", "overhead", *SHAPES)
    named = [f"--{name.replace('_', '-')}" for name in said if getattr(told, name) not in (None, False)]
    if named:
        raise ValueError(f"--comparison has costs of its own; leave out {', '.join(named)}")
    if other != NONE:
        raise ValueError("--tp, --draft-tp, --dtype and --draft-vocab say nothing of a --comparison; leave them out")
    if batches != [1]:
        raise ValueError(f"--comparison has the costs of one text at a time; leave out --batch, got {batches}")
    return Costs(compared.latency, notes=compared.notes, steps=compared.steps)


def _declared(told: Told, batches: list[int], other: Other) -> Costs:
    """Costs given as numbers."""
    curve, overhead = told.verify_cost, told.overhead
    if told.cost_ratio is None:
        raise ValueError("what costs what? give --target, --draft and --hardware, or --cost-ratio (0: drafts are free)")
    if other != NONE:
        raise ValueError("--tp, --draft-tp, --dtype and --draft-vocab say nothing of a --cost-ratio; leave them out")
    if told.experts_overhead is not None:
        raise ValueError("--experts-overhead is of models on a device; with --cost-ratio it is part of --verify-cost")
    if told.draft_weights is not None:
        raise ValueError("--draft-weights is of models on a device; with --cost-ratio it is part of that number")
    if told.weights is not None and told.weights not in TIMED:
        raise ValueError(f"--weights with --cost-ratio must be {' or '.join(TIMED)}, got {told.weights!r}")
    if told.weights is None:
        found = constant(told.cost_ratio, verify_cost=curve, overhead=0 if overhead is None else overhead)
    elif curve is not None:
        raise ValueError("--weights and --verify-cost both say what passes cost; give one of them")
    elif batches[0] != 1:
        raise ValueError(f"--weights with --cost-ratio was timed for one sequence; leave out --batch, got {batches}")
    else:
        found = weight_only(told.weights, told.cost_ratio, overhead=0 if overhead is None else overhead)
    if overhead is None:
        said = "nothing but passes and steps costs time (--overhead is not given)"
        found = found._replace(assumptions=(*found.assumptions, said))
    return Costs(found)


def _modelled(told: Told, batches: list[int], contexts: list[int]) -> Costs:
    """Costs of models on a device."""
    names = (str(told.target), str(told.draft), str(told.hardware))
    large, gpu = models.shape(names[0]), hardware(names[2])
    vocab = None if told.draft_vocab is None else check.integer(told.draft_vocab, "draft_vocab", 1)
    drafter = models.drafter(names[1], large, vocab)
    types = chosen_types(told.dtype, told.weights, told.draft_weights, large, drafter.shape, gpu)
    overhead = told.overhead
    over = float(check.scalar(0.0 if overhead is None else overhead, "overhead", "[0, inf)"))
    tp, draft_tp = parallel = told.tp, told.draft_tp
    found = roofline(
        large,
        drafter.shape or large,
        gpu,
        tensor_parallel=tp,
        draft_tensor_parallel=draft_tp,
        dtype=types.products,
        weight_bytes=types.target,
        draft_weight_bytes=types.draft,
        overhead_s=over / 1e3,
        constants=_constants(told.experts_overhead, large),
    )
    if drafter.shape is None:
        words = [said for said in found.assumptions if not said.startswith(KNOWN)]
        words.append("no interval: no cycle without a draft model is recorded to compare with")
        found = found._replace(draft=lambda b, s: Timing(0.0), cycle_error=None, assumptions=tuple(words))
    allowed = 0.0
    if overhead is None:
        allowed = doubts.OVERHEAD_S
        said = "host and sampling take no time in the values (--overhead is not given); the low ends of intervals, if "
        said += f"there are any, allow {1e3 * allowed:g} ms a cycle, which a measured engine left over"
        kept = [words for words in found.assumptions if words != NO_OVERHEAD]
        found = found._replace(assumptions=(*kept, said))
    notes = [*models.named_after(names[0], large), *drafter.notes, *types.notes]
    notes += [_unread(one) for one in (large, drafter.shape) if one is not None and one.unread]
    notes += [_assumed(one) for one in (large, drafter.shape) if one is not None and one.assumed]
    notes += _mismatches(large, drafter, parallel)
    notes += _fits(large, drafter.shape, gpu, parallel, types, batches, contexts)
    return Costs(found, drafter.method, tuple(notes), allowed, types=types)


def _unread(shape: ModelShape) -> str:
    """Fields of a config that change nothing here, as far as one can tell."""
    fields = ", ".join(shape.unread)
    return f"{shape.name}: these fields of its config are not understood, and nothing is counted for them: {fields}"


def _assumed(shape: ModelShape) -> str:
    """Fields that a config leaves out, with the values that are taken."""
    return f"{shape.name}: its config leaves out, and its model_type's own code takes: {', '.join(shape.assumed)}"


def _constants(experts_ms: float | None, large: ModelShape) -> Constants:
    """Those of the device, with the fixed time of all layers with experts."""
    if experts_ms is None:
        return Constants()
    fixed = float(check.scalar(experts_ms, "experts_overhead", "[0, inf)"))
    if not large.moe_layers:
        raise ValueError(f"--experts-overhead is {fixed:g} ms, but {large.name} has no experts")
    return Constants(experts_s=fixed / 1e3 / large.moe_layers)


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
    types: Types,
    batches: list[int],
    contexts: list[int],
) -> list[str]:
    """Points whose weights and caches are larger than the memory."""
    held, notes = gpu.memory * max(parallel) / 1e9, []
    pairs = ((large, types.target), (small, types.draft))
    both = [
        (one, stored.bytes_of(one.body, one.head, one.moe_layers * one.experts * one.expert))
        for one, stored in pairs
        if one is not None
    ]
    for b, s in product(batches, contexts):
        needed = sum(weights + 2 * one.held_values(s) * b for one, weights in both) / 1e9
        if needed > held:
            notes.append(
                f"batch {b}, context {s} does not fit: weights and caches take at least {needed:.0f} GB of {held:.0f}"
            )
    return notes
