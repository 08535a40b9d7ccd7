"""`specsim conform`: exit statuses, JSON, logs, and an author's quick start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.authors import MINE, RIGHT, WRONG, written
from helpers.authors import conform as run

from specsim.conform import Report, judgement, own_process, standard_cases
from specsim.conform.evidence import montecarlo
from specsim.conform.properties import _laws, batches
from specsim.report import text
from specsim.testing import assert_lossless_batch


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return written(tmp_path)


def test_quick_start(mine: Path) -> None:
    assert len([line for line in MINE.splitlines() if line.strip()]) <= 10
    status, said = run(str(mine))
    assert status == 1
    assert "counterexample: V=2, 1 draft" in said
    assert "  p = [[1/2, 1/2], [1/2, 1/2]]" in said
    assert said.rstrip().endswith("mine: convicted")
    mine.write_text(MINE.format(law=RIGHT))
    status, said = run(str(mine))
    assert (
        status,
        "\nmine: lossless where tried (scripted up to V=300, 1 draft; Monte Carlo up to V=1000, 1 draft)" in said,
    ) == (0, True)


def test_json(mine: Path) -> None:
    status, said = run(str(mine), "--json", "--property", "marginal")
    (report,) = json.loads(said)["reports"]
    assert (status, report["outcome"]) == (1, "convicted")
    assert report["verdicts"][0]["counterexample"]["observed"].keys() == {"(0)", "(1)"}


def test_subjects_of_a_file_share_its_budget_and_its_rate(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[float, float]] = []

    def judged(subject: Any, *, budget: float, false_alarm: float, **_: Any) -> Report:
        told.append((budget, false_alarm))
        return Report(subject.name, ())

    monkeypatch.setattr(own_process, "judge", judged)
    four = "def subjects():\n    return [subject()._replace(name=name) for name in 'abcd']\n"
    mine.write_text(f"{mine.read_text()}\n{four}")
    run(str(mine), "--budget", "2m", "--false-alarm", "0.01")
    assert told == [(30, 0.00125), (40, 0.00125), (60, 0.00125), (120, 0.00125)], "nothing was used"


def test_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"p": [0.2], "q": [0.4], "kept": 1}\n' * 100)
    assert run("--counts", str(path))[0] == 1
    path.write_text('{"p": [0.2], "q": [0.4], "kept": 0}\n' * 100)
    assert run("--counts", str(path))[0] == 2
    nan = '{"p": [NaN], "q": [0.4], "kept": 1}\n'
    for line, status in (('{"p": [0.2], "q": [0.4], "kept": 1}\n', 1), ('{"p": [0.2], "q": [0.4], "kept": 0}\n', 3)):
        path.write_text(nan + line * 100)
        found, said = run("--counts", str(path))
        assert (found, "line 1 has a probability outside [0, 1]" in " ".join(said.split())) == (status, True)


def test_counts_are_read_within_limits(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"p": [0.2], "q": [0.4], "kept": 1}\n' * 100 + "x" * 1_100_000)
    for name, expected, words in ((path, 1, "line 101 has more than"), ("/dev/zero", 3, "is a device")):
        status, said = run("--counts", str(name))
        assert status == expected, "a hundred lines convict, whatever follows"
        assert words in " ".join(said.split())


def test_what_cannot_be_had_is_not_available(tmp_path: Path) -> None:
    path = tmp_path / "absent.py"
    path.write_text("def subjects():\n    import no_such_package\n")
    status, said = run(str(path))
    assert status == 2
    assert "not available    all         not decided: No module named 'no_such_package'" in said


def test_bad_words() -> None:
    assert run("nobody")[0] == 3
    assert "budget 'long' is no time" in run("rejection", "--budget", "long")[1]
    for budget in ("-3", "0", "nan", "inf", "-1m"):
        status, said = run("rejection", "--budget", budget)
        assert (status, said) == (3, f"error: budget must be a positive, finite time, got {budget}\n")
    assert "name a subject" in run()[1]
    assert run("--list")[0] == 0


@pytest.mark.parametrize("end", ["import os\nos._exit(0)", "import sys\nsys.exit(0)"])
def test_a_file_that_ends_the_process_is_bad_input(mine: Path, end: str) -> None:
    """Status 0 passes in CI: in a process of its own, which would end."""
    mine.write_text(f"{end}\n{MINE.format(law=RIGHT)}")
    done = subprocess.run([sys.executable, "-m", "specsim", "conform", str(mine)], capture_output=True, check=False)
    assert done.returncode == 3
    assert b"cannot be imported: SystemExit" in done.stderr


def test_forms(mine: Path, tmp_path: Path) -> None:
    """One list of adapters, one set of verdicts, as a table and as JSON."""
    listed = json.loads(run("--list", "--json")[1])["adapters"]
    assert "transformers" in [one["adapter"] for one in listed]
    shown = run("--list", "--markdown")[1].splitlines()
    assert shown[0] == "| adapter | what it is of, and what is missing | subjects |"
    assert len(shown) == 2 + len(listed)
    for law, last in ((RIGHT, "mine: lossless where tried"), (WRONG, "mine: convicted")):
        mine.write_text(MINE.format(law=law))
        status, said = run(str(mine), "--property", "marginal", "--markdown")
        lines = said.rstrip().splitlines()
        assert (status, lines[-1].startswith(last)) == (int(law == WRONG), True)
        assert lines[0] == "| outcome | property | evidence | runs | seen, or as far as it reaches |"
        assert ("```text" in lines) == (law == WRONG)
    mine.write_text(MINE.format(law=RIGHT))
    held = str(tmp_path / "certificate.json")
    run(str(mine), "--certificate", held)
    found = json.loads(run(str(mine), "--check", held, "--json")[1])
    assert found["holds"] is True
    assert {"marginal", "degenerate"} <= set(found["judged"])


def test_verdicts_fit_a_terminal(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine.write_text(MINE.format(law=WRONG))
    wide = run(str(mine), "--property", "marginal", "--property", "batches")[1]
    monkeypatch.setattr(text, "terminal_width", lambda stream=None: 60)
    narrow = run(str(mine), "--property", "marginal", "--property", "batches")[1]
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines()))
    assert narrow.split() == wide.split()


SUITE = """
from specsim.testing import lossless_suite

