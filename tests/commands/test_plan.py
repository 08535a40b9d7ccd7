"""`specsim plan`: its answer is the library's, it says what it rests on, engines get what recomputes to our tau."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from itertools import accumulate, pairwise
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

import specsim
from specsim import latency
from specsim.claims import rows as published
from specsim.claims import score as validation
from specsim.cli import app
from specsim.commands.plan import answer, read
from specsim.commands.plan.emit import METHODS, bounds, emit
from specsim.commands.plan.sentence import Facts, sentence
from specsim.lengths.blocks import text_survival
from specsim.lengths.hazards import HazardEstimate
from specsim.verify.lookup import chain_rule

PAIR = "--target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm --tp 4 --overhead 0"
SMALL = "--target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --overhead 0"
TIMES = specsim.roofline("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", tensor_parallel=4)
COUNTS = [210, 190, 150, 130, 320]


def run(words: str, code: int = 0) -> str:
    found = CliRunner().invoke(app, ["plan", *shlex.split(words)])
    assert found.exit_code == code, found.output
    return found.stdout if code == 0 else found.stderr


def as_json(words: str) -> dict[str, Any]:
    return json.loads(run(f"{words} --json"))


def test_the_answer_is_the_library_s() -> None:
    found = as_json(f"{PAIR} --alpha 0.8 --batch 1,8,256 --context 1k,32k")
    ours = specsim.plan(TIMES, 0.8, batches=[1, 8, 256], contexts=[1024, 32768])
    for shown, one in zip(found["points"], ours, strict=True):
        assert (shown["gamma"], shown["batch"], shown["context"]) == (one.gamma, one.batch, one.context)
        assert shown["speedup"] == one.speedup._asdict()
    assert [c["value"] for c in found["curve"]] == [
        specsim.predict(TIMES, 0.8, gamma=g, context=1024).speedup.value for g in range(17)
    ]
    assert found["break_even"] == specsim.break_even_alpha(TIMES, gamma=6, context=1024)
    assert found["boundaries"] == [
        {"batch": b, "from_context": specsim.context_boundary(TIMES, 0.8, batch=b)} for b in (1, 8, 256)
    ]
    best = ours[0]
    assert best.speedup.low is not None
    assert found["sentence"].startswith(
        f"Yes: with {best.gamma} drafts a block decoding is {best.speedup.value:.2f} [{best.speedup.low:.2f}, "
    )
    assert found["sentence"].endswith(" At 1 of the 6 points it does not help.")
    assert found["assumptions"][1:] == list(best.assumptions[1:])


def test_the_sentence_comes_first_and_every_assumption_is_printed() -> None:
    words = f"{PAIR} --alpha 0.8 --batch 1,8,256 --context 1k,32k"
    shown, found = run(words).splitlines(), as_json(words)
    assert shown[0] == found["sentence"]
    assert shown[-len(found["assumptions"]) :] == [f"- {said}" for said in found["assumptions"]]
    assert shown[-len(found["assumptions"]) - 1].startswith("everything above is predicted; ")
    assert shown[3].startswith("-----  -------  -----")
    as_markdown = run(f"{words} --markdown").splitlines()
    assert as_markdown[3] == "| ---: " * 8 + "| ---: |"
    assert [[cell.strip() for cell in line.split("|")[1:4]] for line in as_markdown[4:10]] == [
        line.split()[:3] for line in shown[4:10]
    ]
    rows = [line.split() for line in shown[4:10]]
    assert [(r[0], r[1], r[2]) for r in rows] == [
        (str(p["batch"]), str(p["context"]), str(p["gamma"] or "off")) for p in found["points"]
    ]


def test_yes_no_and_perhaps() -> None:
    assert as_json(f"{SMALL} --alpha 0.28")["helps"] == "perhaps"  # the interval holds 1
    no = as_json(f"{SMALL} --alpha 0.15")
    assert (no["helps"], no["doubts"]) == ("no", [])
    assert no["sentence"].startswith("No: with 1 draft a block decoding is 0.9")
    assert as_json(f"{SMALL} --alpha 0.7 --batch 512,1 --context 0")["sentence"].endswith(
        " At 1 of the 2 points it helps."
    )
    least = specsim.break_even_alpha(
        specsim.roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm"), gamma=1, context=1024
    )
    assert no["sentence"].endswith(f"it pays above an acceptance of {least:.2f}.")
    assert as_json("0.5 --cost-ratio 3")["sentence"].endswith("it would not at any acceptance.")


def test_costs_as_numbers() -> None:
    for words in ("0.8 --cost-ratio 0.05 --overhead 0.1", "--alpha 0.8 --cost-ratio 0.05 --overhead 0.1 --batch 1,8"):
        found = as_json(words)
        best = specsim.optimal_gamma(0.8, cost_ratio=0.05, overhead=0.1, max_gamma=16)
        assert [point["gamma"] for point in found["points"]] == [best.gamma]
        assert [c["value"] for c in found["curve"]] == pytest.approx(best.curve)
        assert found["boundaries"] == []
    assert len(as_json("0.8 --cost-ratio 0 --max-gamma 3")["curve"]) == 4


def test_a_curve_for_verification() -> None:
    curve = [1, 1.05, 1.1, 1.3, 1.6]
    found = as_json(f"0.8 --cost-ratio 0.05 --verify-cost {','.join(map(str, curve))}")
    best = specsim.optimal_gamma(0.8, cost_ratio=0.05, verify_cost=curve)
    assert (found["points"][0]["gamma"], len(found["curve"])) == (best.gamma, 5)
    assert [c["value"] for c in found["curve"]] == pytest.approx(best.curve)
    assert "the given t(m)" in found["assumptions"]
    plain = as_json("0.8 --cost-ratio 0.05 --max-gamma 4")
    assert found["points"][0]["speedup"]["value"] < plain["points"][0]["speedup"]["value"]


def test_trees_where_siblings_are_known() -> None:
    words = f"{PAIR} --ranks 0.7,0.12,0.05 --batch 1,256"
    found = as_json(words)
    chains = as_json(f"{PAIR} --alpha 0.7 --batch 1,256")
    assert chains["trees"] == []
    for one in (found, chains):  # what the acceptance rests on is another thing
        for point in one["points"]:
            assert point["assumptions"].pop(0) == one["assumptions"][0]
    for name in ("points", "curve", "doubts"):  # a chain is kept as its first rank is
        assert found[name] == chains[name]
    for tree, chain in zip(found["trees"], found["points"], strict=True):
        best = specsim.fastest_shapes(TIMES, [0.7, 0.12, 0.05], nodes=64, batch=chain["batch"], context=1024).tree
        assert tree["parents"] == best.parents.tolist()
        assert (tree["tau"], tree["speedup"]["value"]) == (best.value, best.speedup)
        assert tree["tau"] == pytest.approx(float(specsim.tree_value(best.parents, [0.7, 0.12, 0.05])))
        assert tree["speedup"]["value"] >= chain["speedup"]["value"] - 1e-12
    first, large = found["trees"]
    ratio = found["points"][0]["speedup"]["low"] / found["points"][0]["speedup"]["value"]
    assert first["speedup"]["low"] == pytest.approx(ratio * first["speedup"]["value"])  # the same error of a cycle
    assert f"with a tree of {len(first['parents'])} nodes it is {first['speedup']['value']:.2f} [" in found["sentence"]
    assert (large["parents"], large["levels"], large["speedup"]["low"]) == ([], 0, 1.0)
    assert found["assumptions"][-1] == "trees have 64 nodes at most, a level is drafted in one step"
    depth = [0]
    for parent in first["parents"]:
        depth.append(depth[parent + 1] + 1)
    assert first["levels"] == max(depth)
    assert "speedup of the best tree" in run(words)
    flat = as_json("--ranks 0.7,0.12 --cost-ratio 0.1")["trees"][0]
    assert flat["speedup"]["low"] is None


def test_a_tree_may_help_where_no_chain_does() -> None:
    """A slow draft whose first rank is poor; by hand, what the tree's verdict and doubts rest on."""
    found = as_json("--ranks 0.3,0.25,0.2,0.15 --cost-ratio 0.4")
    tree = found["trees"][0]
    nodes, speed = len(tree["parents"]), tree["speedup"]["value"]
    assert (found["points"][0]["gamma"], found["helps"]) == (0, "yes")
    assert found["sentence"].startswith(f"Yes: with a tree of {nodes} nodes decoding is {speed:.2f} times as fast")
    assert "; with 1 draft a block it is 0.93, and no other length does better; of what" in found["sentence"]
    assert "does not help" not in found["sentence"]
    cycle = 0.4 * tree["levels"] + 1
    lower = float(specsim.tree_value(tree["parents"], np.array([0.3, 0.25, 0.2, 0.15]) * (0.8 / 0.9)))
    by_hand = {
        "the acceptance": lower / cycle,
        "the draft's speed": tree["tau"] / (cycle + 0.2 * tree["levels"]),
        "the price of verifying": tree["tau"] / (cycle + 0.25),
        "other work": tree["tau"] / (cycle + 0.1),
    }
    assert {d["assumption"]: d["speedup"] for d in found["doubts"]} == pytest.approx(by_hand)
    never = as_json("--ranks 0.3,0.1 --cost-ratio 3")
    assert (never["helps"], never["trees"][0]["parents"]) == ("no", [])
    assert "tree of" not in never["sentence"]
    assert "no other length and no tree does better; " in never["sentence"]


