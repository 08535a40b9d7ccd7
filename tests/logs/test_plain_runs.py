"""A log that is given as one without speculation, and has any line or field of speculation, is no plain run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.log_files import read

LLAMA = "eval time = 1000.0 ms / 50 tokens\n"
VLLM = "INFO 08-04 10:00:00 [loggers.py:310] Avg generation throughput: 25.0 tokens/s, Running: 4 reqs\n"
SGLANG = 3 * (
    "Decode batch, #running-req: 4, #token: 99, cuda graph: True, gen throughput (token/s): 300.0, #queue-req: 0\n"
)
PLAIN = {"numContextRequests": 0, "numGenRequests": 8}
DRAFTED = {"numDraftTokens": 21, "numAcceptedTokens": 9, "numRequestsWithDraftTokens": 7}


def tensorrt(*rows: dict[str, object]) -> str:
    return json.dumps([{"iterLatencyMS": 20.0, "inflightBatchingStats": PLAIN} | row for row in rows])


def answer(beside: dict[str, object], **timings: object) -> str:
    return json.dumps({"timings": {"predicted_n": 20, "predicted_ms": 100.0} | timings} | beside)


SPECULATES = {
    "draft stats": LLAMA + "draft stats: accepted = 30, generated = 50\n",
    "draft stats in other words": LLAMA + "slot print_timing: draft stats: n = 50, acc = 30\n",
    "a draft with a count": LLAMA + "Draft: 120 tokens, accepted 80\n",
    "accepted drafts": LLAMA + "mtp: accepted 30/50 drafts (60.0%)\n",
    "accepted of speculative": LLAMA + "speculative: 30 of 50 accepted\n",
    "a context of drafts": LLAMA + "slot load_model: id 0 | task -1 | speculative decoding context initialized\n",
    "an implementation": LLAMA + "common_specu: adding speculative implementation 'draft-mtp'\n",
    "a draft model that is loaded": LLAMA + "srv load_model: loading draft model 'qwen.gguf'\n",
    "llama-lookup": LLAMA + "n_draft   = 5\nn_predict = 20\n",
    "arguments of vLLM": "speculative_config={'model': 'x', 'num_speculative_tokens': 3}\n" + VLLM,
    "arguments of a command": '--speculative-config \'{"model": "x", "num_speculative_tokens": 3}\'\n' + VLLM,
    "arguments of vLLM before 0.9": "speculative_model='x', num_speculative_tokens=5\n" + VLLM,
    "a drafter that vLLM loads": "INFO [eagle.py:1] Loading drafter model...\n" + VLLM,
    "SGLang's short argument": "launch_server --speculative-algo EAGLE3 --speculative-num-steps 3\n" + SGLANG,
    "SGLang's weights": "speculative_draft_model_path='x/y'\n" + SGLANG,
    "SGLang's answers": SGLANG + "Finish: out={'meta_info': {'spec_verify_ct': 43, 'completion_tokens': 106}}\n",
    "TensorRT-LLM's mean": tensorrt({"inflightBatchingStats": PLAIN | {"avgNumDecodedTokensPerIter": 2.4}}),
    "TensorRT-LLM's drafts beside prompts": tensorrt(
        {}, {"inflightBatchingStats": {"numContextRequests": 1, "numGenRequests": 7}, "specDecodingStats": DRAFTED}
    ),
    "a field beside the timings": answer({"speculative": {"accepted": 9}}),
    "a field of the usage": answer({"usage": {"completion_tokens_details": {"accepted_prediction_tokens": 9}}}),
    "ours with the time of drafting": "speculation,tokens_per_s,cycle_ms,draft_ms\noff,20,30,5\n",
    "ours with a share of steps": "speculation,tokens_per_s,coverage\noff,20,0.5\n",
}


@pytest.mark.parametrize("case", SPECULATES)
def test_a_log_that_speaks_of_drafts_is_no_plain_run(case: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^on\.log.*(speculates \(|speculation is off|is not read|in no other)"):
        read(SPECULATES[case], tmp_path)


PLAIN_RUNS = {
    "no implementation": LLAMA + "common_speculative_init: no implementations specified for speculative decoding\n",
    "no support": LLAMA + "srv load_model: speculative decoding not supported by this context\n",
    "settings": LLAMA + "params: speculative.n_max = 16, speculative.n_min = 0, draft_p_min = 0.75\n",
    "headers of a request": LLAMA + "Accept: */*, accept-encoding: gzip, deflate 1.0\n",
    "a text that is written": "Draft:\nThe draft status of this statement is: accepted by all.\n" + LLAMA,
    "no draft model": LLAMA + "draft model = none\n",
    "vLLM's None": "speculative_config=None, tokenizer='x'\n" + VLLM,
    "vLLM's null": 'args: {"speculative_config": null}\n' + VLLM,
    "SGLang's None": "ServerArgs(speculative_algorithm=None, speculative_draft_model_path=None, "
    "speculative_accept_threshold_single=1.0)\n" + SGLANG,
    "TensorRT-LLM's mean of 1": tensorrt({"inflightBatchingStats": PLAIN | {"avgNumDecodedTokensPerIter": 1.0}}),
    "fields of mlx-vlm without a drafter": answer({}, draft_n=None, draft_n_accepted=None, draft_kind=None,
                                                  draft_rounds=None),
    "settings of an answer": answer({"generation_settings": {"speculative.n_max": 16}}),
}  # fmt: skip


@pytest.mark.parametrize("case", PLAIN_RUNS)
def test_a_plain_run_with_words_of_settings_is_one(case: str, tmp_path: Path) -> None:
    (run,) = read(PLAIN_RUNS[case], tmp_path)
    assert not run.speculating
