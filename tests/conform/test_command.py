"""`specsim conform`: exit statuses, JSON, logs, certificates, and an author's quick start."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from specsim.cli import app
from specsim.conform import Report, Verdict, apart, certificate, registry
from specsim.testing import assert_lossless_batch

# the author's quick start, in ten lines
MINE = """
from specsim.conform import Subject

def mine(p, q, drafts, random):
    x = drafts[0]
    if random.random() * q[x] <= p[x]:
        return x
    return random.choice(len(p), p={law})

def subject():
    return Subject("mine", "step", mine, sizes=(1,))
"""
RIGHT, WRONG = "(p - q).clip(0) / (p - q).clip(0).sum()", "p"


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["conform", *words])
    return result.exit_code, result.output


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE.format(law=WRONG))
    return path


def test_quick_start(mine: Path) -> None:
    assert len([line for line in MINE.splitlines() if line.strip()]) <= 10
    status, said = run(str(mine))
    assert status == 1
    assert "counterexample: V=2, 1 draft" in said
    assert "  p = [[1/2, 1/2], [1/2, 1/2]]" in said
    assert said.rstrip().endswith("mine: convicted")
    mine.write_text(MINE.format(law=RIGHT))
    status, said = run(str(mine))
    assert (status, said.rstrip().endswith("mine: lossless")) == (0, True)


def test_json(mine: Path) -> None:
    status, said = run(str(mine), "--json", "--property", "marginal")
    (report,) = json.loads(said)
    assert (status, report["outcome"]) == (1, "convicted")
    assert report["verdicts"][0]["counterexample"]["observed"].keys() == {"(0)", "(1)"}


def test_certificate(mine: Path, tmp_path: Path) -> None:
    held = str(tmp_path / "certificate.json")
    mine.write_text(MINE.format(law=RIGHT))
    assert run(str(mine), "--certificate", held)[0] == 0
    assert run(str(mine), "--check", held)[0] == 0
    mine.write_text(MINE.format(law=WRONG))
    status, said = run(str(mine), "--check", held)
    assert status == 2
    assert "certifies another sha256" in said
    assert run(str(mine), "--certificate", held)[0] == 1
    assert "says of mine: convicted" in run(str(mine), "--check", held)[1]


@pytest.mark.fast
@pytest.mark.parametrize(
    "outcome", ["lossless", "lossy by design", "vacuous", "inconclusive", "broken", "not available"]
)
def test_a_certificate_holds_for_what_passed(outcome: Any, mine: Path, tmp_path: Path) -> None:
    held, module = tmp_path / "certificate.json", registry.find(str(mine))
    certificate.write(held, module, [Report("mine", (Verdict("mine", "joint", outcome),))], 1e-6)
    if outcome.startswith("loss"):
        certificate.check(held, module)
    else:
        with pytest.raises(ValueError, match=f"says of mine: {outcome}"):
            certificate.check(held, module)


@pytest.mark.fast
@pytest.mark.parametrize(("old", "new"), [('"runs": 0', '"runs": 9'), ('"false_alarm": 1e-06', '"false_alarm": 1e-12')])
def test_an_edited_certificate_is_refused(old: str, new: str, mine: Path, tmp_path: Path) -> None:
    held, module = tmp_path / "certificate.json", registry.find(str(mine))
    certificate.write(held, module, [Report("mine", (Verdict("mine", "joint", "lossless"),))], 1e-6)
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
    """Two of one name are two, and none is none."""
    held, passed = tmp_path / "certificate.json", Report("mine", (Verdict("mine", "joint", "lossless"),))
    failed = Report("mine", (Verdict("mine", "joint", "convicted"),))
    source = mine.read_text()
    for count, reports, words in (
        (0, [], "every subject"),
        (2, [passed], "every subject"),
        (2, [failed, passed], "says of mine: convicted"),
    ):
        mine.write_text(f"{source}\ndef subjects():\n    return [subject()] * {count}\n")
        module = registry.find(str(mine))
        certificate.write(held, module, reports, 1e-6)
        with pytest.raises(ValueError, match=words):
            certificate.check(held, module)


@pytest.mark.fast
def test_subjects_of_a_file_share_its_budget_and_its_rate(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[float, float]] = []

    def judged(subject: Any, *, budget: float, false_alarm: float, **_: Any) -> Report:
        told.append((budget, false_alarm))
        return Report(subject.name, ())

    monkeypatch.setattr(apart, "judge", judged)
    mine.write_text(f"{mine.read_text()}\ndef subjects():\n    return [subject()] * 4\n")
    run(str(mine), "--budget", "2m", "--false-alarm", "0.01")
    assert told == [(30, 0.0025)] * 4


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
        hashes.append(certificate.identity(module)["sha256"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"p": [0.2], "q": [0.4], "kept": 1}\n' * 100)
    assert run("--counts", str(path))[0] == 1
    path.write_text('{"p": [0.2], "q": [0.4], "kept": 0}\n' * 100)
    assert run("--counts", str(path))[0] == 2


def test_what_cannot_be_had_is_not_available(tmp_path: Path) -> None:
    path = tmp_path / "absent.py"
    path.write_text("def subjects():\n    import no_such_package\n")
    status, said = run(str(path))
    assert status == 2
    assert "not available    all         not decided: No module named 'no_such_package'" in said


def test_bad_words() -> None:
    assert run("nobody")[0] == 2
    assert "budget 'long' is no time" in run("rejection", "--budget", "long")[1]
    assert "name a subject" in run()[1]
    assert run("--list")[0] == 0


def test_forms(mine: Path, tmp_path: Path) -> None:
    """One list of adapters, one set of verdicts, as a table and as JSON."""
    listed = json.loads(run("--list", "--json")[1])
    assert "transformers" in [one["adapter"] for one in listed]
    shown = run("--list", "--markdown")[1].splitlines()
    assert shown[0] == "| adapter | what it is of, and what is missing |"
    assert len(shown) == 2 + len(listed)
    for law, last in ((RIGHT, "mine: lossless"), (WRONG, "mine: convicted")):
        mine.write_text(MINE.format(law=law))
        status, said = run(str(mine), "--property", "marginal", "--markdown")
        lines = said.rstrip().splitlines()
        assert (status, lines[-1]) == (int(law == WRONG), last)
        assert lines[0] == "| outcome | property | evidence | runs | seen, or as far as it reaches |"
        assert ("```text" in lines) == (law == WRONG)
    mine.write_text(MINE.format(law=RIGHT))
    held = str(tmp_path / "certificate.json")
    run(str(mine), "--certificate", held)
    assert json.loads(run(str(mine), "--check", held, "--json")[1])["holds"] is True


SUITE = """
from specsim.testing import lossless_suite

