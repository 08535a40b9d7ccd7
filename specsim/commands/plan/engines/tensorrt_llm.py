"""TensorRT-LLM: the YAML of `trtllm-serve --config`, and forced acceptance, as of version 1.3 with PyTorch.

`speculative_config` has `decoding_type`, `max_draft_len` and, unless the drafter has none, `speculative_model`. One of
two fields turns lengths by batch on; both together are refused:

- `max_concurrency`: drafts up to this batch, none above.
- `draft_len_schedule`: drafts by the *largest* batch they are for. {4: 4, 8: 2} is 4 drafts at batches 1 to 4, 2 at 5
  to 8 and none above. The smallest batch must have `max_draft_len` drafts, and no batch more. Until pull request
  10860 a key was the *smallest* batch of its length, and the key 1 was required.

Above the last batch no drafts are made. Until pull request 16888 the draft's cache then missed what was written, and
acceptance fell for good; since then EAGLE-3 and MTP keep it, and other drafters draft one token instead of none.

Forced, by the environment: `TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS` is the mean number of accepted *drafts*, so the
tokens of a step less one. The whole part is accepted in every step, the rest with its probability (pull request 13569;
before it, whole numbers alone). 0 forces nothing.
"""

from __future__ import annotations

import json

from specsim.commands.plan.engines.handover import WITHOUT_MODEL, Handover

# Drafters by its names. Its suffix automaton is another drafter than suffix decoding; EAGLE heads of the first kind and
# P-EAGLE it cannot load.
NAMES = {
    **{"model": "Draft_Target", "eagle3": "Eagle3", "mtp": "MTP", "ngram": "NGram", "dflash": "DFlash"},
    "parallel": "PARD",
}
# Drafters that make a whole block in one pass.
IN_ONE_PASS = ("dflash", "parallel")
# Drafters with one length for all batches: they do not run inside the target's engine.
ONE_LENGTH = ("ngram",)
# Drafters whose cache is kept up while nothing is drafted.
KEPT_WARM = ("eagle3", "mtp")
FORCED = "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"


def config(plan: Handover) -> str:
    """Return the YAML with the block `speculative_config`."""
    lines = [f"decoding_type: {_name(plan.method)}", f"max_draft_len: {plan.gamma}"]
    if plan.method not in WITHOUT_MODEL:
        lines.append(f"speculative_model: {json.dumps(plan.draft, ensure_ascii=False)}")
    lines += _lengths(plan)
    return "\n".join(["speculative_config:", *(f"  {line}" for line in lines)])


def notes(plan: Handover) -> list[str]:
    """Return what to mind about drafts of one pass and lengths by batch, and where the file goes."""
    lines = ["write it to a file for trtllm-serve --config FILE"]
    if plan.method == "parallel":
        lines.append(
            "PARD fills a block in one pass: the draft has to be trained for it; add mask_token_id unless its "
            "config.json has one"
        )
    ranges = _drafting(plan)
    if len(plan.schedule) == 1:
        return lines
    if len(ranges) > 1:
        lines.append(
            "draft_len_schedule has a length up to each batch, as 1.3 reads it; releases without TensorRT-LLM's pull "
            "request 10860 read it as a length from each batch on"
        )

    # What happens above the last batch that drafts.
    _, last_batch, _ = ranges[-1]
    lines.append(f"above batch {last_batch} nothing is drafted")
    if plan.method in KEPT_WARM:
        lines.append(
            "releases without TensorRT-LLM's pull request 16888 lose acceptance when they draft again after a larger "
            "batch"
        )
    else:
        lines.append("there releases since TensorRT-LLM's pull request 16888 draft one token, not none")
    return lines


def synthetic(plan: Handover) -> str:
    """Return the variable of the environment that forces this acceptance."""
    _name(plan.method)
    if plan.method in ONE_LENGTH:
        raise ValueError(
            f"TensorRT-LLM forces whole numbers alone of its {plan.method} drafter, and {plan.accepted:.3g} drafts are "
            "accepted in the mean: nothing is emitted"
        )
    accepted = f"{plan.accepted:.6f}"
    if not float(accepted):
        raise ValueError("no draft is accepted, and TensorRT-LLM reads 0 as nothing forced: nothing is emitted")
    return f"{FORCED}={accepted}"


def synthetic_notes(plan: Handover) -> list[str]:
    """Return where the variable goes, and what it does not keep."""
    return [
        f"set it in the environment of trtllm-serve, with max_draft_len {plan.gamma}; --emit tensorrt-llm writes the "
        "file of its drafter",
        "a step accepts one of the two whole numbers around the mean",
        "releases without TensorRT-LLM's pull request 13569 take whole numbers alone: they force nothing",
    ]


def _lengths(plan: Handover) -> list[str]:
    """Return the YAML lines of lengths by batch, [] if all batches have one length."""
    ranges = _drafting(plan)
    if len(plan.schedule) == 1:
        return []
    _, last_batch, first_gamma = ranges[0]
    if len(ranges) == 1:
        return [f"max_concurrency: {last_batch}"]
    if first_gamma != plan.gamma:
        raise ValueError(
            f"the plan is to draft {first_gamma} at batch 1 and {plan.gamma} at a larger one; TensorRT-LLM takes "
            "lengths that are longest at the smallest batches: plan with one --batch, or a smaller --max-gamma"
        )
    return ["draft_len_schedule:", *(f"  {last}: {gamma}" for _, last, gamma in ranges)]


def _drafting(plan: Handover) -> list[tuple[int, int, int]]:
    """Return the ranges (first batch, last batch, length) of the schedule up to the last that drafts."""
    places = [i for i, (_, _, gamma) in enumerate(plan.schedule) if gamma]
    return list(plan.schedule[: places[-1] + 1])


def _name(method: str) -> str:
    """Return TensorRT-LLM's name of a drafter; ValueError if it has none."""
    if method not in NAMES:
        raise ValueError(f"which options TensorRT-LLM has for a drafter {method} is not known here: nothing is emitted")
    return NAMES[method]
