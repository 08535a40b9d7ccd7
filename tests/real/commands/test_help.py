"""The door of `specsim-real`: help without anything heavy, the version, and one line for an extra that is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import real.cli
import specsim.cli

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


@pytest.mark.parametrize("name", ["bundled", "block", "forced", "drafts", "trees"])
def test_a_table_needs_no_model(name: str) -> None:
    more = f"assert CliRunner().invoke(real.cli.app, ['table', 'real/results/{name}.json']).exit_code == 0"
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


def test_a_missing_extra_is_one_line() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import real.cli; sys.argv[1:] = ['compare', '--gamma', '1']; import real.__main__; real.__main__.main()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 2
    assert len(found.stderr.splitlines()) == 1
    assert "needs torch: install the extra `real`" in found.stderr
