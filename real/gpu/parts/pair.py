"""Part `pair`: a medium pair trained on the spot, its losses, and the whole comparison on it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
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
    """The training, and the settings of the comparison on its pair."""

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
        5.0,
        5.0,
        300_000,
    ),
    prompts=2,
    max_tokens=8,
    gammas=(1, 3),
    calibrated=(1, 2),
)


def part(device: torch.device, folder: Path, *, tiny: bool) -> Part:
    """Train and save, then losses, then a comparison, and on a GPU one with eager cycles beside it."""
    settings, work = TINY if tiny else Settings(), folder / "pair-weights"
    text = cache(partial(read_text, settings.plan))
    tasks = [row_task("training", partial(_trained, settings.plan, text, device, work))]
    tasks.append(row_task("held-out loss", lambda: _losses(settings.plan, text(), device, work)))
    for mode in ("graphs", "eager") if device.type == "cuda" else ("eager",):
        keys = [f"{mode}/{name}" for name in ("acceptance", "costs", "bandwidth")]
        keys += [f"{mode}/gamma {g}" for g in settings.gammas]
        tasks.append(Task(keys, partial(_compared, settings, text, device, work, mode)))
    # Once every row is there, the weights are removed.
    return Part("pair", asdict(settings), tasks, speedups, lambda: shutil.rmtree(work, ignore_errors=True))


def _trained(plan: Plan, text: Any, device: torch.device, work: Path) -> Row:
    """Train the pair and save it, rounded to bfloat16, where git does not look."""
    remedy = f"a recipe with batch {plan.recipe.batch // 2} in place of {plan.recipe.batch}"
    with explain_oom(f"training of a target shaped {plan.recipe.target}", remedy):
        target, draft, stages = train(plan, text(), device)
    work.mkdir(exist_ok=True)
    (work / ".gitignore").write_text("*\n", encoding="utf-8")
    for name, model in (("target", target), ("draft", draft)):
        model.to(torch.bfloat16).save_pretrained(work / name)
        text().tokenizer.save_pretrained(work / name)
    return {
        "parameters": {"target": target.num_parameters(), "draft": draft.num_parameters()},
        "stages": {name: stage._asdict() for name, stage in stages.items()},
        "corpus_sha256": text().corpus.sha256,
    }


def _losses(plan: Plan, text: Text, device: torch.device, work: Path) -> Row:
    """Nats per token on held-out text, with the weights as they are used."""
    _check_there(work)
    window = plan.recipe.window
    windows = text.held_out[: len(text.held_out) // window * window].view(-1, window).to(device)
    models = {name: load_hf(work / name, dtype=torch.bfloat16).to(device) for name in ("target", "draft")}
    losses = {name: held_out_loss(model, windows) for name, model in models.items()}
    return {"nats_per_token": losses, "tokens": windows.numel(), "vocabulary": len(text.tokenizer)}


def _compared(
    settings: Settings, text: Any, device: torch.device, work: Path, mode: str, wanted: list[str]
) -> Iterator[tuple[str, Row]]:
    """Yield rows of the comparison, for the gammas that are not there yet."""
    # The pair. A model that hides its weights runs no cycles of fixed shapes.
    _check_there(work)
    pair = load(work / "target", work / "draft", device=device, dtype=torch.bfloat16)
    if mode == "eager":
        pair = replace(pair, target=replace(pair.target, weights=None), draft=replace(pair.draft, weights=None))
    prompts = cut_prompts(pair.tokenizer, text().corpus.held_out, settings.prompts)
    ids = [list(pair.tokenizer(prompt)["input_ids"]) for _, prompt in prompts]
    gammas = tuple(g for g in settings.gammas if f"{mode}/gamma {g}" in wanted)

    # The comparison; what stops it is raised after the rows of the finished prompts.
    names = {Scored: "acceptance", Costs: "costs", Bandwidth: "bandwidth"}
    run = CompareSettings(gammas, settings.calibrated, settings.max_tokens)
    rows, stopped = _until_stopped(measure.compare(pair, ids, run))
    for _, result in rows:
        row = as_json(result)
        name = names.get(type(result), f"gamma {row.get('gamma')}")
        whole = {} if stopped is None else {"partial": f"fewer than {len(ids)} prompts: {reason(stopped)}"}
        yield f"{mode}/{name}", (row if "gamma" in row else {name: row}) | whole
    if stopped is not None:
        raise stopped


def _until_stopped(results: Iterator[Any]) -> tuple[list[Any], BaseException | None]:
    """The results of a comparison, and the error that stopped it, if one did.

    After an error rows are of the finished prompts.
    """
    rows = []
    try:
        with explain_oom("the comparison of one text at a time", "more free memory on the device"):
            for each in results:
                rows.append(each)  # noqa: PERF402 - kept if the next one raises
    except (KeyboardInterrupt, RuntimeError, MemoryError, ValueError) as error:
        return rows, error
    return rows, None


def _check_there(work: Path) -> None:
    """Refuse a folder without trained weights."""
    if not (work / "draft" / "config.json").is_file():
        raise ValueError(
            f"no trained weights in {work.name}: training failed, or they were removed (then delete pair.json)"
        )
