"""The command `specsim-real drafts`: exact acceptances of schemes and rules on a pair's laws."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from real import TINY
from real.models.names import check_place
from real.options import parse_numbers, positive, read_prompts, within
from real.studies.keep import (
    OUT,
    Force,
    begun,
    finish,
    kept,
    loading,
    outputs,
    place_of,
    progress_bar,
)
from real.studies.settings import Seed, Temperature, Threads, TopK, TopP
from specsim.base import limits
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

EXAMPLES = (
    "specsim-real drafts",
    "specsim-real drafts TARGET DRAFT --num-drafts 1-8 --rows 512",
)


def drafts(
    target: Annotated[str | None, typer.Argument(help="Directory or hub id; the bundled target by default.")] = None,
    draft: Annotated[str | None, typer.Argument(help="Directory or hub id of the draft.")] = None,
    num_drafts: Annotated[str, typer.Option(help="Candidates per position: 4, 1-8 or 1,2,4.")] = "1,2,3,4,6,8",
    rows: Annotated[int, typer.Option(help="Positions taken from the target's texts, and synthetic pairs.")] = 256,
    samples: Annotated[int, typer.Option(help="Sampled tuples a position, where a rule has no closed form.")] = 64,
    prompts: Annotated[Path | None, typer.Option(help="Text file, or JSON with a list `prompts`.")] = None,
    count: Annotated[int, typer.Option(help="Prompts used, from the first.")] = 32,
    max_tokens: Annotated[int, typer.Option(help="Tokens per text.")] = 64,
    temperature: Temperature = 1.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    threads: Threads = 1,
    out: Annotated[Path | None, typer.Option(help=OUT.format("drafts"), show_default=False)] = None,
    force: Force = False,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Compare ways to draw several drafts, and rules to verify them, on a pair's own laws: exact acceptances."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    outputs(out or Path("drafts.json"))  # what can be said at once is said before torch is loaded
    if bool(target) != bool(draft):
        raise ValueError("give both a target and a draft, or neither (the bundled pair)")
    for place in (target, draft):
        if place:
            check_place(place)
    counts = parse_numbers(num_drafts, "num_drafts", limits.MAX_DRAFTS)
    within(rows, "rows", 1)
    within(samples, "samples", 2)
    texts = read_prompts(prompts or TINY / "prompts.json")[: positive(count, "count")]
    positive(max_tokens, "max_tokens")
    positive(threads, "threads", limits.MAX_THREADS)
    from real.decode.warping import Warping
    from real.studies.compare import report
    from real.studies.drafts import report as drafts_report
    from specsim.base.files import write_json

    warping = Warping(temperature, top_k, top_p)
    what = report.provenance(
        command=" ".join(["specsim-real", *sys.argv[1:]]),
        target=target or "bundled",
        draft=draft or "bundled",
        weights=[report.weights(target or ""), report.weights(draft or "")],
        dtype="float32",
        threads=threads,
        seed=seed,
        warping=vars(warping),
        prompts=len(texts),
        prompts_digest=report.digest(texts),
        max_tokens=max_tokens,
        rows=rows,
        num_drafts=counts,
        samples=samples,
    )
    out = place_of(out, "drafts", drafts_report.SCHEMA, what)
    old = begun(out, drafts_report.SCHEMA, what, force=force)
    if old is not None and old["complete"]:
        return finish(old, out, Console(), drafts_report.table, drafts_report.write_plot, form=form, again=True)
    loading(*((target, draft) if target and draft else ("the bundled pair",)))
    import torch
    from transformers.utils.logging import disable_progress_bar

    from real.pair import load
    from real.studies.drafts.measure import SYNTHETIC, measure, synthetic, written

    torch.set_num_threads(threads)
    disable_progress_bar()
    pair = load(target or TINY / "target", draft or TINY / "draft")
    runs = [] if old is None else old["runs"]
    done = {run["name"] for run in runs}
    record: dict[str, Any] = {"schema": drafts_report.SCHEMA, "complete": False, "provenance": what, "runs": runs}
    with kept(record, out), progress_bar() as progress:
        task, name = progress.add_task("texts"), "bundled pair" if target is None else "the pair"
        first = written(pair, texts, rows=rows, max_tokens=max_tokens, warping=warping, seed=seed, name=name)
        for group in [first, *(synthetic(name, rows, seed) for name in SYNTHETIC)]:
            if group.name in done:
                continue
            progress.update(task, total=None, description=group.name)
            record["runs"].append(measure(group, counts, samples=samples, seed=seed))
            write_json(out, record)
    finish(record, out, Console(), drafts_report.table, drafts_report.write_plot, form=form)
