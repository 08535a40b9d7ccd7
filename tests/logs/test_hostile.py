"""No log ends in a traceback: what cannot be read is refused in one line that begins with the file's name."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from specsim.logs.measures import log_acceptance
from specsim.logs.read import read_log
from specsim.speed.diagnosis import diagnose

SAMPLES = Path(__file__).with_name("samples")
METRICS, SGLANG, LLAMA, CSV = (
    (SAMPLES / name).read_text(encoding="utf-8")
    for name in ("vllm_metrics.txt", "sglang.log", "llamacpp.log", "runs.csv")
)
LINES = """INFO 01-01 10:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 2 reqs
INFO 01-01 10:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 147.0 tokens/s, Running: 2 reqs
INFO 01-01 10:00:10 [metrics.py:1] SpecDecoding metrics: Mean acceptance length: 2.45, Accepted: 870 tokens, Drafted: 1200 tokens, Per-position acceptance rate: 0.800, 0.650
"""  # noqa: E501
ITERATION = {
    "iterLatencyMS": 20.0,
    "inflightBatchingStats": {"numContextRequests": 0, "numGenRequests": 8},
    "specDecodingStats": {"numDraftTokens": 24, "numAcceptedTokens": 12, "numRequestsWithDraftTokens": 8},
}
EXAMPLE = (
    "decoded 371 tokens in 34.412 seconds\nn_drafted = 912\nn_accept = 313\ndraft:\neval time = 5800.00 ms / 900 runs\n"
)
RESPONSE = '{"timings": {"predicted_n": 200, "predicted_ms": 11082.6, "draft_n": 347, "draft_n_accepted": 65}}'
OWN = '{"runs": [{"speculation": "on", "kept": [8, 4], "blocks": 10, "length": 2, "tokens_per_s": 120}]}'
DEEP = "[" * 100_000


def trt(**changes: object) -> str:
    return json.dumps([ITERATION | changes])


HOSTILE = {
    "position without a label": (METRICS.replace("position=", "place="), "has the position ''"),
    "position of many digits": (METRICS.replace('position="1"', f'position="{"9" * 400}"'), "has the position '999"),
    "rate of 400 digits": (LINES.replace("0.800", "9" * 400), "rate of position 0 is '9999"),
    "rate of 5": (LINES.replace("0.800", "5.0"), "rate of position 0 is 5; expected a share"),
    "count of 400 digits": (LINES.replace("1200", "9" * 400), "Drafted is '9999"),
    "running of 400 digits": (LINES.replace("Running: 2", f"Running: 1{'0' * 400}"), "Running is '1000"),
    "throughput of two points": (LINES.replace("147.0", "1.4.7"), "throughput is '1.4.7'"),
    "mean of two points": (LINES.replace("2.45", "2.4.5"), "mean acceptance length is '2.4.5'"),
    "no sum of a mean": (re.sub(r".*inter_token_latency_seconds_sum.*\n", "", METRICS), "a cycle takes 0 s"),
    "stats a list": (trt(specDecodingStats=[1]), "specDecodingStats is a list; expected an object of JSON"),
    "batching a list": (trt(inflightBatchingStats=[1]), "inflightBatchingStats is a list"),
    "iteration a number": ('[3, {"iterLatencyMS": 1}]', "holds something else than iterations"),
    "iterations of no time": (trt(iterLatencyMS=0), "takes 0 s; expected more than 0"),
    "iteration of a list": (trt(iterLatencyMS=[1]), r"iterLatencyMS is '\[1\]'"),
    "times too large": (trt(iterLatencyMS=1e300), r"iterLatencyMS is 1e\+300; expected 0, or a number from"),
    "timings a list": ('{"timings": [1], "predicted_ms": 3}', "timings of response 0 is a list"),
    "timings nothing": ('{"timings": null, "predicted_ms": 3}', "timings of response 0 is a NoneType"),
    "response a number": ('[3, {"predicted_ms": 1}]', "response 0 is a int"),
    "draft_n a list": (RESPONSE.replace("347", "[347]"), r"draft_n of response 0 is '\[347\]'"),
    "nested, TensorRT": (f'[{{"iterLatencyMS": {DEEP}', "is nested too deep"),
    "nested, ours": (f'{{"runs": [{{"speculation": {DEEP}', "is nested too deep"),
    "nested, llama.cpp": (f'{{"predicted_ms": {DEEP}', "is nested too deep"),
    "nested, per request": (f'{{"acceptance_histogram": {DEEP}', "is nested too deep"),
    "runs an object": ('{"runs": {"speculation": "on"}}', "runs is no list of objects"),
    "a long field": (f"speculation,note\non,{'x' * 200_000}\n", "field larger than field limit"),
    "a column twice": (CSV.replace("drafted", "blocks"), "has the column blocks twice"),
    "a key twice": (OWN.replace('"length": 2', '"blocks": 11'), "has the key 'blocks' twice"),
    "a time too small": ("speculation,token_ms\noff,1e-300\n", "token_ms is 1e-300; expected 0, or a number from"),
    "coverage above 1": (CSV.replace("kept", "coverage").replace("8;4", "1.5"), "coverage is 1.5; expected a share"),
    "tau beside other counts": (
        "speculation,length,blocks,accepted,tau\non,3,10,20,2.5\n",
        "tau is 2.5, and accepted over blocks give 3; leave out one of them",
    ),
    "rates of llama.cpp": (LLAMA.replace("0.805", "8.05"), "rate of position 1 is 8.05; expected a share"),
    "requests of SGLang": (SGLANG.replace("#running-req: 1, #token: 258", f"#running-req: {'9' * 400},"), "is '999"),
    "seconds of two points": (EXAMPLE.replace("34.412", "3.4.12"), "seconds is '3.4.12'"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_log_is_refused_in_a_line(case: str, tmp_path: Path) -> None:
    text, words = HOSTILE[case]
    (tmp_path / "on.log").write_text(text)
    with pytest.raises(ValueError, match=words) as refused:
        read_log(tmp_path / "on.log")
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("on.log")


SEEDS = int(os.environ.get("HOSTILE_SEEDS", "25"))  # changes of each log
ODD = (
    "",
    "0",
    "-1",
    "nan",
    "1e400",
    "9" * 400,
    "1e300",
    "1e-320",
    "5.0",
    "[]",
    "{}",
    "null",
    '"x"',
    "true",
    ",",
    "NaN",
)
WHOLE = {
    "metrics": METRICS,
    "lines": LINES,
    "SGLang": SGLANG,
    "llama.cpp": LLAMA,
    "TensorRT-LLM": trt(),
    "example": EXAMPLE,
    "response": RESPONSE,
    "CSV": CSV,
    "JSON": OWN,
}


def changed(text: str, generator: random.Random) -> str:
    """The text with one or two of its numbers, words or lines changed."""
    for _ in range(generator.choice([1, 1, 2])):
        kind = generator.choice([0, 0, 0, 1, 2, 3])
        numbers = list(re.finditer(r"\d+(?:\.\d+)?", text))
        words = list(re.finditer(r"[A-Za-z_]+", text))
        if kind == 0 and numbers:
            found = generator.choice(numbers)
            text = text[: found.start()] + generator.choice(ODD) + text[found.end() :]
        elif kind == 1 and words:
            found = generator.choice(words)
            text = text[: found.start()] + generator.choice(words)[0] + text[found.end() :]
        elif kind == 2:
            lines = text.splitlines(keepends=True)
            del lines[generator.randrange(max(len(lines), 1)) :][:1]
            text = "".join(lines)
        else:
            cut = generator.randrange(len(text) + 1)
            text = text[:cut] + text[cut + generator.randrange(40) :]
    return text


def read_and_explain(path: Path, plain: Path, by_batch: bool) -> None:
    runs = read_log(path, by_batch=by_batch)
    on = [run for run in runs if run.speculating]
    off = [run for run in runs if not run.speculating]
    for run in on:
        refusal(lambda run=run: log_acceptance(run, length=3))
    other = [run._replace(engine=runs[0].engine) for run in read_log(plain)]
    diagnose(off or other[:1], on or other[1:])


def refusal(action: Callable[[], object]) -> str:
    """What a ValueError says; any other exception ends the test."""
    try:
        action()
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", WHOLE)
def test_no_change_of_a_log_ends_in_a_traceback(name: str, tmp_path: Path) -> None:
    path, plain = tmp_path / "on.log", tmp_path / "plain.csv"
    plain.write_text(CSV)
    said = set()
    for seed in range(SEEDS):
        path.write_text(changed(WHOLE[name], random.Random(seed)))
        said.add(refusal(partial(read_and_explain, path, plain, bool(seed % 2))))
    assert not any("\n" in words for words in said)
