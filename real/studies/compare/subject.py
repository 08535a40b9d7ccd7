"""What a comparison runs on, as its provenance: models, texts, settings, machine."""

from __future__ import annotations

from typing import Any, NamedTuple

from real.studies.compare import report
from real.studies.compare.settings import Settings
from real.studies.compare.tree_settings import TreeSettings
from real.studies.prompting import Prompts

# Prompts at most that the shapes of trees are chosen by.
SPARE = 16


class Subject(NamedTuple):
    """The models of a comparison, and how they run: the options of these names of `specsim-real compare`.

    target and draft are "" for the bundled pair; widen counts millions of parameters, 0 for the target as it is.
    """

    target: str
    draft: str
    device: str
    dtype: str
    threads: int
    widen: float
    weights: str


def spare_prompts(prompts: Prompts, settings: Settings | TreeSettings) -> tuple[list[str], int]:
    """Return the prompts that shapes of trees are chosen by, if any are to be found, and the place of the first.

    They stand after those that are decoded after; where there are no more, the same ones serve, from place 0.
    """
    first = prompts.count if prompts.count < len(prompts.every) else 0
    if isinstance(settings, TreeSettings) and settings.shapes_wanted:
        return prompts.every[first : first + SPARE], first
    return [], first


def provenance_of(
    subject: Subject, settings: Settings | TreeSettings, prompts: Prompts, command: str
) -> dict[str, Any]:
    """Return what a record says of its run: another comparison has another one, but for date and command."""
    what = report.provenance(
        command=command,
        target=subject.target or "bundled",
        draft=subject.draft or "bundled",
        weights=[report.weights(subject.target), report.weights(subject.draft)],
        device=subject.device,
        dtype=subject.dtype,
        threads=subject.threads,
        seed=settings.seed,
        rule=",".join(settings.rules),
        warping=vars(settings.warping),
        prompts=len(prompts.texts),
        prompts_digest=report.digest(prompts.texts),
        max_tokens=settings.max_tokens,
        widened_to_millions=subject.widen or None,
    )
    what |= prompts.asked
    if subject.weights:
        what["target_weights"] = subject.weights
    if isinstance(settings, Settings):
        what |= {"gammas": settings.gammas, "calibrated": settings.timed}
        if settings.timed_prompts is not None:
            what["timed_prompts"] = settings.timed_prompts
        return what | ({"params": list(settings.params)} if settings.params else {})
    what |= {"trees": list(settings.trees), "scheme": settings.scheme, "chains": list(settings.gammas)}
    what["shape_texts"] = len(spare_prompts(prompts, settings)[0])
    return what | {name: value for name in ("step", "draws") if (value := getattr(settings, name)) is not None}
