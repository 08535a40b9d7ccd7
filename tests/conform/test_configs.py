"""`specsim conform --config`: twenty configurations as engines document them, edges of their fields, and files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from specsim.cli import app
from specsim.conform.configs import of_content, read_config
from specsim.conform.configs.reading import parsed
from specsim.conform.configs.record import Config, Law

FOLDER = Path(__file__).parent / "configs"
LOSSLESS, LOSSY = (
    tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["config"] for name in ("lossless", "lossy")
)


def written(folder: Path, config: dict[str, str]) -> Path:
    path = folder / f"given.{config['form']}"
    path.write_text(config["text"], encoding="utf-8")
    return path


def of_text(text: str) -> Config:
    return of_content(parsed(text, "given"), "given")


def effects(config: Config) -> dict[str, str]:
    return {field.name: field.effect for field in config.fields}


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["conform", *arguments])
    return done.exit_code, done.output


def test_there_are_ten_of_each() -> None:
    assert (len(LOSSLESS), len(LOSSY)) == (10, 10)


@pytest.mark.parametrize("config", LOSSLESS, ids=lambda config: config["name"])
def test_lossless_ones(config: dict[str, str], tmp_path: Path) -> None:
    found = read_config(written(tmp_path, config))
    assert (found.outcome, found.law) == ("lossless", None)
    assert config["name"].startswith(found.engine)
    status, said = run("--config", str(written(tmp_path, config)))
    assert (status, "lossless" in said, "price" in said) == (0, True, False)


@pytest.mark.parametrize("config", LOSSY, ids=lambda config: config["name"])
def test_lossy_ones(config: dict[str, str], tmp_path: Path) -> None:
    found = read_config(written(tmp_path, config))
    assert found.outcome == "lossy"
    assert [field.name for field in found.fields if field.effect == "lossy"] == [config["by"]]
    assert config["name"].startswith(found.engine)
    status, said = run("--config", str(written(tmp_path, config)))
    assert (status, f"lossy: {config['by']} = " in said, "price" in said) == (1, True, True)


@pytest.mark.parametrize(
    ("text", "name", "effect", "outcome"),
    [
        # A threshold that no entropy of three probabilities reaches, and one that some do.
        ('{"num_speculative_tokens": 4, "rejection_sample_method": "fly", "fly_entropy_threshold": 1.1}',
         "fly_entropy_threshold", "note", "lossless"),
        ('{"num_speculative_tokens": 4, "rejection_sample_method": "fly", "fly_entropy_threshold": 1.09}',
         "rejection_sample_method", "lossy", "lossy"),
        ('{"num_speculative_tokens": 4, "rejection_sample_method": "fly", "fly_entropy_threshold": 0.7,'
         ' "fly_entropy_top_k": 2}', "rejection_sample_method", "lossy", "lossy"),
        ('{"num_speculative_tokens": 1, "rejection_sample_method": "fly"}', "num_speculative_tokens", "note",
         "lossless"),
        ('{"num_speculative_tokens": 4, "fly_window_size": 2}', "fly_window_size", "note", "lossless"),
        ('{"num_speculative_tokens": 4, "rejection_sample_method": "fly", "fly_window_size": 4}', "fly_window_size",
         "note", "lossless"),
        ('{"num_speculative_tokens": 4, "rejection_sample_method": "newest"}', "rejection_sample_method", "unknown",
         "undecided"),
        ('{"num_speculative_tokens": 4, "relaxed_target_method": "cactus"}', "relaxed_target_method", "unknown",
         "undecided"),
        ('{"num_speculative_tokens": 4, "posterior_alpha": 0.3}', "posterior_alpha", "note", "lossless"),
        ('{"speculative_config": {"num_speculative_tokens": 4}, "rejection_sample_method": "fly"}',
         "rejection_sample_method", "unknown", "undecided"),
        ("--speculative-algorithm EAGLE --speculative-accept-threshold-single 0.999",
         "speculative_accept_threshold_single", "lossy", "lossy"),
        ("--speculative-algorithm EAGLE --speculative-accept-threshold-single 1.5",
         "speculative_accept_threshold_single", "note", "lossless"),
        ("--speculative-algorithm EAGLE --speculative-accept-threshold-acc 1.5", "speculative_accept_threshold_acc",
         "lossy", "lossy"),
        ("--speculative-accept-threshold-acc 0.5", "speculative_accept_threshold_acc", "note", "lossless"),
        ("--speculative-algorithm EAGLE --speculative-luck 3", "speculative_luck", "unknown", "undecided"),
        ("SGLANG_SIMULATE_ACC_LEN=1 sglang serve --speculative-algorithm EAGLE", "SGLANG_SIMULATE_ACC_LEN", "lossy",
         "lossy"),
        ("SGLANG_SIMULATE_ACC_LEN=-1 sglang serve --speculative-algorithm EAGLE", "", "", "lossless"),
        ("decoding_type: MTP\nrelaxed_topk: 10", "relaxed_topk", "note", "lossless"),
        ("decoding_type: MTP\nuse_relaxed_acceptance_for_thinking: true\nrelaxed_delta: 0.6", "relaxed_topk", "note",
         "lossless"),
        ("decoding_type: MTP\nuse_relaxed_acceptance_for_thinking: true\nrelaxed_topk: 5", "relaxed_delta", "note",
         "lossless"),
        ("decoding_type: Medusa", "decoding_type", "unknown", "undecided"),
        ("decoding_type: Eagle\nposterior_threshold: 0.1", "posterior_threshold", "note", "lossless"),
        ("decoding_type: MTP\nadvanced_sampling_mode: FAST", "advanced_sampling_mode", "unknown", "undecided"),
        ('{"proposal_methods": [{"proposal_type": "greedy", "verifier_accept_k": 5}]}', "accept_tolerance", "note",
         "lossless"),
        ('{"proposal_methods": [{"proposal_type": "greedy", "accept_tolerance": 5.0}]}', "verifier_accept_k", "note",
         "lossless"),
        ('{"proposal_methods": [{"proposal_type": "tree"}]}', "proposal_type", "unknown", "undecided"),
    ],
)  # fmt: skip
def test_edges_of_the_fields(text: str, name: str, effect: str, outcome: str) -> None:
    found = of_text(text)
    assert found.outcome == outcome
    assert effects(found) == ({name: effect} if name else {})


def test_of_several_proposals_the_default_counts() -> None:
    lossy = {"proposal_type": "greedy", "verifier_accept_k": 5, "accept_tolerance": 1.0}
    other = {"proposal_type": "sample"}
    told = {"proposal_methods": [other, lossy], "default_proposal_method": "greedy"}
    assert of_text(json.dumps(told)).outcome == "lossy"
    assert of_text(json.dumps(told | {"default_proposal_method": "sample"})).outcome == "undecided"
    with pytest.raises(ValueError, match=r"^given: 0 of proposal_methods have the proposal_type 'beam'"):
        of_text(json.dumps(told | {"default_proposal_method": "beam"}))


def test_a_misspelt_field_is_led_to_the_known_one() -> None:
    found = of_text('{"num_speculative_tokens": 4, "synthetic_acceptance_rate": 0.8, "wibble": 1}')
    reasons = {field.name: field.reason for field in found.fields}
    assert "(did you mean synthetic_acceptance_rates?)" in reasons["synthetic_acceptance_rate"]
    assert "did you mean" not in reasons["wibble"]


def test_a_lossy_field_counts_beside_an_unknown_one() -> None:
    found = of_text('{"num_speculative_tokens": 4, "rejection_sample_method": "synthetic", "wibble": 1}')
    assert (found.outcome, effects(found)) == ("lossy", {"wibble": "unknown", "rejection_sample_method": "lossy"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "given must be a JSON object, got list"),
        ("{", "given is no JSON"),
        ("name: x", "given is no speculative configuration that is read"),
        ("decoding_type: MTP\n  - 3", "given, line 2: '- 3' is no `name: value`"),
        ("decoding_type: MTP\n   relaxed_topk: 3", "given, line 2: its indentation of 3 fits no line above"),
        ("decoding_type: MTP\ndecoding_type: Eagle", "given, line 2: decoding_type stands twice"),
        ("decoding_type: &x MTP", "given, line 1: '&x MTP' is YAML that is not read"),
        ("decoding_type: MTP\nrelaxed_topk: ten", "given: relaxed_topk must be a number, got 'ten'"),
        ("decoding_type: MTP\nuse_relaxed_acceptance_for_thinking: 1",
         "given: use_relaxed_acceptance_for_thinking must be true or false, got 1"),
        ("vllm serve m --speculative-config 3", "given: speculative_config must be an object, got 3"),
        ("vllm serve m --speculative-config '{}", "given is no command line: No closing quotation"),
        ('{"speculative_config": {"decoding_type": "MTP"}, "speculative_algorithm": "EAGLE"}',
         "given has fields of SGLang and TensorRT-LLM"),
        ('{"num-speculative-tokens": 3, "num_speculative_tokens": 4}', "given: num_speculative_tokens stands twice"),
        # Numbers that no engine can mean, which would change nothing or end in a traceback.
        ("--speculative-algorithm EAGLE --speculative-accept-threshold-single nan",
         "given: speculative_accept_threshold_single must be a finite number, got nan"),
        ('{"rejection_sample_method": "fly", "num_speculative_tokens": 1e400}',
         "given: num_speculative_tokens must be a finite number, got inf"),
        ('{"rejection_sample_method": "fly", "num_speculative_tokens": 1' + "0" * 400 + "}",
         "given: num_speculative_tokens must be a finite number, got 1000"),
        ('{"rejection_sample_method": "fly", "num_speculative_tokens": 3.5}',
         "given: num_speculative_tokens must be a whole number of at least 1, got 3.5"),
        ('{"rejection_sample_method": "fly", "num_speculative_tokens": 4, "fly_entropy_top_k": 0}',
         "given: fly_entropy_top_k must be a whole number of at least 1, got 0"),
        ('{"rejection_sample_method": "fly", "num_speculative_tokens": 4, "fly_window_size": 0}',
         "given: fly_window_size must be a whole number of at least 1, got 0"),
        ('{"rejection_sample_method": "fly", "num_speculative_tokens": 4, "fly_entropy_threshold": -1}',
         "given: fly_entropy_threshold must be at least 0, got -1"),
        ("decoding_type: MTP\nuse_relaxed_acceptance_for_thinking: true\nrelaxed_topk: -5",
         "given: relaxed_topk must be a whole number of at least 1, got -5"),
        ('{"proposal_methods": [{"proposal_type": "greedy", "verifier_accept_k": 1e400}]}',
         "given: verifier_accept_k must be a finite number, got inf"),
        ('{"rejection_sample_method": "fly", "num_speculative_tokens": 100, "fly_window_size": 9007199254740994}',
         "given: fly_window_size must be at most 9007199254740992, got 9007199254740994"),
        ("decoding_type: MTP\nuse_relaxed_acceptance_for_thinking: true\nrelaxed_topk: 99999999999999999999",
         "given: relaxed_topk must be at most 9007199254740992, got 99999999999999999999"),
        # One option given twice: neither part may be dropped.
        ("vllm serve m --speculative-config '{}' --speculative-config.rejection_sample_method fly",
         r"given: speculative_config is given as a whole and by its fields"),
        ("vllm serve m --speculative-config.rejection_sample_method fly --speculative-config '{}'",
         r"given: speculative_config is given as a whole and by its fields"),
        ('{"sc": {"rejection_sample_method": "fly"}, "speculative_config": {}}',
         "given: speculative_config and sc are one option; give it once"),
        ('{"proposal_methods": []}', r"given: proposal_methods must be a list of objects, got \[\]"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        of_text(text)


def test_simple_yaml() -> None:
    text = """
    # nothing yet
