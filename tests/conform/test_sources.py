"""A certificate covers the code that runs: own modules, however they are imported, and nothing that did not pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import hidden_code
from helpers.authors import RIGHT, conform

from specsim.base.modules import imported_names, read
from specsim.conform import Report, Verdict, certificate, registry, sources

RESIDUAL = """
def residual(p, q):
    return (p - q).clip(0) / (p - q).clip(0).sum()
"""
PLAIN = "def residual(p, q):\n    return p\n"
VERIFY = """
def verify(p, q, drafts, random):
    {inside}
    x = drafts[0]
    return x if random.random() * q[x] < p[x] else random.choice(len(p), p={residual}(p, q))
"""
SUBJECT = """
from specsim.conform import Subject
def subject():
    return Subject("mine", "step", {function}, sizes=(1,))
"""
QUICK = ("--property", "marginal")


def own(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def imported(engine: str) -> tuple[str, str]:
    """At the top of the file, as most do."""
    return f"from {engine} import residual\n" + VERIFY.format(inside="pass", residual="residual"), "verify"


def imported_in_the_function(engine: str) -> tuple[str, str]:
    return VERIFY.format(inside=f"import {engine} as other", residual="other.residual"), "verify"


def imported_by_a_text(engine: str) -> tuple[str, str]:
    """No statement says what is imported."""
    text = f"importlib.import_module({engine[:3]!r} + {engine[3:]!r})"
    return "import importlib\n" + VERIFY.format(inside=f"other = {text}", residual="other.residual"), "verify"


def behind_a_package(engine: str) -> tuple[str, str]:
    """The subject imports a package, one of whose modules imports the engine by a relative name."""
    return f"from {engine}_package import inner\n", "inner.verify"


def decorated(engine: str) -> tuple[str, str]:
    """What wraps the verifier comes from elsewhere, too."""
    lines = f"from {engine} import residual\nimport functools\n" + VERIFY.format(inside="pass", residual="residual")
    return lines + "verify = functools.wraps(verify)(functools.partial(verify))\n", "verify"


WAYS = [imported, imported_in_the_function, imported_by_a_text, behind_a_package, decorated]


def test_what_a_function_imports_counts_before_it_is_called(tmp_path: Path) -> None:
    """No function of the subject says where it comes from, and nothing has imported it."""
    own(tmp_path, "imported_late.py", PLAIN)
    mine = own(tmp_path, "mine.py", "def late():\n    import imported_late\n")
    found = sources.sources(read(mine, "subject"), [])
    assert {path.name for path in found.own} == {"mine.py", "imported_late.py"}


@pytest.mark.parametrize("way", WAYS)
def test_a_certificate_does_not_hold_after_the_engine_was_made_wrong(
    way: Callable[[str], tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = f"engine_{way.__name__}"
    file = own(tmp_path, f"{engine}.py", RESIDUAL)
    if way is behind_a_package:
        file = own(tmp_path, f"{engine}_package/deep.py", RESIDUAL)
        inner = "from .deep import residual\n" + VERIFY.format(inside="pass", residual="residual")
        own(tmp_path, f"{engine}_package/inner.py", inner)
        own(tmp_path, f"{engine}_package/__init__.py", "")
    text, function = way(engine)
    mine = own(tmp_path, "mine.py", text + SUBJECT.format(function=function))
    monkeypatch.syspath_prepend(str(tmp_path))
    held = str(tmp_path / "held.json")
    status, said = conform(str(mine), *QUICK, "--certificate", held)
    assert status == 0, said
    hashed = json.loads(Path(held).read_text())["sources"]
    assert {"mine.py", file.relative_to(tmp_path).as_posix()} <= hashed.keys()
    status, said = conform(str(mine), "--check", held)
    assert status == 0, said
    assert file.name in said, "the words say what was hashed"
    file.write_text(PLAIN)
    status, said = conform(str(mine), "--check", held)
    assert (status, "another source of" in said, file.name in said) == (2, True, True)
    file.unlink()
    assert conform(str(mine), "--check", held)[0] == 2


def test_an_editable_install_is_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its distribution lists a file that points elsewhere, and no code."""
    pointer = metadata.PackagePath("__editable__.engine.pth")
    pointer.dist = SimpleNamespace(locate_file=lambda path: tmp_path / path)  # type: ignore[assignment]
    monkeypatch.setattr(metadata, "files", lambda distribution: [pointer])
    monkeypatch.setattr(metadata, "version", lambda distribution: "1.0")
    file = own(tmp_path / "src", "engine_editable.py", RESIDUAL)
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    text = 'DISTRIBUTION = "engine"\n' + imported("engine_editable")[0] + SUBJECT.format(function="verify")
    module = registry.find(str(own(tmp_path, "mine.py", text)))
    before = certificate.drafted(module, registry.subjects_of(module)).sources
    file.write_text(PLAIN)
    after = certificate.drafted(module, registry.subjects_of(module)).sources
    assert before["engine_editable.py"] != after["engine_editable.py"]
    assert before["mine.py"] == after["mine.py"]


