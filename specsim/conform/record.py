"""Judge the adapters, each in a temporary environment of its own: `python -m specsim.conform.record [NAME...]`.

The environment sees what is installed here; the package is added to it, and whatever else its
function needs. Verdicts go into a record, from which a table of the site is written.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

import specsim
from specsim.base import clock
from specsim.conform import registry
from specsim.conform.judgement import judge
from specsim.conform.likeness import Exhibits
from specsim.conform.observation import distance
from specsim.conform.observing import observe
from specsim.conform.report import as_json, short
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Subject
from specsim.conform.trial import begin
from specsim.conform.verdict import Report, Verdict

# Fields of a verdict that the record holds.
VERDICT_FIELDS = ("property", "outcome", "evidence", "runs", "distance", "reach", "words")
# Seconds for pip.
PATIENCE = 600.0
# Seconds for one call of a subject: the first may import half of a library.
CALL = 60.0
# The head of the table.
COLUMNS = "| subject | version | evidence | runs | verdict |\n| --- | --- | --- | ---: | --- |"


class Missing(Exception):
    """The package cannot be had here; the message says why."""


def environment(distribution: str, versions: str, needs: tuple[str, ...], folder: Path) -> Path:
    """Return the interpreter of a new environment with the package; Missing where it cannot be had."""
    # An environment that sees the packages and the specsim of this one.
    _printed([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = Path(_printed([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    here = [path for path in sys.path if path.endswith("-packages")]
    (packages / "here.pth").write_text("\n".join([str(Path(specsim.__file__).parents[1]), *here]) + "\n")
    # The package without its dependencies, then those that it needs.
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-input"]
    _printed([*install, "--no-deps", f"{distribution}{versions}"])
    if needs:
        _printed([*install, *needs])
    return python


def _printed(command: list[str], patience: float | None = PATIENCE) -> str:
    """Return what a command prints; Missing, with its last line, if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{type(error).__name__}: {' '.join(command[:4])}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise Missing((lines or [f"status {done.returncode}"])[-1])
    return done.stdout


def judged(name: str, *, budget: float, timed: bool = False, only: Sequence[str] = ()) -> dict[str, Any]:
    """Return versions and verdicts of an adapter (a name or a path), in an environment that is removed afterwards.

    `only` names the subjects that are judged, by default all.
    """
    module = registry.find(name)
    facts = {"distribution": module.DISTRIBUTION, "entry": module.ENTRY, "licence": module.LICENCE}
    with tempfile.TemporaryDirectory() as folder:
        try:
            python = environment(module.DISTRIBUTION, module.VERSIONS, module.NEEDS, Path(folder))
            options = ["--budget", str(budget), *(["--timed"] if timed else [])]
            options += [word for subject in only for word in ("--only", subject)]
            output = _printed([str(python), "-m", "specsim.conform.record", name, "--here", *options], None)
        except Missing as reason:
            return facts | {"reason": str(reason), "subjects": []}
    return facts | dict(json.loads(output.splitlines()[-1]))


def here(name: str, *, budget: float, timed: bool = False, only: Sequence[str] = ()) -> dict[str, Any]:
    """Return versions and verdicts of an adapter with what is installed in this environment."""
    module = registry.find(name)
    subjects = registry.subjects_or_reason(module)
    if isinstance(subjects, str):
        return {"reason": subjects, "subjects": []}

    # A report of each subject, without the words that follow from it.
    rows = []
    exhibits = Exhibits()
    for subject in subjects:
        if only and subject.name not in only:
            continue
        report = as_json(judge(subject, budget=budget, patience=CALL, exhibits=exhibits))
        del report["words"]
        verdicts = [{key: verdict[key] for key in VERDICT_FIELDS} for verdict in report.pop("verdicts")]
        facts = {"kind": subject.kind, "note": subject.note, "two drafts": two_drafts(subject, timed=timed)}
        rows.append(report | facts | {"verdicts": verdicts})
    versions = {package: metadata.version(package) for package in (module.DISTRIBUTION, "torch")}
    return {"versions": versions, "subjects": rows}


