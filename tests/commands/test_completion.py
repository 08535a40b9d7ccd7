"""What Tab completes, and the spellings that both commands take."""

from __future__ import annotations

import pytest
import typer.main
from typer.testing import CliRunner

import real.cli
import specsim.cli
from real.models.names import check_dtype
from specsim import roofline
from specsim.base.dtypes import LONG
from specsim.base.lists import whole_numbers
from specsim.commands import completion

COMMANDS = typer.main.get_command(specsim.cli.app).commands  # type: ignore[attr-defined]
OF_REAL = typer.main.get_command(real.cli.app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("complete", "typed", "wanted"),
    [
        (completion.complete_rule, "recursive", ["recursive", "recursive_wor"]),
        (completion.complete_step, "kse", ["kseq"]),
        (completion.complete_scheme, "without", ["without_replacement"]),
        (completion.complete_family, "cou", ["coupled"]),
        (completion.complete_checked, "iid", ["iid"]),
        (completion.complete_device, "h100-sxm", ["h100-sxm5-80gb"]),
        (completion.complete_model, "llama-3.1-70", ["llama-3.1-70b"]),
        (completion.complete_engine, "vl", ["vllm", "vllm-synthetic"]),
        (completion.complete_claim, "al", ["all"]),
        (completion.complete_dtype, "f", ["fp16", "fp4", "fp8"]),
        (completion.complete_weights, "q4", ["q4_0", "q4_k_m"]),
        (completion.complete_subject, "rejection_", ["rejection_one_late"]),
        (completion.complete_property, "mar", ["marginal"]),
        (completion.complete_whole, "mult", ["multipath_block"]),
    ],
)
def test_names_are_completed(complete: object, typed: str, wanted: list[str]) -> None:
    assert complete(typed) == wanted  # type: ignore[operator]
    assert complete("no such name") == []  # type: ignore[operator]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("check", {"rule", "family", "step"}),
        ("simulate", {"rule", "scheme", "step"}),
        ("plan", {"target", "draft", "hardware", "dtype", "weights", "draft_weights", "emit"}),
        ("conform", {"source", "only"}),
        ("claims", {"run"}),
    ],
)
def test_options_complete_their_values(command: str, names: set[str]) -> None:
    completed = {one.name for one in COMMANDS[command].params if one._custom_shell_complete is not None}
    assert completed == names


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("compare", {"prompts", "rule", "scheme", "step", "dtype", "weights"}),
        ("forced", {"target", "draft", "dtype", "weights"}),
        ("systems", {"names"}),
    ],
)
def test_options_of_the_real_command_complete_their_values(command: str, names: set[str]) -> None:
    completed = {one.name for one in OF_REAL[command].params if one._custom_shell_complete is not None}
    assert completed == names


@pytest.mark.parametrize(("short", "long"), LONG.items())
def test_a_type_has_two_spellings(short: str, long: str) -> None:
    assert check_dtype(short) == check_dtype(long) == long


def test_a_plan_takes_the_long_name_of_a_type() -> None:
    pair = ("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    one, other = (roofline(*pair, dtype=name).target(1, 1, 0) for name in ("bf16", "bfloat16"))
    assert one == other
    words = "plan 0.8 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --dtype"
    ended = [CliRunner().invoke(specsim.cli.app, [*words.split(), name]) for name in ("bf16", "bfloat16")]
    assert (ended[0].exit_code, ended[0].stdout) == (0, ended[1].stdout)


def test_a_list_takes_ranges() -> None:
    assert whole_numbers("1-3,8", "batch", 1, 2**14) == (1, 2, 3, 8)
    assert whole_numbers("1k-1k", "context", 0, 2**20) == (1024,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3-1", "batch has '3-1', an empty range; write the smaller number first"),
        ("1-", "batch has '1-', which is no whole number"),
        ("-3", "batch has '-3', which is no whole number"),
        ("1-5k", "batch has '1-5k', a range of more than 4096 numbers; list some"),
        ("0-3", "batch must be at least 1"),
    ],
)
def test_a_range_that_is_none_is_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        whole_numbers(text, "batch", 1, 2**14)
