"""`specsim check`: every conformance check on one rule."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import examples, takes

EXAMPLES = examples("specsim check rejection", "specsim check my_rule.py", "specsim check block --family chain")


class Check(NamedTuple):
    """What `specsim check` is told."""

    rule: Annotated[str, typer.Argument(help="Name of a shipped rule, or the path of a rule file.")]
    family: Annotated[str, typer.Option(help="step, chain, tree or draft.")] = "step"
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Check)
def check(told: Check) -> None:
    """Run every conformance check on a rule; status 1 if one fails. What is skipped says why."""
    from specsim import discover
    from specsim.testing.conform import findings

    module = load(Path(told.rule)) if told.rule.endswith(".py") else discover.find(told.family, told.rule)
    done = []
    for finding in findings(module, told.family):  # each is shown as it ends: some checks take a minute
        done.append(finding)
        if not told.as_json:
            typer.echo(f"{finding.outcome}  {finding.check}  {finding.detail}".rstrip())
    if told.as_json:
        typer.echo(json.dumps([finding._asdict() for finding in done], indent=1))
    if any(finding.failed for finding in done):
        raise typer.Exit(1)


def load(path: Path) -> ModuleType:
    """A rule from a file of the user; ValueError if it cannot be imported."""
    if not path.is_file():
        raise ValueError(f"rule file {path} does not exist")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"rule file {path} is not Python")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the file is the user's: whatever it raises is the answer
        raise ValueError(f"rule file {path} cannot be imported: {type(error).__name__}: {error}") from None
    return module
