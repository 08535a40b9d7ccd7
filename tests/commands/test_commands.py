"""`specsim`, in one process: help, what it loads, widths, and one line for whatever is wrong."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from helpers import calls_of_logs, studies
from typer.testing import CliRunner, Result

import specsim
import specsim.testing
from specsim.base.extras import EXTRA
from specsim.checks.outcomes import Finding
from specsim.cli import app
from specsim.commands import conform
from specsim.commands.sweep import pools
from specsim.report import tables, text
from specsim.verify.step import rejection

ROOT = Path(__file__).parents[2]
NAMES = ["rules", "check", "conform", "plan", "validate", "simulate", "sweep", "report", "log", "diagnose"]
LAWS = "simulate --target law:1/3,2/3 --draft law:2/3,1/3"
RUNS = [
    "rules", "rules --markdown", "rules --json",
    "check rejection", "check rejection --json", "check rejection --markdown",
    "validate", "validate --markdown", "validate --json",
    f"{LAWS} --gamma 8 --blocks 2000", f"{LAWS} --gamma 8 --blocks 2000 --markdown",
    f"{LAWS} --gamma 2 --blocks 2000 --json",
    "plan 0.8 --cost-ratio 0.05", "plan 0.8 --cost-ratio 0.05 --json", "plan --ranks 0.7,0.12 --cost-ratio 0.05",
    "plan 0.8 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --batch 1,512 --context 1k,128k",
]  # fmt: skip


CONFORM = import_module("specsim.checks.findings")  # the package binds the function to this name
ROWS_OF_RULES, TABLE_OF_RULES = cache(tables.rules_rows), cache(tables.rules_table)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds is made once, or tested elsewhere."""
    monkeypatch.setattr(tables, "rules_rows", ROWS_OF_RULES)
    monkeypatch.setattr(tables, "rules_table", TABLE_OF_RULES)
    monkeypatch.setattr(CONFORM, "findings", lambda module, family: iter([Finding("contract", "pass", "")]))
    monkeypatch.setattr(pools, "processes", lambda count: studies.threads()())


def invoke(words: str | list[str]) -> Result:
    return CliRunner().invoke(app, shlex.split(words) if isinstance(words, str) else words)


@pytest.mark.parametrize("width", [80, 120, None])
@pytest.mark.parametrize("words", RUNS)
def test_nothing_is_cut(words: str, width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "terminal_width", lambda stream=None: width)
    shown = invoke(words)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "…" not in shown.output
    assert "\x1b" not in shown.output
    if "--json" in words:
        assert json.loads(shown.output)["schema"] == f"specsim/{words.split()[0]}/1"
    elif width is not None and "--markdown" not in words:
        lines = shown.output.splitlines()
        heads = [i for i, line in enumerate(lines) if re.match(r" *(rule|kept|batch|source) ", line)]
        assert len(heads) == {"check": 0}.get(words.split()[0], 1 + ("--ranks" in words))
        for head in heads:
            body = lines[head : lines.index("", head)] if "" in lines[head:] else lines[head:]
            assert max(len(line) for line in body) <= width


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = invoke([name, "--help"] if name else ["--help"])
        assert shown.exit_code == 0
        assert max(len(line) for line in shown.output.splitlines()) <= width
        assert "…" not in shown.output
        assert "..." not in re.sub(r"\[[A-Z]+\]\.\.\.|0, \.\.\.,|2, \.\.\.", "", shown.output)
        assert invoke([name, "-h"] if name else ["-h"]).output == shown.output


@pytest.mark.parametrize("name", ["", *NAMES])
def test_the_examples_of_the_help_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(str(rejection.__file__), "my_rule.py")
    shutil.copy(ROOT / "specsim" / "claims" / "data" / "published.csv", "my_rows.csv")
    studies.study_file(tmp_path)
    calls_of_logs.files_of_examples(tmp_path)
    shutil.copy(ROOT / "real" / "results" / "bundled.json", "compare.json")
    Path("plan.json").write_text(invoke("plan 0.8 --cost-ratio 0.05 --json").output)
    shown = invoke([name, "--help"] if name else ["--help"]).output
    examples = shown.partition("Examples:\n")[2].replace("\\\n", " ").strip().splitlines()
    assert examples
    for line in examples:
        words = shlex.split(line.partition(" > ")[0])
        assert words[0] == "specsim"
        assert invoke(words[1:]).exit_code == 0, line


def loaded(code: str) -> set[str]:
    """Packages that are loaded once some code has run."""
    code += "\nprint(*sorted({m.partition('.')[0] for m in sys.modules}), file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", "import sys\n" + code], capture_output=True, text=True, check=True)
    return set(ended.stderr.split())


