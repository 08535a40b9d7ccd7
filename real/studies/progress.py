"""Bars that show how far a study is, on standard error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def progress_bar() -> Progress:
    """Return a bar on stderr with stage, count and time, which disappears when all is done.

    It is not shown where stderr is no terminal.
    """
    console = Console(stderr=True)
    stage = TextColumn("{task.description}")
    columns = (stage, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def begin_bar(progress: Progress, total: int | None) -> Callable[[str], None]:
    """Begin a bar of so many stages; return the function that names the next one."""
    task = progress.add_task("", total=total)
    return lambda stage: progress.update(task, description=stage, advance=1)


def made_in_turn(
    names: list[str], make: Callable[[str, Callable[[str], None]], dict[str, Any]]
) -> tuple[list[dict[str, Any]], bool]:
    """Return the values of `make(name, show_stage)` for the names, and whether it was interrupted.

    `show_stage` shows the stage that it is given, beside the bar.
    """
    entries = list[dict[str, Any]]()
    try:
        with progress_bar() as progress:
            task = progress.add_task("", total=len(names))
            for name in names:

                def show_stage(stage: str, name: str = name) -> None:
                    """Show a stage of this name."""
                    progress.update(task, description=f"{name}: {stage}")

                # An interruption loses the entry that is being made, and no other.
                show_stage("begins")
                entries.append(make(name, show_stage))
                progress.advance(task)
    except KeyboardInterrupt:
        return entries, True
    return entries, False
