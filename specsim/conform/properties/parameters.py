"""Temperature, top-k and top-p reach the draft, the target, the correction and the bonus token alike, in this order."""

from __future__ import annotations

from collections.abc import Iterator

from specsim.conform.cases import ROWS, Case, make, sizes
from specsim.conform.properties._laws import each
from specsim.conform.properties.joint import look
from specsim.conform.standard_cases import standard
from specsim.conform.subject import SamplingParams, Subject
from specsim.conform.toys import similar, wide
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "the subject takes no sampling parameters (warps=True)"
SAMPLING_PARAMS = {
    "temperature 0.5": SamplingParams(temperature=0.5),
    "temperature 2": SamplingParams(temperature=2.0),
    "top-k 2": SamplingParams(top_k=2),
    "top-p 0.7": SamplingParams(top_p=0.7),
    # The order in which the two are applied shows in the law.
    "temperature 2, top-p 0.7": SamplingParams(temperature=2.0, top_p=0.7),
}
# Parameters on five tokens, each of which leaves another number of tokens, or nearly one.
MORE = {
    "temperature 0.2": SamplingParams(temperature=0.2),
    "top-k 1": SamplingParams(top_k=1),
    "top-k 3": SamplingParams(top_k=3),
    "top-p 0.92": SamplingParams(top_p=0.92),
    "temperature 0.5, top-k 3, top-p 0.7": SamplingParams(0.5, 3, 0.7),
}


def cases(subject: Subject) -> Iterator[Case]:
    """Yield standard cases of the two smallest sizes (a drafter's: of all), under every parameter; some on five tokens.

    Those on five tokens are for subjects that are handed laws: a decoder's two drafts have too many
    paths there.
    """
    if not subject.warps:
        return

    # Cases on three tokens; drafts alone have few paths, so that a drafter has all sizes.
    few = list(sizes(subject))[: None if subject.kind == "drafter" else 2]
    if subject.kind == "tree":
        some = subject._replace(shapes=subject.shapes[:2])
    else:
        some = subject._replace(sizes=(*few, *(size for size in subject.sizes if size == 0)))
    for words, sampling_params in SAMPLING_PARAMS.items():
        yield from standard(some, sampling_params, words)

    # Cases on five tokens; the last, which leaves few of them, with two drafts, too.
    if subject.kind in ROWS:
        for words, sampling_params in MORE.items():
            yield make(subject, *wide(not subject.takes_q), sizes(subject)[0], words, sampling_params)
        if len(sizes(subject)) > 1:
            yield make(subject, *similar(not subject.takes_q), sizes(subject)[1], words, sampling_params)


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict on a subject that takes sampling parameters."""
    if not subject.warps:
        return None
    return each("parameters", subject, trial, cases(subject), look)
