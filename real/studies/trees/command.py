"""The command `specsim-real trees`: tau at equal node budgets, on toy models of the bundled pair."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from real import TINY
from real.options import parse_numbers, read_prompts, within
from real.studies.runner import OUT, Force, Output, Run, Study, check_outputs, run
from real.studies.settings import Seed, Threads, open_pair
from specsim.base import limits
from specsim.base.provenance import command_line
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from real.pair import Pair

EXAMPLES = (
    "specsim-real trees",
    "specsim-real trees --nodes 8,16 --sequences 64 --out runs/trees.json",
)


def trees(
    nodes: Annotated[str, typer.Option(help="Drafted nodes per target call: 8 or 8,16,32.")] = "8,16,32",
    blocks: Annotated[int, typer.Option(help="Blocks of each text.")] = 40,
    sequences: Annotated[int, typer.Option(help="Texts decoded, independent of each other.")] = 256,
    count: Annotated[int, typer.Option(help="Prompts from which target and draft write what trigrams count.")] = 64,
    max_tokens: Annotated[int, typer.Option(help="Tokens written after each.")] = 128,
    symbols: Annotated[int, typer.Option(help="Characters of the trigrams, the last one for all that are rarer.")] = 48,
    recorded: Annotated[int, typer.Option(help="Texts along which rows are recorded.")] = 8,
    top_k: Annotated[int, typer.Option(help="Tokens that a recorded row keeps, at least 4; 0 for all.")] = 40,
    seed: Seed = 0,
    threads: Threads = 1,
    out: Annotated[Path | None, typer.Option(help=OUT.format("trees"), show_default=False)] = None,
    force: Force = False,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Compare tree rules and topologies at equal node budgets: exact laws of the bundled pair's toy models."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    # Refuse bad options before torch is loaded.
    check_outputs(out or Path("trees.json"))
    sizes = parse_numbers(nodes, "nodes", limits.MAX_NODES)
    for name, value, least in (
        ("nodes", min(sizes), 4),
        ("blocks", blocks, 1),
        ("sequences", sequences, 4),
        ("count", count, 1),
        ("max_tokens", max_tokens, 4),
        ("recorded", recorded, 1),
    ):
        within(value, name, least)
    within(threads, "threads", 1, limits.MAX_THREADS)
    from real.decode.warping import Warping
    from real.studies import provenance
    from real.studies.trees import report as trees_report
    from real.studies.trees.kinds import SIBLINGS
    from real.studies.trees.measure import SMOOTHING, measure, recited, steps, trigrams

    warping = Warping(top_k=top_k)
    for name, value in (("symbols", symbols), ("top_k", top_k or SIBLINGS)):
        within(value, name, SIBLINGS)
    prompts = read_prompts(TINY / "prompts.json")[: max(count, recorded)]

    # The provenance, by which a record is carried on or refused.
    run_provenance = provenance.provenance(
        command=command_line("specsim-real"),
        target="bundled",
        draft="bundled",
        dtype="float32",
        threads=threads,
        seed=seed,
        warping=vars(warping),
        prompts=len(prompts),
        blocks=blocks,
        sequences=sequences,
        budgets=sizes,
        count=count,
        max_tokens=max_tokens,
        symbols=symbols,
        recorded=recorded,
    )

    def prepare(old: dict[str, Any]) -> Callable[[Run], None]:
        """Load the pair; return the function that measures the toy models not yet recorded."""
        pair = open_pair(None, None, threads=threads)
        runs = [run for run in old.get("runs", []) if len(run["rows"]) == steps(sizes)]
        return partial(measure_toys, pair, runs)

    def measure_toys(pair: Pair, runs: list[dict[str, Any]], run: Run) -> None:
        """Make the toy models, and measure every rule and topology at every budget on each."""
        from real.load_pair import load
        from real.studies.drafts.measure import written

        # Toy models are counted and recorded from texts of the bundled pair.
        run.record["runs"] = runs
        finished_names = {entry["name"] for entry in runs}
        step = run.stages((2 - len(finished_names)) * steps(sizes))
        writers = (pair, load(TINY / "draft", TINY / "draft"))
        texts = [_text(writer, prompts[:count], max_tokens, seed) for writer in writers]
        ids = [list(pair.tokenizer(prompt)["input_ids"]) for prompt in prompts[:recorded]]
        rows = written(
            pair,
            ids,
            rows=10**9,
            max_tokens=64,
            warping=warping,
            seed=seed,
            name="recorded rows",
        )
        toys = (trigrams(texts[0], texts[1], symbols), recited(rows))
        sentences = (
            f"Trigrams: of {symbols - 1} characters and one for all others, additive smoothing {SMOOTHING:g}, the "
            f"target's counted in {len(texts[0])} characters that the bundled target wrote, the draft's in "
            f"{len(texts[1])} that the bundled draft wrote.",
            f"Recorded rows: {len(rows.p)} positions along {recorded} texts of the bundled target at temperature 1"
            + (f" and top-k {top_k}" if top_k else "")
            + ", read round and round; an approximation: whatever is emitted, the rows of the recorded text follow.",
        )

        # Every rule and topology at every budget, on each of them.
        for models, sentence in zip(toys, sentences, strict=True):
            if models.name in finished_names:
                continue
            entry: dict[str, Any] = {"name": models.name, "what": sentence, "rows": []}
            runs.append(entry)
            for row in measure(models, sizes, blocks=blocks, sequences=sequences, seed=seed):
                entry["rows"].append(row)
                run.save()
                step(f"{models.name}, {row['topology']}, {row['rule']}, {row['budget']}")

    study = Study("trees", trees_report.SCHEMA, trees_report.table, trees_report.write_plot)
    run(study, run_provenance, Output(out, force, form), prepare)


def _text(pair: Pair, prompts: list[str], max_tokens: int, seed: int) -> str:
    """Return the texts that the target of a pair writes after the prompts, joined."""
    texts: Any = pair.generate(prompts, gamma=0, max_tokens=max_tokens, seed=seed)
    return "".join(pair.tokenizer.decode(text.tokens) for text in texts)
