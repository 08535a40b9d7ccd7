"""Configurations that mislead: misspelt, nested, in capitals, in text, of several engines; none passes as lossless."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specsim.conform.configs import of_content
from specsim.conform.configs.reading import parsed
from specsim.conform.configs.record import Config

EAGLE: dict[str, Any] = {"method": "eagle", "num_speculative_tokens": 4}
FLY = EAGLE | {"rejection_sample_method": "fly"}
SERVE = "vllm serve m --speculative-config.method eagle --speculative-config.num_speculative_tokens 3 "
SGLANG: dict[str, Any] = {"speculative_algorithm": "EAGLE"}
COMMAND = "python -m sglang.launch_server --speculative-algorithm EAGLE "
RELAXED = {"use_relaxed_acceptance_for_thinking": True, "relaxed_topk": 10, "relaxed_delta": 0.6}
GREEDY = {"proposal_methods": [{"proposal_type": "greedy"}]}
ACCEPT_K = {"verifier_accept_k": 5, "accept_tolerance": 5.0}


def of_text(text: Any) -> Config:
    return of_content(parsed(text if isinstance(text, str) else json.dumps(text), "given"), "given")


# What is given, and the field that leaves the verdict open.
UNDECIDED = [
    # Values and names in capitals, with spaces, misspelt or shortened.
    (EAGLE | {"rejection_sample_method": "FLY"}, "rejection_sample_method"),
    (EAGLE | {"rejection_sample_method": " fly "}, "rejection_sample_method"),
    (EAGLE | {"rejection_sample_method": ["fly"]}, "rejection_sample_method"),
    (EAGLE | {"Rejection_Sample_Method": "fly"}, "Rejection_Sample_Method"),
    (EAGLE | {"rejection_sampling_method": "fly"}, "rejection_sampling_method"),
    (EAGLE | {"rejection_sample_method\u200b": "fly"}, "rejection_sample_method\u200b"),
    (EAGLE | {"acceptance_method": "TYPICAL_ACCEPTANCE_SAMPLER"}, "acceptance_method"),
    (SERVE + "--Speculative-Config.rejection_sample_method fly", "Speculative_Config"),
    (SERVE + "--speculative-conf.rejection_sample_method fly", "speculative_conf"),
    (SGLANG | {"Speculative_Accept_Threshold_Single": 0.5}, "Speculative_Accept_Threshold_Single"),
    (SGLANG | {"speculativeAcceptThresholdSingle": 0.5}, "speculativeAcceptThresholdSingle"),
    (COMMAND + "--speculative-accept-treshold-single 0.5", "speculative_accept_treshold_single"),
    (COMMAND + "--spec-accept-threshold-single 0.5", "spec_accept_threshold_single"),
    (COMMAND + "--speculative-accept-threshold-s 0.5", "speculative_accept_threshold_s"),
    ("speculative_algorithm: EAGLE\nsglang_simulate_acc_len: 2.5", "sglang_simulate_acc_len"),
    ("SGLANG_SIMULATE_ACCEPT=3 " + COMMAND, "SGLANG_SIMULATE_ACCEPT"),
    # Deeper or farther out than they are read, and in other files.
    (SERVE + "--speculative-config.x.rejection_sample_method fly", "x.rejection_sample_method"),
    ({"speculative_config": EAGLE, "additional_config": {"speculative_config": FLY}},
     "additional_config.speculative_config"),
    ({"speculative_config": EAGLE, "a": {"b": {"fly_window_size": 2}}}, "a.b.fly_window_size"),
    ({"speculative_config": {"decoding_type": "MTP", "mtp": RELAXED}}, "mtp"),
    ({"speculative_config": {"decoding_type": "MTP"}, "relaxed": RELAXED}, "relaxed"),
    ({"speculators_config": GREEDY | ACCEPT_K}, "verifier_accept_k"),
    ({"speculators_config": GREEDY, "verifier_accept_k": 5}, "verifier_accept_k"),
    (COMMAND + "--config more.yaml", "config"),
    # Fields of another engine.
    (EAGLE | RELAXED, "use_relaxed_acceptance_for_thinking"),
    (EAGLE | ACCEPT_K, "verifier_accept_k"),
    (SGLANG | {"relaxed_topk": 10}, "relaxed_topk"),
    ({"speculative_config": {"decoding_type": "MTP", "rejection_sample_method": "fly"}}, "rejection_sample_method"),
    ({"speculative_config": json.dumps({"decoding_type": "MTP"} | RELAXED)}, "use_relaxed_acceptance_for_thinking"),
    ({"proposal_methods": [{"proposal_type": "GREEDY"} | ACCEPT_K]}, "proposal_type"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "name"), UNDECIDED, ids=[name for _, name in UNDECIDED])
def test_what_may_be_lossy_is_left_open(given: Any, name: str) -> None:
    found = of_text(given)
    assert found.outcome == "undecided"
    assert name in {field.name for field in found.fields if field.effect == "unknown"}


@pytest.mark.parametrize(
    "given",
    [
        {"speculative_config": json.dumps(FLY)},
        "model: m\nspeculative-config: '" + json.dumps(FLY) + "'",
        "vllm serve m -sc='" + json.dumps(FLY) + "'",
        {name.replace("_", "-"): value for name, value in FLY.items()},
        "export SGLANG_SIMULATE_ACC_LEN=2.5\n" + COMMAND,
        COMMAND + "--speculative-use-rejection-sampling false --speculative-accept-threshold-acc '0.5'",
        COMMAND + "--speculative-accept-threshold-acc 0.9999999999999999",
        {"decoding_type": "mtp"} | RELAXED,
        "decoding_type: MTP\nuse_relaxed_acceptance_for_thinking: True\nrelaxed_topk: 10\nrelaxed_delta: .6",
    ],
)
def test_lossy_ones_in_other_clothes(given: Any) -> None:
    assert of_text(given).outcome == "lossy"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        # Numbers and booleans as text.
        (FLY | {"num_speculative_tokens": "4"}, "num_speculative_tokens must be a number, got '4'"),
        (FLY | {"num_speculative_tokens": True}, "num_speculative_tokens must be a number, got True"),
        (SGLANG | {"speculative_accept_threshold_acc": "0.5"}, "must be a number, got '0.5'"),
        (COMMAND + "--speculative-accept-threshold-acc 50%", "must be a number, got '50%'"),
        ({"decoding_type": "MTP"} | RELAXED | {"relaxed_topk": "10"}, "relaxed_topk must be a number, got '10'"),
        ("decoding_type: MTP\nuse_relaxed_acceptance_for_thinking: yes", "must be true or false, got 'yes'"),
        ('decoding_type: Eagle\ngreedy_sampling: "false"', "must be true or false, got 'false'"),
        ({"proposal_methods": [GREEDY["proposal_methods"][0] | {"verifier_accept_k": "5"}]}, "must be a number"),
        # Given twice, or for several engines.
        (json.dumps(FLY)[:-1] + ', "rejection_sample_method": "standard"}', "'rejection_sample_method' twice"),
        ({"proposal_methods": [*GREEDY["proposal_methods"], {"proposal_type": "greedy"} | ACCEPT_K]}, "2 of proposal"),
        ("decoding_type: MTP\n---\ndecoding_type: MTP", "line 3: decoding_type stands twice"),
        (EAGLE | {"speculative_accept_threshold_acc": 0.5}, "has fields of SGLang and vLLM"),
        ({"decoding_type": "MTP"} | FLY, "has fields of TensorRT-LLM and vLLM"),
        ({"speculative_config": EAGLE, "speculators_config": GREEDY}, "has fields of speculators and vLLM"),
        # YAML that is not read, and engines' files inside of others.
        ("base: &b\n  relaxed_topk: 10", "is YAML that is not read"),
        ("speculative_config:\n- decoding_type: MTP", "speculative_config must be an object"),
        ({"engine_args": {"speculative_config": FLY}}, "is no speculative configuration that is read"),
        ({"SPECULATIVE_ALGORITHM": "EAGLE"}, "is no speculative configuration that is read"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=r"^given") as raised:
        of_text(given)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        # An option that is given twice counts as it is given last; what is commented out does not count.
        COMMAND + "--speculative-accept-threshold-acc 0.5 --speculative-accept-threshold-acc 1.0",
        "# --speculative-accept-threshold-acc 0.5\n" + COMMAND,
        # The other fields of whole files.
        {"speculators_model_type": "eagle3", "speculators_version": "0.9", "speculators_config": GREEDY, "draft": {}},
        {"speculative_config": EAGLE, "model": "m", "additional_config": {"level": 3}},
        "SGLANG_SIMULATE_ACC_METHOD=multinomial " + COMMAND,
    ],
)
def test_what_changes_nothing_is_lossless(given: Any) -> None:
    assert (of_text(given).outcome, of_text(given).fields) == ("lossless", ())
