"""`--weights`: the option reaches the target, the record and every table, and bad ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import real.cli

SHORT = ("compare", "tiny", "--widen", "0", "--count", "1", "--max-tokens", "6")
CHAINS = ("--gamma", "1,2")


def said(*arguments: str) -> Any:
    result = CliRunner().invoke(real.cli.app, list(arguments))
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize(
    "more", [CHAINS, (*CHAINS, "--rule", "tokenwise,block"), ("--tree", "2,1", "--chains", "1")], ids=str
)
def test_the_record_and_its_tables_name_what_is_lossless(more: tuple[str, ...], tmp_path: Path) -> None:
    out = str(tmp_path / "of.json")
    status, shown = said(*SHORT, *more, "--weights", "int8", "--out", out)
    assert status == 0, shown
    assert "losslessness are those of the rounded target" in shown
    assert json.loads(Path(out).read_text())["provenance"]["target_weights"] == "int8"
    assert ", rounded to int8: lossless with respect to that" in said("table", out)[1]
    status, refused = said(*SHORT, *more, "--weights", "int4", "--out", out)
    assert status == 2, refused  # a record of other weights is not carried on


def test_bytes_of_a_plain_step_are_those_of_the_rounded_target(tmp_path: Path) -> None:
    """The bandwidth times the plain step is what the step reads, a third of that in float32."""
    read = {}
    for kind in ("", "int8"):
        out = tmp_path / f"of-{kind}.json"
        assert said(*SHORT, "--gamma", "1", "--out", str(out), *(["--weights", kind] if kind else []))[0] == 0
        record = json.loads(out.read_text())
        assert ("target_weights" in record["provenance"]) == bool(kind)
        read[kind] = record["bandwidth"]["baseline"] * record["costs"]["cycle_s"][0]
    assert read[""] == pytest.approx(21_378_048)
    assert read["int8"] == pytest.approx(6_959_616)


def test_forced_acceptance_takes_weights_too(tmp_path: Path) -> None:
    out = str(tmp_path / "forced.json")
    options = ("--batch", "1", "--context", "32", "--gamma", "1", "--calibrate", "1", "--turns", "1", "--out", out)
    assert said("forced", "10m", "10m", *options, "--weights", "int4")[0] == 0
    assert "shaped 10m, rounded to int4" in said("table", out)[1]
    status, refused = said("forced", "tiny", "tiny", *options, "--force", "--weights", "int4")
    assert (status, "the kernel takes multiples of 32" in refused) == (2, True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--weights int3", "error: weights 'int3' is unknown; known: int8, int4"),
        ("--weights int8 --dtype float16", "weights int8 are for float32 and bfloat16 on a CPU, got float16 on cpu"),
    ],
)
def test_weights_that_cannot_be_are_one_line(more: str, message: str, tmp_path: Path) -> None:
    status, shown = said(*SHORT, *CHAINS, "--out", str(tmp_path / "of.json"), *more.split())
    assert (status, message in shown) == (2, True), shown
    assert not list(tmp_path.iterdir())