def test_without_an_interval_a_doubt_is_enough() -> None:
    assert as_json("0.3 --cost-ratio 0.25")["helps"] == "perhaps"
    assert as_json("0.8 --cost-ratio 0.05")["helps"] == "yes"
    experts = as_json("--target mixtral-8x7b --draft llama-3.2-1b --hardware h100-sxm --tp 2 --alpha 0.8")
    assert (experts["points"][0]["speedup"]["low"], experts["points"][0]["gamma"] > 0) == (None, True)
    assert experts["doubts"][0]["speedup"] < 1
    assert experts["helps"] == "perhaps"


def test_the_longest_draft_is_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    path.write_text(json.dumps({"drafted": 4, "counts": COUNTS}))
    for words, note in (
        (
            f"--histogram {path}",
            "4 drafts are the most that the acceptance given speaks of: longer blocks may be faster",
        ),
        (
            f"--histogram {path} --max-gamma 3",
            "3 drafts are the most tried (--max-gamma, --verify-cost): longer blocks may be faster",
        ),
        ("0.8 --max-gamma 8", "8 drafts are the most tried (--max-gamma, --verify-cost): longer blocks may be faster"),
    ):
        assert as_json(f"{words} --cost-ratio 0.05")["notes"] == [note]
    assert as_json("0.8 --cost-ratio 0.05 --max-gamma 9")["notes"] == []


def test_what_costs_as_numbers_leave_out_is_said() -> None:
    found = as_json("0.8 --cost-ratio 0.05 --batch 1,8 --context 1k,2k")
    assert found["notes"] == ["the costs given are the same at every batch and context: one point says all"]
    assert "costs are as declared, their error in no interval" in found["assumptions"]


def test_a_record_holds_what_was_asked() -> None:
    asked = as_json(f"{PAIR} --alpha 0.8 --batch 1,8 --context 2k --overhead 0.5")["asked"]
    assert (asked["target"], asked["draft"], asked["hardware"]) == ("llama-3.1-70b", "llama-3.2-1b", "h100-sxm")
    assert (asked["tp"], asked["draft_tp"], asked["dtype"], asked["overhead"]) == (4, 1, "bf16", 0.5)
    assert (asked["batch"], asked["context"], asked["max_gamma"]) == ([1, 8], [2048], 16)
    asked = as_json("0.8 --cost-ratio 0.1 --verify-cost 1,1.1,1.2")["asked"]
    assert (asked["cost_ratio"], asked["verify_cost"], asked["target"]) == (0.1, [1.0, 1.1, 1.2], None)


def test_the_level_is_the_one_asked_for() -> None:
    assert as_json(f"{PAIR} --alpha 0.8 --level 0.9")["level"] == 0.9
    assert "speedup, 99.9%" in run(f"{PAIR} --alpha 0.8 --level 0.999")


