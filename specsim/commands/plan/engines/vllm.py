"""vLLM: the JSON of `--speculative-config`, as of version 0.33.

Its fields are method, model and `num_speculative_tokens`; where the length depends on the batch, also
`num_speculative_tokens_per_batch_size`, a list of [first batch, last batch, drafts] that starts at 1. Larger batches
take its last entry. It takes no context (vllm#48627 and pull requests 48944, 54801 are open), is ignored by the V2
model runner (vllm#51510, of 0.26) and turned off under data parallelism. A draft model is shared among the devices of
the target.

With `parallel_drafting` a draft model (PARD) or an EAGLE-3 head (P-EAGLE) fills a block of masks in one pass; without
it they draft one by one. DFlash needs no such field.

Forced (`rejection_sample_method` "synthetic"): `synthetic_acceptance_rates` are unconditional, entry i the probability
that the first i + 1 drafts are all accepted, one for each of `num_speculative_tokens`, not increasing.
"""

from __future__ import annotations

import json
from typing import Any

from specsim.commands.plan.engines.handover import WITHOUT_MODEL, Handover

# Drafters by its names.
NAMES = {"model": "draft_model", "peagle": "eagle3", "parallel": "draft_model"}
# Drafters that make a whole block in one pass where a field says so, and all that make one.
BY_FIELD = ("peagle", "parallel")
IN_ONE_PASS = (*BY_FIELD, "dflash")
# Drafters for which vLLM has not tested lengths by batch size.
UNTESTED_BY_BATCH = ("model", "parallel", "ngram", "mtp")


def config(plan: Handover) -> str:
    """Return the JSON of --speculative-config."""
    return json.dumps(_fields(plan))


def synthetic(plan: Handover) -> str:
    """Return the JSON of --speculative-config with forced acceptance."""
    forced = {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": plan.survival}
    return json.dumps(_fields(plan) | forced)


def notes(plan: Handover) -> list[str]:
    """Return what to mind about drafts of one pass, and about lengths by batch."""
    lines = []
    if plan.method in BY_FIELD:
        lines.append(
            "parallel_drafting fills a block in one pass: the draft has to be trained for it (PARD, P-EAGLE), and its "
            "config.json has pard_token or ptd_token_id"
        )
    if len(plan.schedule) == 1:
        return lines
    if plan.method in UNTESTED_BY_BATCH:
        lines.append("vLLM says that a length by batch size is tested with EAGLE heads alone: try it first")
    lines.append("its V2 model runner ignores lengths by batch size: start it with VLLM_USE_V2_MODEL_RUNNER=0")
    return lines


def _fields(plan: Handover) -> dict[str, Any]:
    """Return method, draft model and draft length, by batch where this differs."""
    fields: dict[str, Any] = {"method": NAMES.get(plan.method, plan.method)}
    if plan.method in BY_FIELD:
        fields["parallel_drafting"] = True
    if plan.method not in WITHOUT_MODEL:
        fields["model"] = plan.draft
    fields["num_speculative_tokens"] = plan.gamma
    if len(plan.schedule) > 1:
        fields["num_speculative_tokens_per_batch_size"] = [list(entry) for entry in plan.schedule]
    return fields
