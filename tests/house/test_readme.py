"""The README is true: every block runs, every table is what the code prints, every number is a recorded one."""

from __future__ import annotations

import json
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import real.cli
import real.gpu
import specsim
import specsim.cli
import specsim.trees
from real.studies.compare import rules_report
from real.studies.drafts import report as drafts_report
from real.studies.table import markdown
from real.studies.trees import report as trees_report
from specsim.report.markers import refresh
from specsim.report.tables import rules_table

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python(?: title=\S+)?\n(.*?)```", README, re.S)
SHELL = [  # each command of a line by itself
    command
    for block in re.findall(r"```bash\n(.*?)```", README, re.S)
    for line in block.splitlines()
    for command in line.split(" && ")
]
COMMANDS = [
    command
    for name in ("main", "tests")
    for line in subprocess.run(
        [ROOT / ".ci" / "readme", name], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for command in line.split(" && ")
]
RESULTS = ROOT / "real" / "results"
RECORD = RESULTS / "bundled.json"
PENDING = "*Not yet recorded.*"  # what the README says where there is no record: never a number without one


@pytest.mark.parametrize("block", PYTHON, ids=[b.splitlines()[0][:40] for b in PYTHON])
def test_python_block_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


def test_example_says_what_the_library_says() -> None:
    """Each commented number of the thirty-second example is the value of its line."""
    block = PYTHON[0]
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    claims = re.findall(r"^(?:\w+ = )?(specsim\.\S.*?)\s+# ([\d.]+)\b", block, re.M)
    assert len(claims) == 4
    for expression, claimed in claims:
        value = eval(expression, names)
        assert round(float(getattr(value, "value", value)), 4) == float(claimed)


def test_commented_numbers_are_the_library_s() -> None:
    """Those of the other blocks: each comment is made here from the values and must stand in the README."""
    names: dict[str, dict[str, Any]] = {}
    for title in ("Will it help?", "Several drafts", "Blocks and trees"):
        section = README.partition(f"## {title}\n")[2].partition("\n## ")[0]
        code = re.findall(r"```python\n(.*?)```", section, re.S)
        assert code
        for block in code:
            exec(compile(block, title, "exec"), names.setdefault(title, {}))
    time, drafts, blocks = names.values()

    def span(value: Any) -> str:
        return f"{value.value:.2f} [{value.low:.2f}, {value.high:.2f}]"

    p, q, toy = drafts["p"], drafts["q"], (blocks["p"], blocks["q"])
    schemes, chains = ("iid", "distinct", "without_replacement", "greedy"), ("tokenwise", "block", "greedy_block")
    trees, models = ("tokenwise", "traversal", "multipath_block", "lifted"), (blocks["target"], blocks["draft"])
    best = [specsim.optimal_acceptance(p, q, num_drafts=2, scheme=s) for s in schemes]
    tau = [specsim.expected_tokens(*toy, gamma=2, rule=r) for r in chains]
    two = specsim.trees.paths(2, 2)
    kept = [specsim.expected_kept(*models, rule=r, parents=two, scheme="paths") for r in trees]
    single = specsim.plan(time["times"], 0.8, contexts=[2048])[0]
    schedule = specsim.batch_schedule(time["times"], 0.8, max_batch=512, context=2048)
    one_half = sum(n * p for n, p in enumerate(time["law"]))
    alpha = specsim.convert_acceptance(0.65, kind="draft_rate", to="alpha", gamma=3)
    for said in (
        ", ".join(f"({plan.gamma}, {plan.speedup.value:.2f})" for plan in time["plans"]),
        f"{specsim.break_even_alpha(time['times'], gamma=4, context=2048):.2f}: below this acceptance",
        span(time["found"].speedup),
        f"{alpha:.2f}: an engine's 0.65",
        f"{specsim.convert_acceptance(0.8, kind='alpha', to='draft_rate', gamma=8):.2f}: the same drafts",
        ", ".join(f"{h:g}" for h in specsim.survival_hazards([0.8, 0.4, 0.1])) + ": rates by position",
        f"{one_half:.2f} drafts kept; acceptance 0.725 everywhere would keep "
        f"{specsim.convert_acceptance(0.725, kind='alpha', to='kept', gamma=8):.2f}",
        f"{span(single.speedup)}, at {single.gamma} drafts a block",
        f"{specsim.plan(time['times'], time['log'], contexts=[2048])[0].gamma} drafts a block, the most that this log",
        f"{schedule[0]}, {schedule[1]}, ..., {schedule[-1]}",
        f"{specsim.context_boundary(time['times'], 0.8, batch=512)}: S*(B)",
        f"{time['shapes'].tree.speedup:.2f}, {time['shapes'].chain.speedup:.2f}\ncosts",
        f"{max(specsim.pearl(0.8, gamma=g, **time['costs']).speedup for g in range(1, 17)):.2f}: drafts while",
        f"{time['best'].static.speedup:.2f}, {time['best'].speedup:.2f}: no controller",
        f"{time['answer'].mean_s:.2f}, {time['answer'].quantile(0.99):.2f} seconds",
        ", ".join(f"{v:.3g}" for v in best),
        f"{specsim.acceptance_rate(p, q, rule='optimal', num_drafts=2):.2f}: the sampler",
        ", ".join(f"{v:.2f}" for v in tau) + " tokens per target call",
        ", ".join(f"{v:.2f}" for v in kept),
        f"{specsim.path_optimum(*models, num_paths=2, gamma=2).value:.2f}: no verifier of two paths",
        f"{specsim.speed_of_light(models[0], nodes=16):.2f}: no tree of 16",
        f"{specsim.stationary_tau(*toy, rule='block', gamma=4):.2f}: the long run",
    ):
        assert said in README


@pytest.mark.parametrize("line", SHELL)
def test_shell_line_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two commands are what .ci/run executes, in fresh environments; the others run here, long ones cut short."""
    words = [word.removeprefix(".venv/bin/") for word in shlex.split(line, comments=True)]
    if line in COMMANDS and words[0] != "specsim-real":
        return
    if words[0] == "pytest":  # the options are real ones: collecting with them succeeds
        probe = [
            sys.executable,
            "-m",
            *words,
            "--collect-only",
            "-q",
            "-n0",
            "tests/house/test_architecture.py",
            "-p",
            "no:cacheprovider",
        ]
        assert subprocess.run(probe, cwd=ROOT, capture_output=True).returncode in (0, 5)  # 5: none is slow there
        return
    if words[0] == "python":
        assert (ROOT / words[1]).is_file()
        return
    monkeypatch.chdir(tmp_path)
    if words[1] == "train-pair":
        words = ["specsim-real", "train-pair", "--help"]
    if words[1:2] == ["compare"] and len(words) > 2:  # the pair that train-pair would have made
        words = [w.replace("runs/pair", str(real.TINY)) for w in words]
    if words[1:] == ["compare"]:  # the default is 50 M
        words += ["--widen", "10"]
    if words[1] == "compare":
        words += ["--count", "2", "--max-tokens", "6", "--gamma", "1-2"]
    if words[1] == "drafts":
        words += ["--rows", "3", "--samples", "2", "--num-drafts", "1-2", "--count", "2", "--max-tokens", "4"]
    if words[1] == "forced":
        words = ["specsim-real", "forced", "tiny", "tiny", "--turns", "1", *words[4:], "--gamma", "1-3"]
        words[words.index("128,1024")] = "32"
    words = ["10" if before == "--widen" else word for before, word in zip(["", *words], words, strict=False)]
    app = {"specsim-real": real.cli.app, "specsim": specsim.cli.app}[words[0]]
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.output


def test_tables_are_generated() -> None:
    assert refresh(README, "rules", rules_table()) == README
    for name in ("bundled", "widened", "forced", "drafts", "block", "trees"):
        record, recorded = RESULTS / f"{name}.json", PENDING
        if record.exists():
            recorded = markdown(json.loads(record.read_text()), f"real/results/{name}.png")
        assert refresh(README, name, recorded) == README
    assert refresh(README, "gpu", real.gpu.markdown(RESULTS / "gpu")) == README
    roofline = (ROOT / "tests" / "bench" / "roofline.txt").read_text().rstrip()
    assert refresh(README, "roofline", roofline) == README
    command = next(line for line in SHELL if "specsim plan" in line and "--batch" in line)
    said = CliRunner().invoke(specsim.cli.app, shlex.split(command)[1:])
    assert said.exit_code == 0
    assert refresh(README, "plan", f"```text\n{said.output}```") == README
    for name in ("engine", "optimal", "transport", "simulate"):
        path = ROOT / "tests" / "bench" / f"{name}.txt"
        assert refresh(README, name, f"```text\n{path.read_text()}```" if path.exists() else PENDING) == README


def test_recorded_run_covers_its_predictions() -> None:
    """99 % simultaneous interval of measured minus predicted tau covers 0 at gamma 1..8, 5,000 blocks or more each."""
    if not RECORD.exists():
        assert PENDING in README
        pytest.skip("no recorded run yet: README says so")  # a pass here would claim what nobody measured
    record = json.loads(RECORD.read_text())
    rows = record["pairs"]
    assert record["complete"] is True
    assert [row["gamma"] for row in rows] == list(range(1, 9))
    for row in rows:
        low, high = row["tau"]["difference_interval"]
        assert low <= 0 <= high
        assert row["target_calls"]["measured"] >= 5_000


def test_recorded_chain_rules_meet_their_predictions() -> None:
    """At gamma 1..16, tau of both rules and the gain: every interval, all at once at 99 %, holds the prediction."""
    if not (RESULTS / "block.json").exists():
        assert PENDING in README
        pytest.skip("no recorded run yet: README says so")
    record = json.loads((RESULTS / "block.json").read_text())
    assert (record["complete"], record["provenance"]["rule"]) == (True, "tokenwise,block")
    assert all([row["gamma"] for row in run["pairs"]] == list(range(1, 17)) for run in record["runs"])
    assert [gain["gamma"] for gain in record["gains"]] == list(range(1, 17))
    assert rules_report.missed(record) == []
    # The check can fail: a decoder that ran tokenwise under the name of block would have a gain of 0, known exactly.
    gains = [gain["tau"] for gain in record["gains"]]
    assert all(tau["predicted_interval"][0] > 1 for tau in gains[1:])
    predicted = [tau["predicted"] for tau in gains]
    assert predicted == sorted(predicted)


def test_the_run_that_missed_is_told() -> None:
    """What the README says of the run before the record, and of those that followed it up."""
    found = {
        name: json.loads((RESULTS / f"block-{name}.json").read_text())
        for name in ("seed1", "check-seed2", "check-seed3")
    }
    assert all(record["complete"] and f"real/results/block-{name}.json" in README for name, record in found.items())
    assert rules_report.missed(found["seed1"]) == ["block, gamma 6"]
    assert rules_report.missed(found["check-seed2"]) == rules_report.missed(found["check-seed3"]) == []
    shown = [record["provenance"]["command"] for record in found.values()]
    assert ["--seed 1 " in shown[0], "--seed 2 " in shown[1], "--seed 3 " in shown[2]] == [True] * 3
    assert all(row["gamma"] in (6, 10, 15) for run in found["check-seed2"]["runs"] for row in run["pairs"])


def test_recorded_overhead() -> None:
    """Outside the two models at most 15 % of a cycle, on the bundled pair at gamma 4."""
    row = next(r for r in json.loads(RECORD.read_text())["pairs"] if r["gamma"] == 4)
    assert row["cycle_s"]["outside_models"] <= 0.15


def test_recorded_baseline_is_honest() -> None:
    """On the bundled pair: plain decoding at least 1.3 times transformers', speculative at least 1.5 times."""
    path = ROOT / "tests" / "bench" / "engine.txt"
    if not path.exists():
        assert PENDING in README
        pytest.skip("no recorded run yet: README says so")
    bundled, _, widened = path.read_text().partition("Target widened to 100M parameters (cost emulation), bfloat16")
    assert "speculative, sampled" in widened
    faster = re.findall(r"^(plain|speculative), \w+ .*\] +([\d.]+) \[[\d., ]+\] +[\d.]+ ±", bundled, re.M)
    assert {what for what, _ in faster} == {"plain", "speculative"}
    for what, ratio in faster:
        assert float(ratio) >= {"plain": 1.3, "speculative": 1.5}[what]


def test_recorded_simulator() -> None:
    """At least 100 times the plain loop at V = 64 and 1,024, and two million tokens a second at V = 64."""
    small, large = (ROOT / "tests" / "bench" / "simulate.txt").read_text().split("\nV = ")[1:]
    for part, goal in ((small, 2e6), (large, 0)):
        rows = re.findall(r"^(?:numpy|jax) +([\d,]+) +([\d.]+)x", part, re.M)
        assert len(rows) == 2
        assert max(float(ratio) for _, ratio in rows) >= 100
        assert max(float(rate.replace(",", "")) for rate, _ in rows) >= goal


@pytest.mark.parametrize(("name", "goal"), [("widened", 0.05), ("forced", 0.05)])
def test_recorded_predictions_of_speedup(name: str, goal: float) -> None:
    """Median absolute error of predicted speedup at gamma 1..8, from timings at gamma 1..3 only or at every gamma."""
    if not (RESULTS / f"{name}.json").exists():
        assert PENDING in README
        pytest.skip("no recorded run yet: README says so")
    record = json.loads((RESULTS / f"{name}.json").read_text())
    assert record["complete"] is True
    what = record["provenance"]
    assert (what["dtype"], what["threads"]) == ("bfloat16", 1)
    every = what["calibrated"] == list(range(1, 9))
    assert every or what["calibrated"] == [1, 2, 3]
    assert what["target"] == "100m" if name == "forced" else what["widened_to_millions"] >= 100
    runs = [r["rows"] for r in record["runs"]] if name == "forced" else [record["pairs"]]
    assert all([row["gamma"] for row in rows] == list(range(1, 9)) for rows in runs)
    if name == "forced":
        assert {(r["batch"], r["context"]) for r in record["runs"]} == {(1, 128), (1, 1024), (4, 128), (4, 1024)}
    errors = [abs(row["speedup"]["predicted"] / row["speedup"]["measured"] - 1) for rows in runs for row in rows]
    assert statistics.median(errors) <= (0.03 if every else goal)
    assert max(errors) <= (0.06 if every else 1)


def test_no_table_without_markers() -> None:
    with pytest.raises(ValueError, match="<!-- rules: begin"):
        refresh("nothing here", "rules", "table")


def test_ci_runs_the_two_commands() -> None:
    assert len(COMMANDS) == 4
    script = (ROOT / ".ci" / "run").read_text()
    assert "for part in main tests" in script
    assert '"$(.ci/readme "$part")"' in script


def test_constraints_are_exact() -> None:
    """Every line pins one name to one version: pip refuses anything else, and a path would bind it to a machine."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pin = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+")
    assert len(lines) > 50
    assert all(pin.fullmatch(line) for line in lines)
    assert not pin.fullmatch("-e /some/clone")


def test_distinct_drafts_are_as_good_as_claimed() -> None:
    """At equal expected numbers of distinct tokens: near the optimum without replacement, far above rejection."""
    record = json.loads((RESULTS / "drafts.json").read_text())
    gains, off = [], []
    for group in record["runs"]:
        for k in drafts_report.COMPARED:
            without = "without_replacement"
            keys = ("optimal", "distinct"), ("", without), ("recursive_wor", without)
            ours, best, rejection = (drafts_report.point(group, *key, k) for key in keys)
            off.append(ours["value"] - best["value"])
            gains.append(ours["value"] - rejection["value"])
            assert gains[-1] > rejection["error"]
    low, high = (round(100 * gain) for gain in (min(gains), max(gains)))
    assert min(off) < 0 < max(off)
    said = " ".join(README.split())
    assert f"within {100 * max(abs(v) for v in off):.1f} points of the *optimum* without replacement" in said
    assert f"and {low} to {high} points above recursive rejection" in said


def test_recorded_optimal_rule_is_fast() -> None:
    """On rows without zeros: prepare at most 4 argsorts, one verify at most 5 % of one, binned prepare at most 2."""
    text = (ROOT / "tests" / "bench" / "optimal.txt").read_text()
    lines = [line.split() for line in text.splitlines() if re.match(r"(dirichlet|softmax)", line)]
    assert len(lines) == 8
    for line in lines:
        prepare, binned = (float(v[:-1]) for v in line if re.fullmatch(r"\d+\.\d\dx", v))
        share = float(next(v for v in line if v.endswith("%"))[:-1])
        assert (prepare <= 4, binned <= 2, share <= 5) == (True, True, True)


def test_benchmark_claim_is_the_recorded_one() -> None:
    lines = (ROOT / "tests" / "bench" / "bounds.txt").read_text().splitlines()
    ratios = [float(line.split()[-1]) for line in lines if " 152000 " in line and "loop" not in line]
    assert len(ratios) == 4
    assert f"it took at most {max(ratios):.2f} times one `np.argsort`" in README


def test_trees_at_equal_budgets_say_what_is_claimed() -> None:
    record = json.loads((RESULTS / "trees.json").read_text())
    columns = [(run, n) for run in record["runs"] for n in trees_report.budgets(record)]

    def tau(column: tuple[Any, int], topology: str, rule: str) -> float:
        return float(trees_report.row_of(column[0], topology, rule, column[1])["tau"])

    def more(topology: str, rule: str, than: str, trees: str = "") -> list[float]:
        return [100 * (tau(c, topology, rule) / tau(c, trees or topology, than) - 1) for c in columns]

    wor, greedy = "tokenwise, recursive_wor", "greedy_draft"
    gains = [
        *(gain for trees in ("RSD-C", "RSD-S", "Sequoia") for gain in more(trees, "traversal", wor)),
        *more("chain", "traversal", "tokenwise"),
        *more("i.i.d. paths", "traversal", "tokenwise, recursive"),
        *more("k-ary, i.i.d.", "lifted, optimal", "tokenwise, optimal"),
        *more("Sequoia, greedy", f"lifted, {greedy}", f"tokenwise, {greedy}"),
    ]
    assert min(gains) > 0
    paths = more("i.i.d. paths", "lifted, optimal", "multipath_block")
    distinct = more("k-ary, distinct", "lifted, optimal", "lifted, optimal", "i.i.d. paths")
    worst = columns[distinct.index(min(distinct))]
    nodes = (
        float(trees_report.row_of(worst[0], trees, "lifted, optimal", worst[1])["nodes"])
        for trees in ("k-ary, distinct", "i.i.d. paths")
    )
    fewer = 100 * (1 - next(nodes) / next(nodes))
    leads = [("i.i.d. paths", "lifted, optimal") in leading(c) for c in columns]
    best = [max(row["tau"] for row in trees_report.leading(*c)) for c in columns]
    eagle = [100 * tau(c, "EAGLE-2", "target_only") / most for c, most in zip(columns, best, strict=True)]
    trigrams = [c for c in columns if c[0]["name"].startswith("trigrams")]
    assert all(("chain", "traversal") in leading(c) for c in trigrams if c[1] <= 16)
    assert all(tau(c, trees_report.ORACLE, "target_only") < tau(c, "chain", "traversal") / 2 for c in trigrams)
    said = " ".join(README.split())
    for words in (
        f"by {statistics.median(gains):.0f} % in the median and at most {max(gains):.0f} %",
        f"in {sum(leads)} of the {len(leads)} columns, {min(paths):.0f} to {max(paths):.0f} % above `multipath_block`",
        f"({min(distinct):+.0f} to {max(distinct):+.0f} %; at {min(distinct):+.0f} % with {fewer:.0f} % fewer nodes)",
        f"{min(eagle):.0f} to {max(eagle):.0f} % of the largest",
    ):
        assert words in said, words


def leading(column: tuple[Any, int]) -> list[tuple[str, str]]:
    return [(row["topology"], row["rule"]) for row in trees_report.leading(*column)]
