"""`specsim validate` says why a row is not tested, and what in it cannot be so."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from specsim.claims.rows import parse, read
from specsim.claims.score import remarks, summary, validate
from specsim.cli import app

REPORT = Path(__file__).parents[1] / "logs" / "reports" / "28-rows.csv"
HEADER = (
    "row_id,source,hardware,target,draft,gamma_or_tree,batch,alpha_or_tau,alpha_or_tau_kind,"
    "c_or_draft_ms,draft_unit,target_ms,verify_ms,measured_speedup\n"
)


def run(*words: object) -> str:
    found = CliRunner().invoke(app, ["validate", *map(str, words)])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_report_28_rows_without_a_cost_are_not_left_out_silently() -> None:
    said = run(REPORT)
    assert said.count("not tested: 3 rows print no draft cost (c_or_draft_ms), vllm 16937; add it, or verify_ms") == 1
    assert "three lengths are enough to fit and to hold out" in said


@pytest.mark.parametrize(
    ("fit", "tested", "predicted"), [((2, 7), 4, 1.4821), ((2, 4), 7, 1.2653), ((4, 7), 2, 1.5055)]
)
def test_report_28_two_lengths_predict_the_third(fit: tuple[int, int], tested: int, predicted: float) -> None:
    """A cycle is a line through tau / speedup at the two lengths."""
    rows = {row.levels: row for row in read(REPORT)}
    found = validate(list(rows.values()), fit=[rows[g].name for g in fit])
    (score,) = [score for score in found.scores if score.role == "tested"]
    (a, c_a), (b, c_b) = ((g, (rows[g].tau or 0) / rows[g].speedup) for g in fit)
    cycle = c_a + (c_b - c_a) * (tested - a) / (b - a)
    assert (score.name, score.along) == (rows[tested].name, "length")
    assert score.predicted == pytest.approx((rows[tested].tau or 0) / cycle)
    assert score.predicted == pytest.approx(predicted, abs=1e-3)
    assert any(
        "a cycle is a line in the length, fitted on the lengths that --fit names" in said for said in remarks(found)
    )


def test_report_28_one_length_or_another_machine_is_not_enough() -> None:
    rows = read(REPORT)
    assert summary(validate(rows, fit=[rows[0].name]))["vllm 16937"]["tested"] == 0
    other = [row._replace(machine=("elsewhere", *row.machine[1:])) if row.levels == 4 else row for row in rows]
    assert summary(validate(other, fit=[rows[0].name, rows[2].name]))["vllm 16937"]["tested"] == 0
    batch = [row._replace(batch=8) if row.levels == 4 else row for row in rows]
    assert summary(validate(batch, fit=[rows[0].name, rows[2].name]))["vllm 16937"]["tested"] == 0


ROW = "a,A,gpu,big,small,{},1,{},{},ms/token,20,{},{}\n"
SIBLINGS = {
    "no tau": (ROW.format(4, ",", 1.0, 21, 2.5), "1 row prints no tokens per target call (alpha_or_tau), A"),
    "a tree": (
        "a,A,gpu,big,small,tree 64,1,3.2,tau,,,20,,2.5\n",
        "1 row prints no draft cost (c_or_draft_ms), A",
    ),
    "none accepted": (ROW.format(4, "900/0,counts", 1.0, 21, 0.8), "tau is 1, so none of 4 drafts a call"),
    "a cheap pass": (ROW.format(4, "3.2,tau", 1.0, 9, 2.5), "verification takes 9, less than a plain step of 20"),
    "a cheap cycle": (
        ROW.format(4, "3.2,tau", 1.0, 21, 3.5),
        "a cycle was cheaper than one plain step; likely the plain step is of another load",
    ),
}


@pytest.mark.parametrize("case", SIBLINGS)
def test_siblings_are_named(case: str) -> None:
    row, said = SIBLINGS[case]
    assert any(said in line for line in remarks(validate(parse(HEADER + row, "rows.csv"))))


def test_rows_are_read_as_logs_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(REPORT.read_text(encoding="utf-8"), encoding="utf-16")
    assert read(path) == read(REPORT)
    with pytest.raises(ValueError, match=r"rows\.csv has two columns batch"):
        parse(HEADER.replace("target_ms", "batch") + "a,A,g,b,s,4,1,3.2,tau,1.0,ms/token,20,21,2.5\n", "rows.csv")
    with pytest.raises(ValueError, match="is a device"):
        read(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("length", "speedup", "flag"),
    [
        ("1", "3", "speedup 3 is above 2, the most that 1 drafts can give"),
        (
            "tree",
            "150",
            "speedup 150 is above 17, the most that 16 drafts (gamma_or_tree does not say how many) can give",
        ),
        ("3", "4", ""),
        ("tree", "16.9", ""),
    ],
)
def test_a_speedup_above_what_drafts_can_give_is_flagged(length: str, speedup: str, flag: str) -> None:
    """Sibling of a `diagnose` that said 150 times: without tau the length alone bounds a speedup."""
    (score,) = validate(parse(f"{HEADER}a,s,h,t,d,{length},,,tau,,,,,{speedup}\n", "rows.csv")).scores
    assert any(flag in said for said in score.flags) if flag else score.flags == ()
