"""The command-line reference: one page per program, made from what the commands register."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer.main

import real.cli
import specsim.cli
from _generate.proofs import put
from specsim.commands.options import kind_of_one

PROGRAMS = {"specsim": specsim.cli.app, "specsim-real": real.cli.app}


def write(folder: Path) -> None:
    """Write an index and one page for each program to a folder."""
    pages = {f"{name}.md": page(name, typer.main.get_command(app)) for name, app in PROGRAMS.items()}
    toctree = "\n".join(PROGRAMS)
    index = (
        "# Commands\n\nEvery option of both programs. `-h` after any command prints the same.\n\n"
        f"```{{toctree}}\n:maxdepth: 2\n\n{toctree}\n```\n"
    )
    put(folder, {"index.md": index} | pages)


def page(name: str, program: Any) -> str:
    """Return the page of a program: a section per command, a list of options per panel."""
    sections = [f"# {name}\n\n{_paragraphs(program.help)}"]
    sections += [_section(name, command) for command in program.commands.values()]
    return "\n\n".join(sections) + "\n"


def _section(program: str, command: Any) -> str:
    """Return the heading, usage, options and examples of a command."""
    context = command.make_context(command.name, [], resilient_parsing=True)
    usage = " ".join([program, command.name, *command.collect_usage_pieces(context)])
    lines = [f"## {program} {command.name}", _paragraphs(command.help), f"```text\n{usage}\n```"]

    # Options by panel, in the order of the help.
    panels: dict[str, list[str]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or "--help" in parameter.opts:
            continue
        is_argument = parameter.param_type_name == "argument"
        panel = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
        words, help_text = (part.strip() for part in record)
        panels.setdefault(panel, []).append(f"`{kind_of_one(words)}`\n: {_escaped(help_text) or '(no help)'}")
    for panel, entries in panels.items():
        lines += [f"**{panel}**", *entries]

    # Examples stand in the epilog, one command per line.
    examples = (command.epilog or "").partition("Examples:\n")[2]
    if examples:
        text = "\n".join(line.removeprefix("  ") for line in examples.splitlines())
        lines.append(f"```bash\n{text}\n```")
    return "\n\n".join(lines)


def _paragraphs(text: str | None) -> str:
    return _escaped("\n".join(line.strip() for line in (text or "").strip().splitlines()))


def _escaped(text: str) -> str:
    """Return help text that Markdown shows as it is, with names of options as code: typography would join dashes."""
    parts = text.split("`")
    # Every second part stands between back ticks already.
    for i in range(0, len(parts), 2):
        for sign in ("*", "_", "<", "[", "$"):
            parts[i] = parts[i].replace(sign, f"\\{sign}")
        parts[i] = re.sub(r"(?<![\w-])(--?[a-z][\w-]*)", r"`\1`", parts[i])
    return "`".join(parts)
