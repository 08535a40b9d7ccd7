"""flashspec: its rejection sampler, the steps of its fast loop, and the typical acceptance that it calls lossy."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters._installed import module, note
from specsim.conform.subject import Subject

DISTRIBUTION = "flashspec"
VERSIONS = "==0.3.1"
KIND = "chain"
ENTRY = "flashspec.sampling.rejection.rejection_sample"
NEEDS = ("torch", "transformers", "pydantic")
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """Return its sampler, a step of its loop with and without laws of the draft, and typical acceptance."""
    # The sampler leaves the bonus to its caller.
    caveat = note(DISTRIBUTION, VERSIONS)
    rejection = module("flashspec.sampling.rejection")
    typical_sample = module("flashspec.sampling.typical").typical_sample

    def with_next(tokens: Any, num_accepted: int) -> tuple[int, Any]:
        """Return the number of accepted drafts, and the token after them if there is one."""
        return num_accepted, tokens[num_accepted] if num_accepted < len(tokens) else None

    def sampler(p: Any, q: Any, drafts: Any) -> tuple[int, Any]:
        """Verify with the whole sampler."""
        sample = rejection.rejection_sample
        tokens, num_accepted, _ = sample(drafts[None], q[None], p[None, :-1], drafts[None], len(drafts))
        return with_next(tokens[0], int(num_accepted[0]))

    def steps(p: Any, q: Any, drafts: Any) -> Any:
        """Verify a batch with the step function."""
        return rejection.rejection_step(drafts, q, p).unbind(1)

    def one_hots(p: Any, q: None, drafts: Any) -> Any:
        """Verify a batch of one-hot drafts."""
        return rejection.rejection_step_onehot(drafts, p).unbind(1)

    def alone(rows: Any) -> Any:
        """Return a function of batches as one of single rows."""
        return lambda p, q, drafts: tuple(
            int(column[0]) for column in rows(p[None], None if q is None else q[None], drafts[None])
        )

    def typical(p: Any, q: Any, drafts: Any, *, mass: float = 0.5) -> tuple[int, Any]:
        """Verify with typical acceptance."""
        tokens, num_accepted, _ = typical_sample(q[None], p[None, :-1], drafts[None], len(drafts), typical_p=mass)
        return with_next(tokens[0], int(num_accepted[0]))

    # The entries as subjects; typical acceptance is lossy.
    whole = Subject(ENTRY, "chain", sampler, "torch", "float32", "global", logits=True, note=caveat)
    whole = whole._replace(dtypes=("float32", "bfloat16"))
    place = "flashspec.sampling.rejection.rejection_step"
    lossy = whole._replace(lossless=False)
    return [
        whole,
        whole._replace(name=place, run=alone(steps), batch=steps),
        whole._replace(name=f"{place}_onehot", run=alone(one_hots), batch=one_hots, takes_q=False),
        lossy._replace(name="flashspec.sampling.typical.typical_sample, typical_p=0.5", run=typical),
        lossy._replace(
            name="flashspec.sampling.typical.typical_sample, typical_p=1",
            run=lambda p, q, drafts: typical(p, q, drafts, mass=1.0),
            note="; ".join(filter(None, [caveat, "typical_p is the sampling configuration's top_p, 1 by default"])),
        ),
    ]