a: 1
b-c:
  d: "x # y"   # a comment
  e:
    f: null
    'g': [1, 2]
  h: 1e-3
list:
- one
- 2   # two
deep:
    - true
empty:
last: text with spaces
"""
    assert parsed(text, "given") == {
        "a": 1,
        "b_c": {"d": "x # y", "e": {"f": None, "g": [1, 2]}, "h": 1e-3},
        "list": ["one", 2],
        "deep": [True],
        "empty": None,
        "last": "text with spaces",
    }


def test_a_threshold_above_one_is_of_no_rule_here(tmp_path: Path) -> None:
    config = tmp_path / "given.sh"
    config.write_text("--speculative-algorithm EAGLE --speculative-accept-threshold-acc 1.5")
    status, said = run("--config", str(config))
    assert (status, said.splitlines()[-1]) == (
        1,
        "price: not computed: no rule of specsim does what the reason above says",
    )


def test_fly_has_the_defaults_of_vllm() -> None:
    text = '{"num_speculative_tokens": 4, "rejection_sample_method": "fly", "draft_sample_method": "%s"}'
    params = {"fly_window_size": 3, "fly_entropy_threshold": 0.3, "fly_entropy_top_k": 3}
    assert of_text(text % "probabilistic").law == Law("fly", params, "sampled", "sampling")
    assert of_text(text % "greedy").law == Law("fly", params, "greedy", "sampling")


def test_rows_and_forms_of_the_command(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    from safetensors.numpy import save_file

    p, q = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), np.array([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
    rows, config = tmp_path / "rows.safetensors", tmp_path / "given.sh"
    save_file({"p": p, "q": q}, rows)
    config.write_text("--speculative-algorithm EAGLE --speculative-accept-threshold-acc 0.4")
    status, said = run("--config", str(config), "--rows", str(rows), "--json")
    answer: dict[str, Any] = json.loads(said)
    assert (status, answer["schema"], answer["outcome"]) == (1, "specsim/conform-config/1", "lossy")
    assert answer["price"]["source"] == "rows.safetensors"
    assert answer["price"]["acceptance"] == pytest.approx(0.75)
    for form in ("--markdown", "--csv", "--latex"):
        status, said = run("--config", str(config), form)
        assert (status, "0.4" in said) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rejection", "--config", "x.json"), "--config judges a file of options; it goes without a subject"),
        (("--config", "x.json", "--list"), "--config judges a file of options; it goes without --list"),
        (("--rows", "x.safetensors", "rejection"), "--rows is of --config, which is not given"),
        (("--config", "x.json", "--html", "y.html"), "--html is of a judgement of code; --config reads options"),
        (("--config", "no_such_file.json"), "no_such_file.json cannot be read"),
    ],
)
def test_bad_input_has_status_three(arguments: tuple[str, ...], words: str) -> None:
    status, said = run(*arguments)
    assert (status, words in said) == (3, True), said
