"""The index of theorems: every name in it exists, in Python, in the tests, among the machine proofs. Needs no Coq."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import specsim
from specsim import discover
from specsim.checks import (
    CHAIN_CHECKS,
    CONTROL_CHECKS,
    COUPLED_CHECKS,
    DRAFT_CHECKS,
    OBJECTIVE_CHECKS,
    PROCESS_CHECKS,
    STEP_CHECKS,
    TREE_CHECKS,
)

ROOT = Path(__file__).parents[2]
PROOFS, TESTS = ROOT / "proofs", ROOT / "tests"
NOTES = {path.name[:3]: path for path in sorted(PROOFS.glob("T[0-9][0-9]_*.md"))}
AUDIT = (PROOFS / "coq" / "audit.expected").read_text()
EVERY = (
    STEP_CHECKS,
    CHAIN_CHECKS,
    TREE_CHECKS,
    DRAFT_CHECKS,
    PROCESS_CHECKS,
    CONTROL_CHECKS,
    COUPLED_CHECKS,
    OBJECTIVE_CHECKS,
)
CHECKS = {name for family in EVERY for name in family}
FUNCTIONS = {name for path in TESTS.rglob("*.py") for name in re.findall(r"def (test_\w+)", path.read_text())}
PROVED_STEPS = [
    "greedy_draft",
    "kseq",
    "naive",
    "optimal",
    "optimal_wor",
    "recursive",
    "recursive_wor",
    "rejection",
    "spechub",
]
PROVED_CHAINS = ["block", "greedy_block", "tokenwise"]
PROVED_TREES = ["lifted", "multipath_block", "target_only", "tokenwise", "traversal"]


class Row(NamedTuple):
    theorem: str
    python: list[str]
    checks: list[str]
    machine: list[str]  # names of Coq theorems
    cell: str


def index(text: str) -> list[Row]:
    """The table's rows."""
    found = []
    for line in text.splitlines():
        if line.startswith("| [T"):
            first, _, python, checks, cell = (part.strip() for part in line.strip("| ").split(" | "))
            names = [re.findall(r"`([^`]+)`", part) for part in (python, checks, cell.split("; open:")[0])]
            found.append(Row(first[1:4], *names, cell))
    return found


def exists(name: str) -> bool:
    """Whether a dotted Python name is a module, or a name in one, of specsim or real."""
    for start in (name,) if name.split(".")[0] in ("specsim", "real") else (f"specsim.{name}", name):
        parts = start.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found = importlib.import_module(".".join(parts[:cut]))
            except ImportError:
                continue
            for part in parts[cut:]:
                found = getattr(found, part, None)
            if found is not None:
                return True
    return False


def is_test(name: str) -> bool:
    """A conformance check, a file of tests, or the name of a test."""
    return name in CHECKS or name in FUNCTIONS or ("/" in name and (ROOT / name).exists())


def is_proved(name: str, audit: str = AUDIT) -> bool:
    """Whether the audit prints the theorem, and that none of them assumes anything."""
    said = re.search(rf"^{re.escape(name)}\n(?: .*\n)+\S", audit, re.MULTILINE)
    return said is not None and "\nClosed under the global context\n" in audit


ROWS = index((PROOFS / "README.md").read_text())


def test_every_note_has_a_row() -> None:
    assert [row.theorem for row in ROWS] == list(NOTES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.theorem)
def test_names_of_the_index_exist(row: Row) -> None:
    assert row.python
    assert row.checks
    assert [name for name in row.python if not exists(name)] == []
    assert [name for name in row.checks if not is_test(name)] == []
    assert [name for name in row.machine if not is_proved(name)] == []
    assert row.cell == "open" or row.machine


def test_most_notes_name_functions() -> None:
    """What `test_names_of_a_note_exist` asks of each is not met by the other ways alone: a file, or "Nowhere"."""
    assert sum(bool(re.search(r"`(specsim|real)(\.\w+)+`", note.read_text())) for note in NOTES.values()) >= 20


