"""`specsim plan`: its answer is the library's, it says what it rests on, engines get what recomputes to our tau."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.planning import COUNTS, PAIR, SMALL, TIMES, as_json, run

import specsim
from specsim.claims import rows as published
from specsim.claims import score as validation
from specsim.commands.plan import answer, doubts


def test_the_answer_is_the_library_s() -> None:
    found = as_json(f"{PAIR} 0.8 --batch 1,8,256 --context 1k,32k")
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
        f"Yes: with {best.gamma} drafts per block, decoding is {best.speedup.value:.2f} [{best.speedup.low:.2f}, "
    )
    assert " At 1 of the 6 points it does not help. " in found["sentence"]
    unfit = sum("does not fit: " in note for note in found["notes"])
    assert found["sentence"].endswith(f" {unfit} of the 6 points {'does' if unfit == 1 else 'do'} not fit the memory.")
    assert found["assumptions"][2:] == list(best.assumptions[1:])
    assert found["assumptions"][1] == answer.EVERYWHERE


def test_the_sentence_comes_first_and_every_assumption_is_printed() -> None:
    words = f"{PAIR} 0.8 --batch 1,8,256 --context 1k,32k"
    shown, found = run(words).splitlines(), as_json(words)
    assert shown[0] == found["sentence"]
    assert shown[-len(found["assumptions"]) :] == [f"- {said}" for said in found["assumptions"]]
    assert shown[-len(found["assumptions"]) - 1].startswith("everything above is predicted; ")
    assert shown[4].startswith("-----  -------  -----")
    as_markdown = run(f"{words} --markdown").splitlines()
    assert as_markdown[3] == "| ---: " * 8 + "| ---: |"
    assert [[cell.strip() for cell in line.split("|")[1:4]] for line in as_markdown[4:10]] == [
        line.split()[:3] for line in shown[5:11]
    ]
    rows = [line.split() for line in shown[5:11]]
    assert [(r[0], r[1], r[2]) for r in rows] == [
        (str(p["batch"]), str(p["context"]), str(p["gamma"] or "off")) for p in found["points"]
    ]


def test_costs_as_numbers() -> None:
    for words in ("0.8 --cost-ratio 0.05 --overhead 0.1", "0.8 --cost-ratio 0.05 --overhead 0.1 --batch 1,8"):
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
    chains = as_json(f"{PAIR} 0.7 --batch 1,256")
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
    assert found["sentence"].startswith(f"Yes: with a tree of {nodes} nodes, decoding is {speed:.2f} times as fast")
    assert "; with 1 draft per block it is 0.93, and no other length does better; it depends" in found["sentence"]
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
    experts = as_json("--target mixtral-8x7b --draft llama-3.2-1b --hardware h100-sxm --tp 2 0.8")
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
            "3 drafts are the most tried (--max-gamma, --verify-cost, --costs): longer blocks may be faster",
        ),
        (
            "0.8 --max-gamma 8",
            "8 drafts are the most tried (--max-gamma, --verify-cost, --costs): longer blocks may be faster",
        ),
    ):
        assert as_json(f"{words} --cost-ratio 0.05")["notes"] == [note]
    assert as_json("0.8 --cost-ratio 0.05 --max-gamma 9")["notes"] == []


def test_what_costs_as_numbers_leave_out_is_said() -> None:
    found = as_json("0.8 --cost-ratio 0.05 --batch 1,8 --context 1k,2k")
    assert found["notes"] == ["the costs given are the same at every batch and context: one point says all"]
    assert "costs are as declared, their error in no interval" in found["assumptions"]


def test_a_record_holds_what_was_asked() -> None:
    asked = as_json(f"{PAIR} 0.8 --batch 1,8 --context 2k --overhead 0.5")["asked"]
    assert (asked["target"], asked["draft"], asked["hardware"]) == ("llama-3.1-70b", "llama-3.2-1b", "h100-sxm")
    assert (asked["tp"], asked["draft_tp"], asked["dtype"], asked["overhead"]) == (4, 1, "bf16", 0.5)
    assert (asked["batch"], asked["context"], asked["max_gamma"]) == ([1, 8], [2048], 16)
    asked = as_json("0.8 --cost-ratio 0.1 --verify-cost 1,1.1,1.2")["asked"]
    assert (asked["cost_ratio"], asked["verify_cost"], asked["target"]) == (0.1, [1.0, 1.1, 1.2], None)


def test_the_level_is_the_one_asked_for() -> None:
    assert as_json(f"{PAIR} 0.8 --level 0.9")["level"] == 0.9
    assert "speedup, 99.9%" in run(f"{PAIR} 0.8 --level 0.999")


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
    assert f"depends most on {found['doubts'][0]['assumption']} (if" in found["sentence"]


def test_the_overhead_tried_is_the_one_that_validation_fits() -> None:
    fitted = validation.validate(published.shipped(), fit=["magicdec-001", "magicdec-007", "magicdec-014"]).overheads
    assert [round(value, 1) for value, _ in fitted.values()] == [1e3 * doubts.OVERHEAD_S]


def test_pairs_and_devices_that_do_not_go_together_are_said() -> None:
    assert as_json(f"{PAIR} 0.8")["notes"] == []
    found = as_json("--target llama-3.1-70b --draft qwen2.5-0.5b --hardware h100-sxm --tp 4 0.8")["notes"]
    assert len(found) == 1
    assert found[0].startswith("Llama-3.1-70B has 128256 tokens and Qwen2.5-0.5B 151936: a draft needs the target's")
    found = as_json(f"{PAIR} --tp 3 --draft-tp 3 0.8")["notes"]
    assert found == [
        "Llama-3.1-70B has 64 heads, which 3 devices cannot share equally",
        "Llama-3.2-1B has 32 heads, which 3 devices cannot share equally",
    ]


def test_a_config_stands_for_a_model(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
              "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    named = as_json(f"{SMALL} 0.7")["points"][0]
    for path in (tmp_path, tmp_path / "config.json"):
        words = f"--target llama-3.1-8b --draft {path} --hardware h100-sxm 0.7"
        assert as_json(words)["points"][0]["draft"] == pytest.approx(named["draft"], rel=1e-3)


def test_the_command_loads_no_framework() -> None:
    code = f"""