@lossless_suite(kind="step", sizes=(1,))
def mine(p, q, drafts, random):
    return random.choice(len(p), p={law})
"""


@pytest.mark.parametrize(("law", "failed"), [("p", set()), ("q", {"marginal", "degenerate"})])
def test_suite(law: str, failed: set[str]) -> None:
    held: dict[str, object] = {}
    exec(SUITE.format(law=law), held)
    found = set()
    for name in [name for name in held if name.startswith("test_mine_")]:
        try:
            held[name]()  # type: ignore[operator]
        except AssertionError:
            found.add(name.removeprefix("test_mine_"))
        except Exception as skipped:
            assert type(skipped).__name__ == "SkipTest"  # noqa: PT017
    assert found == failed


LAYOUTS = ["flat", *(pytest.param(layout, marks=pytest.mark.slow) for layout in ("vllm", "padded"))]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches(layout: str) -> None:
    """A rule that is right, and one that reads the row before its own where its block is not the first."""
    torch = pytest.importorskip("torch")

    def tokenwise(p, q, drafts, bonus):  # type: ignore[no-untyped-def]
        for i, x in enumerate(drafts.tolist()):
            if not bool(torch.rand(()) * q[i, x] <= p[i, x]):
                return [*drafts[:i].tolist(), int(torch.multinomial((p[i] - q[i]).clamp(min=0), 1))]
        return [*drafts.tolist(), int(bonus)]

    def flat(late):  # type: ignore[no-untyped-def]
        def verify(p, q, drafts, ends, bonus):  # type: ignore[no-untyped-def]
            out = torch.full((len(ends), 8), -1)
            for n, (a, b) in enumerate(zip([0, *ends.tolist()[:-1]], ends.tolist(), strict=True)):
                a0, b0 = (a - late, b - late) if n else (a, b)
                row = torch.tensor(tokenwise(p[a0:b0], q[a:b], drafts[a:b], bonus.flatten()[n]))
                out[n, : len(row)] = row
            return out

        return verify

    def vllm(late):  # type: ignore[no-untyped-def]
        def verify(drafts, counts, longest, ends, q, p, bonus):  # type: ignore[no-untyped-def]
            return flat(late)(p, q, drafts, ends, bonus)[:, : longest + 1]

        return verify

    def padded(late):  # type: ignore[no-untyped-def]
        def verify(p, q, drafts, counts):  # type: ignore[no-untyped-def]
            out = torch.full(drafts.shape, -1)
            out = torch.cat([out, out[:, :1]], dim=1)
            for n, c in enumerate(counts.tolist()):
                end = p[n - late, c] if late and n else p[n, c]
                row = torch.tensor(tokenwise(p[n, :c], q[n, :c], drafts[n, :c], torch.multinomial(end, 1)))
                out[n, : len(row)] = row
            return out

        return verify

    make = {"flat": flat, "vllm": vllm, "padded": padded}[layout]
    report = assert_lossless_batch(make(0), layout=layout, sizes=(1,), budget=100)  # type: ignore[arg-type]
    assert report.outcome == "lossless"
    with pytest.raises(AssertionError):
        assert_lossless_batch(make(1), layout=layout, sizes=(1,), budget=100)  # type: ignore[arg-type]
