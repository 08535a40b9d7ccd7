"""A run that speculates in words that are not read is refused: it is not one without speculation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specsim.logs.measures import log_acceptance
from specsim.logs.read import read_log
from specsim.logs.record import EngineLog

METRICS = (Path(__file__).with_name("samples") / "vllm_metrics.txt").read_text(encoding="utf-8")
ENGINE = "INFO 08-04 10:00:{} [loggers.py:310] Avg generation throughput: 25.0 tokens/s, Running: 4 reqs\n"
ENGINES = ENGINE.format("00") + ENGINE.format("10")
DECODE = (
    "Decode batch, #running-req: 4, #token: 99, {}cuda graph: True, gen throughput (token/s): 300.0, #queue-req: 0\n"
)
ITERATION = {"iterLatencyMS": 20.0, "inflightBatchingStats": {"numContextRequests": 0, "numGenRequests": 8}}
TIMINGS = {"predicted_n": 200, "predicted_ms": 11082.6}
LLAMA = "eval time = 1000.0 ms / 50 tokens\n"


def read(text: str, folder: Path) -> EngineLog:
    (folder / "on.log").write_text(text)
    (run,) = read_log(folder / "on.log")
    return run


def iteration(**changes: object) -> str:
    return json.dumps([ITERATION | changes])


def timings(**changes: object) -> str:
    return json.dumps({"timings": TIMINGS | changes})


OTHER_WORDS = {
    "vLLM's counters without _total": METRICS.replace("_total{", "{"),
    "vLLM without the drafted tokens": METRICS.replace("num_draft_tokens_total", "num_draft_tokens"),
    "vLLM without the accepted tokens": METRICS.replace("num_accepted_tokens_total", "num_accepted_tokens"),
    "vLLM's counters by another name": METRICS.replace("vllm:spec_decode_num_", "vllm:speculative_"),
    "vLLM's lines by another name": ENGINES + "SpecDecoding stats: Acceptance length: 2.5, Drafted tokens: 300\n",
    "vLLM's lines of acceptance": ENGINES + "metrics.py: acceptance_rate: 0.75\n",
    "llama.cpp without draft_n": timings(draft_n_accepted=65),
    "llama.cpp without draft_n_accepted": timings(draft_n=347),
    "llama.cpp with another count": timings(n_accept=65),
    "llama.cpp's rounds alone": timings(draft_rounds=65),
    "one of two answers without draft_n": timings(draft_n=90, draft_n_accepted=60)
    + "\n"
    + timings(draft_n_accepted=65),
    "llama.cpp's lines by another name": LLAMA + "speculative: accepted tokens = 30 of 50\n",
    "TensorRT-LLM without numDraftTokens": iteration(
        specDecodingStats={"numAcceptedTokens": 12, "numRequestsWithDraftTokens": 8}
    ),
    "TensorRT-LLM by another name": iteration(specDecodingStats={"draftTokens": 24}),
    "TensorRT-LLM in another place": iteration(specDecStats={"numDraftTokens": 24, "numAcceptedTokens": 12}),
    "SGLang's accept length": DECODE.format("accept length: 2.80, accept rate: 0.60, ") * 3,
    "SGLang's accept rate": DECODE.format("accept rate: 0.60, ") * 3,
    "SGLang's accept len in some lines": DECODE.format("accept len: 2.80, ") * 2 + DECODE.format("accept rate: 0.60, "),
    "ours, off with accepted drafts": "speculation,token_ms,blocks,drafted,accepted\noff,20,10,30,15\n",
    "ours, off with tau": "speculation,token_ms,tau\noff,20,2.5\n",
    "ours, off with kept": "speculation,token_ms,kept\noff,20,8;4\n",
}


@pytest.mark.parametrize("case", OTHER_WORDS)
def test_speculation_in_other_words_is_refused(case: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^on\.log.*(speculates \(|has no |speculation is off, and)"):
        read(OTHER_WORDS[case], tmp_path)


OFF = {
    "vLLM's metrics": "".join(line for line in METRICS.splitlines(keepends=True) if "spec_decode" not in line),
    "vLLM's lines": f"speculative_config=None, max_num_batched_tokens=8192\n{ENGINES}",
    "llama.cpp's response": timings(),
    "llama.cpp's lines": LLAMA + "common_speculative_init: no implementations specified for speculative decoding\n",
    "TensorRT-LLM's null": iteration(specDecodingStats=None),
    "TensorRT-LLM's zeros": iteration(specDecodingStats={"numDraftTokens": 0, "numAcceptedTokens": 0}),
    "SGLang's lines": f"ServerArgs(speculative_algorithm=None, speculative_num_steps=None)\n{DECODE.format('') * 3}",
    "ours": "speculation,token_ms,tau,accepted\noff,20,1,0\n",
}


@pytest.mark.parametrize("case", OFF)
def test_a_run_without_speculation_is_one(case: str, tmp_path: Path) -> None:
    assert not read(OFF[case], tmp_path).speculating


COUNTERS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")


def scrape(*values: int, labels: str = 'engine="0",model_name="m"', names: tuple[str, ...] = COUNTERS) -> str:
    counts = zip(names, values, strict=False)
    return "".join(f"vllm:spec_decode_{name}_total{{{labels}}} {value}.0\n" for name, value in counts)


@pytest.mark.parametrize(
    "labels", ['engine="0",model_name="m"', 'model_name="m",engine="0"', 'model_name="m", engine="0",']
)
def test_labels_mean_the_same_in_any_order(labels: str, tmp_path: Path) -> None:
    """Between the scrapes 2,000 blocks keep 2,000 drafts."""
    run = read(scrape(1000, 3000, 1500) + scrape(3000, 9000, 3500, labels=labels), tmp_path)
    assert (run.blocks, run.drafted, run.accepted) == (2000, 6000, 2000)
    assert log_acceptance(run).measures["tau"].value == pytest.approx(2.0)


def test_a_brace_in_a_label_is_part_of_it(tmp_path: Path) -> None:
    assert read(scrape(1000, 3000, 1500, labels='model_name="a}b"'), tmp_path).blocks == 1000


UNPAIRED = {
    "a first scrape of two counters": scrape(1000, 3000) + scrape(3000, 9000, 3500),
    "an engine that came later": scrape(1, 3, 1) * 2 + scrape(1, 3, 1, labels='engine="1",model_name="m"'),
    "a last scrape that is cut off": scrape(1000, 3000, 1500) * 2 + scrape(3000, 9000),
    "a label in one scrape alone": scrape(1000, 3000, 1500) + scrape(3000, 9000, 3500, labels='model_name="m"'),
    "positions in one scrape alone": scrape(1000, 3000, 1500)
    + scrape(3000, 9000, 3500)
    + scrape(5, labels='engine="0",model_name="m",position="0"', names=("num_accepted_tokens_per_pos",)),
}


@pytest.mark.parametrize("case", UNPAIRED)
def test_scrapes_that_do_not_pair_are_refused(case: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"times; expected every counter in each scrape|with the labels .* and with"):
        read(UNPAIRED[case], tmp_path)


LINE = "SpecDecoding metrics: Mean acceptance length: {}, Accepted: 7500 tokens, Drafted: 10000 tokens, "
LINE += "Per-position acceptance rate: {}\n"


@pytest.mark.parametrize(
    ("mean", "rates", "words"),
    [
        (2.5, "0.91, 0.63", r"are 1\.5 a block; the rates sum to 1\.54, and the mean length is 2\.5\)"),
        (3.0, "0.900, 0.600", r"are 1\.5 a block; the rates sum to 1\.5, and the mean length is 3\)"),
    ],
)
def test_a_log_whose_counts_and_rates_disagree_says_so(mean: float, rates: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"counts and rates by position disagree .*{words}"):
        log_acceptance(read(LINE.format(mean, rates), tmp_path))


def test_llamacpp_counts_and_rates_that_disagree_are_noted(tmp_path: Path) -> None:
    """Rates of 0.2 and 0.3 are 15 accepted drafts of 30 blocks, and not 30."""
    text = LLAMA.replace("50", "100") + "draft acceptance = 0.6 (30 accepted / 60 generated)\n"
    stats = "statistics mtp: #calls(b,g,a) = 1 30 30, #gen drafts = 30, #gen tokens = 60, #acc rate/pos = "
    run = read(f"{text}{stats}(0.300, 0.200)\n", tmp_path)
    assert (run.blocks, run.kept) == (30, ())
    assert "counts and rates by position disagree, so hazards are not known" in run.notes
    assert read(f"{text}{stats}(0.700, 0.300)\n", tmp_path).kept == (21, 9)
