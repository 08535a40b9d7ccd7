"""What a file may hold, how one subject is named, and how the command ends: one line for whatever cannot be judged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.authors import MINE, RIGHT, conform
from typer.testing import CliRunner

from specsim.cli import app
from specsim.conform import Report, Subject, Verdict, judge, page, registry, report
from specsim.conform.subject import SamplingParams
from specsim.conform.verdict import Counterexample
from specsim.testing import suite

QUICK = ("--property", "marginal")
TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "lossless.md"


def file(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


# Report 25: the first example of the tutorial (then of the README).


def test_report_25_a_plain_verify_is_judged_as_the_tutorial_says(tmp_path: Path) -> None:
    """25-verify-file-traceback: it forgets the residual, and is convicted."""
    (block, *_) = re.findall(r"ipython3\n([^`]*def verify.*?)```", TUTORIAL.read_text(), re.S)
    status, said = conform(file(tmp_path, block), *QUICK)
    assert status == 1
    assert "mine.verify (step): judged with one draft and two uniforms" in said
    assert "(0,) has probability 0.4167, not 0.5 (V=2, 1 draft)" in said


FIXED = """
def verify(p, q, drafts, u):
    x = drafts[0]
    if u[0] * q[x] < p[x]:
        return x
    rest = [max(a - b, 0) for a, b in zip(p, q)]
    total, place = 0, u[1] * sum(rest)
    for token, mass in enumerate(rest):
        total += mass
        if place < total:
            return token
"""


def test_a_plain_verify_that_is_right_passes(tmp_path: Path) -> None:
    status, said = conform(file(tmp_path, FIXED), *QUICK)
    assert (status, "mine.verify: lossless" in said) == (0, True)


@pytest.mark.parametrize("name", ["verify", "draw", "prepare", "propose", "ask"])
def test_a_subject_file_may_hold_any_name(name: str, tmp_path: Path) -> None:
    """A verifier's author calls it verify; what hands over subjects is no rule."""
    text = MINE.format(law=RIGHT) + f"\ndef {name}(*given):\n    return mine(*given)\n"
    module = registry.find(file(tmp_path, text))
    assert not registry.is_ours(module)
    assert [subject.name for subject in registry.subjects_of(module)] == ["mine"]
    assert conform(str(tmp_path / "mine.py"), *QUICK)[0] == 0


