"""`specsim conform --certificate` and `--check`: for whom and what a certificate holds."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.authors import MINE, RIGHT, WRONG, written
from helpers.authors import conform as run

from specsim.conform import Report, Verdict, certificate, registry

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
    assert "certifies another source of mine.py" in said
    assert run(str(mine), "--certificate", held)[0] == 1
    status, said = run(str(mine), "--check", held)
    assert (status, "says of mine: convicted" in said) == (1, True)


@pytest.mark.fast
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


@pytest.mark.fast
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


@pytest.mark.fast
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


@pytest.mark.fast
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


@pytest.mark.fast
def test_a_rule_s_certificate_is_of_all_it_stands_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = "all of specsim"
    before = hashed(registry.find("rejection"))[everything]
    assert hashed(registry.find("rejection"))[everything] == before
    (tmp_path / "__init__.py").write_text("")
    monkeypatch.setattr(certificate.specsim, "__file__", str(tmp_path / "__init__.py"))  # type: ignore[attr-defined]
    alone = hashed(registry.find("rejection"))[everything]
    (tmp_path / "base.py").write_text("x = 1\n")
    assert len({before, alone, hashed(registry.find("rejection"))[everything]}) == 3
