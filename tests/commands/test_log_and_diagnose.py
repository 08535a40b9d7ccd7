"""`specsim log` and `diagnose` at the terminal: the answer first, files that plan reads, one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.commands.plan.answers import acceptance_of_log
from specsim.lengths.hazard_files import read_hazards

REPORTS = Path(__file__).parents[1] / "logs" / "reports"
RUNS = Path(__file__).parents[1] / "helpers" / "runs.csv"
ON = "eval time = 1020.0 ms / 51 tokens\ndraft acceptance = 0.6 ( 30 accepted / 60 generated)\n"
OFF = "eval time = 900.0 ms / 50 tokens\n"


def run(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found.stdout if code == 0 else found.stderr


def pair(folder: Path) -> tuple[Path, Path]:
    (folder / "off.log").write_text(OFF)
    (folder / "on.log").write_text(ON)
    return folder / "off.log", folder / "on.log"


def test_the_answer_comes_first(tmp_path: Path) -> None:
    said = run("diagnose", *pair(tmp_path))
    assert said.startswith(
        "Slower (0.90x as measured) because a cycle costs 2.78 plain steps and emits 2.50 tokens: drafting"
    )
    assert "acceptance is not the main cause: with 100 % it would be 1.44x." in said.splitlines()[0]
    assert "to measure: the time of drafting a block and a target pass over 4 tokens" in said


def test_a_file_of_ours_may_hold_both() -> None:
    shown = json.loads(run("diagnose", RUNS, "--json"))
    assert [part["names"] for part in shown["parts"]] == [["drafting"], ["verifying"], ["fixed work"]]
    assert shown["missing"] == []
    assert shown["verdict"] == "slower"
    (measured,) = (mend for mend in shown["mends"] if mend["basis"] == "measured")
    assert measured["what"] == "1 draft a block"
    assert measured["speedup"]["value"] == pytest.approx(112 / 100.5, rel=1e-3)
    assert run("diagnose", RUNS, "--markdown").count("| --- |") == 3


def test_log_gives_what_plan_takes(tmp_path: Path) -> None:
    out = tmp_path / "hazards.csv"
    shown = json.loads(run("log", RUNS, "--json", "--out", out))["runs"][0]
    assert shown["measures"]["tau"]["value"] == pytest.approx(3.1)
    kept = read_hazards(out).at()
    assert kept.hazards(4) == pytest.approx([hazard["value"] for hazard in shown["hazards"]["hazards"]])
    assert kept.tau(4).value == pytest.approx(3.1)
    assert "By gamma" in run("plan", "--hazards", out, "--cost-ratio", "0.1").replace("by gamma", "By gamma")


def test_log_names_its_numbers(tmp_path: Path) -> None:
    said = run("log", pair(tmp_path)[1], "--gamma", 4)
    assert "tokens per target call (tau, the mean acceptance length)" in said
    assert "2.500" in said
    assert "share of drafts kept (the acceptance rate of most engines)" in said
    assert "0.500" in said


BAD = {
    "no on": (("diagnose", "off.log"), "off.log holds runs with speculation off only"),
    "twice off": (("diagnose", "off.log", "off.log"), "off.log does not speculate"),
    "twice on": (("diagnose", "on.log", "on.log"), "logs are told apart by their names; expected 2 names, got on.log"),
    "a share that the log knows": (
        ("log", "on.log", "--drafted-share", "0.4"),
        "on.log says that 1 of the steps had a",
    ),
    "share": (("log", "on.log", "--drafted-share", "1.5"), "drafted_share"),
    "no length": (("log", "on.log", "--gamma", "0"), "gamma must be at least 1"),
    "no length to explain": (("diagnose", "off.log", "on.log", "--gamma", "0"), "gamma must be at least 1"),
    "a device": (("log", "/dev/zero"), "/dev/zero is a device"),
    "missing": (("diagnose", "none.log", "on.log"), "none.log: No such file or directory"),
    "log of off": (("log", "off.log"), "off.log is of a run without speculation"),
    "no positions": (("log", "on.log", "--out", "h.csv"), "on.log has no positions"),
    "forms": (("log", "on.log", "--json", "--markdown"), "--json and --markdown are both given"),
    "level": (("diagnose", "off.log", "on.log", "--level", "1.5"), "level"),
    "noise": (("diagnose", "off.log", "on.log", "--noise", "0"), "noise"),
    "length": (("log", "on.log", "--gamma", "1"), "3.00 drafts a block, and gamma is given as 1; expected no fewer"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair(tmp_path)
    monkeypatch.chdir(tmp_path)
    words, said = BAD[case]
    error = run(*words, code=2)
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "h.csv").exists()


def report(name: str) -> Path:
    return REPORTS / name


def test_report_01_a_step_costs_what_it_emits(tmp_path: Path) -> None:
    said = run("diagnose", report("01-off.log"), report("01-on.log"))
    assert said.startswith("Slower (0.68x as measured) because a cycle costs 1.74 plain steps and emits 1.18 tokens")
    assert "with 100 % it would be 0.75x" in said
    said = run("log", report("01-on.log"))
    assert "share of the target calls that had drafts" in said
    assert "1.185" in said
    assert "plan these drafts with --draft ngram (or suffix) and --drafted-share 0.101" in said


def test_report_01_no_plan_takes_every_step_to_have_a_draft(tmp_path: Path) -> None:
    """The hazards of an n-gram carry the share of steps that had a draft; a plan without it is refused."""
    run("log", report("01-on.log"), "--out", tmp_path / "h.csv")
    refused = run("plan", "--hazards", tmp_path / "h.csv", "--cost-ratio", 0, code=2)
    assert "h.csv: 10.1 % of the steps had a draft, and a plan would take every step to have one" in refused
    assert "give --drafted-share 0.101 (beside --target with --draft ngram or suffix)" in refused
    models = ("--target", "llama-3.1-8b", "--draft", "ngram", "--hardware", "h100-sxm")
    said = json.loads(run("plan", "--hazards", tmp_path / "h.csv", *models, "--drafted-share", 0.101, "--json"))
    assert said is not None
    answer = json.loads(report("15-vllm.json").read_text(encoding="utf-8")) | {"usage": {"completion_tokens": 411}}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    refused = run("plan", "--histogram", tmp_path / "answer.json", "--cost-ratio", 0, code=2)
    assert "10.8 % of the steps had a draft" in refused


def test_report_01_a_share_that_is_not_known_is_asked_for(tmp_path: Path) -> None:
    counts = "vllm:spec_decode_num_{} {}\n"
    names = (
        "drafts_total",
        "draft_tokens_total",
        "accepted_tokens_total",
        'accepted_tokens_per_pos_total{position="0"}',
    )
    text = "".join(counts.format(*one) for one in zip(names, (100, 100, 60, 60), strict=True))
    (tmp_path / "on.txt").write_text(text)
    words = ("log", tmp_path / "on.txt", "--out", tmp_path / "h.csv")
    assert "does not say in how many steps there was a draft" in run(*words, code=2)
    run(*words, "--drafted-share", 1)
    assert read_hazards(tmp_path / "h.csv").at().hazards(1) == pytest.approx([0.6])


def test_report_13_rates_by_position_become_hazards(tmp_path: Path) -> None:
    run("log", report("13-on.log"), "--out", tmp_path / "h.csv")
    assert (tmp_path / "h.csv").read_text() == "position,tried,kept\n1,87,70\n2,70,55\n3,55,42\n"


def test_report_15_a_histogram_of_requests_is_what_plan_takes() -> None:
    for name, hazards in (("15-vllm.json", [4 / 43, 3 / 4, 1]), ("15-trtllm.json", [12 / 20, 1, 6 / 12])):
        assert acceptance_of_log(report(name), None, 1.0, False).hazards(3) == pytest.approx(hazards)
    said = run("plan", "--histogram", report("12-mid.json"), "--cost-ratio", 0.05, code=2)
    assert 'write {"drafted": 3, "counts": [blocks that kept 0, 1, 2, 3 drafts]}' in said


def test_report_15_plan_refuses_what_log_refuses(tmp_path: Path) -> None:
    """The vLLM answer says nothing of steps without a draft; both commands refuse it for that, in the same words."""
    file, models = report("15-vllm.json"), ("--target", "llama-3.1-8b", "--hardware", "h100-sxm")
    refused = run("log", file, "--out", tmp_path / "h.csv", code=2)
    assert "does not say in how many steps there was a draft" in refused
    assert run("plan", "--histogram", file, "--cost-ratio", 0.05, code=2) == refused
    # Whoever says it gets the same plan from both, and a draft that is made in every step says it.
    run("log", file, "--out", tmp_path / "h.csv", "--drafted-share", 1)
    one = json.loads(run("plan", "--hazards", tmp_path / "h.csv", "--cost-ratio", 0.05, "--json"))
    other = json.loads(run("plan", "--histogram", file, "--cost-ratio", 0.05, "--drafted-share", 1, "--json"))
    assert one["points"][0]["speedup"] == other["points"][0]["speedup"]
    eagle = json.loads(run("plan", "--histogram", file, "--draft", "eagle3", *models, "--json"))
    assert "every step had a draft, as what drafts makes one in each" in eagle["assumptions"][0]
    assert eagle["points"][0]["tau"]["value"] == pytest.approx(53 / 43)
    run("plan", "--histogram", file, "--draft", "eagle3", *models, "--drafted-share", 1)


def test_report_20_both_contexts_of_the_draft_are_its_cost() -> None:
    shown = json.loads(run("diagnose", report("20-off.log"), report("20-on.log"), "--json"))
    assert shown["parts"][0]["names"] == ["drafting"]
    assert shown["parts"][0]["steps"]["value"] == pytest.approx((23.77 + 2240) / 100 / (46_000 / 255), rel=1e-3)


def test_report_21_two_runs_that_speculate_are_compared() -> None:
    said = run("diagnose", report("21-old.csv"), report("21-new.csv"))
    assert said.startswith(
        "21-new.csv is 0.616x as fast as 21-old.csv: a cycle takes 229 against 130 ms (x 1.76), which is the cause; "
        "acceptance is better (2.977 against 2.745 tokens a cycle, x 1.085, which may be noise)."
    )
    shown = json.loads(run("diagnose", report("21-old.csv"), report("21-new.csv"), "--json"))
    assert (shown["verdict"], shown["cause"]) == ("slower", "cycle")
    assert shown["cycle"]["value"] == pytest.approx((1 + 85 / 43) / 13 / ((1 + 82 / 47) / 21.1))


def test_report_21_siblings(tmp_path: Path) -> None:
    """Worse acceptance; a log that says no acceptance; three logs; logs of engines with batches; 18, too."""
    head = "speculation,length,batch,tau,tokens_per_s\n"
    rows = {"a": "on,3,1,2.8,28\n", "b": "on,3,1,1.4,14\n", "c": "on,3,1,,20\n", "d": "on,3,8,2.8,28\n"}
    paths = {name: tmp_path / f"{name}.csv" for name in rows}
    for name, row in rows.items():
        paths[name].write_text(head + row)
    worse = run("diagnose", paths["a"], paths["b"])
    assert "acceptance is worse (1.400 against 2.800 tokens a cycle, x 0.500), which is the cause" in worse
    assert "a.csv, which may be noise" not in worse
    assert "they do not both say how many tokens" in run("diagnose", paths["a"], paths["c"])
    assert run("diagnose", paths["a"], paths["b"], paths["c"]).count("as fast as a.csv") == 2
    assert "a.csv is of batch 1, d.csv of batch 8" in run("diagnose", paths["a"], paths["d"], code=2)


def test_report_18_what_drafts_cannot_make_is_doubted() -> None:
    """The two logs are of other models; the answer was 150.817x without a doubt, whichever comes first."""
    names = [report("18-off.log"), report("18-on.log")]
    said = run("diagnose", *names)
    assert said.startswith(
        "18-on.log is 150.817x as fast as 18-off.log, which is not plausible (1 draft a block gives 2 times at "
    )
    assert "so 18-off.log is slower than that; likely the logs are of other loads, machines or models" in said
    back = run("diagnose", *reversed(names))
    assert back.startswith("18-off.log is 0.007x as fast as 18-on.log, which is not plausible (1 draft a block gives ")
    assert "so 18-off.log is slower than that" in back
    assert json.loads(run("diagnose", *names, "--json"))["doubt"]
    assert json.loads(run("diagnose", report("21-old.csv"), report("21-new.csv"), "--json"))["doubt"] == ""


def test_public_functions_take_what_the_command_takes() -> None:
    runs = specsim.read_log(RUNS)
    found = specsim.diagnose([r for r in runs if not r.speculating], [r for r in runs if r.speculating])
    assert found.cause in ("drafting", "verifying", "fixed work")