import sys
from typer.testing import CliRunner
from specsim.cli import app
assert CliRunner().invoke(app, {["plan", *shlex.split(PAIR), "0.8"]!r}).exit_code == 0
print(*sorted({{m.partition(".")[0] for m in sys.modules}}))
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not {"jax", "torch", "scipy", "matplotlib", "cvxpy", "safetensors"} & set(loaded)


def test_the_recorded_times_are_what_was_promised() -> None:
    """`python tests/bench/bench_plan.py`: the command under 2 s, 100,000 points under 5 s, medians and worst."""
    text = (Path(__file__).parents[1] / "bench" / "plan.txt").read_text()
    for what, limit in ((r"`specsim plan` for a 70B/1B pair", 2), (r"a sweep of 100,000 points", 5)):
        line = re.search(rf"^{what}.*: ([\d.]+) s, at most ([\d.]+) s$", text, re.M)
        assert line is not None
        assert float(line[1]) <= float(line[2]) < limit


def test_host_overhead_is_stated_and_in_the_interval() -> None:
    words = PAIR.removesuffix("--overhead 0") + "0.8 --batch 1,256"
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
    """A draft whose caches are as large as its target's: there is no boundary, and it helps where the table says."""
    words = "--target qwen3-8b --draft qwen3-0.6b --hardware h100-sxm 0.6 --batch 16 --overhead 0"
    found, text = as_json(words), run(words)
    assert found["points"][0]["gamma"] > 0
    assert found["boundaries"] == [{"batch": 16, "from_context": None}]
    ((first, last),) = found["between"][0]["contexts"]
    times = specsim.roofline("qwen3-8b", "qwen3-0.6b", "h100-sxm")
    gammas = [one.gamma for one in specsim.plan(times, 0.6, batches=[16], contexts=[first, last, last + 1, 131_072])]
    assert [g > 0 for g in gammas] == [True, True, False, False]
    assert f"at batch 16 speculation helps at contexts from {first} to {last}, and not at the longest" in text
    assert "at batch 1 speculation helps at no context" in run(f"{SMALL} 0.1")
    assert "at batch 1 speculation helps at every context" in run(f"{SMALL} 0.8")


def test_columns_of_costs_have_their_unit() -> None:
    """They were "draft" and "verify", beside a cycle in ms."""
    head = next(line for line in run(f"{SMALL} 0.8 --markdown").splitlines() if line.startswith("| batch"))
    assert "| draft, steps | verify, steps | cycle, ms |" in head


def test_the_largest_tree_is_said_to_be_so() -> None:
    words = f"{SMALL} --ranks 0.8,0.1,0.05"
    small, large = as_json(f"{words} --nodes 8"), as_json(f"{words} --nodes 64 --max-gamma 4")
    assert len(small["trees"][0]["parents"]) == 8
    assert "trees of 8 nodes are the largest tried (--nodes): larger ones may be faster" in small["notes"]
    assert small["assumptions"][-1].startswith("trees have 8 nodes at most")
    assert large["trees"][0]["levels"] == 4
    assert "trees of 4 levels are the deepest tried (--max-gamma): deeper ones may be faster" in large["notes"]
