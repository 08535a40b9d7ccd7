"""Rounds of mlx-vlm and its kin: of every kind of drafts, under every name, or refused; what they say, and what not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.log_files import read
from typer.testing import CliRunner

from specsim.cli import app
from specsim.lengths.measures import convert_acceptance
from specsim.logs.definitions import definitions
from specsim.logs.measures import BEHIND_THE_END, log_acceptance, log_tau

REPORTS = Path(__file__).with_name("reports")


def timings(**changes: object) -> str:
    counts = {"predicted_n": 20, "predicted_ms": 240.0, "draft_n": 28, "draft_n_accepted": 18}
    return json.dumps({"timings": counts | changes}) + "\n"


@pytest.mark.parametrize("kind", ["dflash", "mtp", "eagle3", "a new one"])
@pytest.mark.parametrize("name", ["draft_rounds", "draft_n_verif_steps"])
def test_rounds_are_blocks_of_every_kind(kind: str, name: str, tmp_path: Path) -> None:
    (run,) = read(timings(draft_kind=kind, **{name: 4}), tmp_path)
    assert (run.blocks, run.length, log_tau(run).value) == (4, 7, pytest.approx(19 / 4))
    assert f"a block is a round (draft_rounds) of drafts by {kind}" in run.notes


REFUSED = {
    "a kind without rounds": (timings(draft_kind="mtp"), "has draft_kind 'mtp' and no draft_rounds: mlx-vlm counts"),
    "rounds by another name": (timings(rounds=4), "has 'rounds', which is not read; expected no counts of drafts but"),
    "steps by another name": (timings(n_verify_steps=4), "has 'n_verify_steps', which is not read"),
    "accepted by another name": (timings(draft_accepted_total=18), "has 'draft_accepted_total', which is not read"),
    "rounds beside the timings": (
        json.dumps(json.loads(timings()) | {"speculative": {"rounds": 4}}),
        "has 'rounds' beside its timings, which is not read",
    ),
    "two kinds": (
        timings(draft_kind="mtp", draft_rounds=4) + timings(draft_kind="dflash", draft_rounds=4),
        r"holds answers of 'dflash' and 'mtp' \(draft_kind\); split it",
    ),
    "rounds in one answer of two": (timings(draft_rounds=4) + timings(), "has draft_rounds in 1 of 2 answers"),
    "answers that share their counts": (
        timings(draft_rounds=4, draft_n_accepted=27),
        "4 rounds and 27 accepted drafts are 12 tokens more than the 19 behind the first, and the last round has 7",
    ),
    "more rounds than tokens in one of two": (
        timings(predicted_n=200, draft_rounds=4) + timings(draft_rounds=30, draft_n=90, draft_n_accepted=9),
        "response 1: 30 blocks emitted 19 tokens",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rounds_that_are_not_understood_are_refused(case: str, tmp_path: Path) -> None:
    text, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        read(text, tmp_path)


def test_an_answer_that_ends_at_once_is_read_among_others(tmp_path: Path) -> None:
    """One token, the prompt's, and a round that emitted nothing: alone it says nothing."""
    empty = timings(predicted_n=1, draft_rounds=1, draft_n=7, draft_n_accepted=2)
    (run,) = read(timings(draft_rounds=4) + empty, tmp_path)
    assert (run.blocks, log_tau(run).value) == (5, pytest.approx(19 / 5))
    with pytest.raises(ValueError, match="1 blocks emitted 0 tokens"):
        read(empty, tmp_path)


def test_sglang_s_answers_that_end_inside_their_blocks_say_nothing(tmp_path: Path) -> None:
    """Accepted drafts follow from the tokens: alpha was 0.000 of one pass whose tokens were cut."""
    cut = {"meta_info": {"completion_tokens": 1, "spec_verify_ct": 1}}
    with pytest.raises(ValueError, match="has 1 passes and 0 tokens behind the first of each answer: answers end"):
        read(json.dumps(cut), tmp_path)
    # Counted, or with as many tokens as passes, none accepted is what it says.
    counted = {"spec_accept_token_num": 0, "spec_draft_token_num": 3}
    (run,) = read(json.dumps({"meta_info": cut["meta_info"] | counted}), tmp_path)
    assert run.accepted == 0
    (run,) = read(json.dumps({"meta_info": {"completion_tokens": 11, "spec_verify_ct": 10}}), tmp_path)
    assert (run.blocks, run.accepted) == (10, 0)


def test_report_12_a_cut_block_says_what_the_drafter_had_accepted() -> None:
    """Of 7 drafts 6 were accepted, and one token emitted: alpha was 0.000."""
    from specsim.logs.read import read_log

    (run,) = read_log(REPORTS / "12-short.json")
    found = log_acceptance(run)
    assert {kind: round(measure.value, 3) for kind, measure in found.measures.items()} == {
        "tau": 1.0,
        "kept": 6.0,
        "draft_rate": 0.857,
        "alpha": round(convert_acceptance(7.0, kind="tau", to="alpha", gamma=7), 3),
    }
    assert BEHIND_THE_END in found.notes
    accepted = next(row for row in definitions(run, found) if row.name.startswith("accepted per call"))
    assert accepted.measure.value == 6
    said = CliRunner().invoke(app, ["log", str(REPORTS / "12-short.json")]).output
    assert "0.000 " not in said
    (mid,) = read_log(REPORTS / "12-mid.json")
    assert log_acceptance(mid).measures["kept"].value == pytest.approx(18 / 4)
    assert log_acceptance(mid).measures["tau"].value == pytest.approx(19 / 4)
