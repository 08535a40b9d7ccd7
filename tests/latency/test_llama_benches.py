"""llama-bench and llama-batched-bench: which of their times are passes of a block, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from helpers.planning import as_json, run

from specsim.latency import PassTimes, from_pass_times, read_pass_times


def case(prompt: int, generated: int, depth: int, samples: list[int], **more: Any) -> dict[str, Any]:
    """A test as llama-bench prints it, with fields of the setup beside it."""
    setup = {
        "build_commit": "8cf427ff",
        "model_filename": "m.gguf",
        "n_batch": 2048,
        "n_ubatch": 512,
        "flash_attn": False,
    }
    mean = round(sum(samples) / len(samples))
    test = {"n_prompt": prompt, "n_gen": generated, "n_depth": depth, "test_time": "2025-04-24T11:58:50Z"}
    times = {"avg_ns": mean, "stddev_ns": 1000, "avg_ts": 1e9 * max(prompt, generated) / mean, "samples_ns": samples}
    return setup | test | times | more


CASES = [
    case(5, 0, 0, [10_000_000, 10_400_000, 10_200_000]),
    case(512, 0, 0, [70_000_000, 71_000_000, 72_000_000]),
    case(0, 100, 0, [800_000_000, 820_000_000, 810_000_000]),
]


def read(folder: Path, text: str, name: str = "bench.json") -> PassTimes:
    path = folder / name
    path.write_text(text)
    return read_pass_times(path)


def as_csv(cases: list[dict[str, Any]]) -> str:
    """Return tests as -o csv prints them: quoted, without repetitions."""
    out = io.StringIO()
    rows = [{name: value for name, value in test.items() if name != "samples_ns"} for test in cases]
    out.write(",".join(rows[0]) + "\n")
    writer = csv.DictWriter(out, rows[0], quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(rows)
    return out.getvalue()


def test_a_short_prompt_is_a_pass_and_generation_is_plain_steps(tmp_path: Path) -> None:
    times = read(tmp_path, json.dumps(CASES))
    assert times.seconds == {(5, 1, 0): (0.010, 0.0104, 0.0102), (1, 1, 0): (0.008, 0.0082, 0.0081)}
    assert times.unknown == ()
    assert any("pp512 are not used" in note for note in times.notes)
    assert any("score their last token only" in note for note in times.notes)
    lines = "\n".join(json.dumps(test) for test in CASES)
    assert read(tmp_path, lines, "bench.jsonl").seconds == times.seconds


def test_a_csv_has_means_without_an_error(tmp_path: Path) -> None:
    times = read(tmp_path, as_csv(CASES), "bench.csv")
    assert times.seconds == {(5, 1, 0): (0.0102,), (1, 1, 0): (0.0081,)}
    assert any("-o json has every repetition" in note for note in times.notes)
    assert from_pass_times(times, 0.1).target(5, 1, 0).error is None


def test_depths_are_contexts(tmp_path: Path) -> None:
    deep = [case(5, 0, 4096, [12_000_000]), case(0, 100, 4096, [900_000_000])]
    times = read(tmp_path, json.dumps([*CASES, *deep]))
    assert from_pass_times(times, 0.1).target(5, 1, 2048).value == pytest.approx((0.0102 + 0.012) / 2)


def test_a_prompt_in_several_micro_batches_is_no_pass(tmp_path: Path) -> None:
    tests = [case(9, 0, 0, [20_000_000], n_ubatch=8), case(5, 0, 0, [9_000_000], n_ubatch=8),
             case(0, 10, 0, [80_000_000], n_ubatch=8), case(16, 16, 0, [90_000_000], n_ubatch=8)]  # fmt: skip
    times = read(tmp_path, json.dumps(tests))
    assert sorted(times.seconds) == [(1, 1, 0), (5, 1, 0)]
    assert any("pp9, pp16+tg16 are not used" in note for note in times.notes)


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([CASES[0], CASES[2] | {"model_filename": "n.gguf"}], "tests of model_filename m.gguf and of model_filename n"),
        ([CASES[0] | {"avg_ns": 11_000_000}], "row 1: avg_ns is 1.1e\\+07, and the mean of samples_ns 1.02e\\+07"),
        ([CASES[0] | {"samples_ns": []}], "row 1: samples_ns is \\[\\]; expected a list of times"),
        ([CASES[0] | {"samples_ns": [0]}], "row 1: samples_ns\\[0\\] is 0"),
        ([CASES[0] | {"n_prompt": None}], "row 1 has no n_prompt"),
        ([{k: v for k, v in CASES[0].items() if k not in ("n_batch", "n_ubatch")}], "row 1 has no n_batch"),
    ],
)
def test_what_llama_bench_cannot_have_meant_is_refused(
    tmp_path: Path, cases: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, json.dumps(cases))


def test_prompts_alone_make_no_plan(tmp_path: Path) -> None:
    """The default run of llama-bench (pp512, tg128) says nothing of a block, and the message says what to run."""
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(CASES[1:]))
    message = run(f"0.8 --costs {path} --cost-ratio 0.1", 2)
    assert "measure a pass of 2 tokens or more, too, as llama-bench -p 2,3,5,9 -n 128 -o json does" in message
    path.write_text("| model | size | test | t/s |\n| --- | --- | --- | --- |\n| m | 1 | pp512 | 7340 ± 23 |\n")
    assert "give the output of llama-bench -o json" in run(f"0.8 --costs {path} --cost-ratio 0.1", 2)
    path.write_text(json.dumps(CASES))
    (point,) = as_json(f"0.8 --costs {path} --cost-ratio 0.1")["points"]
    assert (point["gamma"], point["batch"], point["context"]) == (4, 1, 0)


HEAD = """
main: n_kv_max = 4096, n_batch = 2048, n_ubatch = {ubatch}, flash_attn = 1, is_pp_shared = {shared}{more}, n_threads = 8

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
"""


def table(
    rows: list[tuple[int, int, int, int, float, float]], ubatch: int = 512, shared: int = 0, more: str = ""
) -> str:
    """The table of llama-batched-bench, speeds and totals made up of the rest."""
    lines = [
        f"|{pp:6d} | {tg:6d} | {pl:4d} | {kv:6d} | {a:8.3f} | {pl * pp / a:8.2f} | {b:8.3f} | {pl * tg / b:8.2f} | "
        f"{a + b:8.3f} | {kv / (a + b):8.2f} |"
        for pp, tg, pl, kv, a, b in rows
    ]
    return HEAD.format(ubatch=ubatch, shared=shared, more=more) + "\n".join(lines) + "\n\nllama_perf_context_print: x\n"


ROWS = [(3, 32, 1, 35, 0.021, 0.640), (5, 32, 1, 37, 0.022, 0.672), (3, 32, 8, 280, 0.040, 0.800),
        (5, 32, 8, 296, 0.052, 0.832), (512, 32, 8, 4352, 0.9, 0.96)]  # fmt: skip


def test_rows_of_short_prompts_are_passes_of_several_sequences(tmp_path: Path) -> None:
    times = read(tmp_path, table(ROWS), "batched.txt")
    assert times.seconds[3, 8, 0] == (0.040,)
    assert times.seconds[5, 1, 0] == (0.022,)
    assert times.seconds[1, 8, 0] == pytest.approx((0.025, 0.026))
    assert times.seconds[1, 8, 512] == pytest.approx((0.030,))
    model = from_pass_times(times, 0.1)
    assert model.target(4, 8, 0).value == pytest.approx(0.046)
    words = "; ".join(model.assumptions)
    assert "left out, for only the plain step was measured there: batch 8, context 512" in words
    assert "T_PP of prompts of 512 tokens is not used" in words
    assert "printed to 1 ms, which is up to 2% of a pass" in words


def test_lines_of_json_are_the_same_rows(tmp_path: Path) -> None:
    names = ("pp", "tg", "pl", "n_kv", "t_pp", "t_tg")
    setup = {"n_kv_max": 4096, "n_batch": 2048, "n_ubatch": 512, "is_pp_shared": 0}
    lines = [json.dumps(setup | dict(zip(names, row, strict=True))) for row in ROWS]
    times = read(tmp_path, "loading\n" + "\n".join(lines) + "\n", "batched.jsonl")
    assert times.seconds == read(tmp_path, table(ROWS), "batched.txt").seconds
    assert not any("printed to 1 ms" in note for note in times.notes)


def test_prompts_that_are_no_single_pass_of_all_sequences_are_not_used(tmp_path: Path) -> None:
    """In several micro-batches, of an unknown number of them, or one prompt for all sequences."""
    assert (5, 8, 0) not in read(tmp_path, table(ROWS, ubatch=32)).seconds
    bare = table(ROWS).split("n_threads = 8\n\n")[1]
    assert {tokens for tokens, _, _ in read(tmp_path, bare).seconds} == {1}
    shared = [(5, 32, 1, 37, 0.022, 0.672), (5, 32, 8, 261, 0.052, 0.832)]
    assert sorted(read(tmp_path, table(shared, shared=1)).seconds) == [(1, 1, 0), (1, 8, 0), (5, 1, 0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (table([(5, 32, 8, 300, 0.052, 0.832)]), "N_KV is 300, and PP 5, TG 32, B 8 need 296, or 261 with a shared"),
        (table(ROWS[2:3], shared=1), "they differ"),
        (table([(5, 32, 8, 296, 0.0001, 0.832)]), "T_PP is 0 s, less than the table prints; --output-format jsonl"),
        (table(ROWS, more=", is_tg_separate = 1"), "is_tg_separate = 1 .* leave -tgs out"),
        (table(ROWS) + table(ROWS, ubatch=64), "rows of several settings; split it"),
        (table([]), "has no rows"),
        ('{"pp": 1, "t_tg": 2, "n_kv": 3}\n', "line 1 has no tg"),
    ],
)
def test_what_batched_bench_cannot_have_meant_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, "batched.txt")
