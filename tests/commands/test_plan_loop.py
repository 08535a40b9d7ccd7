"""`specsim plan --concurrency`: a closed loop, against measured cells and against its own simulation."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from typer.testing import CliRunner

from specsim.cli import app

LLAMA = "--target llama-3.1-8b --draft eagle3 --hardware a100-sxm4-80gb"
# vLLM 0.24 on one A100-SXM4-80GB, Llama-3.1-8B with EAGLE-3, 5 drafts, GSM8K, answers of 256 tokens: clients, tokens
# per target step, tokens per second without and with drafts. The time to the first token of one request was 58.17 ms.
MEASURED = [(1, 2.8672, 90.7159, 194.1432), (8, 2.8825, 627.1035, 1099.6575), (32, 2.8911, 1588.308, 1934.0957),
            (64, 2.8859, 2227.0977, 2152.3151)]  # fmt: skip


CELL = f"--tau 2.8825 --gamma 5 --ttft-ms 58.17 {LLAMA} --concurrency 8"


def run(words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["plan", *shlex.split(words)], env={"COLUMNS": "80"})
    assert result.exit_code == code, result.output
    return result.output


def loop(words: str) -> list[dict[str, Any]]:
    answer = json.loads(run(f"{words} --json"))
    assert answer["schema"] == "specsim/plan-loop/1"
    cells: list[dict[str, Any]] = answer["loop"]
    return cells


@pytest.mark.parametrize(("clients", "tau", "plain", "drafted"), MEASURED)
def test_measured_cells(clients: int, tau: float, plain: float, drafted: float) -> None:
    """Tokens per second within 5 %, the speedup within 5 %, inside its interval, on the right side of 1."""
    words = f"--tau {tau} --gamma 5 --ttft-ms 58.17 --output-tokens 256 {LLAMA} --concurrency {clients}"
    (cell,) = loop(words)
    assert cell["concurrency"] == clients
    assert cell["plain_tokens_per_s"] == pytest.approx(plain, rel=0.05)
    assert cell["speculative_tokens_per_s"] == pytest.approx(drafted, rel=0.05)
    speedup = cell["speedup"]
    assert speedup["value"] == pytest.approx(drafted / plain, rel=0.05)
    assert speedup["low"] < drafted / plain < speedup["high"]
    assert (speedup["value"] > 1) == (drafted > plain)


def test_the_best_length_is_found_for_each_number_of_clients() -> None:
    """By all lengths one by one; a busy device wants shorter blocks."""
    words = f"0.8 --prompt-tokens 200 {LLAMA} --concurrency 1,64 --max-gamma 6"
    best = {cell["concurrency"]: cell["gamma"] for cell in loop(words)}
    assert best[1] > best[64]
    for clients, gamma in best.items():
        each = {
            k: loop(f"0.8 --prompt-tokens 200 {LLAMA} --concurrency {clients} --gamma {k}")[0]["speedup"]["value"]
            for k in range(1, 7)
        }
        assert max(each, key=lambda k: each[k]) == gamma


def test_longer_prompts_cost_tokens_and_a_prefix_cache_gives_them_back() -> None:
    rates = [
        loop(f"0.7 --gamma 3 {LLAMA} --concurrency 16 {more}")[0]["plain_tokens_per_s"]
        for more in ("--prompt-tokens 100", "--prompt-tokens 2000", "--prompt-tokens 2000 --prefix-share 0.9")
    ]
    assert rates[1] < 0.6 * rates[0]
    assert rates[1] < rates[2] < rates[0]


def test_types_of_weights_and_cache_count() -> None:
    sixteen, four = (loop(f"{CELL} {more}")[0] for more in ("", "--weights int4"))
    assert four["plain_tokens_per_s"] > 1.3 * sixteen["plain_tokens_per_s"]
    long = "0.7 --gamma 3 --prompt-tokens 8000 --prefix-share 0.99 --concurrency 32"
    wide, narrow = (loop(f"{long} {LLAMA} {more}")[0] for more in ("", "--kv-dtype fp8"))
    assert narrow["plain_tokens_per_s"] > 1.2 * wide["plain_tokens_per_s"]


def test_spreads_and_files_of_lengths(tmp_path: Any) -> None:
    """Tokens per second hardly depend on the spread of answers; the slowest requests do."""
    path = tmp_path / "answers.txt"
    path.write_text("\n".join(["100", "412"] * 8))
    cells = [loop(f"{CELL} --output-tokens {written}")[0] for written in ("256", "256+-128", path)]
    rates = [cell["plain_tokens_per_s"] for cell in cells]
    assert rates == pytest.approx([rates[0]] * 3, rel=0.03)
    slowest = [cell["plain"]["total_s"]["p99"] for cell in cells]
    assert min(slowest[1:]) > 1.3 * slowest[0]


def test_the_page_agrees_with_itself() -> None:
    """Clients times tokens over the time of a request are the tokens per second, long and short prompts alike."""
    for words in (
        "--prompt-tokens 300",
        "--prompt-tokens 30000",
        "--output-tokens 1",
        "--prompt-tokens 900 --unchunked",
    ):
        tokens = 1 if "output" in words else 256
        (cell,) = loop(f"0.8 --gamma 5 {LLAMA} --concurrency 8 {words}")
        for name in ("plain", "speculative"):
            seen = 8 * tokens / cell[name]["total_s"]["mean"]
            assert cell[f"{name}_tokens_per_s"] == pytest.approx(seen, rel=0.08), words


def test_a_measured_time_beside_told_prompts() -> None:
    """A longer one is a wait that occupies no device, a shorter one says that prompts are read faster."""
    words = f"0.8 --gamma 5 {LLAMA} --concurrency 1,32 --prompt-tokens 600"
    plain, late, early = (loop(f"{words} {more}") for more in ("", "--ttft-ms 300", "--ttft-ms 25"))
    assert late[0]["plain"]["ttft_s"]["mean"] == pytest.approx(0.3, rel=0.01)
    assert early[0]["plain"]["ttft_s"]["mean"] == pytest.approx(0.025, rel=0.01)
    rates = [cells[1]["plain_tokens_per_s"] for cells in (late, plain, early)]
    assert rates[0] < rates[1] < rates[2]
    assert rates[0] > 0.9 * rates[1]


def test_drafts_that_are_looked_up_leave_plain_decoding_as_it_is() -> None:
    looked_up = LLAMA.replace("eagle3", "ngram")
    words = f"0.8 --gamma 5 {looked_up} --concurrency 8 --prompt-tokens 2000"
    all_steps, few = (loop(f"{words} --drafted-share {share}")[0] for share in (1, 0.3))
    assert all_steps["plain_tokens_per_s"] == few["plain_tokens_per_s"]
    assert few["speedup"]["value"] < all_steps["speedup"]["value"]


def test_overhead_takes_the_place_of_the_engines_host_work() -> None:
    words = f"0.8 --gamma 5 {LLAMA} --concurrency 1 --prompt-tokens 100"
    usual, none, same = (
        loop(f"{words} {more}")[0]["speedup"]["value"] for more in ("", "--overhead 0", "--overhead 1.4")
    )
    assert none > 1.05 * usual
    assert same == pytest.approx(usual)


def test_counted_acceptance_widens_the_interval(tmp_path: Any) -> None:
    widths = []
    for factor in (1, 100):
        path = tmp_path / f"{factor}.json"
        path.write_text(json.dumps({"drafted": 3, "counts": [4 * factor, 3 * factor, 2 * factor, 6 * factor]}))
        speedup = loop(f"--histogram {path} --gamma 3 {LLAMA} --concurrency 4 --prompt-tokens 100")[0]["speedup"]
        widths.append(speedup["high"] - speedup["low"])
    assert widths[0] > 1.5 * widths[1]


def test_errors_are_those_of_all_tokens_of_a_pass() -> None:
    """On an H100 cycles are known to 6 % up to 128 tokens, and to 13 % up to 256: 64 clients with 1 and 3 drafts."""
    words = "0.7 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --overhead 0 --concurrency 64"
    speedups = [loop(f"{words} --output-tokens 20 --gamma {gamma}")[0]["speedup"] for gamma in (1, 3)]
    few, many = (speedup["high"] / speedup["value"] - 1 for speedup in speedups)
    assert many > 1.5 * few


def test_the_table_fits_a_terminal() -> None:
    said = run(f"{CELL},64")
    assert said.startswith("With 8 clients speculation helps: 1.8")
    rows = [line for line in said.splitlines() if "  " in line]
    assert max(map(len, rows)) <= 80
    assert "note: --prompt-tokens is not given: 58.17 ms to the first token read 688 tokens" in said
    assert "- tau is 2.8825 at 5 drafts, as given; within a block every draft is kept with probability 0.69" in said
    assert "- the host works 1 ms in every pass, 1.4 ms more in a cycle with drafts" in said


def test_lengths_by_clients_in_an_engines_words() -> None:
    """The best length of each number of clients, and none where plain decoding writes more."""
    words = f"0.6 --prompt-tokens 200 {LLAMA} --max-gamma 6 --concurrency 1,8,32,256"
    best = {cell["concurrency"]: cell["gamma"] for cell in loop(words) if cell["speedup"]["value"] > 1}
    assert set(best) == {1, 8, 32}
    assert best[1] == best[8] != best[32]
    result = CliRunner().invoke(app, ["plan", *shlex.split(f"{words} --emit vllm")])
    told = json.loads(result.stdout)
    by_clients = told["num_speculative_tokens_per_batch_size"]
    assert by_clients == [[1, 8, best[8]], [9, 32, best[32]], [33, 256, 0]]
    assert "predicted for closed loops of 1, 8, 32, 256 clients" in result.stderr
    assert "host and sampling take no time" not in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("0.8 --cost-ratio 0.1 --concurrency 8", "give --target, --draft and --hardware, or --costs, not --cost-ratio"),
        (f"0.8 {LLAMA} --concurrency 0", "concurrency must be at least 1"),
        (f"0.8 {LLAMA} --concurrency 8 --rate 2", "give one of them"),
        (f"0.8 {LLAMA} --concurrency 8 --batch 4", "--concurrency says nothing of --batch"),
        (f"0.8 {LLAMA} --concurrency 8 --emit csv", "with --concurrency give --json or --csv"),
        (f"0.8 {LLAMA} --rate 1 --emit csv", "with --rate give --json or --csv"),
        (f"0.8 {LLAMA} --rate 1 --nodes 9", "--rate says nothing of --nodes"),
        (f"0.8 {LLAMA} --rate 1 --context 1k,2k", "a load is planned at one context: give one"),
        (f"0.8 {LLAMA} --concurrency 8 --within 3", "--within goes with --rate"),
        (f"0.8 {LLAMA} --gamma 4", "--gamma goes with --concurrency or --rate"),
        (f"0.8 {LLAMA} --prompt-tokens 9", "--prompt-tokens goes with --concurrency or --rate"),
        (f"--tau 2.9 {LLAMA} --concurrency 8", "--tau is measured at one block length: give --gamma, too"),
        (f"--tau 9 --gamma 5 {LLAMA} --concurrency 8", "tau is 9; with gamma 5 a target step gives 1 to 6 tokens"),
        (f"0.8 --tau 2 --gamma 5 {LLAMA} --concurrency 8", "got alpha, tau"),
        (f"0.8 {LLAMA} --concurrency 8 --prefix-share 1", "prefix_share"),
        (f"0.8 {LLAMA} --concurrency 8 --captured 4,2", "write the sizes in increasing order"),
        (f"0.8 {LLAMA} --concurrency 8 --ttft-ms 0", "ttft_ms"),
        (f"0.8 {LLAMA} --concurrency 8 --ttft-ms 0.5", "ttft_ms is 0.5, shorter than a pass over one token"),
        (f"0.8 {LLAMA} --concurrency 8 --ttft-ms 1e9", "the time of more than 1048576 tokens"),
        (f"0.8 {LLAMA} --concurrency 8 --gamma 5 --max-gamma 3", "--max-gamma goes up to 3 drafts"),
        (f"--ranks 0.7,0.1 {LLAMA} --concurrency 8", "--concurrency is planned for chains"),
        (f"0.8 {LLAMA} --concurrency 8 --prompt-tokens some", "write a number, a mean with a standard deviation"),
        (f"0.8 {LLAMA} --rate 1 --prompt-tokens many", "write a number, a mean with a standard deviation"),
        (f"0.8 {LLAMA} --concurrency 8 --kv-dtype fp7", "kv_dtype 'fp7' is unknown"),
        ("0.8 --cost-ratio 0.1 --kv-dtype fp8", "--kv-dtype: it says nothing of a --cost-ratio"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(words: str, message: str) -> None:
    said = run(words, code=2)
    assert said.startswith("error: ")
    assert message in said
    assert said.count("\n") == 1
