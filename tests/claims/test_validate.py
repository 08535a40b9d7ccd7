"""Predictions against published rows, through the function and the command."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specsim import convert_acceptance, request_times, roofline, service_costs
from specsim.claims.rows import parse, read, shipped
from specsim.claims.score import remarks, report_rows, summary, validate
from specsim.cli import app
from specsim.latency import ModelShape
from specsim.latency.drafters import of_target
from specsim.speed.load.published import simplest, speedup_at_rate

FIT = ["magicdec-001", "magicdec-007", "magicdec-014"]
ROWS = shipped()
MAGIC, SEQUOIA, MEDUSA, LEVIATHAN, EAGLE = (
    next(row.source for row in ROWS if row.name.startswith(name))
    for name in ("magicdec", "sequoia", "medusa", "leviathan", "eagle")
)
HEADER = (
    "row_id,source,hardware,target,draft,gamma_or_tree,alpha_or_tau,alpha_or_tau_kind,"
    "c_or_draft_ms,draft_unit,target_ms,verify_ms,measured_speedup\n"
)
GOOD = "a-1,A,gpu,big,small,4,3.2,tau,1.0,ms/token,20,21,2.5\n"


def test_published_rows() -> None:
    found = summary(validate(ROWS, fit=FIT))
    assert found[MAGIC]["tested"] == 14
    assert found[MAGIC]["median"] <= 0.015
    assert found[SEQUOIA]["tested"] == 12
    assert found[SEQUOIA]["median"] <= 0.04
    assert found[MEDUSA]["median"] <= 0.04
    # As printed by the paper's own formula, and far off: alpha is not the same at every position.
    assert found[LEVIATHAN]["tested"] == 12
    assert 0.15 < found[LEVIATHAN]["mean"] < 0.2
    assert 0.4 < found[LEVIATHAN]["worst"] < 0.5
    assert found[EAGLE]["flagged"] == ["eagle-050"]
    assert found[EAGLE]["tested"] == 0


def test_what_the_fit_and_the_pass_are_worth() -> None:
    """Without the overhead, or with a pass at the cost of a step, the same rows fail the bound."""
    bare = summary(validate(ROWS))[MAGIC]
    assert bare["tested"] == 17
    assert bare["median"] > 0.015
    assert bare["textbook_median"] > 0.08
    # an overhead from one machine is not lent to another
    assert summary(validate(ROWS, fit=FIT))[SEQUOIA] == summary(validate(ROWS))[SEQUOIA]


def test_fitted_rows_are_not_tests() -> None:
    scores = {score.name: score for score in validate(ROWS, fit=[*FIT, FIT[0]]).scores}
    assert {name for name, score in scores.items() if score.role == "fitted"} == set(FIT)
    overhead, used = next(iter(validate(ROWS, fit=FIT).overheads.values()))
    assert used == 3
    assert 1 < overhead < 2  # milliseconds on this machine
    # A row of which nothing else is known is predicted from its siblings alone.
    siblings = [row for row in ROWS if row.source == EAGLE and row.machine == ROWS[-1].machine]
    one = validate(ROWS, fit=[siblings[0].name])
    assert summary(one)[EAGLE]["tested"] == len(siblings) - 1
    tested = next(score for score in one.scores if score.name == siblings[1].name)
    fitted_cycle = siblings[0].tau / siblings[0].speedup  # type: ignore[operator]
    assert tested.predicted == pytest.approx(siblings[1].tau / fitted_cycle)  # type: ignore[operator]


def test_the_overhead_is_a_mean_and_stays_with_its_machine() -> None:
    lines = [("b-1", 4, 4, "", "", 10, 2.0), ("b-2", 4, 4, "", "", 10, 1.6), ("b-3", 4, 3, "", "", 10, 1.5),
             ("b-4", "tree", 4, "", "", 10, 2.0), ("b-5", 4, 3, 0.1, "ratio", 10, 1.5)]  # fmt: skip
    text = "".join(
        f"{name},B,gpu,big,small,{gamma},{tau},tau,{cost},{unit},{step},,{speed}\n"
        for name, gamma, tau, cost, unit, step, speed in lines
    )
    rows = parse(HEADER + text, "b.csv")
    found = validate(rows, fit=["b-1", "b-2"])
    assert next(iter(found.overheads.values())) == (pytest.approx((10 + 15) / 2), 2)  # 20 and 25 less one step of 10
    predicted = {score.name: score.predicted for score in found.scores}
    assert predicted["b-3"] == pytest.approx(3 * 10 / 22.5)
    assert predicted["b-4"] is None  # another tree on the same machine
    assert predicted["b-5"] == pytest.approx(3 * 10 / (4 * 0.1 * 10 + 10))  # a ratio of the printed step


def test_a_row_by_hand() -> None:
    text = HEADER + GOOD
    text += "a-2,A,gpu,big,small,4,0.8,alpha,0.05,ratio c,,,2.5\n"
    text += 'a-3,A,gpu,big,small,"tree n=8,d=3",2.5,tau,4,ms/cycle,20,,2\n'
    text += "a-4,A,gpu,big,small,5,1000/500,counts,1,ms/token,20,25,2\n"
    text += "a-5,A,gpu,big,small,4,6.2,tau,1,ms/token,20,21,2.5\n"
    text += "a-6,A,gpu,big,small,4,,figure,1,ms/token,20,21,9\n"
    found = validate(parse(text, "mine.csv"))
    predicted = [score.predicted for score in found.scores]
    assert predicted[:4] == [
        pytest.approx(3.2 * 20 / 25),
        pytest.approx(sum(0.8**i for i in range(5)) / 1.2),
        pytest.approx(2.5 * 20 / 24),
        pytest.approx(3.5 * 20 / 30),
    ]
    assert found.scores[4].role == "refused"
    assert found.scores[4].refused == ("tau 6.2 is above gamma + 1 = 5",)
    assert found.scores[5].role == "no tau printed"
    assert found.scores[5].refused == ("speedup 9 is above 4, what gamma = 4 gives if every draft is kept",)
    mine = summary(found)["A"]
    assert (mine["rows"], mine["tested"], mine["left_out"]) == (6, 4, 1)
    assert mine["refused"] == ["a-5", "a-6"]
    assert "refused a-5: tau 6.2 is above gamma + 1 = 5" in remarks(found)
    assert report_rows(found)[1][:4] == ["A", "6", "0", "4"]


BAD = [
    ("row_id,source\nx,y\n", r"^f has no column gamma_or_tree, alpha_or_tau, alpha_or_tau_kind, measured_speedup$"),
    (HEADER, r"^there is no row to validate on$"),
    (HEADER + GOOD + GOOD, r"^f has two rows a-1; row_id must be unique$"),
    (HEADER + GOOD.replace(",2.5", ","), r"^f, row a-1: measured_speedup is empty$"),
    (HEADER + GOOD.replace(",2.5", ",fast"), r"^f, row a-1: measured_speedup is 'fast', not a number$"),
    (HEADER + GOOD.replace(",20,", ",nan,"), r"^f, row a-1: target_ms is nan; it must be a positive number$"),
    (HEADER + GOOD.replace(",21,", ",-21,"), r"^f, row a-1: verify_ms is -21; it must be a positive number$"),
    (HEADER + GOOD.replace(",1.0,", ",-1.0,"), r"^f, row a-1: c_or_draft_ms is -1\.0; "),
    (HEADER + GOOD.replace("ms/token", "s"), r"^f, row a-1: draft_unit is 's'; give ratio, ms/token, "),
    (HEADER + GOOD.replace("ms/token", ""), r"^f, row a-1: draft_unit is ''; "),
    (HEADER + GOOD.replace(",20,21,", ",,,"), r"^f, row a-1: c_or_draft_ms is in ms/token, but target_ms is empty$"),
    (HEADER + GOOD.replace(",20,", ",,"), r"^f, row a-1: verify_ms is given without target_ms"),
    (HEADER + GOOD.replace("3.2,tau", "1.2,alpha"), r"^f, row a-1: alpha_or_tau is 1\.2, but alpha is at most 1$"),
    (HEADER + GOOD.replace("3.2,tau", "5/9,counts"), r"^f, row a-1: alpha_or_tau is '5/9'; counts are written drafted"),
    (HEADER + GOOD.replace("3.2,tau", "3.2,length"), r"^f, row a-1: alpha_or_tau_kind is 'length'; give alpha, tau or"),
    (HEADER + GOOD.replace("3.2,tau", "3.2,taux"), r"^f, row a-1: alpha_or_tau_kind is 'taux'; give alpha, tau or"),
    (HEADER + GOOD.replace("ms/token", "ms/batch"), r"^f, row a-1: draft_unit is 'ms/batch'; give ratio, ms/token, "),
    (HEADER + GOOD.replace(",4,", ",four,"), r"for one step, but gamma_or_tree is 'four': give a chain"),
    (HEADER + GOOD.replace(",4,", ",99999999,"), r"^f, row a-1: gamma_or_tree is 99999999, above 10000$"),
    (HEADER + GOOD.replace("3.2", "3,2"), r"^f, row a-1 has more cells than there are columns; quote a cell"),
    (
        HEADER.strip() + ",overhead\n" + GOOD,
        r"^f has a column overhead, which is not read; leave it out, or put it into",
    ),
    (HEADER.replace("target_ms", "target_s") + GOOD, r"^f has a column target_s, which is not read; target_ms is$"),
    (HEADER + GOOD.replace("a-1,A", "a-1,"), r"^f, row a-1: source is empty$"),
    (HEADER + GOOD.replace("a-1,A", ",A"), r"^f, row 1: row_id is empty$"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_files(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validate(parse(text, "f"))


def test_bad_fits(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^fit names 'nobody', which is no row of the file$"):
        validate(ROWS, fit=["nobody"])
    unknown = next(row.name for row in ROWS if row.tau is None)
    with pytest.raises(ValueError, match=r"^fit names .*, which prints no tokens per target call$"):
        validate(ROWS, fit=[unknown])
    text = (
        HEADER + GOOD.replace(",2.5", ",50") + GOOD.replace("a-1", "a-2").replace(",1.0,", ",0,").replace("21,", "1,")
    )
    with pytest.raises(ValueError, match=r"^fit names 'a-1', which is refused: speedup 50 is above "):
        validate(parse(text, "f"), fit=["a-1"])
    with pytest.raises(ValueError, match=r"^the fitted overhead -5\.\d+ leaves row 'a-2' a cycle of -4\."):
        validate(parse(text.replace(",50\n", ",3.3\n"), "f"), fit=["a-1"])
    with pytest.raises(ValueError, match=r"absent\.csv cannot be read: No such file"):
        read(tmp_path / "absent.csv")


def test_the_command(tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = run(app, ["validate", "--fit", ",".join(FIT), "--markdown"])
    assert shown.exit_code == 0
    assert "| MagicDec (arXiv 2408.11049) | 17 | 3 | 14 | " in shown.output
    first = csv.DictReader(io.StringIO(run(app, ["validate", "--csv"]).stdout)).__next__()
    assert float(first["median error"]) == summary(validate(ROWS))[first["source"]]["median"]
    assert "flagged eagle-050: speedup 3.53 is above tau 3.33" in shown.output
    notes = [line for line in shown.output.splitlines() if line.startswith("note ")]
    assert len(notes) == 1
    assert notes[0].startswith(f"note {LEVIATHAN}: prints alpha, not tau; ")
    mine = tmp_path / "mine.csv"
    mine.write_text(HEADER + GOOD)
    found = json.loads(run(app, ["validate", str(mine), "--json"]).output)
    mine.write_text(HEADER + GOOD, encoding="utf-8-sig")  # as spreadsheets write it
    assert json.loads(run(app, ["validate", str(mine), "--json"]).output) == found
    assert found["sources"]["A"]["tested"] == 1
    assert found["rows"][0]["predicted"] == pytest.approx(2.56)
    mine.write_text(HEADER + GOOD.replace("2.5", "x"))
    failed = run(app, ["validate", str(mine)])
    assert failed.exit_code == 2
    assert "error: mine.csv, row a-1: measured_speedup is 'x', not a number" in failed.output


BATCHES = [row for row in ROWS if row.source.startswith("EAGLE-3 by batch")]
LOADED = HEADER.replace("measured_speedup", "measured_speedup,batch,rate,prompt_tokens,output_tokens")
AT_RATE = "r-1,A,h100-sxm,llama-3.1-8b,eagle3,3,2.8,tau,,,,,2.2,64,4,512,256\n"


def test_batch_tables_are_predicted_from_their_other_batches() -> None:
    found = [score for score in validate(ROWS).scores if score.source == BATCHES[0].source]
    errors = sorted(abs(score.error) for score in found if score.error is not None)
    assert len(errors) == len(BATCHES) == 34
    assert errors[len(errors) // 2] < 0.1, "the simplest rule has twice that"
    assert {score.others for score in found} == {7, 8}
    rule = sorted(abs(error) for error in simplest(BATCHES))
    assert len(rule) == 30
    assert rule[len(rule) // 2] > 2 * errors[len(errors) // 2]
    magic = summary(validate(ROWS))[MAGIC]
    assert magic["median"] < 0.1
    assert {row.batch for row in ROWS if row.source == MAGIC} == {32, 48, 64, 128}


def test_a_row_is_not_in_its_own_fit() -> None:
    """A wild speedup of one row moves the others' predictions, and not its own."""
    wild = [row._replace(speedup=9 * row.speedup) if row.name == "batch-005" else row for row in BATCHES]
    calm, moved = ({s.name: s.predicted for s in validate(rows).scores} for rows in (BATCHES, wild))
    assert moved["batch-005"] == calm["batch-005"]
    assert moved["batch-004"] != calm["batch-004"]
    assert moved["batch-014"] == calm["batch-014"], "another table"


