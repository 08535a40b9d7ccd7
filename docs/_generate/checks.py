"""Record what `specsim check` says of every rule: `python docs/_generate/checks.py` runs what is not recorded yet.

All checks of all rules take minutes, too long for a build. So a page shows the record, and a record is of one source:
it carries a digest of all that the result depends on, and counts for nothing once that has changed. That is the code
(without docstrings and imports) of the rule, of the checks of its family, of the rules and schemes that both name, and
of every module of specsim that any of them imports, at whatever remove. Other packages are not in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specsim import discover
from specsim.base import imports

ROOT = Path(discover.__file__).parents[1]
RECORD = Path(__file__).with_name("checks.json")
Findings = list[list[str]]  # check, "pass" | "FAIL" | "skipped", detail


def digest(family: str, name: str) -> str:
    """Of everything that the checks of a rule run, but for other packages."""
    codes = sorted(imports.code(module) for module in sources(family, name))
    return hashlib.sha256(" ".join(codes).encode()).hexdigest()[:16]


def sources(family: str, name: str) -> set[str]:
    """The modules of specsim that the checks of a rule depend on."""
    return imports.closure([f"specsim.checks.{family}", *_named(family, name)])


def _named(family: str, name: str) -> Iterator[str]:
    """The rule, and the rules and schemes that it, or a check on it, finds by their names."""
    yield f"{discover.FAMILIES[family]}.{name}"
    if family in ("draft", "process", "control", "objective"):  # checked with rules that their checks import
        return
    facts = discover.facts(discover.find(family, name))
    yield from (f"{discover.FAMILIES['step']}.{step}" for step in facts.steps.values())
    if facts.chain:
        yield f"{discover.FAMILIES['chain']}.{facts.chain}"
    known = set(discover.names("draft"))
    for scheme in {"iid", "without_replacement", *facts.schemes} & known:  # beams and other trees draw by these
        yield f"{discover.FAMILIES['draft']}.{scheme}"


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
    if entry is None or entry["source"] != digest(family, name):
        return None
    findings: Findings = entry["findings"]
    return findings


def main() -> None:
    """Run what is not recorded, and write after every rule."""
    from specsim.checks import check_rule

    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    here = {f"{family}/{name}" for family in discover.FAMILIES for name in discover.names(family)}
    known = {key: entry for key, entry in known.items() if key in here}
    for family in discover.FAMILIES:
        for name, module in discover.rules(family).items():
            if recorded(family, name) is None:
                findings = [[f.check, state(f), f.detail] for f in check_rule(module, family)]
                known[f"{family}/{name}"] = {"source": digest(family, name), "findings": findings}
                RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
                print(family, name, ", ".join(f"{check} {what}" for check, what, _ in findings if what != "pass"))


if __name__ == "__main__":
    main()
