"""The command `specsim-real train-pair`: a small target and its draft, trained on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from real.train.recipe import Recipe
from specsim.commands.json_form import json_answer
from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

EXAMPLES = (
    "specsim-real train-pair",
    "specsim-real train-pair --text book.txt --target-steps 2000 --out runs/mine",
)


def train(
    text: Annotated[
        list[Path] | None, typer.Option(help="Text file to learn from; the standard library by default.")
    ] = None,
    vocab: Annotated[int, typer.Option(help="Entries of the tokenizer.")] = Recipe.vocab,
    target_steps: Annotated[int, typer.Option(help="Steps of the target.")] = Recipe.target_steps,
    draft_steps: Annotated[int, typer.Option(help="Steps of the draft, cross-entropy.")] = Recipe.draft_steps,
    distil_steps: Annotated[int, typer.Option(help="Steps of the draft, KL to the target.")] = Recipe.distil_steps,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of torch.")] = 1,
    out: Annotated[
        Path, typer.Option(help="Folder for target, draft, tokenizer, prompts and recipe.", rich_help_panel=OUTPUT)
    ] = Path("pair"),
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Train a small Llama target and draft; a rerun carries an interrupted one on to the same weights."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    # Imported here, so that help loads no torch.
    from real.train.pair import train_pair
    from specsim.report.forms import Cell, Number, table

    recipe = Recipe(
        seed=seed, vocab=vocab, target_steps=target_steps, draft_steps=draft_steps, distil_steps=distil_steps
    )
    try:
        record = train_pair(out, recipe, text=text or (), threads=threads)
    except KeyboardInterrupt as stopped:
        typer.echo(f"interrupted: {stopped}", err=True)
        raise typer.Exit(130) from None
    if form == "json":
        typer.echo(json_answer("specsim-real/train-pair", record))
    else:
        rows: list[list[Cell]] = [["measured", "value"]]
        for name, value in record["measured"].items():
            rows.append([name.replace("_", " "), Number(f"{value:.4f}", value)])
        typer.echo(table(rows, form))
