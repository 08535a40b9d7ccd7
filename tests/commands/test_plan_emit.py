"""What `specsim plan --emit` gives to engines recomputes to our tau, and accepts for real unless it says so."""

from __future__ import annotations

import json
import shlex
from itertools import accumulate, pairwise
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from helpers.planning import LOG, PAIR, SMALL, TIMES, as_json, run
from typer.testing import CliRunner

import specsim
from specsim import latency
from specsim.cli import app
from specsim.commands.plan.emit import METHODS, emit
from specsim.commands.plan.engines.sglang import bounds


def test_vllm_gets_a_folder_not_a_file(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
              "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    for path in (tmp_path, tmp_path / "config.json"):
        words = f"--target llama-3.1-8b --draft {path} --hardware h100-sxm 0.8 --emit vllm"
        assert json.loads(run(words))["model"] == str(tmp_path)
        assert "hub id" not in CliRunner().invoke(app, ["plan", *shlex.split(words)]).stderr
    named = CliRunner().invoke(app, ["plan", *shlex.split(f"{SMALL} 0.8 --emit vllm")]).stderr
    assert "write the draft's folder or hub id in place of REPLACE-WITH-PATH-OF-llama-3.2-1b" in named


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
    words = f"{PAIR} 0.8 --batch 64,256 --context 2k"
    both = specsim.roofline("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", tensor_parallel=4, draft_tensor_parallel=4)
    config = json.loads(run(f"{words} --draft-tp 4 --emit vllm"))
    ours = specsim.batch_schedule(both, 0.8, max_batch=256, context=2048)
    assert config["num_speculative_tokens_per_batch_size"] == [list(entry) for entry in ours]
    assert (config["method"], config["model"]) == ("draft_model", "REPLACE-WITH-PATH-OF-llama-3.2-1b")
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
    unknown = {("eagle", "llamacpp")}
    if (method, engine) in unknown or (method in ("ngram", "suffix", "peagle", "parallel") and engine != "vllm"):
        with pytest.raises(ValueError, match="nothing is emitted"):
            emit(engine, schedule, 0.8, draft="a b", method=method)
        return
    text = emit(engine, schedule, 0.8, draft="a b", method=method)
    assert "synth" not in text
    if engine == "vllm":
        config = json.loads(text)
        assert config["num_speculative_tokens"] == 4
        assert ("model" in config) is (method not in ("mtp", "ngram", "suffix"))
        names = {"model": "draft_model", "parallel": "draft_model", "peagle": "eagle3"}
        assert config["method"] == names.get(method, method)
        assert config.get("parallel_drafting", False) is (method in ("peagle", "parallel"))
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
            "model": "STANDALONE", "eagle": "EAGLE", "eagle3": "EAGLE3", "mtp": "EAGLE", "dflash": "DFLASH"
        }[method]  # fmt: skip
        if method == "dflash":
            assert options == {"--speculative-num-draft-tokens": "5"}
            return
        assert options == {"--speculative-num-steps": "4", "--speculative-eagle-topk": "1",
                           "--speculative-num-draft-tokens": "5"}  # fmt: skip
    else:
        assert options.pop("--spec-type") == {"model": "draft-simple"}.get(method, f"draft-{method}")
        assert options == {"--spec-draft-n-max": "4", "--spec-draft-p-min": "0"}


def test_forced_acceptance_is_asked_for_and_warned_of() -> None:
    words = f"{SMALL} 0.8 --emit"
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


def test_adaptive_lengths_are_of_chains_and_say_so() -> None:
    """SGLang changes the length at top-k 1 alone: the first rank counts, and the options beside name no tree."""
    words = f"{SMALL.replace('llama-3.2-1b', 'eagle3')} --batch 1,64"
    tree, alone = (
        CliRunner().invoke(app, ["plan", *shlex.split(f"{words} {kept} --emit sglang-adaptive")])
        for kept in ("--ranks 0.6,0.2,0.1", "0.6")
    )
    assert (tree.exit_code, alone.exit_code) == (0, 0), tree.output
    assert json.loads(tree.stdout) == json.loads(alone.stdout)
    assert "--emit sglang gives the tree of one batch" in tree.stderr
    assert "--emit sglang gives" not in alone.stderr
    assert "--speculative-eagle-topk 1 " in tree.stderr
