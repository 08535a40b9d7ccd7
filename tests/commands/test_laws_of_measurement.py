"""Each law that convicts a measurement is stated in one sentence by log, diagnose and validate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specsim.cli import app

OFF = "speculation,token_ms\noff,10\n"
ROWS = (
    "row_id,source,table_or_figure,hardware,target,draft,task,gamma_or_tree,temperature,batch,context,alpha_or_tau,"
    "alpha_or_tau_kind,c_or_draft_ms,draft_unit,target_ms,verify_ms,measured_speedup,notes\n"
    "r-001,s,t,h,m,d,x,{gamma},0,1,,{tau},tau,0.1,ratio,10,{verify},{speedup},\n"
)
BENCH = {
    "backend": "vllm", "model_id": "m", "duration": 37.2, "completed": 160, "failed": 0, "total_output_tokens": 40_960,
    "mean_ttft_ms": 110.3, "mean_tpot_ms": 6.76, "mean_itl_ms": 20.0, "spec_decode_num_drafts": 13_780,
    "spec_decode_draft_tokens": 68_900, "spec_decode_accepted_tokens": 27_172,
}  # fmt: skip


def run(command: str, *texts: str, folder: Path) -> str:
    """Return what a command says of files with these texts, in one line."""
    paths = []
    for i, text in enumerate(texts):
        paths.append(folder / f"f{i}{'.json' if text[0] in '[{' else '.csv'}")
        paths[-1].write_text(text)
    result = CliRunner().invoke(app, [command, *map(str, paths)], env={"COLUMNS": "200"})
    assert not isinstance(result.exception, (KeyError, TypeError, AttributeError)), result.exception
    return " ".join(result.output.split())


LOGS = {
    # tau above the drafts and one more.
    "top": ("speculation,length,tau,token_ms\non,3,4.4,5\n", "tau is 4.4; expected 1 or more and at most 4"),
    # tau falls with the length.
    "falls": (
        "speculation,length,tau,token_ms\non,2,2.4,5\non,3,2.2,5\n",
        "tau falls from 2.4 at 2 drafts to 2.2 at 3: with drafts that do not depend on the length it cannot",
    ),
    # A further draft adds more than the one before.
    "concave": (
        "speculation,length,tau,token_ms\non,1,1.3,9\non,2,1.7,9\n",
        "a draft adds 0.3 up to 1 and 0.4 behind: where blocks are alike a further draft adds less",
    ),
    # The times of a cycle and of a token tell another tau than the counts.
    "timed": (
        "speculation,length,blocks,drafted,accepted,coverage,token_ms,cycle_ms\non,3,100,300,150,1,9.9,12\n",
        "a cycle of 12 ms that emits 2.50 tokens takes 4.8 ms for each, and a token is timed at 9.9 ms",
    ),
    # Hardly a draft is accepted.
    "broken": (
        "speculation,length,blocks,drafted,accepted,token_ms\non,3,100,300,0,11\n",
        "none of 300 drafts accepted; likely the draft belongs to another target or tokenizer",
    ),
}


@pytest.mark.parametrize("law", LOGS)
def test_log_and_diagnose_state_it(law: str, tmp_path: Path) -> None:
    text, words = LOGS[law]
    assert words in run("log", text, folder=tmp_path)
    assert words in run("diagnose", OFF, text, folder=tmp_path)


DIAGNOSES = {
    "cycle": ("speculation,length,tau,token_ms\non,3,2.0,4\n", "a cycle costs 0.80 plain steps, and the pass of"),
    "below 0": (
        "speculation,length,tau,token_ms,draft_ms,verify_ms\non,3,2.0,6,9,10\n",
        "less than none; likely the times of the parts and of the cycle are of different runs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("law", DIAGNOSES)
def test_diagnose_states_what_needs_a_plain_run(law: str, tmp_path: Path) -> None:
    text, words = DIAGNOSES[law]
    assert words in run("diagnose", OFF, text, folder=tmp_path)


@pytest.mark.parametrize(
    ("gamma", "tau", "verify", "speedup", "words"),
    [
        (3, 4.4, 11, 2.0, "tau 4.4 is above gamma + 1 = 4"),
        (3, 2.0, 11, 2.5, "speedup 2.5 is above tau 2: a cycle was cheaper than one plain step"),
        (3, 1.0, 11, 0.7, "tau is 1, so none of 3 drafts a call was accepted"),
        (3, 2.0, 8, 1.2, "verification takes 8, less than a plain step of 10"),
    ],
)
def test_validate_states_it(gamma: int, tau: float, verify: float, speedup: float, words: str, tmp_path: Path) -> None:
    assert words in run("validate", ROWS.format(**locals()), folder=tmp_path)


def test_the_time_between_chunks_over_a_step_is_that_of_a_token(tmp_path: Path) -> None:
    assert "implausible" not in run("log", json.dumps(BENCH), folder=tmp_path)
    said = run("log", json.dumps(BENCH | {"mean_itl_ms": 6.8}), folder=tmp_path)
    assert "6.8 ms pass between chunks (mean_itl_ms), and a step of 2.97 tokens takes 20.09 ms by mean_tpot_ms" in said
    # A run that counts no drafts, and whose tokens come three at a time.
    plain = {name: value for name, value in BENCH.items() if not name.startswith("spec_decode")}
    said = run("diagnose", json.dumps(plain), json.dumps(BENCH), folder=tmp_path)
    assert "a step of 1 token takes 6.76 ms by mean_tpot_ms: drafts that the file does not count" in said
    shared = plain | {"backend": "sglang", "mean_itl_ms": 6.76}
    assert "chunks" not in run("diagnose", json.dumps(shared), json.dumps(BENCH), folder=tmp_path)


def test_the_nearest_curve_that_can_be_is_offered(tmp_path: Path) -> None:
    text = "speculation,length,tau,token_ms\non,1,1.8,5\non,2,2.4,5\non,3,2.2,5\n"
    words = "the nearest curve of tau that can be: 1.80 at 1, 2.30 at 2, 2.30 at 3"
    assert words in run("log", text, folder=tmp_path)
    assert words in run("diagnose", OFF, text, folder=tmp_path)
    path = tmp_path / "f0.csv"
    path.write_text(text)
    shown = json.loads(CliRunner().invoke(app, ["log", str(path), "--json"]).output)
    assert len(shown["runs"]) == 3
    assert shown["notes"][-1] == words


def test_runs_that_agree_are_not_convicted(tmp_path: Path) -> None:
    text = "speculation,length,batch,tau,token_ms\non,1,1,1.8,5\non,2,1,2.4,5\non,2,8,2.2,9\non,3,8,2.1,9\n"
    said = run("log", text, folder=tmp_path)
    assert "implausible at batch 8: tau falls from 2.2 at 2 drafts to 2.1 at 3" in said
    assert "at batch 1:" not in said