HEAVY = {
    "numpy",
    "scipy",
    "rich",
    "array_api_compat",
    "jax",
    "torch",
    "matplotlib",
    "cvxpy",
    "hypothesis",
    "importlib_metadata",
    "pyarrow",
    "duckdb",
    "distributed",
    "vl_convert",
}


def test_import_and_help_load_nothing_heavy() -> None:
    """What keeps `import specsim` under 0.2 s and every help under 0.6 s, said so that a busy machine can test it."""
    assert not loaded("import specsim; assert 'warp' in dir(specsim)") & (HEAVY | {"typer"})
    helps = "\n".join(
        f"try: app({words})\nexcept SystemExit: pass" for words in [["-h"], ["--version"], *([n, "-h"] for n in NAMES)]
    )
    assert not loaded(f"from specsim.cli import app\n{helps}") & HEAVY
    assert "numpy" in loaded("import specsim; specsim.warp")  # the check can fail


def test_the_doors_are_those_of_the_stub() -> None:
    assert specsim.__all__ == sorted(specsim.__all__)
    for name in specsim.__all__:
        assert getattr(specsim, name).__name__ == name
        assert name in dir(specsim)
    stub = (ROOT / "specsim" / "__init__.pyi").read_text()
    assert re.findall(r'^    "(\w+)",$', stub, re.MULTILINE) == specsim.__all__
    with pytest.raises(AttributeError, match=r"^module 'specsim' has no attribute 'nothing'$"):
        specsim.nothing  # type: ignore[attr-defined]  # noqa: B018
    code = (
        "import specsim.simulation.run, specsim.laws.warp; assert callable(specsim.simulate) and callable(specsim.warp)"
    )
    assert "numpy" in loaded(code)  # a submodule of the same name does not hide a function


def test_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["version"]["path"] == "specsim/__init__.py"
    assert invoke("--version").output == f"specsim {specsim.__version__}\n"


def test_completion() -> None:
    code = "import sys; sys.argv[0] = 'specsim'; from specsim.__main__ import main; main()"
    words = {"_SPECSIM_COMPLETE": "complete_bash", "COMP_WORDS": "specsim si", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **words}, capture_output=True, text=True)
    assert done.stdout.split() == ["simulate"]