IMPORT = "from specsim.conform import Subject\n"
TWO = IMPORT + "def subjects():\n    return [Subject(name, 'step', print) for name in {names}]\n"
BAD_FILES = {
    "nothing": ("x = 1\n", "has neither subjects() nor subject(), nor verify(p, q, drafts, u); add: from"),
    "verify of a rule without prepare": ("def verify(plan, drafts, u):\n    return 0\n", "does not take (p, q, drafts"),
    "subjects() raises": ("def subjects():\n    return 1 / 0\n", "raised ZeroDivisionError: division by zero"),
    "subjects() is none": ("def subjects():\n    return []\n", "hands over no subject"),
    "subject() is a function": ("def subject():\n    return print\n", "hands over builtin_function_or_method"),
    "subject() exits": ("import sys\ndef subject():\n    sys.exit(0)\n", "raised SystemExit: 0"),
    "two of one name": (TWO.format(names=("a", "b", "a")), "hands over 2 subjects of the name 'a'"),
    "no name": (TWO.format(names=("a", " ")), "subject.name must be printable and not empty"),
    "a name of two lines": (TWO.format(names=("a", "b\x1b[31m\n")), "subject.name must be printable"),
    "an async function": (
        IMPORT + "async def run(*_):\n    return 0\ndef subject():\n    return Subject('m', 'step', run)\n",
        "an async function",
    ),
    "it exits": ("raise SystemExit(0)\n", "cannot be imported: SystemExit: 0"),
    "it raises": ("1 / 0\n", "cannot be imported: ZeroDivisionError"),
    "a rule with holes": ("def verify(plan, drafts, u):\n    return 0\ndef prepare(p, q):\n    return 0\n", "raised"),
    "a bad kind": (
        "from specsim.conform import Subject\ndef subject():\n    return Subject('m', 'stop', print)\n",
        "kind",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_judged_is_one_line_and_status_3(name: str, tmp_path: Path) -> None:
    text, words = BAD_FILES[name]
    status, said = conform(file(tmp_path, text), "--budget", "5")
    assert (status, said.count("\n")) == (3, 1), said
    assert words in said


BAD_WORDS = {
    "an option that there is not": ["rejection", "--nothing"],
    "an option without its value": ["rejection", "--budget"],
    "two subjects": ["rejection", "block"],
    "a budget that is no number": ["rejection", "--budget", "long"],
    "a budget of 1e9": ["rejection", "--budget", "1e9"],
    "a budget of 1e300": ["rejection", "--budget", "1e300"],
    "a property that there is not": ["rejection", "--property", "nothing"],
    "a rate": ["rejection", "--false-alarm", "2"],
    "no file": ["./nothing.py"],
    "no log": ["--counts", "/nothing"],
    "no subject": [],
    "a certificate of a log": ["--counts", "/dev/null", "--certificate", "x.json"],
    "a badge that is no JSON": ["rejection", "--badge", "x.svg"],
    "JUnit that is no XML": ["rejection", "--junit", "x.json"],
    "a certificate of a check": ["rejection", "--check", "x.json", "--junit", "x.xml"],
}


@pytest.mark.parametrize("name", BAD_WORDS)
def test_bad_input_has_status_3(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typo is told apart from a machine that is too slow, which is 2."""
    monkeypatch.chdir(tmp_path)
    status, said = conform(*BAD_WORDS[name])
    assert status == 3, said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_statuses_are_documented() -> None:
    said = " ".join(CliRunner().invoke(app, ["conform", "--help"]).output.split())
    for words in ("Status 0: it passed", "1: it is convicted", "2: undecided", "3: bad input"):
        assert words in said


# Report 27: what a counterexample was found at.

PICOLM = """
import numpy as np, specsim
from specsim.conform import Subject
def mine(p, q, drafts, random, sampling_params):
    t = sampling_params.temperature
    def hot(row):
        if t == 0:
            return (np.arange(len(row)) == row.argmax()).astype(float)
        w = np.maximum(row, 0) ** (1 / t)
        return w / w.sum()
    for i, x in enumerate(drafts):
        row = hot(p[i])
        if random.random() <= row[x]:
            continue
        rest = row.copy(); rest[x] = 0
        return i, random.choice(len(rest), p=rest / rest.sum())
    with np.errstate(divide="ignore"):
        logits = np.log(p[len(drafts)])
    row = specsim.warp(logits, temperature=t, top_k=sampling_params.top_k, top_p=sampling_params.top_p)
    return len(drafts), random.choice(len(row), p=row)
def subject():
    return Subject("top-p in the bonus only", "chain", mine, takes_q=False, warps=True)
"""


def test_report_27_a_conviction_under_sampling_parameters_says_which(tmp_path: Path) -> None:
    """27-counterexample-without-parameters: in the text, on the page, and in the JSON."""
    html = tmp_path / "out.html"
    mine = file(tmp_path, PICOLM)
    (subject,) = registry.subjects_of(registry.find(mine))
    found = judge(subject._replace(lossless=False), properties=["parameters"])  # its likeness takes seconds
    shown = found.verdicts[0].counterexample
    assert shown is not None
    assert shown.given == {"sampling_params": "temperature 1, top_k 2, top_p 1"}
    assert "  sampling_params = temperature 1, top_k 2, top_p 1" in report.text(found).splitlines()
    assert report.as_json(found)["verdicts"][0]["counterexample"]["given"] == shown.given
    html.write_text(page.page([found], {}))
    assert '<td>sampling_params</td><td class="code">temperature 1, top_k 2, top_p 1</td>' in html.read_text()


def test_report_27_the_counterexample_is_that_of_the_conviction() -> None:
    """27, as the command judges it: an end of a coin that was measured stands before the verdict that convicts."""
    measured, convicting = (Counterexample(case, None, None, None, (0,), {(0,): 0.5}, {(0,): 1.0}) for case in "ab")
    verdicts = (
        Verdict("mine", "degenerate", "measured", "one call", counterexample=measured),
        Verdict("mine", "parameters", "convicted", "scripted", counterexample=convicting),
    )
    shown = report.text(Report("mine", verdicts))
    assert "counterexample: b" in shown
    assert "counterexample: a" not in shown
    assert "counterexample: a" in report.text(Report("mine", verdicts[:1]))


def test_every_argument_of_the_call_is_shown() -> None:
    """Siblings of report 27: prompts, lengths, end tokens, limits and masks decide as sampling parameters do."""

    def taken(p, q, drafts, random, *, end, limit):  # type: ignore[no-untyped-def]
        return len(drafts), 0

    found = judge(Subject("m", "chain", taken, lossless=False, sizes=(1,), stops=True), properties=["truncation"])
    shown = found.verdicts[0].counterexample
    assert shown is not None
    assert shown.given is not None
    assert {"end", "limit"} & shown.given.keys()

    def masked(p, q, drafts, random, *, mask):  # type: ignore[no-untyped-def]
        return 0, 0

    found = judge(Subject("m", "chain", masked, lossless=False, sizes=(1,), masks=True), properties=["structured"])
    shown = found.verdicts[0].counterexample
    assert shown is not None
    assert shown.given is not None
    assert shown.given["mask"].startswith("allowed are [[")

    def decoder(target, draft, prompt, n, sampling_params, random):  # type: ignore[no-untyped-def]
        return [0] * n

    found = judge(Subject("m", "decoder", decoder, lossless=False, sizes=(1,), warps=True), properties=["marginal"])
    shown = found.verdicts[0].counterexample
    assert shown is not None
    assert shown.given == {"sampling_params": "temperature 1, top_k 0, top_p 1", "prompt": "[]", "n": "2"}


# What is printed.


def test_words_of_a_line() -> None:
    shared = Verdict("m", "bound", "lossless", "scripted", "V=3", 0)
    assert report.line(shared).endswith("scripted, in the runs of other properties: V=3")
    said = report.line(
        Verdict("m", "vacuity", "lossless", "scripted", "the standard cases", 9, words="1 kept, 2 rejected")
    )
    assert said.endswith("scripted, 9 runs: 1 kept, 2 rejected; the standard cases")
    assert "1 run:" in report.line(Verdict("m", "joint", "lossless", "scripted", "V=3", 1))


WRONG = Counterexample("V=2", None, None, None, "token 0", {"token 0": -1.0}, {"token 0": -1.5})


def test_an_error_of_a_logarithm_is_no_total_variation() -> None:
    verdict = Verdict("m", "logprobs", "convicted", "scripted", "V=2", 3, 1.558, WRONG, "1 is `raw`")
    assert "error of a log-probability 1.56" in report.line(verdict)
    html = page.page([Report("m", (verdict,))], {"budget": "60 s"})
    assert "1.558 (error of a log-probability)" in html
    assert "total variation" not in html
    assert "<code>raw</code>" in html
    assert "`" not in html.partition("</style>")[2]


def test_the_list_of_adapters_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from specsim.report import text

    entries = [registry.Listed("one", "words " * 60, ("a", "b, c")), registry.Listed("another", "not available")]
    monkeypatch.setattr(registry, "listed", lambda: entries)
    monkeypatch.setattr(text, "terminal_width", lambda stream=None: 80)
    lines = conform("--list")[1].splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if not line.startswith(" ")] == [lines[0], lines[-1]], "a paragraph for each"
    assert lines[-3:] == ["  a", "  b, c", "another: not available"]


def test_sampling_parameters_in_words() -> None:
    from specsim.conform.argument_words import parameters

    assert parameters(SamplingParams(0.5, 3, 0.7)) == "temperature 0.5, top_k 3, top_p 0.7"


def test_pytest_shows_the_verdict_and_not_the_library() -> None:
    """Frames of the harness are hidden: the line that asked stands above the verdict."""
    for function in (suite.assert_passes, suite.assert_lossless_batch):
        assert "__tracebackhide__" in function.__code__.co_varnames
