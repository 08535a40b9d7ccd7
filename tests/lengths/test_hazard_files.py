"""A CSV of hazards by context: a curve for each, the nearest for what lies between, nothing beyond."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.planning import as_json, run

import specsim

TEXT = """context,position,tried,kept
1024,1,1000,800
1024,2,800,600
8192,1,500,250
1024,3,600,450
8192,2,250,100
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "h.csv"
    path.write_text(TEXT)
    return path


def test_each_context_has_its_curve(path: Path) -> None:
    """Rows of the contexts may stand mixed; a curve ends where its own rows do."""
    curves = specsim.read_hazards(path)
    assert curves.contexts == (1024, 8192)
    assert curves.at(1024).hazards(3) == [0.8, 0.75, 0.75]
    assert (curves.at(8192).hazards(2), curves.at(8192).longest) == ([0.5, 0.4], 2)
    assert curves.at(8192).words == "hazards counted in h.csv at context 8192, blocks independent"


def test_the_nearest_context_is_used_and_none_beyond(path: Path) -> None:
    curves = specsim.read_hazards(path)
    assert [curves.nearest(context) for context in (1024, 4607, 4608, 8192)] == [1024, 1024, 8192, 8192]
    for context in (1023, 8193):
        with pytest.raises(ValueError, match=rf"context {context} is beyond those of h.csv, 1024, 8192; count hazards"):
            curves.at(context)
    bare = path.with_name("bare.csv")
    bare.write_text("position,hazard\n1,0.5\n")
    assert specsim.read_hazards(bare).contexts == ()
    assert specsim.read_hazards(bare).at(10**6).hazards(1) == [0.5]


@pytest.mark.parametrize("kind", ["hazard", "rate", "count"])
def test_other_kinds_of_numbers_have_contexts(tmp_path: Path, kind: str) -> None:
    numbers = {"hazard": "64,1,0.5\n64,2,0.5\n", "rate": "64,1,0.5\n64,2,0.25\n", "count": "64,0,8\n64,1,4\n64,2,2\n"}
    path = tmp_path / "h.csv"
    path.write_text(f"context,position,{kind}\n{numbers[kind]}")
    assert specsim.read_hazards(path).at(64).hazards(2) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("8192,2,250", "8192,3,250"), "row 5: position is '3'; rows must count up from 1"),
        (TEXT.replace("8192,2", "8k,2"), "row 5: context is '8k', not a whole number of tokens"),
        (TEXT.replace("250,100", "260,100"), "row 5: tried is 260, more than the 250 that came so far"),
        (TEXT.replace("600,450", "600,700"), "row 4: kept is 700, more than the 600 blocks that tried"),
        ("context,position,count\n64,0,0\n64,1,0\n", "row 1: count is 0, so nothing was counted"),
    ],
)
def test_rows_are_named_as_they_stand_in_the_file(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        specsim.read_hazards(path)


def test_a_plan_takes_each_contexts_own_acceptance(path: Path) -> None:
    """Without --context at those of the file; the plan of a point is that of its curve alone."""
    answer = as_json(f"--hazards {path} --cost-ratio 0.05")
    assert [(point["context"], point["gamma"]) for point in answer["points"]] == [(1024, 3), (8192, 2)]
    assert [point["tau"]["value"] for point in answer["points"]] == pytest.approx([2.85, 1.7])
    assert answer["far"]["gamma"] == 2
    alone = as_json(f"--hazards {path} --cost-ratio 0.05 --context 8k")
    assert alone["points"][0]["speedup"] == answer["points"][1]["speedup"]
    assert not any("at every batch and context: one point" in note for note in answer["notes"])
    assert "this is the acceptance of the first point" in " ".join(answer["assumptions"])


def test_a_context_between_says_whose_hazards_it_has(path: Path) -> None:
    words = f"--hazards {path} --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --context"
    notes = as_json(f"{words} 2k")["notes"]
    assert "context 2048: the hazards of context 1024 are used, the nearest of h.csv" in notes
    assert "context 16384 is beyond those of h.csv, 1024, 8192" in run(f"{words} 16k", 2)
    assert as_json(f"{words} 1k,8k")["boundaries"] == []
    assert as_json(f"{words} 1k")["boundaries"] != []


@pytest.mark.parametrize("words", ["--emit vllm", "--cache-hits 0.9", "--plot x.png"])
def test_what_takes_one_acceptance_refuses_several(path: Path, words: str) -> None:
    said = run(f"--hazards {path} --cost-ratio 0.05 {words}", 2)
    assert f"{words.split()[0]} takes one acceptance, and h.csv has another at each context: give one --context" in said


def test_loads_take_the_acceptance_of_their_context(path: Path) -> None:
    pair = "--target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm"
    refused = run(f"--hazards {path} {pair} --rate 1", 2)
    assert "--rate needs acceptance at context 640, in the middle of an answer, and h.csv has context 1024" in refused
    said = as_json(f"--hazards {path} {pair} --rate 1 --prompt-tokens 6000 --max-gamma 2")
    assert "context 6128: the hazards of context 8192 are used, the nearest of h.csv" in said["notes"]
    assert said["lines"][0]["tau"] in (pytest.approx(1.5), pytest.approx(1.7))
    loop = as_json(f"--hazards {path} {pair} --concurrency 2 --context 2k --gamma 1")
    assert loop["loop"][0]["tau"] == pytest.approx(1.8)
    unknown = run(f"--hazards {path} {pair} --concurrency 2 --ttft-ms 300", 2)
    assert "give --prompt-tokens, or --context" in unknown