def test_a_line_in_the_batch_by_hand() -> None:
    """Cycles of 1 + b / 2 plain steps, exactly: every row is met."""
    text = "".join(f"b-{b},B,gpu,big,small,3,2.0,tau,,,,,{2 / (1 + b / 2)!r},{b},,,\n" for b in (1, 2, 4, 8))
    found = validate(parse(LOADED + text, "b.csv"))
    assert [score.error for score in found.scores] == pytest.approx([0.0] * 4, abs=1e-9)
    fewer = validate(parse(LOADED + "".join(text.splitlines(keepends=True)[:3]), "b.csv"))
    assert {score.role for score in fewer.scores} == {"no cost printed"}


def test_rows_at_a_rate_are_predicted_by_the_closed_form() -> None:
    row = parse(LOADED + AT_RATE, "r.csv")[0]
    assert row.load is not None
    large = ModelShape.named("llama-3.1-8b")
    times = roofline(large, of_target(large, "eagle3"), "h100-sxm")
    alpha = convert_acceptance(2.8, kind="tau", to="alpha", gamma=3)
    sizes = {"prompt": 512, "output": 256, "limit": 64}
    ways = service_costs(times, gamma=0, **sizes), service_costs(times, alpha, gamma=3, **sizes)
    slow, fast = (request_times(way, 4.0).total_s for way in ways)
    found = validate([row], at_rate=speedup_at_rate).scores[0]
    assert (found.predicted, found.role) == (pytest.approx(slow / fast), "tested")
    unknown = parse(LOADED + AT_RATE.replace("llama-3.1-8b", "nobody-9b"), "r.csv")
    assert validate(unknown, at_rate=speedup_at_rate).scores[0].role == "no model of its costs"
    assert validate([row]).scores[0].predicted is None
    beyond = parse(LOADED + AT_RATE.replace(",4,512", ",400,512"), "r.csv")
    with pytest.raises(ValueError, match=r"^row r-1: rate is 400; the largest stable rate is "):
        validate(beyond, at_rate=speedup_at_rate)


BAD_LOADS = [
    (AT_RATE.replace(",4,512", ",0,512"), r"^f, row r-1: rate is 0; it must be a positive number$"),
    (AT_RATE.replace(",4,512", ",-2,512"), r"^f, row r-1: rate is -2; it must be a positive number$"),
    (AT_RATE.replace(",4,512,256", ",4,512,"), r"^f, row r-1: rate is given without output_tokens$"),
    (
        AT_RATE.replace(",4,512", ",,512"),
        r"^f, row r-1: prompt_tokens and output_tokens go with a rate, which is empty$",
    ),
    (AT_RATE.replace(",64,4", ",,4"), r"^f, row r-1: rate is given without batch, the limit$"),
    (AT_RATE.replace("eagle3,3,", "eagle3,tree,"), r"^f, row r-1: rate is given without the length of a chain$"),
    (AT_RATE.replace(",64,4", ",6.5,4"), r"^f, row r-1: batch is '6\.5'; it must be a whole number from 1 to "),
]


@pytest.mark.parametrize(("text", "message"), BAD_LOADS, ids=[m for _, m in BAD_LOADS])
def test_bad_rates(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(LOADED + text, "f")
