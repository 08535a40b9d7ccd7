"""The commands `specsim-real systems` and `taxonomy`.

The first puts claims of the literature to tests that were fixed before the run; the second prints
which systems take which value of which axis.
"""

from __future__ import annotations

from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from real.options import positive
from real.papers import systems as registry
from real.papers.lab import choices
from real.studies.runner import Force
from real.studies.settings import Seed, Threads
from specsim.base import limits
from specsim.base.unknown import unknown
from specsim.commands.completion import starting
from specsim.commands.json_form import json_answer
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, Form, chosen_form
from specsim.report.forms import blocks_of, page, table
from specsim.report.text import aligned, terminal_width

if TYPE_CHECKING:
    from real.papers.lab.contract import System
    from real.papers.lab.records import Held

EXAMPLES = (
    "specsim-real systems",
    "specsim-real systems sjd nfd --share 0.1 --out runs/systems",
    "specsim-real systems --out real/results/systems --csv",
    "specsim-real systems --out real/results/systems --report pages",
)
TAXONOMY_EXAMPLES = ("specsim-real taxonomy", "specsim-real taxonomy --csv")
Wanted = dict[str, tuple["System", dict[str, Any]]]


def systems(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Systems to run: {', '.join(registry.names())}; all by default.",
            autocompletion=starting(registry.names),
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the records, one JSON file a system.")] = Path("systems"),
    share: Annotated[float, typer.Option(help="Share of every experiment's texts; less than 1 is for a trial.")] = 1.0,
    seed: Seed = 0,
    threads: Threads = 1,
    pair: Annotated[
        str,
        typer.Option(
            help="Pair of the text systems: tiny or smollm2. By default the one that each system names.",
            show_default=False,
        ),
    ] = "",
    force: Force = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Run nothing: write pages of the records in --out to this folder, as Markdown.",
            show_default=False,
        ),
    ] = None,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Run systems of the literature on trained models, and say whether their claims show.

    A system that has a good record in the folder is not run again; what had ended before Ctrl-C is
    kept. Each record says how long its system took: those on text take minutes each, all of them
    hours. With `--report` nothing is run: the pages of the site are written from the records that
    are there, an overview of the papers' statements and a page for each system.
    """
    # Refuse bad options, and find the records that are valid.
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    known = registry.names()
    for name in names or ():
        if name not in known:
            raise unknown("system", name, known)
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}")
    positive(threads, "threads", limits.MAX_THREADS)
    if report is not None:
        options = {"share": share != 1, "seed": seed != 0, "threads": threads != 1, "pair": pair, "force": force}
        refused = [name for name, is_there in options.items() if is_there] + ([] if form == "text" else [form])
        if refused:
            raise ValueError(f"report runs nothing and writes Markdown: leave out --{' and --'.join(refused)}")
        _write_report(names or [], out, report)
        return
    lab = {"share": share, "seed": seed}
    wanted, records = _opened(_pairs(names or known, pair), out, lab, threads, force=force)

    # Run the others, and print all records.
    is_complete = _run(wanted, out, lab, threads, records)
    records = {name: records[name] for name in wanted if name in records}
    _print(records, form)
    aside = partial(typer.echo, err=True)
    if not is_complete:
        left = "without --force the same command carries on"
        if not force:
            left = "the same command carries on"
        aside(f"interrupted: {len(records)} of {len(wanted)} systems recorded in {out}; {left}")
        raise typer.Exit(130)
    if share < 1:
        aside(f"a trial on {share:g} of the texts: intervals are wider than those that the tests were written for")
    aside(f"records: {out}")


def _write_report(names: list[str], out: Path, folder: Path) -> None:
    """Write the pages of the records that are in `out`; all bad input is refused before the first is written."""
    # Imported here: it loads torch.
    from real.papers.lab import report, site
    from specsim.base.files import check_writable, write_bytes

    pages = {folder / name: text for name, text in site.files(report.recorded(out), names, out).items()}
    for path in pages:
        check_writable(path)
        if path.is_file() and site.MADE_BY not in path.read_text(encoding="utf-8", errors="replace"):
            raise ValueError(f"report {folder}: {path} is no page of this command: move it, or name another folder")
    for path, text in pages.items():
        write_bytes(path, text.encode())
    typer.echo(f"report: {len(pages)} pages, from {folder / 'systems.md'} on", err=True)


def _pairs(names: list[str], pair: str) -> dict[str, str | None]:
    """The name of each system with the pair that it is run on: `pair`, or else its own; None if it reads no pair.

    ValueError for a pair that is unknown, not installed, or read by none of the systems.
    """
    # Imported here: it loads torch.
    from real.papers.lab.pairs import check_installed

    own_pairs = {name: vars(registry.find(name)).get("PAIR") for name in names}
    if pair and not any(own_pairs.values()):
        raise ValueError(f"pair {pair!r} is read by none of {', '.join(names)}: leave out --pair")
    chosen = {name: own and (pair or own) for name, own in own_pairs.items()}
    for name in sorted({name for name in chosen.values() if name}):
        check_installed(name)
    return chosen


def _opened(
    names: dict[str, str | None],
    out: Path,
    lab: dict[str, Any],
    threads: int,
    *,
    force: bool,
) -> tuple[Wanted, dict[str, Held]]:
    """The systems with their provenances, and the records that are valid.

    All bad input is refused here, before any work.
    """
    from real.papers.lab import records
    from real.papers.lab.pairs import identity
    from real.studies.provenance import provenance
    from specsim.base.files import check_writable
    from specsim.base.provenance import command_line

    wanted: Wanted = {}
    valid: dict[str, Held] = {}
    for name, pair in names.items():
        # The provenance of a run.
        check_writable(records.path_of(out, name))
        system = registry.find(name)
        what = provenance(
            command=command_line("specsim-real"),
            system=name,
            share=lab["share"],
            seed=lab["seed"],
            threads=threads,
            scikit_learn=_version("scikit-learn"),
        )
        if pair:
            what |= {"pair": pair, "target": identity(pair)}
        wanted[name] = (system, what)

        # A record that another run has left; weights that are not there are refused.
        records.weights(system)
        held, reason = records.opened(out, name, system, what, force=force)
        if held is not None:
            valid[name] = held
            day = held["provenance"]["date"][:10]
            typer.echo(f"{name}: recorded {day} (--force runs it anew)", err=True)
        elif reason:
            typer.echo(f"{name}: stale, {reason}: it is run anew", err=True)
    return wanted, valid


def _version(package: str) -> str:
    """The version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _run(
    wanted: Wanted,
    out: Path,
    lab: dict[str, Any],
    threads: int,
    records: dict[str, Held],
) -> bool:
    """Run the systems that have no record; False after Ctrl-C."""
    if set(wanted) <= set(records):
        return True
    # Imported here: they load torch.
    import torch
    from transformers.utils.logging import disable_progress_bar

    from real.papers.lab.contract import Lab
    from real.papers.lab.records import run_all
    from real.studies.progress import progress_bar

    torch.set_num_threads(threads)
    disable_progress_bar()
    with progress_bar() as progress:
        task = progress.add_task("", total=len(wanted))
        with_bar = Lab(**lab, said=lambda stage: progress.update(task, description=stage))
        return run_all(wanted, out, with_bar, records, lambda name: progress.advance(task))


