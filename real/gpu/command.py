"""The command `python -m real.gpu [PART...]`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from real.gpu.parts import MINUTES, NAMES
from specsim.base.files import check_writable, json_text
from specsim.base.unknown import unknown
from specsim.commands.errors import error_line
from specsim.commands.options import Command, examples

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(
    cls=Command,
    epilog=examples(
        "python -m real.gpu parity shapes --tiny --device cpu",
        "python -m real.gpu parity --minutes 8",
        "python -m real.gpu",
    ),
)
def main(
    parts: Annotated[
        list[str] | None, typer.Argument(help=f"Parts to run: {', '.join(NAMES)}; all by default.")
    ] = None,
    device: Annotated[str, typer.Option(help="cuda or cpu.")] = "cuda",
    tiny: Annotated[bool, typer.Option("--tiny", help="Tiny sizes of everything: does it run at all?")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the records; real/results/gpu, with --tiny runs/gpu-tiny.")
    ] = None,
    minutes: Annotated[
        float, typer.Option(help="Time of the whole command, its start included; the next run carries on.")
    ] = MINUTES,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the records as JSON, a list, not as Markdown.")
    ] = False,
) -> None:
    """Check and measure on a GPU, in parts; it ends in time, and the same command carries on where
    it ended.

    Status 1: a row failed or a verdict is bad; 2: bad input; 130: interrupted, finished rows are
    kept.
    """
    # Refuse bad input before torch is loaded where that is possible.
    ends = time.monotonic() + 60 * minutes
    try:
        names = [name for name in NAMES if name in _known(parts or list(NAMES))]
        # The comparison is false for NaN, which is refused, too.
        if not 0 < minutes < float("inf"):
            raise ValueError(f"minutes must be positive and finite, got {minutes:g}")
        # A package that torch does not bring: if it is missing, the error comes at once.
        import array_api_compat  # noqa: F401

        # Imported here: it loads torch, which help does without.
        from real.gpu.device import find_device

        torch_device = find_device(device)
        folder = out or Path("runs/gpu-tiny" if tiny else "real/results/gpu")
        _make(folder)
    except ValueError as error:
        typer.echo(error_line(str(error)), err=True)
        raise typer.Exit(2) from None

    # Run the parts, and print their records.
    typer.echo(f"{', '.join(names)}: up to {minutes:g} minutes, records in {folder}", err=True)
    from real.gpu.book import is_good
    from real.gpu.run import run
    from real.gpu.table import markdown

    try:
        records = run(names, torch_device, folder, tiny, ends)
    except KeyboardInterrupt:
        typer.echo(f"interrupted: finished rows are kept in {folder}; the same command carries on", err=True)
        raise typer.Exit(130) from None
    typer.echo(json_text(records) if as_json else "\n\n".join([markdown(folder), *_skipped(names, records)]))
    raise typer.Exit(0 if all(is_good(row) for record in records for row in record["rows"]) else 1)


def _skipped(names: list[str], records: list[dict[str, Any]]) -> list[str]:
    """Return a line for each part that was skipped, with what to install."""
    return [
        f"`{name}`: *skipped*: {record['skipped']}"
        for name, record in zip(names, records, strict=False)
        if "skipped" in record
    ]


def _known(parts: list[str]) -> list[str]:
    """Return the names of parts as they are; ValueError if one is unknown."""
    for name in parts:
        if name not in NAMES:
            raise unknown("part", name, NAMES)
    return parts


def _make(folder: Path) -> None:
    """Make the folder of records; ValueError if the folder or a record in it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"out {folder} cannot be made: {error.strerror}") from None
    for name in NAMES:
        check_writable(folder / f"{name}.json")
