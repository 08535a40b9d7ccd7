"""The door of `specsim-real`: help without anything heavy, the version, and one line for an extra that is missing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import real.cli
import specsim.cli
from real.studies.forced.command import complete_shape

HEAVY = {"torch", "transformers", "tokenizers", "safetensors", "scipy", "numpy", "matplotlib"}
LOADED = """
import sys
from typer.testing import CliRunner
import real
import real.cli
import specsim.cli
for words in ([], *([name] for name in real.cli.COMMANDS)):
    result = CliRunner().invoke(real.cli.app, [*words, {option!r}])
    assert result.exit_code == 0, result.output
{more}
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


def loaded(option: str, more: str = "") -> set[str]:
    code = LOADED.format(option=option, more=more)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_imports_nothing_heavy(option: str) -> None:
    found = loaded(option)
    assert {"real", "typer"} <= found
    assert HEAVY & found == set()


def test_a_table_needs_no_model() -> None:
    more = """
for name in ("bundled", "block", "forced", "drafts", "trees"):
    assert CliRunner().invoke(real.cli.app, ["table", f"real/results/{name}.json"]).exit_code == 0, name
"""
    assert {"torch", "transformers", "tokenizers"} & loaded("-h", more) == set()


def test_names_are_loaded_when_asked_for() -> None:
    """The same look sees what a lazy name brings, so that the test above can fail."""
    assert {"torch", "transformers", "numpy"} <= loaded("-h", "real.load")
    with pytest.raises(AttributeError, match="module 'real' has no attribute 'nonsense'"):
        real.nonsense  # noqa: B018
    assert {"TINY", "Generation", "Pair", "Warping", "load"} <= set(dir(real))
    assert (real.TINY / "target").is_dir()


@pytest.mark.parametrize("name", [None, *real.cli.COMMANDS])
def test_every_help_has_examples(name: str | None) -> None:
    result = CliRunner().invoke(real.cli.app, [*([name] if name else []), "-h"])
    assert f"specsim-real {name or 'compare'}" in result.output.partition("Examples:")[2]


@pytest.mark.parametrize(
    "line", [line for _, lines in real.cli.COMMANDS.values() for line in lines], ids=lambda line: line[13:50]
)
def test_examples_use_options_that_exist(line: str) -> None:
    words = line.split()
    app = {"specsim-real": real.cli.app, "specsim": specsim.cli.app}[words[0]]
    shown = " ".join(CliRunner().invoke(app, [words[1], "-h"], terminal_width=200).output.split())
    assert all(word in shown for word in words[2:] if word.startswith("--"))


def test_version() -> None:
    result = CliRunner().invoke(real.cli.app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("specsim-real ")


# As where they are not installed; None in sys.modules would trip NumPy's helpers, which look for torch there.
NOT_INSTALLED = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NotInstalled())
"""


def test_a_missing_extra_is_one_line() -> None:
    code = (
        f"{NOT_INSTALLED}\n"
        "import real.cli; sys.argv[1:] = ['compare', 'tiny', '--gamma', '1']\n"
        "import real.__main__; real.__main__.main()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 2
    first, *rest = found.stderr.splitlines()
    assert (first, len(rest)) == ("loading the bundled pair ...", 1)
    assert "needs torch: install the extra `real`" in found.stderr


BAD = {
    "compare owner/target": "owner/target needs a draft: give both models, or name a pair",
    "compare tiny --count 0": "count must be at least 1, got 0",
    "compare tiny --prompts gone.txt": "prompts gone.txt cannot be read",
    "compare tiny --out x.txt": "out x.txt must end in .json",
    "drafts onlytarget": "an id of the hub is written owner/name; pairs by name: tiny, smollm2",
    "drafts --positions 0": "positions must be at least 1, got 0",
    "drafts --prompts gone.txt": "prompts gone.txt cannot be read",
    "trees --nodes 2": "nodes must be at least 4, got 2",
    "trees --threads 0": "threads must be at least 1, got 0",
    "rows --count 0": "count must be at least 1, got 0",
    "rows --max-tokens 0": "max_tokens must be at least 1, got 0",
    "systems nonsense": "system 'nonsense' is unknown",
    "systems --share 0": "share must be above 0 and at most 1, got 0.0",
    "systems --threads 0": "threads must be at least 1, got 0",
    "forced --gamma x": "gamma has 'x', which is no whole number",
    "forced --turns 0": "turns must be at least 1, got 0",
}


def test_bad_options_are_refused_before_torch_is_loaded() -> None:
    code = f"""
{NOT_INSTALLED}
from typer.testing import CliRunner
import real.cli
for words, message in {BAD!r}.items():
    ended = CliRunner().invoke(real.cli.app, words.split())
    assert ended.exit_code == 2 and message in ended.stderr, (words, ended.stderr)
assert "needs torch" in CliRunner().invoke(real.cli.app, ["drafts"]).stderr
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("name", [None, *real.cli.COMMANDS])
def test_no_help_is_cut_and_every_option_has_one(name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(real.cli.app, [*([name] if name else []), "-h"]).output
    repeated = re.compile(r"\[(ARGS|NAMES)\]\.\.\.")  # arguments that may be several: not cut
    assert "..." not in repeated.sub("", shown).replace("cuda:1, ...", "")
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "9223372036854775807" not in shown
    if name:
        command = typer.main.get_command(real.cli.app).commands[name]  # type: ignore[attr-defined]
        assert [option.name for option in command.params if not option.help] == []


def test_tab_completes_the_shapes_of_models() -> None:
    assert complete_shape("llama-3.1") == ["llama-3.1-8b"]