@lossless_suite(kind="step", sizes=(1,))
def mine(p, q, drafts, random):
    return random.choice(len(p), p={law})
"""


@pytest.mark.parametrize(("law", "failed"), [("p", set()), ("q", {"marginal", "degenerate", "larger"})])
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


LAYOUTS = [
    ("flat", (3,)),
    *(pytest.param(one, (3, 5, 8), marks=pytest.mark.slow) for one in ("flat", "vllm", "padded")),
]


@pytest.mark.parametrize(("layout", "equal"), LAYOUTS)
def test_batches(layout: str, equal: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is right, and one that reads the row before its own where its block is not the first."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(batches, "EQUAL", equal)
    asked = None
    if equal == (3,):
        asked = ["joint", "batches"]
        monkeypatch.setattr(montecarlo, "UNDECIDED", 0.3)
        monkeypatch.setattr(_laws, "SHRINKING", 0.0)
        monkeypatch.setattr(judgement, "resemblance", lambda *_: None)
        monkeypatch.setattr(standard_cases, "on_more_tokens", lambda subject: ())

    def tokenwise(p, q, drafts, bonus):  # type: ignore[no-untyped-def]
        for i, x in enumerate(drafts.tolist()):
            if not bool(torch.rand(()) * q[i, x] < p[i, x]):
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
    report = assert_lossless_batch(make(0), layout=layout, sizes=(1,), budget=100, properties=asked)  # type: ignore[arg-type]
    assert report.outcome == "lossless"
    with pytest.raises(AssertionError):
        assert_lossless_batch(make(1), layout=layout, sizes=(1,), budget=100, properties=asked)  # type: ignore[arg-type]