def test_vllm_gets_a_folder_not_a_file(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
              "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    for path in (tmp_path, tmp_path / "config.json"):
        words = f"--target llama-3.1-8b --draft {path} --hardware h100-sxm --alpha 0.8 --emit vllm"
        assert json.loads(run(words))["model"] == str(tmp_path)
        assert "hub id" not in CliRunner().invoke(app, ["plan", *shlex.split(words)]).stderr
    named = CliRunner().invoke(app, ["plan", *shlex.split(f"{SMALL} --alpha 0.8 --emit vllm")]).stderr
    assert "write the draft's folder or hub id for" in named


def test_what_if_an_assumption_fails() -> None:
    """By hand, for c = 0.1 and no overhead; the worst first."""
    found = as_json("0.8 --cost-ratio 0.1")
    gamma = found["points"][0]["gamma"]
    tau, lower = (float(specsim.block_efficiency(a, gamma=gamma)) for a in (0.8, 0.7))
    by_hand = {
        "the acceptance": lower / (gamma * 0.1 + 1),
        "the draft's speed": tau / (gamma * 0.15 + 1),
        "the price of verifying": tau / (gamma * 0.1 + 1.25),
        "other work": tau / (gamma * 0.1 + 1.1),
    }
    assert {d["assumption"]: d["speedup"] for d in found["doubts"]} == pytest.approx(by_hand)
    assert found["doubts"][0]["speedup"] == pytest.approx(min(by_hand.values()))
    assert f"{found['doubts'][0]['assumption']} matters most" in found["sentence"]


def test_the_overhead_tried_is_the_one_that_validation_fits() -> None:
    fitted = validation.validate(published.shipped(), fit=["magicdec-001", "magicdec-007", "magicdec-014"]).overheads
    assert [round(value, 1) for value, _ in fitted.values()] == [1e3 * answer.OVERHEAD_S]


def test_what_does_not_fit_is_said() -> None:
    notes = as_json("--target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm --alpha 0.8 --batch 1,64")["notes"]
    assert notes[0] == "batch 1, context 1024 does not fit: weights and caches take at least 142 GB of 80"
    for words in (PAIR, "--target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm --dtype fp8"):
        assert not [note for note in as_json(f"{words} --alpha 0.8")["notes"] if "fit" in note]


def test_pairs_and_devices_that_do_not_go_together_are_said() -> None:
    assert as_json(f"{PAIR} --alpha 0.8")["notes"] == []
    found = as_json("--target llama-3.1-70b --draft qwen2.5-0.5b --hardware h100-sxm --tp 4 --alpha 0.8")["notes"]
    assert len(found) == 1
    assert found[0].startswith("Llama-3.1-70B has 128256 tokens and Qwen2.5-0.5B 151936: a draft needs the target's")
    found = as_json(f"{PAIR} --tp 3 --draft-tp 3 --alpha 0.8")["notes"]
    assert found == [
        "Llama-3.1-70B has 64 heads, which 3 devices cannot share equally",
        "Llama-3.2-1B has 32 heads, which 3 devices cannot share equally",
    ]


def test_a_config_stands_for_a_model(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
              "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    named = as_json(f"{SMALL} --alpha 0.7")["points"][0]
    for path in (tmp_path, tmp_path / "config.json"):
        words = f"--target llama-3.1-8b --draft {path} --hardware h100-sxm --alpha 0.7"
        assert as_json(words)["points"][0]["draft"] == pytest.approx(named["draft"], rel=1e-3)


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = io.StringIO()
    table = csv.DictWriter(text, rows[0])
    table.writeheader()
    table.writerows(rows)
    path.write_text(text.getvalue())
    return path


def test_hazards_and_histograms(tmp_path: Path) -> None:
    curve = [0.9, 0.7, 0.4]
    exact = written(tmp_path / "a.csv", [{"position": i, "hazard": h} for i, h in enumerate(curve, 1)])
    assert as_json(f"--cost-ratio 0 --hazards {exact}")["points"][0]["tau"]["value"] == pytest.approx(
        float(specsim.block_efficiency(curve))
    )
    log = specsim.estimate_hazards(range(5), 4, counts=COUNTS)
    table = [{"position": i + 1, "tried": log.tried[i], "kept": log.kept[i]} for i in range(4)]
    histogram = tmp_path / "h.json"
    histogram.write_text(json.dumps({"drafted": 4, "counts": COUNTS}))
    ours = specsim.plan(TIMES, log, contexts=[1024])[0]
    for words in (f"--histogram {histogram}", f"--hazards {written(tmp_path / 'b.csv', table)}"):
        found = as_json(f"{PAIR} {words}")
        assert found["points"][0]["tau"] == ours.tau._asdict()
        assert found["points"][0]["speedup"] == ours.speedup._asdict()
        assert "counted in" in found["assumptions"][0]
    # Blocks of different lengths: what was cut short at its second draft counts there, and not at the third.
    mixed = specsim.estimate_hazards([0, 1, 2, 2, 3], [3, 2, 2, 3, 3], counts=[5, 4, 3, 2, 1])
    table = [{"position": i + 1, "tried": mixed.tried[i], "kept": mixed.kept[i]} for i in range(3)]
    again = read.read_hazards(written(tmp_path / "c.csv", table)).counted(3)
    for name in ("hazards", "intervals", "tried", "kept"):
        assert getattr(again, name).tolist() == getattr(mixed, name).tolist()
    histogram.write_text(
        json.dumps({"accepted": [0, 1, 2, 2, 3], "drafted": [3, 2, 2, 3, 3], "counts": [5, 4, 3, 2, 1]})
    )
    assert read.read_histogram(histogram).hazards(3) == mixed.hazards.tolist()


def texts(rng: np.random.Generator, lengths: list[int]) -> dict[str, np.ndarray]:
    """Laws that are good and poor by turns, and tokens drawn from the target."""
    n = sum(lengths)
    p = rng.dirichlet(np.full(4, 0.5), n)
    poor = (np.arange(n) // 12 % 2)[:, None]
    q = np.where(poor, p[:, ::-1], 0.95 * p + 0.05 / 4)
    tokens = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return {"p": p, "q": q, "tokens": tokens, "lengths": np.array(lengths)}


def test_rows_with_their_tokens_follow_the_renewal_law(tmp_path: Path) -> None:
    held = texts(np.random.default_rng(1), [300, 500])
    save_file(held, tmp_path / "r.safetensors")
    given = read.read_rows(tmp_path / "r.safetensors")
    ratio = np.take_along_axis(held["q"] / held["p"], held["tokens"][:, None], 1)[:, 0]
    for gamma in (1, 4):
        parts = [
            specsim.renewal(text_survival(chain_rule("tokenwise").survival, r, gamma)) for r in np.split(ratio, [300])
        ]
        pooled = given.counted(gamma)
        assert isinstance(pooled, HazardEstimate)
        hazards = pooled.hazards
        assert hazards == pytest.approx(sum(r.hazards * r.tried for r in parts) / sum(r.tried for r in parts))
        exact = 800 / sum(r.blocks for r in parts)  # but for the ends of texts, which hazards leave out
        assert float(specsim.block_efficiency(hazards)) == pytest.approx(exact, rel=0.01)
    mean = float(np.minimum(held["p"], held["q"]).sum(axis=1).mean())
    assert mean > given.hazards(1)[0] + 0.02  # blocks start where drafts are poor: the mean over positions misleads
    point = as_json(f"--cost-ratio 0.1 --rows {tmp_path / 'r.safetensors'}")
    best = given.counted(point["points"][0]["gamma"])
    assert isinstance(best, HazardEstimate)
    tau = point["points"][0]["tau"]
    assert tau["value"] == pytest.approx(float(specsim.block_efficiency(best.hazards)))
    assert tau["high"] - tau["value"] == pytest.approx(1.96 * best.tau(point["points"][0]["gamma"])[1], rel=1e-3)
    assert point["assumptions"][0].endswith("an independent sample of texts; so few that the error is uncertain")
    one = {name: value for name, value in held.items() if name != "lengths"}
    save_file(one, tmp_path / "one.safetensors")
    alone = as_json(f"--cost-ratio 0.1 --rows {tmp_path / 'one.safetensors'}")
    assert alone["points"][0]["tau"]["low"] == alone["points"][0]["tau"]["value"]
    assert alone["assumptions"][0].endswith("of one text, so its error is not known")
    del held["tokens"]
    save_file(held, tmp_path / "r.safetensors")
    assert read.read_rows(tmp_path / "r.safetensors").hazards(1) == [pytest.approx(mean)]


def tau_of(engine: str, text: str) -> float:
    """Tokens per target call as the engine would work them out from its options."""
    if engine == "vllm-synthetic":
        config = json.loads(text)
        rates = config["synthetic_acceptance_rates"]
        assert len(rates) == config["num_speculative_tokens"]
        assert config["rejection_sample_method"] == "synthetic"
        check_schedule(config)
    else:
        words = text.split()
        names, length = words[::2], int(words[1])
        if engine == "aiconfigurator":
            assert names == ["--nextn", "--nextn-accepted"]
            assert 0 <= float(words[3]) <= length <= 5
            return 1 + float(words[3])
        assert names == ["--spec-draft-n-max", "--spec-synth-rates"]
        rates = [float(rate) for rate in words[3].split(",")]
        assert len(rates) == length
    assert all(0 <= rate <= 1 for rate in rates)
    assert all(b <= a for a, b in pairwise(rates))
    return 1 + sum(rates)


def check_schedule(config: dict[str, Any]) -> None:
    schedule = config["num_speculative_tokens_per_batch_size"]
    assert schedule[0][0] == 1
    assert all(b[0] == a[1] + 1 for a, b in pairwise(schedule))
    assert all(0 <= k <= config["num_speculative_tokens"] and first <= last for first, last, k in schedule)


LOG = specsim.estimate_hazards(range(5), 4, counts=COUNTS)


@pytest.mark.parametrize("engine", ["vllm-synthetic", "llamacpp-synthetic", "aiconfigurator"])
@pytest.mark.parametrize(
    "acceptance",
    [0.8, [0.9, 1 / 3, 0.7, 1.0], LOG, lambda g: [0.9 - 0.1 / g] * g],
    ids=["number", "hazards", "log", "function"],
)
def test_what_engines_get_is_our_tau(engine: str, acceptance: Any) -> None:
    given = acceptance(4) if callable(acceptance) else acceptance
    ours = specsim.predict(latency.constant(0.1), given, gamma=4).tau.value
    text = emit(engine, [(1, 8, 4), (9, 64, 1), (65, 128, 0)], acceptance, draft="small")
    assert tau_of(engine, text) == pytest.approx(ours, abs=1e-5)


def test_the_tau_check_can_fail() -> None:
    """Conditional rates where unconditional ones are due, tau where the drafts kept are: mistakes that were made."""
    hazards = [0.9, 0.8, 0.7]
    ours = 1 + sum(accumulate(hazards, mul))
    wrong = f"--spec-draft-n-max 3 --spec-synth-rates {','.join(map(str, hazards))}"
    assert tau_of("llamacpp-synthetic", wrong) > ours + 0.2
    low = [0.5, 0.4, 0.3]
    ours = 1 + sum(accumulate(low, mul))
    assert emit("aiconfigurator", [(1, 1, 3)], low, draft="small") == f"--nextn 3 --nextn-accepted {ours - 1:.6g}"
    assert tau_of("aiconfigurator", f"--nextn 3 --nextn-accepted {ours:.6g}") == pytest.approx(ours + 1)


def test_emitted_by_the_command() -> None:
    words = f"{PAIR} --alpha 0.8 --batch 64,256 --context 2k"
    both = specsim.roofline("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", tensor_parallel=4, draft_tensor_parallel=4)
    config = json.loads(run(f"{words} --draft-tp 4 --emit vllm"))
    ours = specsim.batch_schedule(both, 0.8, max_batch=256, context=2048)
    assert config["num_speculative_tokens_per_batch_size"] == [list(entry) for entry in ours]
    assert (config["method"], config["model"]) == ("draft_model", "llama-3.2-1b")
    best = specsim.plan(TIMES, 0.8, batches=[64], contexts=[2048])[0]
    for engine in ("llamacpp-synthetic", "aiconfigurator"):
        text = run(f"{words} --emit {engine}")
        assert int(text.split()[1]) == best.gamma
        assert tau_of(engine, text) == pytest.approx(best.tau.value, abs=1e-5)
    notes = CliRunner().invoke(app, ["plan", *shlex.split(f"{words} --draft-tp 4 --emit vllm")]).stderr
    assert notes.startswith("predicted for context 2048 and batches up to 256")
    assert notes.splitlines()[-len(both.assumptions) :] == [f"- {said}" for said in both.assumptions]
    assert "WARNING" not in notes
    assert "tested with EAGLE heads alone" in notes


SERVED = "vllm", "sglang", "llamacpp"


@pytest.mark.parametrize("engine", SERVED)
@pytest.mark.parametrize("method", list(METHODS))
def test_what_is_served_accepts_for_real(engine: str, method: str) -> None:
    """Nothing that an engine is given by default forces its acceptance; the method and the tokens are there."""
    schedule = [(1, 8, 4), (9, 64, 1), (65, 128, 0)]
    if (method, engine) in {("ngram", "sglang"), ("ngram", "llamacpp"), ("eagle", "llamacpp")}:
        with pytest.raises(ValueError, match="nothing is emitted"):
            emit(engine, schedule, 0.8, draft="a b", method=method)
        return
    text = emit(engine, schedule, 0.8, draft="a b", method=method)
    assert "synth" not in text
    if engine == "vllm":
        config = json.loads(text)
        assert config["num_speculative_tokens"] == 4
        assert ("model" in config) is (method not in ("mtp", "ngram"))
        assert config["method"] == {"model": "draft_model"}.get(method, method)
        check_schedule(config)
        alone = json.loads(emit(engine, [(1, 8, 4)], 0.8, draft="a b", method=method))
        assert "num_speculative_tokens_per_batch_size" not in alone
        return
    words = shlex.split(text)
    options = dict(zip(words[::2], words[1::2], strict=True))
    named = {"sglang": "--speculative-draft-model-path", "llamacpp": "--model-draft"}[engine]
    assert options.pop(named, None) == (None if method == "mtp" else "a b")
    if engine == "sglang":
        assert options.pop("--speculative-algorithm") == {
            "model": "STANDALONE", "eagle": "EAGLE", "eagle3": "EAGLE3", "mtp": "EAGLE"
        }[method]  # fmt: skip
        assert options == {"--speculative-num-steps": "4", "--speculative-eagle-topk": "1",
                           "--speculative-num-draft-tokens": "5"}  # fmt: skip
    else:
        assert options.pop("--spec-type").startswith("draft-")
        assert options == {"--spec-draft-n-max": "4", "--spec-draft-p-min": "0"}


def test_forced_acceptance_is_asked_for_and_warned_of() -> None:
    words = f"{SMALL} --alpha 0.8 --emit"
    for engine in ("vllm", "llamacpp"):
        real, forced = (
            CliRunner().invoke(app, ["plan", *shlex.split(f"{words} {engine}{end}")]) for end in ("", "-synthetic")
        )
        assert ("synth" in real.stdout, "WARNING" in real.stderr) == (False, False)
        assert ("synth" in forced.stdout, "WARNING" in forced.stderr) == (True, True)
        assert "for benchmarks only" in forced.stderr


def test_a_tree_is_emitted_by_its_bounds() -> None:
    words = f"{SMALL} --ranks 0.6,0.2,0.1"
    tree = as_json(words)["trees"][0]
    found = tree["bounds"]
    assert (found["steps"], found["tokens"]) == (tree["levels"], len(tree["parents"]) + 1)
    children = [tree["parents"].count(node) for node in range(-1, len(tree["parents"]))]
    assert found["top_k"] >= max(children)
    assert found["top_k"] + (found["steps"] - 1) * found["top_k"] ** 2 >= len(tree["parents"])
    options = run(f"{words} --emit sglang").split()
    assert options[-6:] == [
        "--speculative-num-steps", str(found["steps"]), "--speculative-eagle-topk", str(found["top_k"]),
        "--speculative-num-draft-tokens", str(found["tokens"]),
    ]  # fmt: skip
    assert f"{found['steps']}, {found['top_k']}, {found['tokens']}" in run(words)
    assert bounds([-1, 0, 0, 0, 1, 2, 3]).top_k == 3  # as many children as a node has
    assert bounds([-1] * 2 + [0, 0, 1, 1, 2, 3, 4, 5, 2, 3]) == (3, 3, 13)  # two of each would not hold twelve nodes


def test_the_command_loads_no_framework() -> None:
    code = f"""
import sys
from typer.testing import CliRunner
from specsim.cli import app
assert CliRunner().invoke(app, {["plan", *shlex.split(PAIR), "--alpha", "0.8"]!r}).exit_code == 0
print(*sorted({{m.partition(".")[0] for m in sys.modules}}))
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not {"jax", "torch", "scipy", "matplotlib", "cvxpy", "safetensors"} & set(loaded)


BAD: list[tuple[str, str]] = [
    ("--target lama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm --alpha 0.8",
     "model 'lama-3.1-70b' is unknown; near names: Llama-3.1-70B"),
    ("--target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxn --alpha 0.8", "'h100-sxn' is unknown; near"),
    ("--target llama-3.1-70b --draft llama-3.2-1b --hardware h100 --alpha 0.8", "hardware 'h100' could be H100-SXM5"),
    ("--target llama-3.1-70b --alpha 0.8", "--draft and --hardware missing; give all three, or --cost-ratio alone"),
    (f"{SMALL} --alpha 0.8 --cost-ratio 0.1", "--cost-ratio stands instead of --target"),
    (f"{SMALL} --alpha 0.8 --tp 0", "tensor_parallel must be at least 1, got 0"),
    (f"{SMALL} --alpha 0.8 --overhead -1", "overhead is -1.0; it must lie in [0, inf)"),
    (f"{SMALL} --alpha 0.8 --batch 1,x", "batch has 'x', which is no whole number; write 1,8,64 or 1k,32k"),
    (f"{SMALL} --alpha 0.8 --batch 0", "batch must be at least 1, got 0"),
    (f"{SMALL} --alpha 0.8 --context 1.5k", "context has '1.5k', which is no whole number"),
    (f"{SMALL} --alpha 0.8 --max-gamma 0", "max_gamma must be at least 1, got 0"),
    (f"{SMALL} --alpha 0.8 --level 1", "level is 1.0; it must lie in (0, 1)"),
    (f"{SMALL} --alpha 0.8 --emit tgi", "--emit must be one of vllm, sglang, llamacpp, aiconfigurator, vllm-synthe"),
    (f"{SMALL} --alpha 0.8 --plot /dev/null/p.png", "output /dev/null/p.png cannot be written: Not a directory"),
    (f"{SMALL} --alpha 0.8 --plot notes.txt", "output notes.txt must end in .png"),
    (f"{SMALL} --alpha 1.2", "alpha is 1.2; it must lie in [0, 1]"),
    (f"{SMALL} --alpha nan", "alpha is nan; it must lie in [0, 1]"),
    (SMALL, "give one of alpha, --ranks, --hazards, --histogram, --rows; got none"),
    (f"{SMALL} --alpha 0.8 --hazards f.csv", "got alpha, hazards"),
    (f"{SMALL} --hazards gone.csv", "gone.csv cannot be read: No such file or directory"),
    (f"{SMALL} --histogram gone.json", "gone.json cannot be read: No such file or directory"),
    (f"{SMALL} --rows gone.safetensors", "gone.safetensors cannot be read"),
    ("--target gone/config.json --draft llama-3.2-1b --hardware h100-sxm --alpha 0.8",
     "config gone/config.json cannot be read: No such file or directory"),
    (f"{PAIR} --alpha 0.8 --emit vllm", "vLLM shares a draft model among the devices of its target: plan with --dr"),
    (f"{SMALL} --alpha 0.8 --dtype fp3", "dtype 'fp3' is not in the table for H100-SXM5-80GB; it has bf16, fp16"),
    ("--ranks 0.7,x", "ranks[1] is 'x', not a number"),
    ("--ranks 0.7,nan", "ranks[1] is nan; it must lie in [0, 1]"),
    ("--ranks 0.7,-0.1", "ranks[1] is -0.1; it must lie in [0, 1]"),
    ("--ranks 0.7,0.4", "ranks sum to 1.1; one sibling at most is kept"),
    ("--ranks 0.7 --alpha 0.7", "got alpha, ranks"),
    ("0.8 --alpha 0.8", "alpha is given twice: 0.8 and 0.8"),
    (f"{SMALL} --alpha 0.8 --draft-tp 0", "draft_tensor_parallel must be at least 1, got 0"),
    ("0.05 --cost-ratio 0.5 --emit vllm", "the plan is not to speculate: there is nothing to emit"),
    ("0.8 --cost-ratio 0.05 --emit aiconfigurator", "aiconfigurator models 5 drafts: plan with --max-gamma 5"),
    ("0.8", "give --target, --draft and --hardware, or --cost-ratio (0: drafts are free)"),
    ("0.8 --cost-ratio 0.1 --tp 4", "--tp, --draft-tp, --dtype and --draft-vocab say nothing of"),
    ("0.8 --cost-ratio 0.1 --dtype fp8", "--tp, --draft-tp, --dtype and --draft-vocab say nothing of a --cost-ratio"),
    ("0.8 --cost-ratio 0.1 --verify-cost 1,x", "verify_cost[1] is 'x', not a number"),
    ("0.8 --cost-ratio 0.1 --verify-cost 1.1,1.2", "verify_cost[0] is 1.1; t(1) is one target step, 1"),
    ("0.8 --cost-ratio 0.1 --verify-cost 1,-1", "verify_cost[1] is -1.0; it must lie in (0, inf)"),
    ("0.8 --cost-ratio 0.1 --verify-cost 1", "verify_cost has 1 entry; t(1), t(2), ... of one draft or more"),
    (f"{SMALL} --alpha 0.8 --verify-cost 1,1.1", "--verify-cost goes with --cost-ratio; models and hardware have"),
    ("0.8 --cost-ratio 0.05 --max-gamma 100000000", "max_gamma is 100000000; it must be at most 1000"),
    ("0.8 --cost-ratio 0.05 --nodes 100000000", "nodes is 100000000; it must be at most 1024"),
    (f"{SMALL} --alpha 0.8 --batch 100000000", "batch is 100000000; it must be at most 16384"),
    (f"{SMALL} --alpha 0.8 --context 999999999k", "context is 999999999k; it must be at most 1073741824"),
    (f"{SMALL} --alpha 0.8 --batch {'9' * 400}", "batch is 99999999999999999999; it must be at most 16384"),
    (f"{SMALL} --alpha 0.8 --tp {'9' * 30}", "it must be at most 65536"),
    (f"{SMALL} --alpha 0.8 --batch 16384 --max-gamma 1000 --emit vllm", "16384 points of 1000 lengths are too many"),
    ("--target foo/bar --draft mtp --hardware h100-sxm --alpha 0.8", "nothing is fetched from a hub; give the fold"),
    ("0.8 --cost-ratio -1", "cost_ratio is -1.0; it must lie in [0, inf)"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_ends_with_one_line(words: str, message: str) -> None:
    said = run(words, code=2)
    assert said.startswith("error: ")
    assert message in said
    assert said.count("\n") == 1


FILES: list[tuple[str, str, str]] = [
    (
        "hazards",
        "position,p\n1,0.5\n",
        "f.csv has columns position, p; it needs position and hazard, or position and r",
    ),
    ("hazards", "position,tried\n1,5\n", "or position and count, or position, tried and kept"),
    ("hazards", "position,rate\n1,0.5\n2,0.6\n", "f.csv, row 2: rate is 0.6, above the 0.5 before it; of all blocks"),
    ("hazards", "position,rate,hazard\n1,0.5,0.5\n", "f.csv has hazard beside rate; leave out"),
    ("hazards", "position,rate\n1,1.5\n", "f.csv, row 1: rate is 1.5; it must lie in [0, 1]"),
    ("hazards", "position,count\n1,5\n", "f.csv, row 1: position is '1'; rows must count up from 0"),
    ("hazards", "position,count\n0,5\n", "f.csv has position 0 alone; it needs 1 and more"),
    ("hazards", "position,count\n0,5\n1,6\n", "f.csv, row 2: count is 6, above the 5 before it"),
    ("hazards", "position,count\n0,5\n1,2.5\n", "f.csv, row 2: count 5 and count 2.5 must be whole numbers"),
    ("hazards", "position,count\n0,0\n1,0\n", "f.csv, row 1: count is 0, so nothing was counted"),
    (
        "histogram",
        '{"drafted": 100000000, "accepted": [1], "counts": [1]}',
        "drafted is 100000000; blocks have at most 4096 drafts",
    ),
    ("hazards", "", "f.csv has columns none; "),
    ("hazards", "position,hazard\n", "f.csv has no rows"),
    ("hazards", "position,hazard,tried,kept\n1,0.1,10,8\n", "f.csv has hazard beside tried and kept; leave out"),
    ("hazards", "position,hazard\n1,0.5\n3,0.5\n", "f.csv, row 2: position is '3'; rows must count up from 1"),
    ("hazards", "position,hazard\n1,0.5\n2,1.2\n", "f.csv, row 2: hazard is 1.2; it must lie in [0, 1]"),
    ("hazards", "position,hazard\n1,nan\n", "f.csv, row 1: hazard is nan; "),
    ("hazards", "position,hazard\n1,-0.1\n", "f.csv, row 1: hazard is -0.1; "),
    ("hazards", "position,hazard\n1,\n", "f.csv, row 1: hazard is '', not a number"),
    ("hazards", "position,hazard\n1\n", "f.csv, row 1: hazard is None, not a number"),
    ("hazards", "position,tried,kept\n1,5,6\n", "f.csv, row 1: kept is 6, more than the 5 blocks that tried"),
    ("hazards", "position,tried,kept\n1,5,2\n2,3,1\n", "f.csv, row 2: tried is 3, more than the 2 that came so far"),
    ("hazards", "position,tried,kept\n1,-5,-6\n", "f.csv, row 1: tried is -5.0; it must lie in [0, inf)"),
    ("hazards", "position,tried,kept\n1,5.5,2\n", "f.csv, row 1: tried 5.5 and kept 2 must be whole numbers of blocks"),
    ("hazards", "position,tried,kept\n1,0,0\n", "f.csv, row 1: tried is 0, so nothing was counted"),
    ("histogram", "{", "f.json is not JSON: "),
    ("histogram", "[1]", 'f.json holds list; it needs "drafted" and "counts"'),
    ("histogram", '{"drafted": 2}', 'f.json holds drafted; it needs "drafted" and "counts"'),
    (
        "histogram",
        '{"drafted": 1, "counts": [1, 2, 3]}',
        "f.json: 3 counts; blocks of 1 drafts keep 0, ..., 1",
    ),
    (
        "histogram",
        '{"drafted": 1, "accepted": [2], "counts": [3]}',
        "f.json: accepted[0] is 2, more than the 1 drafts of that block",
    ),
    ("histogram", '{"drafted": 2, "counts": [1, -2, 3]}', "f.json: counts[1] is -2.0; "),
    ("histogram", '{"drafted": 2, "counts": [1, NaN, 3]}', "f.json: counts[1] is nan; "),
    ("histogram", '{"drafted": 2, "counts": 7}', "f.json: counts is 7, not a list"),
    ("histogram", '{"drafted": "1", "counts": [1, 2]}', 'f.json: drafted is "1", not a whole number or a list'),
    ("histogram", '{"drafted": 4, "counts": [1, 2]}', "f.json: 2 counts; blocks of 4 drafts keep 0, ..., 4"),
    ("histogram", '{"drafted": 0, "counts": [9]}', "f.json: no block drafted a token"),
    ("histogram", '{"drafted": 1, "counts": [1e30, 1]}', "f.json: counts sums to 1e+30; more than 2^53 are not"),
    ("rows", "no tensors", "cannot be read: "),
]


@pytest.mark.parametrize(("option", "text", "message"), FILES, ids=[m for _, _, m in FILES])
def test_bad_files(option: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / {"hazards": "f.csv", "histogram": "f.json", "rows": "f.safetensors"}[option]
    path.write_text(text)
    said = run(f"{SMALL} --{option} {path}", code=2)
    assert message in said
    assert said.count("\n") == 1


ROWS: list[tuple[Callable[[dict[str, np.ndarray]], Any], str]] = [
    (lambda held: held.pop("q"), "has no tensor q; it has lengths, p, tokens"),
    (lambda held: held.update(q=held["q"][:, :3] / held["q"][:, :3].sum(axis=1, keepdims=True)), "vocabularies differ"),
    (lambda held: held.update(q=held["q"][:5]), "both must be (n, V)"),
    (lambda held: held.update(p=2 * held["p"]), "r.safetensors: p[0] sums to 2"),
    (lambda held: held.update(p=held["p"] * np.nan), "r.safetensors: p[0][0] is nan"),
    (lambda held: held.update(tokens=held["tokens"] + 9), "r.safetensors: tokens[0] is token "),
    (lambda held: held.update(p=held["p"][:0], q=held["q"][:0]), "both must be (n, V), with n at least 1"),
    (lambda held: held.update(lengths=np.array([8.0, 12.0])), "lengths has type float64; give whole numbers of tokens"),
    (lambda held: held.update(lengths=np.array([3, 4])), "20 rows, 20 tokens, lengths that sum to 7; they differ"),
    (lambda held: held.update(p=np.eye(4)[(held["tokens"] + 1) % 4]), "token 0 has probability 0 under the target"),
]


@pytest.mark.parametrize(("spoil", "message"), ROWS, ids=[m for _, m in ROWS])
def test_bad_rows(spoil: Callable[[dict[str, np.ndarray]], Any], message: str, tmp_path: Path) -> None:
    held = texts(np.random.default_rng(0), [8, 12])
    spoil(held)
    save_file({name: np.ascontiguousarray(value) for name, value in held.items()}, tmp_path / "r.safetensors")
    said = run(f"{SMALL} --rows {tmp_path / 'r.safetensors'}", code=2)
    assert message in said
    assert said.count("\n") == 1


def test_the_recorded_times_are_what_was_promised() -> None:
    """`python tests/bench/bench_plan.py`: the command under 2 s, 100,000 points under 5 s, medians and worst."""
    text = (Path(__file__).parents[1] / "bench" / "plan.txt").read_text()
    for what, limit in ((r"`specsim plan` for a 70B/1B pair", 2), (r"a sweep of 100,000 points", 5)):
        line = re.search(rf"^{what}.*: ([\d.]+) s, at most ([\d.]+) s$", text, re.M)
        assert line is not None
        assert float(line[1]) <= float(line[2]) < limit


def test_rates_are_not_hazards(tmp_path: Path) -> None:
    """The same numbers under three names: what an engine prints by position is no hazard, and counts have errors."""
    hazards = [0.8, 0.75, 0.7, 0.7, 0.7]
    rates = list(accumulate(hazards, mul))
    paths = {
        name: written(tmp_path / f"{name}.csv", [{"position": i, name: v} for i, v in enumerate(values, first)])
        for name, values, first in (("hazard", hazards, 1), ("rate", rates, 1))
    }
    exact, same = (as_json(f"--cost-ratio 0.1 --hazards {path}") for path in paths.values())
    assert same["points"][0]["tau"] == pytest.approx(exact["points"][0]["tau"])
    assert same["points"][0]["gamma"] == exact["points"][0]["gamma"]
    mistaken = written(tmp_path / "m.csv", [{"position": i, "hazard": v} for i, v in enumerate(rates, 1)])
    assert as_json(f"--cost-ratio 0.1 --hazards {mistaken}")["points"][0]["gamma"] < exact["points"][0]["gamma"]
    counts = [1000, 800, 600, 420]
    log = specsim.estimate_hazards(range(4), 3, counts=[200, 200, 180, 420])
    path = written(tmp_path / "c.csv", [{"position": i, "count": v} for i, v in enumerate(counts)])
    assert read.read_hazards(path).hazards(3) == log.hazards.tolist()
    assert read.read_hazards(path).tau(3) == log.tau(3, wary=True)


def test_host_overhead_is_stated_and_in_the_interval() -> None:
    words = PAIR.removesuffix("--overhead 0") + "--alpha 0.8 --batch 1,256"
    free, late, spared = as_json(f"{words} --overhead 0"), as_json(f"{words} --overhead 1.4"), as_json(words)
    for without, with_it, one in zip(free["points"], late["points"], spared["points"], strict=True):
        assert one["speedup"]["value"] == without["speedup"]["value"]
        assert one["speedup"]["high"] == without["speedup"]["high"]
        if one["gamma"] and with_it["gamma"] == one["gamma"]:
            assert one["speedup"]["low"] == pytest.approx(with_it["speedup"]["low"])
    assert spared["points"][0]["speedup"]["low"] < free["points"][0]["speedup"]["low"]
    assert "low ends of intervals, if there are any, allow 1.4 ms a cycle" in spared["assumptions"][-1]
    assert free["assumptions"][-1] == "nothing but passes and steps costs time"
    assert "--overhead is not given" in as_json("0.8 --cost-ratio 0.1")["assumptions"][-1]


def test_where_it_helps_at_short_contexts_alone() -> None:
    """A draft whose caches are as large as its target's: there is no S*, and still it helps where the table says."""
    words = "--target qwen3-8b --draft qwen3-0.6b --hardware h100-sxm --alpha 0.6 --batch 16 --overhead 0"
    found, text = as_json(words), run(words)
    assert found["points"][0]["gamma"] > 0
    assert found["boundaries"] == [{"batch": 16, "from_context": None}]
    ((first, last),) = found["between"][0]["contexts"]
    times = specsim.roofline("qwen3-8b", "qwen3-0.6b", "h100-sxm")
    gammas = [one.gamma for one in specsim.plan(times, 0.6, batches=[16], contexts=[first, last, last + 1, 131_072])]
    assert [g > 0 for g in gammas] == [True, True, False, False]
    assert f"S*(16): none, as it does not help at the longest; it helps at contexts from {first} to {last}" in text
    assert "S*(1): none, it helps at no context" in run(f"{SMALL} --alpha 0.1")


def test_the_largest_tree_is_said_to_be_so() -> None:
    words = f"{SMALL} --ranks 0.8,0.1,0.05"
    small, large = as_json(f"{words} --nodes 8"), as_json(f"{words} --nodes 64 --max-gamma 4")
    assert len(small["trees"][0]["parents"]) == 8
    assert "trees of 8 nodes are the largest tried (--nodes): larger ones may be faster" in small["notes"]
    assert small["assumptions"][-1].startswith("trees have 8 nodes at most")
    assert large["trees"][0]["levels"] == 4
    assert "trees of 4 levels are the deepest tried (--max-gamma): deeper ones may be faster" in large["notes"]


FACTS = Facts("yes", 3, 1, 64, "1.50", "", 0, True, False, 0.4, ("other work", "it takes more", 1.2), 4, 0)
CHAIN = "Yes: with 3 drafts a block decoding is 1.50 times as fast (predicted, batch 1, context 64); "
DOUBT = "of what this assumes other work matters most (if it takes more: 1.20)."
NO = CHAIN.replace("Yes", "No")
SENTENCES = [
    (FACTS, CHAIN + DOUBT),
    (FACTS._replace(off=2), CHAIN + DOUBT + " At 2 of the 4 points it does not help."),
    (FACTS._replace(gamma=1), (CHAIN + DOUBT).replace("3 drafts", "1 draft")),
    (FACTS._replace(tree="1.70", nodes=9), CHAIN + "with a tree of 9 nodes it is 1.70; " + DOUBT),
    (
        FACTS._replace(tree="1.70", nodes=9, chain_pays=False, helps="perhaps"),
        "Perhaps: with a tree of 9 nodes decoding is 1.70 times as fast (predicted, batch 1, context 64); with 3 "
        "drafts a block it is 1.50, and no other length does better; " + DOUBT,
    ),
    (
        FACTS._replace(helps="no", worst=None, off=4),
        NO + "no other length does better; it pays above an acceptance of 0.40.",
    ),
    (
        FACTS._replace(helps="no", worst=None, off=3, trees_tried=True, even=None),
        NO + "no other length and no tree does better; it would not at any acceptance. At 1 of the 4 points it helps.",
    ),
]


@pytest.mark.parametrize(("facts", "said"), SENTENCES)
def test_each_sentence(facts: Facts, said: str) -> None:
    assert sentence(facts) == said
