"""The command `specsim-real drafts`: exact acceptances of schemes and rules on a pair's laws."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from real.models.names import TINY_PAIR
from real.options import parse_numbers, positive, within
from real.studies.prompting import ChatOption, PromptsOption, chosen_prompts
from real.studies.runner import OUT, Force, Output, Run, Study, check_outputs, run
from real.studies.settings import (
    DRAFTS,
    PROMPTS,
    Draft,
    Seed,
    Temperature,
    Threads,
    TopK,
    TopP,
    checked_pair,
    default_prompts,
    open_pair,
)
from specsim.base import limits
from specsim.base.provenance import command_line
from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from real.pair import Pair

EXAMPLES = (
    "specsim-real drafts",
    "specsim-real drafts TARGET DRAFT --num-drafts 1-8 --positions 512",
)


def drafts(
    target: Annotated[
        str,
        typer.Argument(help="Folder, GGUF file or hub id of the target; or smollm2, or tiny, the bundled pair."),
    ] = TINY_PAIR,
    draft: Draft = "",
    num_drafts: Annotated[
        str, typer.Option(help="Candidates per position: 4, 1-8 or 1,2,4.", rich_help_panel=DRAFTS)
    ] = "1,2,3,4,6,8",
    positions: Annotated[
        int, typer.Option(help="Positions taken from the target's texts, and synthetic pairs.", rich_help_panel=PROMPTS)
    ] = 256,
    samples: Annotated[
        int, typer.Option(help="Sampled tuples a position, where a rule has no closed form.", rich_help_panel=DRAFTS)
    ] = 64,
    prompts: PromptsOption = None,
    chat: ChatOption = None,
    count: Annotated[int, typer.Option(help="Prompts used, from the first.", rich_help_panel=PROMPTS)] = 32,
    max_tokens: Annotated[int, typer.Option(help="Tokens per text.", rich_help_panel=PROMPTS)] = 64,
    temperature: Temperature = 1.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    threads: Threads = 1,
    out: Annotated[
        Path | None, typer.Option(help=OUT.format("drafts"), show_default=False, rich_help_panel=OUTPUT)
    ] = None,
    force: Force = False,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Compare ways to draw several drafts, and rules to verify them, on a pair's own laws: exact acceptances."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    # Refuse bad options before torch is loaded.
    check_outputs(out or Path("drafts.json"))
    target, draft = checked_pair(target, draft)
    counts = parse_numbers(num_drafts, "num_drafts", limits.MAX_DRAFTS)
    within(positions, "positions", 1)
    within(samples, "samples", 2)
    chosen = chosen_prompts(prompts or default_prompts(target), count, chat)
    positive(max_tokens, "max_tokens")
    positive(threads, "threads", limits.MAX_THREADS)

    # The provenance, by which a record is carried on or refused.
    from real.decode.warping import Warping
    from real.studies import provenance
    from real.studies.drafts import report as drafts_report

    warping = Warping(temperature, top_k, top_p)
    run_provenance = provenance.provenance(
        command=command_line("specsim-real"),
        target=target or "bundled",
        draft=draft or "bundled",
        weights=[provenance.weights(target or ""), provenance.weights(draft or "")],
        dtype="float32",
        threads=threads,
        seed=seed,
        warping=vars(warping),
        prompts=len(chosen.texts),
        prompts_digest=provenance.digest(chosen.texts),
        **chosen.asked,
        max_tokens=max_tokens,
        rows=positions,
        num_drafts=counts,
        samples=samples,
    )

    def prepare(old: dict[str, Any]) -> Callable[[Run], None]:
        """Load the pair; return the function that measures the groups not yet recorded."""
        pair = open_pair(target, draft, threads=threads)
        run_provenance.update(chosen.applied(pair.tokenizer))
        return partial(measure_groups, pair, chosen.encoded(pair.tokenizer), old.get("runs", []))

    def measure_groups(
        pair: Pair,
        ids: list[list[int]],
        runs: list[dict[str, Any]],
        run: Run,
    ) -> None:
        """Measure the pair's rows and the synthetic ones, without the groups that are recorded."""
        from real.studies.drafts.measure import SYNTHETIC, measure, synthetic, written

        # Groups are saved one by one, so that a run that is stopped can be carried on.
        run.record["runs"] = runs
        step, name = run.stages(None), "the pair" if target else "bundled pair"
        first = written(
            pair,
            ids,
            rows=positions,
            max_tokens=max_tokens,
            warping=warping,
            seed=seed,
            name=name,
        )
        finished_names = {group["name"] for group in runs}
        for group in [first, *(synthetic(name, positions, seed) for name in SYNTHETIC)]:
            if group.name not in finished_names:
                step(group.name)
                runs.append(measure(group, counts, samples=samples, seed=seed))
                run.save()

    study = Study("drafts", drafts_report.SCHEMA, drafts_report.table, drafts_report.write_plot)
    run(study, run_provenance, Output(out, force, form), prepare)
