"""The main job on the bundled pair: what it records, what it survives, what it refuses."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.forwards import forbid, refusal
from typer.testing import CliRunner

import real.cli
import real.studies.compare.measure
from real import TINY
from real.decode.loop import decode, keyed
from real.decode.warp import Warping
from real.load_pair import load
from real.options import read_prompts
from real.studies.compare import report
from real.studies.compare.record import Job, Run, Turn, turn_as_json, turn_of
from specsim.base import files


def command(*arguments: str) -> Any:
    return CliRunner().invoke(real.cli.app, list(arguments))


@pytest.fixture
def short(tmp_path: Path) -> tuple[Path, tuple[str, ...]]:
    out = tmp_path / "compare.json"
    words = "compare tiny --count 3 --max-tokens 8 --gamma 1-3 --widen 0 --out"
    return out, (*words.split(), str(out))


def test_record_table_and_plot(short: tuple[Path, tuple[str, ...]]) -> None:
    out, arguments = short
    result = command(*arguments)
    assert result.exit_code == 0, result.output
    record = json.loads(out.read_text())
    assert "turns" not in record
    assert record["schema"] == "specsim-compare/2"
    assert record["complete"] is True
    assert [row["gamma"] for row in record["pairs"]] == [1, 2, 3]
    for row in record["pairs"]:
        assert 1 <= row["tau"]["predicted"] <= row["gamma"] + 1
        low, high = row["tau"]["interval"]
        assert low <= row["tau"]["measured"] <= high
        assert row["tau"]["measured"] == pytest.approx(24 / row["target_calls"]["measured"])
        assert row["speedup"]["measured"] > 0
        assert row["speedup"]["interval"] is None, "three prompts"
    assert {"date", "machine", "versions", "seed", "command"} <= record["provenance"].keys()
    assert len(record["acceptance"]["hazards"]) == 3
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert result.stdout.startswith("Speculation ")
    assert "that keep 0, 1, ... drafts" in " ".join(result.output.split())
    for row in record["pairs"]:  # blocks kept as many drafts as became text; their shares are a law
        kept, calls = row["blocks_keeping_at_least"]["measured"], row["target_calls"]
        assert 24 <= sum(kept) + calls["measured"] <= 24 + 3  # a block that a stop token ended adds none of its own
        assert calls["tokens"] == 24
        expected = record["acceptance"]["tokens"] / row["tau"]["predicted"]
        predicted = row["blocks_keeping_at_least"]["predicted"]
        assert -1e-9 <= sum(predicted) + expected - record["acceptance"]["tokens"] < 3.001
        assert all(a >= b for a, b in itertools.pairwise([expected, *predicted]))
    assert sorted(p.name for p in out.parent.iterdir()) == ["compare.json", "compare.png"]


def test_interrupted_run_keeps_finished_rows(short: tuple[Path, tuple[str, ...]], monkeypatch: Any) -> None:
    out, arguments = short
    honest, stages = real.studies.compare.measure.compare, []

    def stopped(*args: Any, step: Callable[[str], None], **kwargs: Any) -> Any:
        def watch(stage: str) -> None:
            stages.append(stage)
            if stages.count("decoding, gamma 2") == 3:  # in the third prompt
                raise KeyboardInterrupt
            step(stage)

        return honest(*args, step=watch, **kwargs)

    monkeypatch.setattr(real.studies.compare.measure, "compare", stopped)
    result = command(*arguments)
    assert result.exit_code == 130
    assert "interrupted: 2 of 3 prompts kept; the same command carries on" in result.output
    record = json.loads(out.read_text())
    assert (record["complete"], record["failed"]) == (False, "interrupted")
    assert [row["gamma"] for row in record["pairs"]] == [1, 2, 3]
    assert {row["target_calls"]["tokens"] for row in record["pairs"]} == {16}  # of the two finished prompts


def test_one_prompt_has_no_intervals_and_can_be_shown(tmp_path: Path) -> None:
    """Texts shorter than a block, too: nothing is averaged over no positions."""
    out = tmp_path / "one.json"
    result = command(
        "compare", "tiny", "--count", "1", "--max-tokens", "2", "--gamma", "1,4", "--widen", "0", "--out", str(out)
    )
    assert result.exit_code == 0, result.output
    assert json.loads(out.read_text())["pairs"][1]["tau"]["predicted_over_positions"] is None
    shown = command("table", str(out))
    assert shown.exit_code == 0, shown.output
    assert "best gamma" in shown.output


def test_cliffs_are_steps_of_the_measured_curve() -> None:
    def record(times: list[float]) -> dict[str, Any]:
        rows = [{"gamma": g, "cycle_s": {"phases_measured": {"verify": t}}} for g, t in enumerate(times[1:], 1)]
        return {"costs": {"gammas": [0], "verify_s": times[:1]}, "pairs": rows}

    found = report.cliffs(record([0.010, 0.0105, 0.009, 0.0093, 0.012, 0.0121]))
    assert [line.partition(" (")[0] for line in found] == ["cliff at 3 tokens", "cliff at 5 tokens"]
    assert "14% less than over 2" in found[0]
    assert "29% more than over 4" in found[1]
    assert report.cliffs(record([0.010, 0.0105, 0.011])) == []


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (RuntimeError("CUDA error: device-side lost"), "RuntimeError: CUDA error: device-side lost"),
        (MemoryError("keys and values of the target: ..."), "MemoryError: keys and values of the target: ..."),
        (ValueError("block 2: the target's logits at position 9 are not finite"), "ValueError: block 2: the target's"),
    ],
)
def test_a_fault_leaves_valid_json(
    short: tuple[Path, tuple[str, ...]], monkeypatch: Any, fault: Exception, reason: str
) -> None:
    """A lost device, memory that ran out, numbers that are none: what was finished is kept, with the reason."""
    out, arguments = short
    honest, runs = real.studies.compare.measure.decode, []

    def failing(*args: Any, **kwargs: Any) -> Any:
        runs.append(kwargs["gamma"])
        if len(runs) == 3 + 4 + 2:  # three texts written, one prompt compared, the second begun
            raise fault
        return honest(*args, **kwargs)

    monkeypatch.setattr(real.studies.compare.measure, "decode", failing)
    result = command(*arguments)
    assert result.exit_code == 1
    record = json.loads(out.read_text())
    assert record["complete"] is False
    assert record["failed"].startswith(reason)
    assert [row["target_calls"]["tokens"] for row in record["pairs"]] == [8, 8, 8]
    assert reason in result.output.replace("\n", " ")


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: Any) -> None:
    out = tmp_path / "record.json"
    files.write_json(out, {"old": 1})

    def full_disk(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        files.write_json(out, {"new": 2})
    assert json.loads(out.read_text()) == {"old": 1}
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "empty.txt/compare.json"], "empty.txt/compare.json cannot be written: Not a directory"),
        (["--out", "empty.txt"], "out empty.txt must end in .json"),
        (["--widen", "-1"], "widen must be a number of millions, at least 1, or 0 for the target as it is; got -1"),
        (["--out", "folder.json"], "output folder.json is a directory"),
        (["--gamma", "0"], "gamma must be at least 1, got 0"),
        (["--out", "record.png"], "out record.png must end in .json"),
        (["--gamma", "8-1"], "gamma has '8-1', an empty range; write the smaller number first"),
        (["--gamma", "1,1"], "gamma has 1 twice; leave out one of them"),
        (["--gamma", "four"], "gamma has 'four', which is no whole number; write 1,8,64 or 1-8 or 1k,32k"),
        (["--rule", "nonsense"], "rule 'nonsense' is unknown; chain rules: block, capped, greedy_block, tokenwise"),
        (
            ["--rule", "block,nonsense"],
            "rule 'nonsense' is unknown; chain rules: block, capped, greedy_block, tokenwise",
        ),
        (["--rule", "block, block"], "rules 'block, block': give at least one, and none twice"),
        (
            ["--rule", "greedy_block"],
            "rule 'greedy_block' changes the target for some tokens after a block, which only",
        ),
        (["--max-tokens", "0"], "max_tokens must be at least 1, got 0"),
        (["--max-tokens", "100000"], "the target has a context of"),
        (["--temperature", "-1"], "temperature is -1.0; it must lie in"),
        (["--top-p", "0"], "top_p is 0.0"),
        (["--dtype", "int8"], "dtype 'int8' is unknown; known: float64, float32"),
        (["--device", "nowhere"], "device 'nowhere' is unknown; known: cpu, cuda"),
        (["--count", "0"], "count must be at least 1, got 0"),
        (["--threads", "0"], "threads must be at least 1, got 0"),
        (["--prompts", "missing.txt"], "prompts missing.txt cannot be read"),
        (["--prompts", "empty.txt"], "prompts empty.txt must hold at least one text"),
        (["--prompts", "letters.json"], "prompts letters.json must hold at least one text, as a list of them"),
        (["--calibrate", "600"], "calibrated 600 needs blocks longer than the models' context"),
        (["--device", "meta"], "device 'meta' cannot be used"),
        (["--prompts", "wrong.json"], "prompts wrong.json must be JSON with a list `prompts`"),
        (["owner/target"], "owner/target needs a draft: give both models, or name a pair"),
        (["./no/model", "./no/draft"], "./no/model is no directory; looked for one with config.json"),
        ([".", "."], ". is no model: looked for config.json and *.safetensors"),
        ([str(TINY / "target"), "tokenizer-only"], "is no model: looked for config.json and *.safetensors"),
    ],
)
def test_bad_input_ends_with_status_2_before_any_work(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.json").mkdir()
    Path("empty.txt").write_text("\n\n")
    Path("wrong.json").write_text("[]")
    Path("letters.json").write_text('{"prompts": "hello"}')
    Path("tokenizer-only").mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (Path("tokenizer-only") / name).write_bytes((TINY / "target" / name).read_bytes())
    before = sorted(tmp_path.iterdir())
    forbid(monkeypatch.setattr)
    models = ["tiny"] if arguments[0].startswith("--") else []
    result = command("compare", *models, "--widen", "0", *arguments)
    assert message in refusal(result)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("prompts", [6, pytest.param(32, marks=pytest.mark.slow)])
def test_greedy_text_of_the_bundled_pair_is_identical(prompts: int) -> None:
    """So many prompts x 48 tokens in float32: speculation changes nothing at temperature 0."""
    torch.set_num_threads(1)
    pair = load(TINY / "target", TINY / "draft")
    greedy = Warping(temperature=0)
    for text in read_prompts(TINY / "prompts.json")[:prompts]:
        prompt = list(pair.tokenizer(text)["input_ids"])
        plain, speculative = (
            decode(pair.target, pair.draft, prompt, max_tokens=48, gamma=g, uniforms=keyed(0, 0), warping=greedy)
            for g in (0, 4)
        )
        assert speculative.tokens == plain.tokens
        assert len(speculative.blocks) < len(plain.blocks)


@pytest.mark.slow
def test_measured_tau_covers_the_prediction(tmp_path: Path) -> None:
    """The recorded run of the README, made anew on a part of its texts: 300 blocks or more at every gamma."""
    out = tmp_path / "bundled.json"
    words = "compare tiny --count 8 --max-tokens 100 --seed 1 --widen 0 --out"
    result = command(*words.split(), str(out))
    assert result.exit_code == 0, result.output
    for row in json.loads(out.read_text())["pairs"]:
        low, high = row["tau"]["difference_interval"]
        assert low <= 0 <= high
        assert row["target_calls"]["measured"] >= 300


def test_a_cycle_is_a_full_one() -> None:
    """Blocks at a text's end are shorter: the measured time of a cycle leaves them out, as the predicted one does."""
    run = Run(9, [3, 3, 3, 1, 0, 0], [2, 1, 2, 0, 0, 0], [5.0, 9.0, 6.0, 1.0, 1.0, 1.0], 23.0)
    assert run.cycle == 6.0
    assert Run(2, [0, 0], [0, 0], [1.0, 2.0], 3.0).cycle == 1.5


def test_a_turn_survives_its_json() -> None:
    run = Run(2, [3], [1], [0.1], 0.1)
    turn = Turn(
        {Job(0, "block"): run, Job(3, "block"): run}, {Job(3, "block"): {"draft": 0.1}}, {Job(0, "block"): [[0.1] * 5]}
    )
    assert turn_of(json.loads(json.dumps(turn_as_json(turn)))) == turn