BAD: list[tuple[str, str]] = [
    (
        f"{LAWS} --gamma 2 --blocks 1e18",
        "blocks is 1000000000000000000; the largest that is sensible is 10000000000000",
    ),
    (
        f"{LAWS} --gamma 2 --tokens 1e18",
        "tokens is 1000000000000000000; the largest that is sensible is 10000000000000",
    ),
    (
        f"{LAWS} --gamma 2 --burn-in 1000000000000000000",
        "burn_in is 1000000000000000000; the largest that is sensible is 10000000000000",
    ),
    (LAWS.replace("1/3,2/3 ", "1e400 ") + " --gamma 2", "target law:1e400: "),
    (LAWS.replace("1/3,2/3 ", "1e999999999,1 ") + " --gamma 2", "target law:1e999999999,1: "),
    (LAWS.replace("1/3,2/3 ", f"1{'0' * 400}/1,1 ") + " --gamma 2", "integer division result too large for a float"),
    (LAWS.replace("law:1/3,2/3", "markov:gone.npy"), "(gone.npy: No such file or directory)"),
    (LAWS.replace("law:1/3,2/3", "markov:deep.json"), "target: deep.json cannot be read as an array"),
    (LAWS.replace("law:1/3,2/3", "text:gone[1].txt:1"), "(gone[1].txt: No such file or directory)"),
    (f"{LAWS} --gamma 2 --checkpoint deep.json", "checkpoint deep.json holds no trace"),
    (f"{LAWS} --gamma 2 --checkpoint deep.json/a.npz", "output deep.json/a.npz cannot be written: Not a directory"),
    ("plan --cost-ratio 0.1 --rows gone.safetensors", "gone.safetensors cannot be read: No such file or directory"),
    ("plan 0.8 --cost-ratio 0.1 --batch 100000000", "batch is 100000000; it must be at most 16384"),
    ("plan 0.8 --cost-ratio 0.1 --batch 1" + "0" * 5000, "it must be at most 16384"),
    ("plan 0.8 --cost-ratio 0.1 --context 1" + "0" * 11, "context is 100000000000; it must be at most 1073741824"),
    ("plan --cost-ratio 0.1 --histogram long.json", "drafted is 100000000; blocks have at most 4096 drafts"),
    ("plan --cost-ratio 0.1 --histogram deep.json", "deep.json is nested too deep"),
    ("plan --cost-ratio 0.1 --hazards wide.csv", "wide.csv, line 2: field larger than field limit (131072)"),
    ("plan 0.8 --target deep.json --draft llama-3.2-1b --hardware h100-sxm", "config deep.json is nested too deep"),
    ("validate wide.csv", "wide.csv, line 2: field larger than field limit (131072)"),
    ("validate '[bold]x[/bold] of the run/[1].csv'", "[bold]x[/bold] of the run/[1].csv cannot be read: No such file"),
    *(
        (
            f"{words} --{one} {two}",
            f"--{one} and {two.partition(' ')[0]} are both given: the output has one form at a time",
        )
        for words, one, two in (
            ("rules", "json", "--markdown"),
            ("check rejection", "json", "--markdown"),
            ("plan 0.8 --cost-ratio 0.1", "json", "--markdown"),
            ("plan 0.8 --cost-ratio 0.1", "json", "--emit vllm"),
            ("plan 0.8 --cost-ratio 0.1", "markdown", "--emit vllm"),
            ("validate", "json", "--markdown"),
            (f"{LAWS} --gamma 2", "json", "--markdown"),
            ("conform --list", "json", "--markdown"),
        )
    ),
    ("plan 0.8 --cost-ratio 0.1 --plot a.txt", "output a.txt must end in .png"),
    ("check gone.py", "rule file gone.py does not exist"),
    ("check gone", "rule 'gone' is unknown; step rules: accept_k, "),
    ("check gone", "; chain rules: block, capped, greedy_block, tokenwise; tree rules: "),
    ("check tokenwise", "'tokenwise' is a chain rule and a tree rule: say which, by --family chain or --family tree"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[words[:60] for words, _ in BAD])
def test_what_is_wrong_is_one_line(words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep.json").write_text("[" * 100_000 + "]" * 100_000)
    Path("long.json").write_text('{"drafted": 100000000, "accepted": [1], "counts": [1]}')
    head = ",".join(["row_id", "source", "gamma_or_tree", "alpha_or_tau", "alpha_or_tau_kind", "measured_speedup"])
    Path("wide.csv").write_text(f"position,hazard,{head}\n1,{'5' * 200_000}\n")
    Path("binary").write_bytes(b"\xff\xfe\x00")
    ended = invoke(words)
    assert (ended.exit_code, ended.stdout) == (conform.BAD_INPUT if words.startswith("conform") else 2, "")
    assert message in ended.stderr
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.count("\n") == 1
    assert "Errno" not in ended.stderr


def test_check_infers_the_family_and_ends_with_a_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def found(module: Any, family: str) -> Any:
        asked.append(family)
        outcome = "FAIL" if family == "tree" else "pass"
        return iter([Finding("contract", "pass", ""), Finding("edges", outcome, ""), Finding("laws", "skipped", "no")])  # type: ignore[arg-type]

    monkeypatch.setattr(CONFORM, "findings", found)
    own = tmp_path / "own.py"
    shutil.copy(ROOT / "specsim" / "verify" / "chain" / "block.py", own)
    names = ["rejection", "block", "traversal", "iid", "greedy", str(own), "tokenwise --family chain"]
    shown = [invoke(f"check {name}").output for name in names]
    last = [" ".join(words[words.index(re.findall(r"\d+ passed", words)[-1]) :].split()) for words in shown]
    assert asked == ["step", "chain", "tree", "draft", "step", "chain", "chain"]
    assert last[0].startswith(
        "2 passed, 0 failed, 1 skipped: no difference found in what was tried: exactly V to 4 and V=24 with"
    )
    assert last[0].endswith("V=24 with 1 draft; in floats V=300 with 1 draft; nothing larger")
    assert last[2] == "1 passed, 1 failed, 1 skipped: this rule differs from what it states"


def test_a_package_that_is_missing_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    sold_as = {
        "distributed": r"dask\[distributed\]",
        "ot": "POT",
        "sklearn": "scikit-learn",
        "vl_convert": "vl-convert-python",
    }
    for package, extra in EXTRA.items():
        assert any(re.match(rf"{sold_as.get(package, package)}(?!\w)", needed, re.I) for needed in project[extra])
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "specsim.simulation.rounds", raising=False)
    ended = invoke(f"{LAWS} --gamma 2 --blocks 100 --backend jax")
    assert ended.exit_code == 2
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.count("\n") == 1
    assert "jax" in ended.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_json(name: str) -> None:
    assert "--json" in invoke([name, "-h"]).output


def test_a_check_as_markdown() -> None:
    shown = invoke("check rejection --markdown").output.splitlines()
    assert shown[:3] == ["| check | outcome | detail |", "| --- | --- | --- |", "| contract | pass |  |"]
    assert shown[-1].startswith("1 passed, 0 failed, 0 skipped: no difference found in what was tried: exactly V to 4")
