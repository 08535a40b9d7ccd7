"""Run what the README and docs/install.md show with an installed wheel, each block in an environment of what it needs.

    python tests/house/wheel_lines.py dist/specsim_llm-0.1.0-py3-none-any.whl

Before each block of Python or shell they say in a comment what it needs: ``<!-- needs: nothing -->``,
``<!-- needs: solve -->`` or ``<!-- needs: real,plot; short: --count 2 -->``: extras of the distribution, and options
that keep a long command short here. ``<!-- needs: checkout -->`` is not run: a wheel has no tests and no proofs.
The two blocks after ``<!-- command: NAME -->`` are run by `.ci/run` itself. A block that says nothing is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"<!-- needs: ([\w,]+)(?:; short: ([^>]*?))? -->")
ELSEWHERE = "checkout"


PAGES = ("README.md", "docs/install.md")


class Block(NamedTuple):
    """A block of a page: the page, its line, language, text, the extras it needs, and options that keep it short."""

    page: str
    line: int
    language: str
    text: str
    needs: frozenset[str]
    short: str


def blocks(text: str, extras: set[str], page: str = "README.md") -> list[Block]:
    """Every block that can be run from an installed wheel; ValueError for one that does not say what it needs."""
    lines, found = text.splitlines(), []
    for i, line in enumerate(lines):
        opening = re.fullmatch(r"```(python|bash)(?: .*)?", line)
        if not opening or lines[i - 1].startswith("<!-- command: "):
            continue
        mark = MARK.fullmatch(lines[i - 1])
        if mark is None:
            raise ValueError(f"{page} line {i + 1}: say before this block what it needs, as <!-- needs: nothing -->")
        needs = set(mark[1].split(",")) - {"nothing"}
        if needs - extras - {ELSEWHERE}:
            unknown, known = ", ".join(sorted(needs - extras)), ", ".join(sorted(extras))
            raise ValueError(f"{page} line {i}: {unknown} is no extra; known: {known}")
        body = "\n".join(lines[i + 1 : lines.index("```", i)])
        if ELSEWHERE not in needs:
            found.append(Block(page, i + 1, opening[1], body, frozenset(needs), mark[2] or ""))
    return found


def program(block: Block, folder: Path) -> list[list[str]]:
    """The commands of a block, with the programs of one environment."""
    if block.language == "python":
        return [[str(folder / "bin" / "python"), "-I", "-c", block.text]]
    lines = [line for line in block.text.splitlines() if line.strip()]
    here = [line.partition("  #")[0].replace(".venv/bin/", f"{folder}/bin/") for line in lines]
    return [["bash", "-euo", "pipefail", "-c", f"{line} {block.short}"] for line in here]


def environment(made: dict[Path, frozenset[str]], needs: frozenset[str], where: Path) -> Path:
    """The fullest environment that holds nothing else than what is needed; a new one if there is none."""
    fitting = [folder for folder, held in made.items() if held <= needs]
    return max(fitting, key=lambda folder: len(made[folder]), default=where / f"env{len(made)}")


def install(folder: Path, wheel: Path, needs: frozenset[str], bare: Path | None = None) -> None:
    """The wheel with the extras into the environment, by the pip that runs this; it takes what is there already.

    A new environment starts as links to the files of `bare`, which holds what the wheel needs without an extra. The
    wheel is installed anew there, for its programs name the environment that they run in.
    """
    if bare is not None and not folder.exists():
        ours = shutil.ignore_patterns("specsim*", "real")
        shutil.copytree(bare, folder, symlinks=True, copy_function=os.link, ignore=ours)
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    what = f"{wheel}[{','.join(sorted(needs))}]" if needs else str(wheel)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-qq"]
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", what], check=True, cwd=folder)


def run(block: Block, folder: Path, work: Path) -> None:
    """Run a block with the programs of an environment; SystemExit that names its place if a command of it fails."""
    start = time.monotonic()
    for command in program(block, folder):
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"  # its programs are found before others of their name
        env = {**os.environ, "PATH": path}
        done = subprocess.run(command, cwd=work, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            place = f"{block.page} line {block.line}"
            raise SystemExit(f"{place}: status {done.returncode} of: {command[-1]}\n{done.stdout}")
    print(f"   {block.page} line {block.line}: {time.monotonic() - start:.0f} s", flush=True)


def amiss(names: list[str]) -> list[str]:
    """What should not be in a wheel, and what should: weights and prompts are there, records of one machine not."""
    data = (path for kind in ("*.safetensors", "*.jsonl") for path in sorted((ROOT / "real").rglob(kind)))
    shipped = (path.relative_to(ROOT).as_posix() for path in data)
    return [
        *(f"{name} is a record of one machine" for name in names if name.startswith("real/results")),
        *(f"{name} is missing" for name in shipped if name not in names),
    ]


def main(wheel: Path) -> None:
    wrong = amiss(zipfile.ZipFile(wheel).namelist())
    assert not wrong, f"the wheel: {'; '.join(wrong)}"
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    found = [block for page in PAGES for block in blocks((ROOT / page).read_text(encoding="utf-8"), extras, page)]
    made: dict[Path, frozenset[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        work, bare = place / "work", place / "bare"
        work.mkdir()
        install(bare, wheel, frozenset())
        for needs in sorted({block.needs for block in found}, key=lambda needs: (len(needs), sorted(needs))):
            folder, start = environment(made, needs, place), time.monotonic()
            install(folder, wheel, needs, bare)
            made[folder] = needs
            names = ", ".join(sorted(needs)) or "no extra"
            print(f"-- {names}: installed in {time.monotonic() - start:.0f} s", flush=True)
            for block in found:
                if block.needs == needs:
                    run(block, folder, work)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
