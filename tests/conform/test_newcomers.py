"""Words for somebody who has judged nothing before: the line to write, the input that broke, sizes said once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.authors import conform, written

from specsim.base import clock
from specsim.conform import Report, Subject, Verdict, judge, registry, report, standard_cases
from specsim.conform.argument_words import input_shown
from specsim.conform.page import page
from specsim.conform.subject_call import Broken, inputs
from specsim.conform.trial import begin

# A right verifier of several drafts in a row, as papers write it: without any line for the judge.
CHAIN = """
import numpy as np

def pick(law, u):
    return int((np.cumsum(law) <= u * law.sum()).sum())

def verify(p, q, drafts, u):
    for i, x in enumerate(drafts):
        if not u[i] * q[i][x] < p[i][x]:
            return i, pick(np.maximum(np.asarray(p[i]) - np.asarray(q[i]), 0), u[-1])
    return len(drafts), pick(np.asarray(p[-1]), u[-1])
"""


def test_a_chain_that_is_judged_as_a_step_is_told_what_to_write(tmp_path: Path) -> None:
    """The lines of the message, pasted into the file, make it judged as what it is."""
    mine = tmp_path / "mine.py"
    mine.write_text(CHAIN)
    (plain,) = registry.subjects_of(registry.find(str(mine)))
    (found,) = judge(plain, budget=5, properties=["marginal"]).verdicts
    assert found.outcome == "broken"
    lines = re.search(r"add: (from specsim.conform import Subject); (def subject\(\): return .*)$", found.words)
    assert lines is not None, found.words
    mine.write_text("\n".join([CHAIN, *lines.groups()]) + "\n")
    (subject,) = registry.subjects_of(registry.find(str(mine)))
    assert subject.kind == "chain"
    assert judge(subject, budget=20, properties=["marginal"]).outcome == "lossless"


def test_a_step_that_breaks_as_its_author_wrote_it_is_told_nothing_of_chains() -> None:
    (found,) = judge(Subject("mine", "step", lambda *_: 7, sizes=(1,)), properties=["marginal"]).verdicts
    assert "in a row" not in found.words


def foreign(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """Return the draft, but 7 in place of token 1."""
    return 7 if int(drafts[0]) == 1 else int(drafts[0])


def test_a_broken_call_is_shown_with_its_input() -> None:
    (found,) = (whole := judge(Subject("mine", "step", foreign, sizes=(1,)), properties=["marginal"])).verdicts
    assert found.outcome == "broken"
    case = re.fullmatch(r"returned token 7, outside 0\.\.\d+ \((V=\d+, 1 draft)\)", found.words)
    assert case is not None, found.words
    output = report.text(whole).splitlines()
    at = output.index(f"input: {case[1]}")
    assert [line.partition(" = ")[0] for line in output[at + 1 : at + 4]] == ["  p", "  q", "  drafts"]
    assert output[at + 3] == "  drafts = [1]"
    assert output[at + 4] == "mine: broken"
    assert "total variation" not in report.text(whole)
    assert f"Input of the call that broke in marginal: {case[1]}" in page([whole], {})


def test_a_broken_row_of_a_batch_is_shown_with_its_input() -> None:
    """A list of numbers has one for each row; the second of these drafts is answered by no token."""
    subject = Subject("mine", "step", foreign, batch=lambda p, q, drafts, random: [0, 7], sizes=(1,))
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
    case = next(standard_cases.standard(subject))
    choices = inputs(subject, case)
    with pytest.raises(Broken, match="returned token 7, outside") as broken:
        trial.caller.batched(case, choices, np.array([0, 1]), np.random.default_rng(0))
    assert broken.value.at is not None
    assert input_shown(subject, *broken.value.at).drafts == [1]


@pytest.mark.parametrize("right", [False, True])
def test_a_certificate_certifies_what_passed(right: bool, tmp_path: Path) -> None:
    mine, held = written(tmp_path), tmp_path / "held.json"
    if right:
        mine.write_text(mine.read_text().replace("p=p)", "p=(p - q).clip(0) / (p - q).clip(0).sum())"))
    status, output = conform(str(mine), "--property", "marginal", "--certificate", str(held))
    (line,) = [line for line in output.splitlines() if line.startswith(str(held))]
    assert (status, "certifies mine.py: lossless" in line) == (0 if right else 1, right)
    if not right:
        assert " records the judgement of mine.py" in line
        assert line.endswith(", and certifies nothing: convicted")


def test_sizes_that_several_properties_have_are_said_once() -> None:
    """One list of sizes once stood in each of their lines, and once more in the last."""
    reach = "V=3, 1 draft; V=5, 2 drafts"
    verdicts = [Verdict("m", name, "lossless", "scripted", reach, 9) for name in ("marginal", "joint", "bound")]
    output = report.text(Report("m", (*verdicts, Verdict("m", "larger", "lossless", "Monte Carlo", "V=65, 2 drafts"))))
    assert (output.count("V=3, 1 draft"), output.count(reach)) == (1, 1)
    assert output.count("the sizes of marginal, up to V=5, 2 drafts") == 2
    last = output.splitlines()[-1]
    assert last == "m: lossless where tried (scripted up to V=5, 2 drafts; Monte Carlo up to V=65, 2 drafts)"


def test_the_command_says_sizes_once(tmp_path: Path) -> None:
    mine = written(tmp_path)
    mine.write_text(mine.read_text().replace("p=p)", "p=(p - q).clip(0) / (p - q).clip(0).sum())"))
    status, output = conform(str(mine), "--property", "marginal", "--property", "truncation")
    assert (status, output.count("V=3, 1 draft; V=5")) == (0, 1)
