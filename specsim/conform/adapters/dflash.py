"""dflash: the verifier of its block drafts, with whole rows of the draft and with their largest entries only."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters._installed import module, note
from specsim.conform.subject import SamplingParams, Subject

DISTRIBUTION = "dflash"
VERSIONS = "==0.1.0"
KIND = "chain"
ENTRY = "dflash.model._rejection_sample"
NEEDS = ("torch", "transformers")
LICENCE = "MIT"


def subjects() -> list[Subject]:
    """Return its verifier on dense and on sparse rows of the draft, and after its own sampling parameters."""
    caveat = note(DISTRIBUTION, VERSIONS)
    model = module("dflash.model")
    sample, laws = model._rejection_sample, model._sampling_probs

    def dense(p: Any, q: Any, drafts: Any) -> tuple[int, Any]:
        """Verify with whole rows of the draft."""
        num_accepted, token = sample(drafts[None], p[None], q[None])
        return int(num_accepted), token

    def sparse(p: Any, q: Any, drafts: Any) -> tuple[int, Any]:
        """Verify with rows of the draft sorted, and the tokens of their entries."""
        indices = q.argsort(-1, descending=True)
        num_accepted, token = sample(drafts[None], p[None], q.gather(-1, indices)[None], indices[None])
        return int(num_accepted), token

    def parameters(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams) -> tuple[int, Any]:
        """Verify after the sampling parameters; at temperature 0 compare with the argmax, as its loop does."""
        if sampling_params.temperature == 0:
            best = p.argmax(-1)
            num_accepted = int((drafts == best[:-1]).cumprod(0).sum())
            return num_accepted, best[num_accepted]
        settings = (sampling_params.temperature, sampling_params.top_p, sampling_params.top_k)
        batch_p, batch_q = (laws(logits[None], *settings) for logits in (p, q))
        return dense(batch_p[0], batch_q[0], drafts)

    # The three entries as subjects.
    whole = Subject(ENTRY, "chain", dense, "torch", randomness="global", dtypes=("float32", "bfloat16"), note=caveat)
    return [
        whole,
        whole._replace(name=f"{ENTRY}, draft_indices", run=sparse),
        whole._replace(name=f"{ENTRY} after _sampling_probs", run=parameters, dtype="float32", logits=True, warps=True),
    ]