def test_nothing_is_certified_of_a_file_that_changed_meanwhile(tmp_path: Path) -> None:
    mine = own(tmp_path, "mine.py", RESIDUAL + VERIFY.format(inside="", residual="residual").replace("    \n", ""))
    mine.write_text(mine.read_text() + SUBJECT.format(function="verify"))
    module = registry.find(str(mine))
    draft = certificate.drafted(module, registry.subjects_of(module))
    mine.write_text(mine.read_text() + "\n")
    with pytest.raises(certificate.NotHeld, match=r"mine\.py changed while it was judged"):
        certificate.write(
            tmp_path / "held.json", draft, [Report("mine", (Verdict("mine", "joint", "lossless"),))], 1e-6
        )
    assert not (tmp_path / "held.json").exists()


TWO = f"""
from specsim.conform import Subject
def right(p, q, drafts, random):
    x = drafts[0]
    return x if random.random() * q[x] < p[x] else random.choice(len(p), p={RIGHT})
def wrong(p, q, drafts, random):
    return drafts[0]
def subjects():
    return [Subject("engine.right", "step", right, sizes=(1,)), Subject("engine.wrong", "step", wrong, sizes=(1,))]
"""


def test_one_subject_of_a_package_is_chosen_and_certified(tmp_path: Path) -> None:
    """A convicted sibling does not spoil the certificate of what is used."""
    mine, held = own(tmp_path, "two.py", TWO), str(tmp_path / "held.json")
    status, said = conform(str(mine), *QUICK, "--subject", "right", "--certificate", held)
    assert (status, "engine.wrong" in said) == (0, False)
    assert conform(str(mine), "--subject", "engine.right", "--check", held)[0] == 0
    status, said = conform(str(mine), "--check", held)
    assert (status, "name one by --subject" in said) == (2, True), "the file has another one"
    status, said = conform(str(mine), "--subject", "wrong", "--check", held)
    assert (status, "is of engine.right, not engine.wrong" in said) == (2, True)
    for name in ("engine", "nobody", ""):
        status, said = conform(str(mine), "--subject", name)
        assert (status, "known: engine.right; engine.wrong" in said) == (3, True)


def test_installed_distributions_are_named_by_their_versions(tmp_path: Path) -> None:
    text = "import numpy\nimport json\n" + TWO
    module = registry.find(str(own(tmp_path, "two.py", text)))
    found = sources.sources(module, registry.subjects_of(module))
    assert found.versions == {"numpy": metadata.version("numpy")}
    assert {path.name for path in found.own} == {"two.py"}


