"""A plan in the words of an engine: what drafts, how much, at which batch; or an acceptance forced in a benchmark.

Each engine has a file in `engines`. An option that is not known to exist is not printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from specsim.base.unknown import unknown
from specsim.commands.plan.engines import aisimulate, llamacpp, sglang, tensorrt_llm, vllm
from specsim.commands.plan.engines.handover import DESCRIBED, METHODS, Handover
from specsim.lengths.acceptance_record import as_acceptance
from specsim.speed.grid import Given


def _no_notes(plan: Handover) -> list[str]:
    """Return no notes."""
    return []


class Emitter(NamedTuple):
    """A function that writes a plan for an engine, and one for its notes.

    by_batch: whether the engine takes a length by batch. one_length: drafters for which it takes one alone.
    in_one_pass: drafters that make a whole block in one pass there.
    """

    write: Callable[[Handover], str]
    notes: Callable[[Handover], list[str]] = _no_notes
    by_batch: bool = False
    one_length: tuple[str, ...] = ()
    in_one_pass: tuple[str, ...] = ()


EMITTERS = {
    "vllm": Emitter(vllm.config, vllm.notes, by_batch=True, in_one_pass=vllm.IN_ONE_PASS),
    "sglang": Emitter(sglang.options, in_one_pass=sglang.IN_ONE_PASS),
    "tensorrt-llm": Emitter(
        tensorrt_llm.config,
        tensorrt_llm.notes,
        by_batch=True,
        one_length=tensorrt_llm.ONE_LENGTH,
        in_one_pass=tensorrt_llm.IN_ONE_PASS,
    ),
    "llamacpp": Emitter(llamacpp.options, in_one_pass=llamacpp.IN_ONE_PASS),
    "aisimulate": Emitter(aisimulate.config, aisimulate.notes),
    "aiconfigurator": Emitter(aisimulate.nextn),
    "vllm-synthetic": Emitter(vllm.synthetic, vllm.notes, by_batch=True, in_one_pass=vllm.IN_ONE_PASS),
    "sglang-synthetic": Emitter(sglang.synthetic, sglang.synthetic_notes, in_one_pass=sglang.IN_ONE_PASS),
    "tensorrt-llm-synthetic": Emitter(
        tensorrt_llm.synthetic, tensorrt_llm.synthetic_notes, in_one_pass=tensorrt_llm.IN_ONE_PASS
    ),
    "llamacpp-synthetic": Emitter(llamacpp.synthetic, in_one_pass=llamacpp.IN_ONE_PASS),
    "sglang-adaptive": Emitter(sglang.adaptive, sglang.adaptive_notes, by_batch=True),
}
# Engines that serve, each of which has a way to force acceptance.
SERVING = ("vllm", "sglang", "tensorrt-llm", "llamacpp")
# Tables that no engine reads: see `cells`.
TABLES = ("json", "csv")
ENGINES = (*EMITTERS, *TABLES)
# Engines that take a length by batch.
BY_BATCH = tuple(name for name, emitter in EMITTERS.items() if emitter.by_batch)


def takes_batches(engine: str, method: str) -> bool:
    """Return whether an engine takes a length by batch for a drafter."""
    return engine in BY_BATCH and method not in EMITTERS[engine].one_length


def check_one_pass(engine: str, method: str) -> None:
    """Raise ValueError if an engine would draft one by one where a plan has drafts of one pass."""
    if method in EMITTERS[engine].in_one_pass:
        return
    # What can be done: another engine, another drafter, or another plan.
    end = "-synthetic" if engine.endswith("-synthetic") else ""
    able = [f"{name}{end}" for name in SERVING if method in EMITTERS[name].in_one_pass]
    remedies = [f"--emit {' or '.join(able)}"] if able else []
    if "dflash" in EMITTERS[engine].in_one_pass:
        remedies.append("the config.json of a DFlash head as --draft")
    remedies.append("a plan without --one-pass, of drafts made one by one")
    raise ValueError(
        f"--emit {engine}: the plan has drafts of one pass by {DESCRIBED[method]}, and {engine} has no option for "
        f"them: nothing is emitted; give {', or '.join(remedies)}"
    )


def handover(
    engine: str,
    schedule: Sequence[tuple[int, int, int]],
    acceptance: Given,
    *,
    draft: str,
    method: str = "model",
    tree: Sequence[int] = (),
) -> Handover:
    """Return the plan as an engine gets it; ValueError as in `emit`."""
    if engine not in EMITTERS:
        raise unknown("emit", engine, EMITTERS)
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    # Engines without a length by batch take that of the first range.
    ranges = schedule if takes_batches(engine, method) else schedule[:1]
    plan = Handover(ranges, as_acceptance(acceptance), draft, method, tree if engine == "sglang" else ())
    if plan.gamma == 0 and not plan.tree:
        raise ValueError("the plan is not to speculate: there is nothing to emit")
    return plan


def emit(
    engine: str,
    schedule: Sequence[tuple[int, int, int]],
    acceptance: Given,
    *,
    draft: str,
    method: str = "model",
    tree: Sequence[int] = (),
) -> str:
    r"""Return the options by which an engine drafts by this schedule, or accepts as planned in a benchmark.

    .. math:: \tau = 1 + \sum_i P(n \ge i) = 1 + \sum_i \prod_{j \le i} \alpha_j

    Parameters
    ----------
    engine : str
        A key of `EMITTERS`.
    schedule : sequence of (first, last, gamma)
        As `batch_schedule` gives it. Engines that do not take a length by batch get that of its first entry.
    acceptance : float, array_like, HazardEstimate, callable or Acceptance
        As in `plan`.
    draft : str
        The draft model's folder or hub id.
    method : str
        What drafts: one of `METHODS`.
    tree : sequence of int
        Parents of the nodes of a tree, for SGLang, instead of a chain.

    Returns
    -------
    str
        vLLM: the JSON of --speculative-config. TensorRT-LLM, aisimulate: YAML. Adaptive SGLang: the JSON of the file of
        --speculative-adaptive-config. Forced acceptance of SGLang and TensorRT-LLM: variables of the environment, one a
        line. The others: options of the command line.

    Raises
    ------
    ValueError
        An unknown engine or method, a schedule that never drafts, or one that the engine cannot hold.

    Examples
    --------
    >>> emit("llamacpp-synthetic", [(1, 1, 3)], [0.8, 0.5, 0.5], draft="small")
    '--spec-draft-n-max 3 --spec-synth-rates 0.8,0.4,0.2'
    """
    plan = handover(engine, schedule, acceptance, draft=draft, method=method, tree=tree)
    return EMITTERS[engine].write(plan)
