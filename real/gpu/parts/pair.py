"""Part `pair`: a medium pair trained on the spot, its losses, and the whole comparison on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from real.gpu.book import Part, Row, Task, row_task
from real.gpu.device import reason
from real.gpu.plot import speedups
from real.gpu.training import Plan, Text, read_text, train
from real.load_pair import load
from real.models.loading import load_hf
from real.models.memory import explain_oom
from real.studies.compare import measure
from real.studies.compare.record import Bandwidth, Scored, as_json
from real.studies.compare.settings import Settings as CompareSettings
from real.studies.costs import Costs
from real.train.corpus import cut_prompts
from real.train.evaluate import held_out_loss
from real.train.recipe import Recipe, Shape


@dataclass(frozen=True)
class Settings:
    """The plan of the training, and the settings of the comparison on the trained pair."""

    plan: Plan = Plan()  # noqa: RUF009 - frozen
    prompts: int = 12
    max_tokens: int = 64
    gammas: tuple[int, ...] = (1, 2, 3, 4, 6, 8)
    calibrated: tuple[int, ...] = (1, 2, 3)


TINY = Settings(
    Plan(
        Recipe(
            vocab=400,
            window=128,
            batch=2,
            target=Shape(2, 64, 128, 2),
            draft=Shape(1, 32, 64, 2),
            target_steps=12,
            distil_steps=12,
            held_out=0.1,
        ),
        target_s=5.0,
        draft_s=5.0,
        characters=300_000,
    ),
    prompts=2,
    max_tokens=8,
    gammas=(1, 3),
    calibrated=(1, 2),
)


def part(device: torch.device, folder: Path, *, tiny: bool) -> Part:
    """Return the part: a training, the losses of its pair, a comparison, and on a GPU one with eager cycles."""
    settings = TINY if tiny else Settings()
    weights = folder / "pair-weights"
    load_text = cache(partial(read_text, settings.plan))

    # The training saves the pair, which the other tasks load.
    tasks = [row_task("training", partial(_train, settings.plan, load_text, device, weights))]
    tasks.append(row_task("held-out loss", lambda: _losses(settings.plan, load_text(), device, weights)))
    for mode in ("graphs", "eager") if device.type == "cuda" else ("eager",):
        keys = [f"{mode}/{name}" for name in ("acceptance", "costs", "bandwidth")]
        keys += [f"{mode}/gamma {g}" for g in settings.gammas]
        tasks.append(Task(keys, partial(_compared, settings, load_text, device, weights, mode)))

    # Once every row is measured, the weights are removed.
    return Part("pair", asdict(settings), tasks, speedups, lambda: shutil.rmtree(weights, ignore_errors=True))


def _train(plan: Plan, load_text: Callable[[], Text], device: torch.device, weights: Path) -> Row:
    """Train the pair and save it in the folder of weights, rounded to bfloat16; return the row of the training."""
    # Train both models.
    text = load_text()
    remedy = f"a recipe with batch {plan.recipe.batch // 2} in place of {plan.recipe.batch}"
    with explain_oom(f"training of a target shaped {plan.recipe.target}", remedy):
        target, draft, stages = train(plan, text, device)

    # Save them, with a file that keeps git from adding the folder.
    weights.mkdir(exist_ok=True)
    (weights / ".gitignore").write_text("*\n", encoding="utf-8")
    for name, model in (("target", target), ("draft", draft)):
        model.to(torch.bfloat16).save_pretrained(weights / name)
        text.tokenizer.save_pretrained(weights / name)
    return {
        "parameters": {"target": target.num_parameters(), "draft": draft.num_parameters()},
        "stages": {name: stage._asdict() for name, stage in stages.items()},
        "corpus_sha256": text.corpus.sha256,
    }


def _losses(plan: Plan, text: Text, device: torch.device, weights: Path) -> Row:
    """Return the losses of both models on held-out text in nats per token, with their weights as saved."""
    _check_trained(weights)
    # Windows (number, tokens) of the held-out text; what is left after the last whole one is
    # dropped.
    window = plan.recipe.window
    num_tokens = len(text.held_out) // window * window
    windows = text.held_out[:num_tokens].view(-1, window).to(device)
    models = {name: load_hf(weights / name, dtype=torch.bfloat16).to(device) for name in ("target", "draft")}
    losses = {name: held_out_loss(model, windows) for name, model in models.items()}
    return {"nats_per_token": losses, "tokens": windows.numel(), "vocabulary": len(text.tokenizer)}


def _compared(
    settings: Settings, load_text: Callable[[], Text], device: torch.device, weights: Path, mode: str, wanted: list[str]
) -> Iterator[tuple[str, Row]]:
    """Yield the rows of the comparison: acceptance, costs, bandwidth, and the wanted gammas."""
    # The pair. Without `weights` in its record a model cannot run cycles of fixed shapes.
    _check_trained(weights)
    pair = load(weights / "target", weights / "draft", device=device, dtype=torch.bfloat16)
    if mode == "eager":
        pair = replace(pair, target=replace(pair.target, weights=None), draft=replace(pair.draft, weights=None))

    # Prompts from the held-out text, and the gammas that have no row yet.
    prompts = cut_prompts(pair.tokenizer, load_text().corpus.held_out, settings.prompts)
    ids = [list(pair.tokenizer(prompt)["input_ids"]) for _, prompt in prompts]
    gammas = tuple(g for g in settings.gammas if f"{mode}/gamma {g}" in wanted)

    # The comparison. An error is raised after the rows of the prompts that were finished before.
    run = CompareSettings(gammas, settings.calibrated, settings.max_tokens)
    results, error = _until_stopped(measure.compare(pair, ids, run))
    partial_note = {} if error is None else {"partial": f"fewer than {len(ids)} prompts: {reason(error)}"}

    # Rows of gammas have values of their own; the others have one value, under their name.
    names = {Scored: "acceptance", Costs: "costs", Bandwidth: "bandwidth"}
    for _, result in results:
        values = as_json(result)
        name = names.get(type(result), f"gamma {values.get('gamma')}")
        row = values if "gamma" in values else {name: values}
        yield f"{mode}/{name}", row | partial_note
    if error is not None:
        raise error


def _until_stopped(results: Iterator[Any]) -> tuple[list[Any], BaseException | None]:
    """Return the results of a comparison as a list, and the error that stopped it or None.

    A comparison that is stopped yields results of the finished prompts before it raises the error.
    """
    finished = []
    try:
        with explain_oom("the comparison of one text at a time", "more free memory on the device"):
            for result in results:
                finished.append(result)  # noqa: PERF402 - kept if the next one raises
    except (KeyboardInterrupt, RuntimeError, MemoryError, ValueError) as error:
        return finished, error
    return finished, None


def _check_trained(weights: Path) -> None:
    """Refuse a folder without the weights of a trained pair; the draft's are saved last."""
    if not (weights / "draft" / "config.json").is_file():
        raise ValueError(
            f"no trained weights in {weights.name}: training failed, or they were removed (then delete pair.json)"
        )
