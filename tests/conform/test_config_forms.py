"""`specsim conform --config`: comments, mixed forms, values that nobody can mean, rows of CSV, what a plan emits."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.plan.emit import EMITTERS, METHODS, emit
from specsim.conform.configs import of_content
from specsim.conform.configs.reading import parsed
from specsim.conform.configs.record import Config

COMMAND = "python -m sglang.launch_server --speculative-algorithm EAGLE "
YAML = "speculative-algorithm: EAGLE\nspeculative-accept-threshold-acc: 0.5\n"
MTP = {"decoding_type": "MTP"}
GREEDY = {"proposal_type": "greedy"}


def of_text(text: Any) -> Config:
    return of_content(parsed(text if isinstance(text, str) else json.dumps(text), "given"), "given")


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["conform", *arguments])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "given",
    [
        # Options in a comment do not make YAML a command line.
        "# --speculative-algorithm EAGLE3\n" + YAML,
        "\n  # first, -x\n\n" + YAML + "# --speculative-accept-threshold-acc 1.0",
        "---\n" + YAML,
        # A hash inside of a word begins no comment, and a comment does not go on after a backslash.
        COMMAND + "--model-path a#b --speculative-accept-threshold-acc 0.5",
        COMMAND + "\\\n  # see below \\\n  --speculative-accept-threshold-acc 0.5",
        COMMAND.replace(" --", " \\\r\n --") + "\\\r\n --speculative-accept-threshold-acc 0.5\r\n",
        "# a: b\n" + COMMAND + "--speculative-accept-threshold-acc 0.5 # c: d",
        # A word behind an option that has its value is no value of it.
        COMMAND + "--speculative-accept-threshold-acc=0.5 1.0",
        # Variables wherever they stand.
        "docker run -e SGLANG_SIMULATE_ACC_LEN=2.5 image " + COMMAND,
        "docker run --env=SGLANG_SIMULATE_ACC_LEN=2.5 image " + COMMAND,
        COMMAND + "--trust-remote-code\nSGLANG_SIMULATE_ACC_LEN=2.5",
        "# --x\nSGLANG_SIMULATE_ACC_LEN=2.5",
        "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=1.5 trtllm-serve m",
        MTP | {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": 1.5},
    ],
)
def test_comments_and_places_hide_nothing(given: Any) -> None:
    found = of_text(given)
    assert found.outcome == "lossy"
    assert {field.effect for field in found.fields} == {"lossy"}


@pytest.mark.parametrize(
    "given",
    [
        "# one --speculative-algorithm EAGLE3\nx: --speculative-algorithm EAGLE3\n" + YAML.split("\n")[1],
        YAML + "args:\n- --speculative-accept-threshold-acc 0.5",
        YAML + "env: SGLANG_SIMULATE_ACC_LEN=3",
        COMMAND + "\nspeculative-accept-threshold-acc: 0.5",
        COMMAND + "--trust-remote-code\nspeculative-accept-threshold-acc: 0.5",
        'num_speculative_tokens: 3\nvllm serve m --speculative-config \'{"rejection_sample_method": "fly"}\'',
        {"num_speculative_tokens": 3, "args": ["vllm", "-sc {}"]},
        {"num_speculative_tokens": 3, "a": {"b": "serve --speculative-config.rejection_sample_method fly"}},
    ],
)
def test_mixed_forms_are_refused_by_name(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^given mixes (YAML|JSON|a command line) with (an option|a line of YAML)"):
        of_text(given)


@pytest.mark.parametrize(
    "text",
    [f'ARGS="-x --speculative-accept-threshold-acc 0.5"\n{COMMAND} $ARGS', f"bash -c '{COMMAND}' --speculative-x"],
)
def test_options_inside_of_a_text_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^given: options inside of a text \(--speculative-a"):
        of_text(text)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "eagel3", "num_speculative_tokens": 5}, "(did you mean eagle3?)"),
        ({"method": "EAGLE3", "num_speculative_tokens": 5}, "(did you mean eagle3?)"),
        ({"method": 7, "num_speculative_tokens": 5}, "known: ngram, "),
        ({"method": "eagle", "num_speculative_tokens": 5, "draft_sample_method": "greeedy"}, "(did you mean greedy?)"),
        ("--speculative-algorithm EAGEL3", "(did you mean EAGLE3?)"),
        ({"decoding_type": "Eagle33"}, "(did you mean Eagle3?)"),
    ],
)
def test_unknown_words_leave_the_verdict_open(given: Any, words: str) -> None:
    found = of_text(given)
    assert found.outcome == "undecided"
    assert any(words in field.reason for field in found.fields if field.effect == "unknown")


@pytest.mark.parametrize("name", ["eagle", "EAGLE3", "nextn", "Standalone", "none"])
def test_names_of_sglang_are_read_in_any_case(name: str) -> None:
    assert of_text(f"--speculative-algorithm {name}").outcome == "lossless"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "eagle3", "num_speculative_tokens": -5}, "num_speculative_tokens must be a whole number of at"),
        ({"method": "eagle3", "num_speculative_tokens": "five"}, "num_speculative_tokens must be a number, got 'five'"),
        ({"method": "eagle3", "num_speculative_tokens": 5, "model": 7}, "model must be text, a path or a name, got 7"),
        ({"method": "ngram", "prompt_lookup_max": 1.5}, "prompt_lookup_max must be a whole number"),
        ({"method": "suffix", "suffix_decoding_min_token_prob": "low"}, "_min_token_prob must be a number"),
        ({"num_speculative_tokens": 2, "synthetic_acceptance_rates": 0.5}, "must be a list of numbers, got 0.5"),
        ({"num_speculative_tokens": 2, "synthetic_acceptance_rates": [0.5, None]}, "[1] must be a number, got None"),
        ({"num_speculative_tokens": 2, "num_speculative_tokens_per_batch_size": 3}, "must be a list of [first batch, "),
        ({"num_speculative_tokens": 2, "num_speculative_tokens_per_batch_size": [[1, 4]]}, "must be [first batch, "),
        ({"num_speculative_tokens": 2, "num_speculative_tokens_per_batch_size": [[1, 4, -1]]}, "must be a whole"),
        (COMMAND + "--speculative-num-steps three", "speculative_num_steps must be a number, got 'three'"),
        (COMMAND + "--speculative-num-draft-tokens=-4", "speculative_num_draft_tokens must be a whole number"),
        (COMMAND + "--speculative-ngram-capacity big", "speculative_ngram_capacity must be a number"),
        ({"speculative_algorithm": "EAGLE", "speculative_draft_model_path": ["m"]}, "must be text, a path or a name"),
        (MTP | {"max_draft_len": -1}, "max_draft_len must be a whole number of at least 0, got -1"),
        (MTP | {"num_nextn_predict_layers": "3"}, "num_nextn_predict_layers must be a number, got '3'"),
        (MTP | {"speculative_model": 7}, "speculative_model must be text"),
        ({"proposal_methods": [GREEDY | {"speculative_tokens": "5"}]}, "speculative_tokens must be a number, got '5'"),
    ],
)  # fmt: skip
def test_values_that_nobody_can_mean_are_refused(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=r"^given") as raised:
        of_text(given)
    assert words in str(raised.value)


@pytest.mark.parametrize("schedule", [[(1, 64, 4)], [(1, 8, 4), (9, 64, 2), (65, 128, 0)]])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", EMITTERS)
def test_what_a_plan_emits_is_read_or_has_a_way_on(
    engine: str, method: str, schedule: list[tuple[int, int, int]]
) -> None:
    try:
        text = emit(engine, schedule, 0.7, draft="a/b", method=method)
    except ValueError:
        return
    name, _, kind = engine.partition("-")
    if name in ("vllm", "sglang", "tensorrt") and kind != "adaptive":
        found = of_text(text)
        assert not [field for field in found.fields if field.effect == "unknown"]
        assert found.outcome == ("lossy" if "synthetic" in kind else "lossless")
        return
    with pytest.raises(
        ValueError, match=r"^given (is|has options) .*(llama.cpp|simulator|give the server's arguments)"
    ):
        of_text(text)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "eagle3", "rejection_sample_method": "fly"}, "num_speculative_tokens is missing"),
        ({"method": "eagle3", "rejection_sample_method": "synthetic"}, "no rule of specsim does what"),
        (MTP | {"greedy_sampling": False}, "typical acceptance has two thresholds"),
        (COMMAND + "--speculative-accept-threshold-acc 1.5", "no rule of specsim does what the reason above says"),
        ("SGLANG_SIMULATE_ACC_LEN=2 " + COMMAND + "--speculative-accept-threshold-acc .5", "no rule of specsim does"),
    ],
)  # fmt: skip
def test_a_price_that_is_not_computed_says_why(given: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "given.txt"
    path.write_text(given if isinstance(given, str) else json.dumps(given))
    status, said = run("--config", str(path))
    assert (status, f"price: not computed: {words}" in said) == (1, True), said


def test_csv_has_the_verdict_and_the_price(tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    path.write_text(json.dumps({"num_speculative_tokens": 8, "rejection_sample_method": "fly"}))
    rows = list(csv.DictReader(io.StringIO(run("--config", str(path), "--csv")[1])))
    price = json.loads(run("--config", str(path), "--json")[1])["price"]
    values = {row["field"]: row["value"] for row in rows}
    assert (values["outcome"], values["unit"]) == ("lossy", "blocks")
    assert {name: values[name] for name in price} == {name: str(value) for name, value in price.items()}
    path.write_text('{"num_speculative_tokens": 8, "rejection_sample_method": "synthetic"}')
    assert "price,,price,not computed: no rule" in run("--config", str(path), "--csv")[1]
    path.write_text('{"num_speculative_tokens": 8}')
    assert run("--config", str(path), "--csv")[1].splitlines()[1:] == [
        "outcome,lossless,verdict,given.json (vLLM): lossless: no field changes the law of the output"
    ]


@pytest.mark.parametrize(("drafts", "keepable"), [(8, 2), (7, 1), (3, 1)])
def test_fly_says_which_drafts_of_a_block_it_keeps(drafts: int, keepable: int, tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    path.write_text(json.dumps({"num_speculative_tokens": drafts, "rejection_sample_method": "fly"}))
    said = run("--config", str(path))[1]
    assert f"of a block of {drafts} drafts the first {keepable} can be kept so" in said
    assert "the first draft of a block is accepted with" in said
    assert "the first token of a block is" in said