def two_drafts(subject: Subject, *, timed: bool) -> dict[str, Any] | None:
    """Judge a block of two drafts (of a tree: its smallest) over three tokens, scripted, or None where that cannot be.

    `runs`, one for each path; `distance`, the total variation of its joint law, continued by the
    target, from the target's; `seconds` of this one case, or None if it was not timed: of the
    processor, all threads together, so that an idle machine takes no longer, and one that does
    other things besides adds little.
    """
    if subject.kind not in ("chain", "tree", "decoder"):
        return None
    small = subject._replace(sizes=(2,), shapes=subject.shapes[:1])
    # One case with one kind of evidence, whose error the report has named already.
    trial = begin(small, deadline=clock.now() + 60, patience=CALL, delta=1e-6, seed=0, kinds=["scripted"])
    began = time.process_time()
    try:
        observation = observe(trial, next(standard(small)))
    except Exception:
        return None
    total_variation = distance(observation.joint(observation.case.length), observation.goal(observation.case.length))
    return {
        "runs": observation.runs,
        "distance": total_variation,
        "seconds": time.process_time() - began if timed else None,
    }


def markdown(record: dict[str, Any]) -> str:
    """Return the table: a row for every subject, and one for every adapter that is not available."""
    rows = [COLUMNS]
    for adapter in record["adapters"].values():
        distribution = adapter["distribution"]
        if "reason" in adapter:
            rows.append(f"| `{adapter['entry']}` | {distribution} | none | 0 | not available: {adapter['reason']} |")
        for subject in adapter["subjects"]:
            version = f"{distribution} {adapter['versions'][distribution]}"
            verdicts = subject["verdicts"]
            evidence = ", ".join(dict.fromkeys(v["evidence"] for v in verdicts if v["evidence"] != "none"))
            runs = sum(verdict["runs"] for verdict in verdicts)
            words = _outcome_words(subject)
            rows.append(f"| `{subject['subject']}` | {version} | {evidence} | {runs:,} | {words} |")
    return "\n".join(rows)


def _outcome_words(subject: dict[str, Any]) -> str:
    """Return a subject's verdict: the reach if it is lossless, else the properties that have the same verdict."""
    outcome, verdicts = subject["outcome"], subject["verdicts"]
    if outcome == "lossless":
        reaches = [Verdict("", v["property"], v["outcome"], v["evidence"], v["reach"]) for v in verdicts]
        return short([Report(subject["subject"], tuple(reaches))])
    equal = [verdict for verdict in verdicts if verdict["outcome"] == outcome]
    why = [f"{v['property']} {v['distance']:.3g}" if v["distance"] else v["property"] for v in equal]
    return f"**{outcome}**: {', '.join(why)}"


app = typer.Typer(add_completion=False)


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(help="Adapters; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="The record; adapters that are not named keep their part.")] = Path(
        "tests/bench/conform.json"
    ),
    budget: Annotated[float, typer.Option(help="Seconds for each subject.")] = 60.0,
    in_place: Annotated[bool, typer.Option("--here", help="Judge one in this environment, and print it.")] = False,
    timed: Annotated[bool, typer.Option(help="Record seconds of the processor, too.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="With --here: judge this subject; may be repeated.")] = None,
) -> None:
    """Judge public packages, and record what was found."""
    # In the environment of one package: print its verdicts.
    if in_place and names:
        typer.echo(json.dumps(here(names[0], budget=budget, timed=timed, only=only or ())))
        return
    # Each package in an environment of its own; the record is written after each.
    known = registry.names(registry.ADAPTERS)
    record: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {"adapters": {}}
    for name in names or known:
        if name not in known:
            typer.echo(f"error: adapter {name!r} is unknown; known: {', '.join(known)}", err=True)
            raise typer.Exit(2)
        adapter = judged(name, budget=budget, timed=timed) | {
            "date": datetime.date.today().isoformat(),
            "budget": budget,
        }
        record["adapters"] = dict(sorted({**record["adapters"], name: adapter}.items()))
        record |= {
            "command": "python -m specsim.conform.record",
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "specsim": specsim.__version__,
        }
        out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        outcomes = "; ".join(map(_outcome_words, adapter["subjects"])) or f"not available: {adapter['reason']}"
        typer.echo(f"{name:34} {outcomes}")


if __name__ == "__main__":
    app()
