"""The provenance of a comparison: models, texts, settings, machine."""

from __future__ import annotations

from typing import Any, NamedTuple

from real.studies import provenance
from real.studies.compare.settings import Settings
from real.studies.compare.tree_settings import TreeSettings
from real.studies.prompting import Prompts

# Most prompts by which the shapes of trees are chosen.
SPARE = 16


class Subject(NamedTuple):
    """The models of a comparison, and how they run.

    The fields are options of `specsim-real compare`. target and draft are "" for the bundled pair;
    widen counts millions of parameters, 0 for the target as it is.
    """

    target: str
    draft: str
    device: str
    dtype: str
    threads: int
    widen: float
    weights: str


def spare_prompts(prompts: Prompts, settings: Settings | TreeSettings) -> tuple[list[str], int]:
    """Return the prompts by which shapes of trees are chosen, and the number of the first.

    They are the prompts behind those that are decoded after; where there are no more, the same
    ones serve, from number 0. Without a shape to choose there are none.
    """
    first = prompts.count if prompts.count < len(prompts.every) else 0
    if isinstance(settings, TreeSettings) and settings.shapes_wanted:
        return prompts.every[first : first + SPARE], first
    return [], first


def provenance_of(
    subject: Subject,
    settings: Settings | TreeSettings,
    prompts: Prompts,
    command: str,
) -> dict[str, Any]:
    """Return the provenance of a run: comparisons that differ in more than date and command differ.

    A record is carried on only by a run with the same one.
    """
    # Entries of every comparison.
    run_provenance = provenance.provenance(
        command=command,
        target=subject.target or "bundled",
        draft=subject.draft or "bundled",
        weights=[provenance.weights(subject.target), provenance.weights(subject.draft)],
        device=subject.device,
        dtype=subject.dtype,
        threads=subject.threads,
        seed=settings.seed,
        rule=",".join(settings.rules),
        warping=vars(settings.warping),
        prompts=len(prompts.texts),
        prompts_digest=provenance.digest(prompts.texts),
        max_tokens=settings.max_tokens,
        widened_to_millions=subject.widen or None,
    )
    run_provenance |= prompts.asked
    if subject.weights:
        run_provenance["target_weights"] = subject.weights

    # Entries of chains, then those of trees.
    if isinstance(settings, Settings):
        run_provenance |= {"gammas": settings.gammas, "calibrated": settings.timed}
        if settings.timed_prompts is not None:
            run_provenance["timed_prompts"] = settings.timed_prompts
        return run_provenance | ({"params": list(settings.params)} if settings.params else {})
    run_provenance["trees"] = list(settings.trees)
    run_provenance |= {"scheme": settings.scheme, "chains": list(settings.gammas)}
    texts_for_shapes, _ = spare_prompts(prompts, settings)
    run_provenance["shape_texts"] = len(texts_for_shapes)
    optional = {"step": settings.step, "draws": settings.draws}
    return run_provenance | {name: value for name, value in optional.items() if value is not None}