@pytest.mark.parametrize("theorem", NOTES)
def test_names_of_a_note_exist(theorem: str) -> None:
    text = NOTES[theorem].read_text()
    dotted = set(re.findall(r"`((?:specsim|real)(?:\.\w+)+)`", text))
    tests = set(re.findall(r"`(test_\w+)`", text)) | set(re.findall(r"`(tests/[\w/]+\.py)`", text))
    assert dotted or "Nowhere" in text or "specsim/" in text
    assert sorted(name for name in dotted if not exists(name)) == []
    assert sorted(name for name in tests if not is_test(name)) == []
    assert tests
    for folder in re.findall(r"`(specsim/[\w/]+\.py)`", text):
        assert (ROOT / folder).exists()


@pytest.mark.parametrize("family", ["step", "chain", "tree", "process"])
def test_every_rule_names_its_theorem(family: str) -> None:
    for name, module in discover.rules(family).items():
        assert module.THEOREM == "open" or module.THEOREM in NOTES, f"{name} names {module.THEOREM}"


def claims(family: str) -> dict[str, list[str]]:
    """What the rules of a family say that Coq has checked, by rule; wrong names of it are listed."""
    proved = {row.theorem: row.machine for row in ROWS}
    return {
        name: [
            f"{what}: {theorem}"
            for what, theorem in module.PROVED.items()
            if what.split(" ")[0] not in ("lossless", "acceptance") or theorem not in proved.get(module.THEOREM, [])
        ]
        for name, module in discover.rules(family).items()
        if hasattr(module, "PROVED")
    }


def test_what_is_machine_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules say it themselves, for tables without proofs/ at hand, and the index bears them out."""
    for family, proved in {"step": PROVED_STEPS, "chain": PROVED_CHAINS, "tree": PROVED_TREES}.items():
        assert claims(family) == {name: [] for name in proved}
    for rule in specsim.algorithms():
        assert not rule.proved or any(what.startswith("lossless") for what in rule.proved)
    for wrong in ({"lossless": "kseq_lossless"}, {"optimal": "spec_lossless"}, {"lossless": "no_such"}):
        monkeypatch.setattr(discover.find("step", "rejection"), "PROVED", wrong)
        assert claims("step")["rejection"]


def test_the_audit_prints_every_headline_theorem() -> None:
    asked = re.findall(r"^Check (\S+)\.$", (PROOFS / "coq" / "audit.v").read_text(), re.MULTILINE)
    told = (PROOFS / "coq" / "audit.v").read_text()
    (all_of_them,) = re.findall(
        r"^Definition headlines := \(\n(.*?)\)\.\nPrint Assumptions headlines\.$", told, re.M | re.S
    )
    assert [f"@{name}" for name in asked] == all_of_them.replace(",", " ").split()
    assert [name for name in asked if not is_proved(name)] == []
    assert {name for row in ROWS for name in row.machine} <= set(asked)


def test_nothing_is_admitted() -> None:
    banned = re.compile(
        r"\b(Admitted|admit|Axioms?|Parameters?|Conjectures?|Abort|bypass_check|(Guard|Positivity|Universe) Checking)\b"
    )
    files = sorted((PROOFS / "coq").glob("*.v"))
    listed = (PROOFS / "coq" / "Makefile").read_text().split("THEORIES = ")[1].split("\nall:")[0]
    assert {path.stem for path in files} == {*listed.replace("\\", " ").split(), "audit"}
    assert [path.name for path in files if banned.search(path.read_text())] == []
    assert banned.search("Proof. Admitted.")


def test_wrong_names_are_found() -> None:
    assert not exists("verify.step.rejections")
    assert not exists("_dist.no_such")
    assert not is_test("test_that_nobody_wrote")
    assert not is_test("tests/test_nothing.py")
    assert not is_proved("no_such_theorem")
    assert is_proved("spec_lossless")
    assert not is_proved("spec_lossless", AUDIT.replace("Closed under the global context", "Axioms:"))
    wrong = index("| [T99](T99_x.md) | words | `a.b` | `test_c` | `d`; open: `e` |")
    assert wrong == [Row("T99", ["a.b"], ["test_c"], ["d"], "`d`; open: `e`")]
