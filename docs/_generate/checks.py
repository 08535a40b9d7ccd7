"""Record what `specsim check` says of every rule: `python docs/_generate/checks.py` runs what is not recorded yet.

All checks of all rules take minutes, too long for a build. So a page shows the record, and a record is of one source:
it carries a digest of the rule's code (without docstrings and imports), and counts for nothing once that has changed.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from specsim import discover

RECORD = Path(__file__).with_name("checks.json")
Findings = list[list[str]]  # check, "pass" | "FAIL" | "skipped", detail


def digest(module: ModuleType) -> str:
    """Of what a rule computes: its syntax tree without docstrings and imports."""
    tree = ast.parse(inspect.getsource(module))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [n for n in body if not isinstance(n, ast.Import | ast.ImportFrom) and not _is_text(n)]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def state(finding: Any) -> str:
    """ "pass", "FAIL" or "skipped", of a finding that holds a boolean or one of three outcomes."""
    outcome = getattr(finding, "outcome", None) or getattr(finding, "passed", None)
    if isinstance(outcome, str):
        return {"passed": "pass", "failed": "FAIL"}.get(outcome, outcome)
    if outcome is None and hasattr(finding, "passed"):
        return "skipped"
    return "pass" if outcome else "FAIL"


def recorded(family: str, name: str) -> Findings | None:
    """What is recorded of this very source of a rule; None if nothing is."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    entry = known.get(f"{family}/{name}")
    if entry is None or entry["source"] != digest(discover.find(family, name)):
        return None
    findings: Findings = entry["findings"]
    return findings


def main() -> None:
    """Run what is not recorded, and write after every rule."""
    from specsim.testing import conform

    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    here = {f"{family}/{name}" for family in discover.FAMILIES for name in discover.names(family)}
    known = {key: entry for key, entry in known.items() if key in here}
    for family in discover.FAMILIES:
        for name, module in discover.rules(family).items():
            if recorded(family, name) is None:
                findings = [[f.check, state(f), f.detail] for f in conform(module, family)]
                known[f"{family}/{name}"] = {"source": digest(module), "findings": findings}
                RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
                print(family, name, ", ".join(f"{check} {what}" for check, what, _ in findings if what != "pass"))


if __name__ == "__main__":
    main()
