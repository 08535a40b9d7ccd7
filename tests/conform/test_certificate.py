"""`specsim conform --certificate` and `--check`: for whom and what a certificate holds."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.authors import MINE, RIGHT, WRONG, written
from helpers.authors import conform as run

from specsim.conform import Report, Verdict, certificate, hashes, registry

# A second subject, of another name.
OTHER = """
def subjects():
    return [subject(), subject()._replace(name="other")]
"""


def certify(held: Path, module: Any, reports: list[Report]) -> None:
    certificate.write(held, certificate.drafted(module, registry.subjects_of(module)), reports, 1e-6)


def hashed(module: Any) -> dict[str, str]:
    return certificate.drafted(module, registry.subjects_of(module)).sources


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return written(tmp_path)


def test_certificate(mine: Path, tmp_path: Path) -> None:
    held = str(tmp_path / "certificate.json")
    mine.write_text(MINE.format(law=RIGHT))
    assert run(str(mine), "--certificate", held)[0] == 0
    assert run(str(mine), "--check", held)[0] == 0
    mine.write_text(MINE.format(law=WRONG))
    status, said = run(str(mine), "--check", held)
    assert status == 2
    assert "is of another source of mine.py" in said
    assert run(str(mine), "--certificate", held)[0] == 1
    status, said = run(str(mine), "--check", held)
    assert (status, "says of mine: convicted" in said) == (1, True)


@pytest.mark.parametrize(
    "outcome", ["lossless", "lossy by design", "vacuous", "inconclusive", "broken", "not available"]
)
def test_a_certificate_holds_for_what_passed(outcome: Any, mine: Path, tmp_path: Path) -> None:
    held, module = tmp_path / "certificate.json", registry.find(str(mine))
    certify(held, module, [Report("mine", (Verdict("mine", "joint", outcome),))])
    if outcome.startswith("loss"):
        certificate.check(held, module)
    else:
        with pytest.raises(certificate.NotHeld, match=f"says of mine: {outcome}"):
            certificate.check(held, module)


@pytest.mark.parametrize(("old", "new"), [('"runs": 0', '"runs": 9'), ('"false_alarm": 1e-06', '"false_alarm": 1e-12')])
def test_an_edited_certificate_is_refused(old: str, new: str, mine: Path, tmp_path: Path) -> None:
    held, module = tmp_path / "certificate.json", registry.find(str(mine))
    certify(held, module, [Report("mine", (Verdict("mine", "joint", "lossless"),))])
    text = held.read_text()
    assert old in text
    held.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match="was edited"):
        certificate.check(held, module)
    for other in ("{}", "[1]", text.replace("digest", "digests")):
        held.write_text(other)
        with pytest.raises(ValueError, match="is no certificate"):
            certificate.check(held, module)


def test_a_certificate_judges_every_subject(mine: Path, tmp_path: Path) -> None:
    held, passed = tmp_path / "certificate.json", Report("mine", (Verdict("mine", "joint", "lossless"),))
    failed = Report("other", (Verdict("other", "joint", "convicted"),))
    source = mine.read_text()
    mine.write_text(f"{source}{OTHER}")
    module = registry.find(str(mine))
    for reports, words in (([passed], "every subject"), ([passed, failed], "says of other: convicted")):
        certify(held, module, reports)
        with pytest.raises(certificate.NotHeld, match=words):
            certificate.check(held, module)


def test_compiled_code_is_certified_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that changed in a package of the same version."""
    kernel, file = tmp_path / "kernel.so", metadata.PackagePath("kernel.so")
    file.dist = SimpleNamespace(locate_file=lambda path: tmp_path / path)  # type: ignore[assignment]
    monkeypatch.setattr(metadata, "files", lambda distribution: [file])
    monkeypatch.setattr(metadata, "version", lambda distribution: "1.0")
    (tmp_path / "mine.py").write_text(f'DISTRIBUTION = "kernels"\n{MINE.format(law=RIGHT)}')
    module, hashes = registry.find(str(tmp_path / "mine.py")), []
    for code in (b"one", b"one", b"other"):
        kernel.write_bytes(code)
        hashes.append(hashed(module)["all of kernels"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_certificate_says_what_was_judged(mine: Path, tmp_path: Path) -> None:
    """A property that any subject was not judged by is none of the certificate's."""
    held = tmp_path / "certificate.json"
    mine.write_text(f"{mine.read_text()}{OTHER}")
    module, names = registry.find(str(mine)), [("marginal", "joint"), ("joint", "degenerate")]
    reports = [
        Report(subject, tuple(Verdict(subject, name, "lossless") for name in some))
        for subject, some in zip(("mine", "other"), names, strict=True)
    ]
    certify(held, module, reports)
    assert certificate.check(held, module, properties=["joint"]).judged == ["joint"]
    assert run(str(mine), "--check", str(held))[1].endswith("judged: joint, and nothing else\n")
    status, said = run(str(mine), "--check", str(held), "--property", "joint", "--property", "marginal")
    assert status == 2
    assert said == f"{mine}: {held} says nothing of the property marginal: it is of joint\n"


def test_a_rule_s_certificate_is_of_all_it_stands_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = "all of specsim"
    before = hashed(registry.find("rejection"))[everything]
    assert hashed(registry.find("rejection"))[everything] == before
    (tmp_path / "__init__.py").write_text("")
    monkeypatch.setattr(certificate.specsim, "__file__", str(tmp_path / "__init__.py"))  # type: ignore[attr-defined]
    alone = hashed(registry.find("rejection"))[everything]
    (tmp_path / "base.py").write_text("x = 1\n")
    assert len({before, alone, hashed(registry.find("rejection"))[everything]}) == 3


def edited(held: Path, change: Any) -> None:
    """Change what a certificate says, and make its digest anew: it is not signed."""
    said = json.loads(held.read_text())
    del said["digest"]
    change(said)
    held.write_text(json.dumps(said | {"digest": hashes.digest(said)}))


def twice(text: str, line: str, other: str) -> str:
    """Return a text in which a line of JSON stands twice, the second time with another value."""
    return text.replace(line, f"{line},{line.partition(':')[0]}: {other}")


HOSTILE = {
    "a key twice": lambda text: twice(text, '"false_alarm": 1e-06', "1"),
    "a source twice": lambda text: text.replace('"sources": {', '"sources": {"mine.py": "0",'),
    "nested": lambda text: "[" * 100_000,
    "nested inside": lambda text: text.replace('"versions": {', '"versions": {"a": ' + "[" * 50_000),
    "digits": lambda text: text.replace('"runs": 0', '"runs": ' + "9" * 5000),
    "cut": lambda text: text[: len(text) // 2],
    "not text": lambda text: "\x00\x01",
    "empty": lambda text: "",
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_certificate_is_refused_in_one_line(how: str, mine: Path, tmp_path: Path) -> None:
    held = tmp_path / "c.json"
    certify(held, registry.find(str(mine)), [Report("mine", (Verdict("mine", "joint", "lossless"),))])
    held.write_text(HOSTILE[how](held.read_text()))
    status, said = run(str(mine), "--check", str(held))
    assert status == 3, said
    assert "is no certificate" in said
    assert said.count("\n") == 1


FORGED: dict[str, Any] = {
    "no number": lambda said: said.update(false_alarm=float("nan")),
    "every alarm": lambda said: said.update(false_alarm=1.0),
    "an alarm that is text": lambda said: said.update(false_alarm="1e-6"),
    "subjects are text": lambda said: said.update(subjects="mine"),
    "a subject twice": lambda said: said.update(subjects=["mine"] * 2, reports=said["reports"] * 2),
    "sources are a list": lambda said: said.update(sources=["mine.py"]),
    "a hash that is a number": lambda said: said["sources"].update({"mine.py": 1}),
    "a version that is nothing": lambda said: said["versions"].update(torch=None),
    "reports are a dictionary": lambda said: said.update(reports=said["reports"][0]),
    "no report": lambda said: said.update(reports=[], subjects=[]),
    "no verdict": lambda said: said["reports"][0].update(verdicts=[]),
    "a verdict that is none": lambda said: said["reports"][0]["verdicts"][0].update(outcome="fine"),
    "a verdict that is a list": lambda said: said["reports"][0]["verdicts"][0].update(outcome=["lossless"]),
    "another outcome than its verdicts": lambda said: said["reports"][0]["verdicts"][0].update(outcome="convicted"),
    "a part": lambda said: said["reports"][0].update(complete=False),
    "escape sequences": lambda said: said["reports"][0]["verdicts"][0].update(words="\x1b[2J"),
    "a path that leads elsewhere": lambda said: said["sources"].update({"../../etc/passwd": "0"}),
    "an absolute path": lambda said: said["sources"].update({"/etc/passwd": "0"}),
    "a package that is a path": lambda said: said["versions"].update({"../mine": "1"}),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_certificate_never_passes(how: str, mine: Path, tmp_path: Path) -> None:
    held = tmp_path / "c.json"
    certify(held, registry.find(str(mine)), [Report("mine", (Verdict("mine", "joint", "lossless"),))])
    assert run(str(mine), "--check", str(held))[0] == 0
    edited(held, FORGED[how])
    status, said = run(str(mine), "--check", str(held))
    assert status in (2, 3), said
    assert said.count("\n") == 1
    assert "Traceback" not in said


def test_what_is_imported_while_it_runs_is_listed(tmp_path: Path) -> None:
    """It was hashed, and the printed line left it out."""
    (tmp_path / "late_engine.py").write_text(f"def left(p, q):\n    return {RIGHT}\n")
    source = MINE.format(law="importlib.import_module('late_' + 'engine').left(p, q)")
    (tmp_path / "mine.py").write_text(f"import importlib\n{source}")
    held = tmp_path / "c.json"
    status, said = run(str(tmp_path / "mine.py"), "--property", "marginal", "--certificate", str(held))
    assert (status, "certifies mine.py, late_engine.py: lossless" in " ".join(said.split())) == (0, True), said
