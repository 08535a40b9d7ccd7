"""The record of costs that a plan is made of, whatever they come from."""

from __future__ import annotations

from typing import NamedTuple

from specsim.commands.plan.memory import Misfit
from specsim.commands.plan.stored import Types
from specsim.latency import LatencyModel
from specsim.latency.memory import Placed


class Costs(NamedTuple):
    """Costs of cycles that have a draft, with notes and limits.

    method: the kind of drafter; "model" if only numbers are given. notes: remarks for the reader.
    hidden_overhead: overhead of a cycle that is in no value, but in the low ends of intervals.
    level_steps: time of a draft step at each level, if it was measured. types: of weights, if
    models are known. share: of the target calls that have a draft. max_drafts: the longest block
    whose costs are known, None without limit. max_nodes: the same of trees. misfits: points at which
    models do not fit the devices. is_measured: whether times are known at measured points alone, so
    that nothing is searched beyond them. is_whole_cycle: whether all of a cycle stands in the target's
    pass. unknown: which of batch and context measured times do not say. batches, contexts: where measured
    times are known. prompts: measured seconds of reading a prompt alone, by its tokens. has_reading:
    whether measured cycles have the reading of prompts in them, as those of a server's log. placed: the
    target and, if there is one, the draft model, on their devices, if models are known.
    """

    latency: LatencyModel
    method: str = "model"
    notes: tuple[str, ...] = ()
    hidden_overhead: float = 0.0
    level_steps: tuple[float, ...] = ()
    types: Types | None = None
    share: float = 1.0
    max_drafts: int | None = None
    max_nodes: int | None = None
    misfits: tuple[Misfit, ...] = ()
    is_measured: bool = False
    is_whole_cycle: bool = False
    unknown: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    contexts: tuple[int, ...] = ()
    prompts: dict[int, float] | None = None
    has_reading: bool = False
    placed: tuple[Placed, ...] = ()
