"""The command-line reference of the site names every command and every option."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import typer.main

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(DOCS))
    from _generate import commands

    commands.write(tmp_path)
    return tmp_path


@pytest.mark.parametrize("program", ["specsim", "specsim-real"])
def test_every_option_is_in_the_reference(written: Path, program: str) -> None:
    commands = sys.modules["_generate.commands"]
    text = (written / f"{program}.md").read_text(encoding="utf-8")
    for command in typer.main.get_command(commands.PROGRAMS[program]).commands.values():
        section = text.partition(f"## {program} {command.name}\n")[2].partition("\n## ")[0]
        shown = [parameter for parameter in command.params if not parameter.hidden]
        options = {name for parameter in shown for name in parameter.opts if name.startswith("--")}
        assert options - {name for name in options if f"`{name}" in section} <= {"--help"}
        assert "```bash\n" in section


def test_names_of_options_in_help_texts_are_code(written: Path) -> None:
    """Typography would make one dash of two."""
    for program in ("specsim", "specsim-real"):
        prose = re.sub(r"```.*?```|`[^`]*`", "", (written / f"{program}.md").read_text(encoding="utf-8"), flags=re.S)
        assert "--" not in prose
    commands = sys.modules["_generate.commands"]
    assert commands._escaped("With --rows: `plan --x` of a_b - 1") == "With `--rows`: `plan --x` of a\\_b - 1"
