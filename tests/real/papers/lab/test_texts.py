"""Texts that the target wrote: whole, split by prompt, of its own law, and refused where another target wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from real import TINY
from real.papers.lab import texts as shipped_texts
from real.papers.lab import writing
from real.papers.lab.contract import Lab
from real.papers.lab.texts import EACH, LENGTH, PROMPTS, TEMPERATURES, texts, training_texts


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(writing, "cache", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_texts_are_split_by_prompt(temperature: float) -> None:
    found = texts(temperature)
    assert found.tokens.shape == (PROMPTS * EACH, LENGTH)
    assert found.tokens.min() >= 0
    assert found.tokens.max() < writing.pair().target.vocab_size
    parts = {part: found.of(part) for part in ("calibration", "validation", "test")}
    assert [len(some.tokens) for some in parts.values()] == [64, 64, 128]
    prompts = [{tuple(prompt) for prompt in some.prompts} for some in parts.values()]
    assert not prompts[0] & prompts[1]
    assert not (prompts[0] | prompts[1]) & prompts[2]
    assert all(found.prompts[i] == found.prompts[i + PROMPTS] for i in range(PROMPTS))
    assert not (found.tokens[:PROMPTS] == found.tokens[PROMPTS:]).all(axis=1).any(), "one prompt, one text twice"


def test_the_target_writes_these_texts_again() -> None:
    """The first tokens of some of them, in another batch: a text of another seed or temperature differs at once."""
    found, some, few = texts(0.6), [3, 130, 200], 12
    seed = shipped_texts.recipe(0.6)["seed"]
    again = [writing.written([found.prompts[i]], few, 0.6, seed, first=i)[0] for i in some]
    assert (np.array(again) == found.tokens[some, :few]).all()
    other = [writing.written([found.prompts[i]], few, 0.6, seed + 1, first=i)[0] for i in some]
    assert (np.array(other) != found.tokens[some, :few]).any()


def test_texts_to_learn_from_are_written_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    lab = Lab(0, 0.01, told.append)
    found = training_texts(lab)
    assert found.tokens.shape == (8, 16)
    assert set(found.part) == {"calibration"}
    shipped = texts(1.0).of("calibration").tokens.tolist()
    pieces = [row[24 * i : 24 * i + 24] for row in shipped for i in range(10)]
    assert all(prompt in pieces for prompt in found.prompts)
    assert told == ["texts to learn from, 8 of 8"]
    assert len(list(cache.iterdir())) == 1

    def never(*told: Any) -> Any:
        raise AssertionError("it is there already")

    monkeypatch.setattr(writing, "written", never)
    assert (training_texts(lab).tokens == found.tokens).all()
    with pytest.raises(AssertionError):
        training_texts(lab, 0.6)


def test_an_interrupted_run_carries_on(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_texts, "TOGETHER", 4)
    real, calls = writing.written, list[int]()

    def cut(*told: Any) -> Any:
        calls.append(told[-1])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*told)

    monkeypatch.setattr(writing, "written", cut)
    with pytest.raises(KeyboardInterrupt):
        training_texts(Lab(0, 0.01))
    assert len(list(cache.iterdir())) == 1
    assert training_texts(Lab(0, 0.01)).tokens.shape == (8, 16)
    assert calls == [256, 260, 260], "the first batch is kept"
    next(cache.iterdir()).write_bytes(b"cut short")
    assert training_texts(Lab(0, 0.01)).tokens.shape == (8, 16)
    assert len(calls) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "texts texts-1.0.safetensors are not there: `python -m real.papers.lab.texts` writes them anew"),
        (b"nothing", "texts texts-1.0.safetensors cannot be read, the file is broken"),
    ],
)
def test_files_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: bytes | None, message: str
) -> None:
    monkeypatch.setattr(shipped_texts, "DATA", tmp_path)
    if change is not None:
        (tmp_path / "texts-1.0.safetensors").write_bytes(change)
    with pytest.raises(ValueError, match=message):
        texts.__wrapped__(1.0)


def test_texts_of_another_target_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "target_digest", lambda: "0" * 16)
    with pytest.raises(ValueError, match=r"were written by recipe [0-9a-f]{16}, not [0-9a-f]{16}: `python -m"):
        texts.__wrapped__(0.6)


def test_what_nobody_defined_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^temperature must be one of 1\.0, 0\.6, got 0\.7$"):
        texts(0.7)
    with pytest.raises(ValueError, match=r"^part 'train' is unknown; parts: calibration, validation, test$"):
        texts(1.0).of("train")  # type: ignore[arg-type]
    assert (TINY / "prompts.json").is_file()
