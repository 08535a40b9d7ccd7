"""Judge the adapters, each in a temporary environment of its own: `python -m specsim.conform.record [NAME...]`.

The environment sees what is installed here; the package is added to it, and whatever else its function needs. What is
found goes into a record, from which a table of the site is written.
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
from specsim.conform.cases import standard
from specsim.conform.judgement import judge
from specsim.conform.likeness import Exhibits
from specsim.conform.observation import distance
from specsim.conform.observing import observe
from specsim.conform.report import as_json, short
from specsim.conform.subject import Subject
from specsim.conform.trial import begin
from specsim.conform.verdict import Report, Verdict

KEPT = ("property", "outcome", "evidence", "runs", "distance", "reach", "words")  # of a verdict
PATIENCE = 600.0  # seconds for pip
CALL = 60.0  # for one call of a subject, whose first may import the half of a library
COLUMNS = "| subject | version | evidence | runs | verdict |\n| --- | --- | --- | ---: | --- |"


class Missing(Exception):
    """The package cannot be had here; the message says why."""


def environment(distribution: str, versions: str, needs: tuple[str, ...], folder: Path) -> Path:
    """Return the interpreter of a new environment with the package; Missing where it cannot be had."""
    _told([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = Path(_told([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    here = [path for path in sys.path if path.endswith("-packages")]
    (packages / "here.pth").write_text("\n".join([str(Path(specsim.__file__).parents[1]), *here]) + "\n")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-input"]
    _told([*install, "--no-deps", f"{distribution}{versions}"])
    if needs:
        _told([*install, *needs])
    return python


def _told(command: list[str], patience: float | None = PATIENCE) -> str:
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
    held = {"distribution": module.DISTRIBUTION, "entry": module.ENTRY, "licence": module.LICENCE}
    with tempfile.TemporaryDirectory() as folder:
        try:
            python = environment(module.DISTRIBUTION, module.VERSIONS, module.NEEDS, Path(folder))
            more = ["--budget", str(budget), *(["--timed"] if timed else [])]
            more += [word for subject in only for word in ("--only", subject)]
            done = _told([str(python), "-m", "specsim.conform.record", name, "--here", *more], None)
        except Missing as reason:
            return held | {"reason": str(reason), "subjects": []}
    return held | dict(json.loads(done.splitlines()[-1]))


def here(name: str, *, budget: float, timed: bool = False, only: Sequence[str] = ()) -> dict[str, Any]:
    """Return the same with what is installed in this environment."""
    module, out = registry.find(name), []
    found = registry.subjects_or_reason(module)
    if isinstance(found, str):
        return {"reason": found, "subjects": []}
    exhibits = Exhibits()
    for subject in found:
        if only and subject.name not in only:
            continue
        report = as_json(judge(subject, budget=budget, patience=CALL, exhibits=exhibits))
        del report["words"]
        verdicts = [{key: verdict[key] for key in KEPT} for verdict in report.pop("verdicts")]
        more = {"kind": subject.kind, "note": subject.note, "two drafts": two_drafts(subject, timed=timed)}
        out.append(report | more | {"verdicts": verdicts})
    versions = {one: metadata.version(one) for one in (module.DISTRIBUTION, "torch")}
    return {"versions": versions, "subjects": out}


def two_drafts(subject: Subject, *, timed: bool) -> dict[str, Any] | None:
    """Judge a block of two drafts (of a tree: its smallest) over three tokens, scripted, or None where that cannot be.

    `runs`, one for each path; `distance`, the total variation of its joint law, continued by the target, from the
    target's; `seconds` of this one case, or None if it was not timed: of the processor, all threads together, so that
    an idle machine takes no longer, and one that does other things besides adds little.
    """
    if subject.kind not in ("chain", "tree", "decoder"):
        return None
    one = subject._replace(sizes=(2,), shapes=subject.shapes[:1])
    trial = begin(one, deadline=clock.now() + 60, patience=CALL, delta=1e-6, seed=0, kinds=["scripted"])
    began = time.process_time()
    try:
        seen = observe(trial, next(standard(one)))
    except Exception:  # whatever it is has been said by the report
        return None
    tv = distance(seen.joint(seen.case.length), seen.goal(seen.case.length))
    return {"runs": seen.runs, "distance": tv, "seconds": time.process_time() - began if timed else None}


def markdown(record: dict[str, Any]) -> str:
    """Return the table: a row for every subject, and what was found where something was."""
    rows = [COLUMNS]
    for held in record["adapters"].values():
        if "reason" in held:
            rows.append(f"| `{held['entry']}` | {held['distribution']} | none | 0 | not available: {held['reason']} |")
        for one in held["subjects"]:
            version = f"{held['distribution']} {held['versions'][held['distribution']]}"
            evidence = ", ".join(dict.fromkeys(v["evidence"] for v in one["verdicts"] if v["evidence"] != "none"))
            runs = sum(v["runs"] for v in one["verdicts"])
            rows.append(f"| `{one['subject']}` | {version} | {evidence} | {runs:,} | {_said(one)} |")
    return "\n".join(rows)


def _said(one: dict[str, Any]) -> str:
    """Return the verdict of a subject: of *lossless* the reach, of others the properties that say the same as it."""
    if one["outcome"] == "lossless":
        held = [Verdict("", v["property"], v["outcome"], v["evidence"], v["reach"]) for v in one["verdicts"]]
        return short([Report(one["subject"], tuple(held))])
    same = [v for v in one["verdicts"] if v["outcome"] == one["outcome"]]
    why = [f"{v['property']} {v['distance']:.3g}" if v["distance"] else v["property"] for v in same]
    return f"**{one['outcome']}**: {', '.join(why)}"


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
    if in_place and names:
        typer.echo(json.dumps(here(names[0], budget=budget, timed=timed, only=only or ())))
        return
    known = registry.names(registry.ADAPTERS)
    record: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {"adapters": {}}
    for name in names or known:
        if name not in known:
            typer.echo(f"error: adapter {name!r} is unknown; known: {', '.join(known)}", err=True)
            raise typer.Exit(2)
        found = judged(name, budget=budget, timed=timed) | {"date": datetime.date.today().isoformat(), "budget": budget}
        record["adapters"] = dict(sorted({**record["adapters"], name: found}.items()))
        record |= {
            "command": "python -m specsim.conform.record",
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "specsim": specsim.__version__,
        }
        out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        outcomes = "; ".join(map(_said, found["subjects"])) or f"not available: {found['reason']}"
        typer.echo(f"{name:34} {outcomes}")


if __name__ == "__main__":
    app()