DEEP = "[" * 100_000 + "]" * 100_000
HOSTILE = {
    "nested": DEEP,
    "nested inside": '{"digest": "x", "reports": ' + DEEP + "}",
    "a list": "[1]",
    "nothing": "",
    "bytes": "\udcff\udcfe",
    "a long number": '{"digest": ' + "9" * 5000 + "}",
    "numbers for names": '{"digest": "x", "subjects": [1], "sources": {}, "versions": {}, "reports": [{"subject": 1}]}',
    "no reports": '{"digest": "x", "subjects": [], "sources": {}, "versions": {}, "reports": []}',
    "a map of sources": '{"digest": "x", "subjects": ["m"], "sources": [], "versions": {}, "reports": []}',
    "old": '{"digest": "x", "subjects": ["m"], "sha256": "0", "reports": []}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_certificate_is_one_line(name: str, tmp_path: Path) -> None:
    mine, held = own(tmp_path, "two.py", TWO), tmp_path / "held.json"
    held.write_bytes(HOSTILE[name].encode("utf-8", "surrogateescape"))
    status, said = conform(str(mine), "--check", str(held))
    assert (status, said) == (3, f"error: {held} is no certificate of specsim conform\n")


def test_what_is_no_file_is_no_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = own(tmp_path, "two.py", TWO)
    for path in ("/dev/zero", str(tmp_path)):
        assert conform(str(mine), "--check", path)[0] == 3
    assert conform(str(mine), "--check", str(tmp_path / "none"))[0] == 3
    monkeypatch.setattr(certificate, "LARGEST", 10)
    status, said = conform(str(mine), "--check", str(mine))
    assert (status, "that is no certificate" in said) == (3, True)


def test_names_of_files_are_the_same_on_every_machine(tmp_path: Path) -> None:
    inner = own(tmp_path, "a/b/c.py", "")
    assert sources.label(inner) == "c.py"
    for folder in (inner.parent, inner.parents[1]):
        own(folder, "__init__.py", "")
    assert sources.label(inner) == "a/b/c.py"
    assert imported_names(own(tmp_path, "a/b/d.py", "from ..e import f\nfrom . import c\n")) == [
        "a.e",
        "a.e.f",
        "a.b",
        "a.b.c",
    ]
    assert sys.modules.keys().isdisjoint({"a", "a.e"}), "nothing is imported to find out"


@pytest.mark.parametrize("way", hidden_code.WAYS)
def test_code_that_no_statement_names_is_hashed(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was certified once, and the certificate held after the engine was made wrong."""
    engine = "engine_by_" + "".join(letter if letter.isalpha() else "_" for letter in way)
    file = own(tmp_path, f"{engine}.py", hidden_code.RIGHT_ENGINE)
    text = hidden_code.WAYS[way].replace("'ENG' + 'INE'", f"{engine[:6]!r} + {engine[6:]!r}").replace("ENGINE", engine)
    text += VERIFY.format(inside="pass", residual="left") + SUBJECT.format(function="verify")
    mine = own(tmp_path, "mine.py", text)
    monkeypatch.syspath_prepend(str(tmp_path))
    held = str(tmp_path / "held.json")
    status, said = conform(str(mine), *QUICK, "--certificate", held)
    assert (status, json.loads(Path(held).read_text())["sources"].keys()) == (0, {"mine.py", file.name}), said
    status, said = conform(str(mine), "--check", held)
    assert (status, file.name in said) == (0, True), said
    file.write_text(hidden_code.WRONG_ENGINE)
    status, said = conform(str(mine), "--check", held)
    assert (status, "another source of" in said, file.name in said) == (2, True, True), said


def test_what_a_certificate_cannot_cover_is_said(tmp_path: Path) -> None:
    """The answer of a process is in no file."""
    text = RESIDUAL + f"import subprocess\nsubprocess.run([{sys.executable!r}, '-c', ''], check=True)\n"
    mine = own(
        tmp_path,
        "mine.py",
        text + VERIFY.format(inside="pass", residual="residual") + SUBJECT.format(function="verify"),
    )
    held = str(tmp_path / "held.json")
    for words in (("--certificate", held, *QUICK), ("--check", held)):
        status, said = conform(str(mine), *words)
        assert (status, "not hashed: the code depends on answers of another process" in said) == (0, True)


def test_data_that_a_verifier_reads_is_hashed(tmp_path: Path) -> None:
    """It was judged with one file, and the certificate held with another."""
    data = own(tmp_path, "scale.json", "[1.0]")
    lines = (
        "import json, pathlib\ndef left(p, q):\n    text = (pathlib.Path(__file__).parent / 'scale.json').read_text()\n"
    )
    lines += "    return (p - q * json.loads(text)[0]).clip(0) / (p - q * json.loads(text)[0]).clip(0).sum()\n"
    text = lines + VERIFY.format(inside="pass", residual="left") + SUBJECT.format(function="verify")
    mine, held = own(tmp_path, "mine.py", text), str(tmp_path / "held.json")
    assert conform(str(mine), *QUICK, "--certificate", held)[0] == 0
    assert conform(str(mine), "--check", held)[0] == 0
    data.write_text("[0.5]")
    status, said = conform(str(mine), "--check", held)
    assert (status, "another source of scale.json" in said) == (2, True)


def test_a_certificate_is_checked_in_another_process(tmp_path: Path) -> None:
    """There nothing is known of what the subject read while it was judged."""
    (tmp_path / "data").mkdir()
    file = own(tmp_path / "data", "engine.txt", hidden_code.RIGHT_ENGINE)
    lines = hidden_code.PATH + "def left(p, q):\n    names = {}\n"
    lines += "    exec((HERE / 'data' / 'engine.txt').read_text(), names)\n    return names['residual'](p, q)\n"
    text = lines + VERIFY.format(inside="pass", residual="left") + SUBJECT.format(function="verify")
    mine, held = own(tmp_path, "mine.py", text), str(tmp_path / "held.json")
    assert conform(str(mine), *QUICK, "--certificate", held)[0] == 0
    command = [sys.executable, "-m", "specsim", "conform", str(mine), "--check", held]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def checked() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    same = checked()
    assert (same.returncode, "engine.txt" in same.stdout) == (0, True), same.stderr
    file.write_text(hidden_code.WRONG_ENGINE)
    assert (checked().returncode, "another source of engine.txt" in checked().stderr) == (2, True)
