"""At temperature 0 the text is the target's own likeliest."""

from __future__ import annotations

from specsim.conform.cases import standard
from specsim.conform.properties._laws import each
from specsim.conform.properties.joint import look
from specsim.conform.subject import SamplingParams, Subject
from specsim.conform.verdict import Verdict
from specsim.conform.watch import Watch

KINDS = ("step", "chain", "tree", "decoder")


def verdict(subject: Subject, watch: Watch) -> Verdict | None:
    """Of subjects that take a temperature; the first of equals is the likeliest."""
    if not subject.warps:
        return None
    return each("greedy", subject, watch, standard(subject, SamplingParams(temperature=0.0), "temperature 0"), look)