def _print(records: dict[str, Held], form: Form) -> None:
    """Print the records as rows, tables or JSON."""
    from real.papers.lab import report

    if form == "json":
        typer.echo(json_answer("specsim-real/systems", {"systems": records}))
    elif records and form == "csv":
        typer.echo(page(report.csv_tables(records), form))
    elif records and form != "text":
        text = "\n\n".join(report.pages(records, list(records)).values())
        typer.echo(text if form == "markdown" else page(blocks_of(text), form))
    elif records:
        typer.echo(report.table(records))


def taxonomy(
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Print the axes on which systems differ, and which system takes which value.

    Axes that the survey arXiv:2404.14897 has are told apart from ours.
    """
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    systems = [registry.find(name) for name in registry.names()]
    covered = choices.coverage({system.NAME: system.AXES for system in systems})
    if form == "json":
        typer.echo(json_answer("specsim-real/taxonomy", covered))
    else:
        cells = coverage_cells(covered)
        typer.echo(aligned(cells, terminal_width() or 80) if form == "text" else table(cells, form))


def coverage_cells(covered: dict[str, dict[str, list[str]]]) -> list[list[str]]:
    """The cells of a coverage table, its head first."""
    cells = [["axis", "value", "what it is", "systems"]]
    for axis, values in covered.items():
        whose = "survey" if axis in choices.SURVEY else "ours"
        for i, (key, takers) in enumerate(values.items()):
            words = choices.VALUES[axis][key].words
            cells.append([f"{axis} ({whose})" if i == 0 else "", key, words, ", ".join(takers) or "-"])
    return cells
