"""Systems on a pair that is not shipped: what `--pair` takes and refuses, and whose texts and tokens are used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import real.cli
from real import TINY
from real.papers.lab import command, writing
from real.papers.lab import texts as shipped
from real.papers.lab.contract import Lab
from real.papers.lab.text_lab import Tally
from real.papers.systems import vocabtrim, vocabtrim_16k

TRIAL = Lab(share=0.01)


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(real.cli.app, ["systems", *map(str, words)])


def test_by_default_what_needs_a_pair_is_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert command._named(None, ["sjd", "vocabtrim_16k"], None) == ["sjd"]
    assert capsys.readouterr().err == (
        "vocabtrim_16k: left out, its pair is not shipped: --pair needs the folder of "
        "`specsim-real train-pair --vocab 16384`\n"
    )
    assert command._named(["vocabtrim_16k", "sjd"], [], TINY) == ["vocabtrim_16k", "sjd"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("vocabtrim_16k",), "system 'vocabtrim_16k' runs on a pair that is not shipped: --pair needs the folder"),
        (("sjd", "--pair", TINY), f"pair {TINY} is read by none of sjd"),
        (("vocabtrim_16k", "--pair", TINY), f"pair {TINY} has 2048 tokens, but 'vocabtrim_16k' needs 16384"),
        (("vocabtrim_16k", "--pair", TINY.parent), f"pair {TINY.parent} is none that `specsim-real train-pair`"),
    ],
)
def test_a_pair_that_cannot_be_used_is_refused(words: tuple[Any, ...], message: str, tmp_path: Path) -> None:
    ended = run(*words, "--out", tmp_path)
    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"error: {message}")
    assert list(tmp_path.iterdir()) == []


def test_a_pair_of_another_vocabulary_is_refused_by_itself() -> None:
    """The command would run the whole system before the test above could fail."""
    message = r" has 2048 tokens, but 'vocabtrim_16k' needs 16384; --share below 1 tries any$"
    with pytest.raises(ValueError, match=message):
        command._of_pair("vocabtrim_16k", 16_384, TINY, 1)


def test_a_pair_is_known_by_both_models_weights() -> None:
    found = command._of_pair("vocabtrim_16k", 2048, TINY, 1)
    assert found == f"{writing.target_digest()}-{writing.target_digest(TINY / 'draft')}"
    assert found == command._of_pair("vocabtrim_16k", 16_384, TINY, 0.5)
    assert len(set(found.split("-"))) == 2


def test_texts_continue_the_pairs_own_prompts_and_are_split_by_prompt() -> None:
    told = vocabtrim_16k.texts(TRIAL, writing.pair(), TINY)
    assert told.tokens.shape == (8, 48)
    first = json.loads((TINY / "prompts.json").read_text(encoding="utf-8"))["prompts"][0]
    assert told.prompts[0] == list(writing.pair().tokenizer(first)["input_ids"])
    assert told.part.tolist() == list(shipped.SPLIT) * 2
    assert told.tokens.tolist() == vocabtrim.written(writing.pair().target, told, TRIAL.seed).tolist()
    learned = vocabtrim_16k.training_texts(TRIAL, writing.pair(), told.of("calibration"))
    pieces = told.of("calibration").tokens.reshape(-1, shipped.PIECE)
    assert learned.prompts == pieces.tolist()
    assert learned.tokens.shape == (4, 16)
    assert learned.tokens.tolist() == vocabtrim.written(writing.pair().target, learned, TRIAL.seed + 1).tolist()


def test_a_memory_bound_gain_counts_the_weights_that_a_cycle_reads() -> None:
    """As many tokens a block from 1 + 2 x 0.25 instead of 1 + 2 x 1 target steps: twice as fast."""
    told = {2: Tally(np.array([6.0, 4.0, 5.0, 5.0]), np.array([3.0, 2.0, 2.0, 2.0]))}
    heads = {("corpus", 9): 0.25, ("full", 99): 1.0}
    found = vocabtrim.Weighed({}, heads, {}, dict.fromkeys(heads, told), {})
    small, whole = (vocabtrim.Chosen(head, 2, 0.0) for head in heads)
    assert vocabtrim.bound_gain(found, small, whole) == pytest.approx((1, 1, 1))
    assert vocabtrim.bound_gain(found, whole, small) == pytest.approx((-0.5, -0.5, -0.5))


def test_what_the_targets_counts_add_to_the_corpus_has_its_sign() -> None:
    """Heads of one size, one of which keeps every draft."""
    kept = {(source, 9): [1] for source in vocabtrim.SOURCES} | {("full", 99): [1]}
    blocks = {"target-written": 1.0, "draft-written": 2.0, "corpus": 2.0, "full": 2.0}
    told = {head: {g: Tally(np.full(4, 4.0), np.full(4, blocks[head[0]])) for g in vocabtrim.GAMMAS} for head in kept}
    found = vocabtrim.Weighed(kept, dict.fromkeys(kept, 0.1), told, told, {})
    assert vocabtrim_16k.over_corpus(found) == pytest.approx((1, 1, 1))


def test_enough_tokens_are_counted_for_every_head() -> None:
    pieces = shipped.PROMPTS * shipped.EACH // 4 * (shipped.LENGTH // shipped.PIECE)
    counted = min(shipped.MORE, pieces) * shipped.LONGER
    assert counted >= 50 * max(vocabtrim_16k.KEPT)
    assert max(vocabtrim_16k.KEPT) < vocabtrim_16k.VOCAB


def test_the_corpus_gives_as_many_tokens_as_the_target(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every eighth file first; then those between them."""
    files = {}
    for i in range(9):
        files[f"{i}.py"] = tmp_path / f"{i}.py"
        files[f"{i}.py"].write_text(f"x{i} = y{i}; " * 20)
    monkeypatch.setattr(vocabtrim, "stdlib_files", lambda: files)
    told = vocabtrim_16k.texts(TRIAL, writing.pair(), TINY)._replace(tokens=np.full((8, 48), 5))
    monkeypatch.setattr(vocabtrim, "written", lambda model, told: told.tokens)
    counted = vocabtrim.sources(TRIAL, writing.pair(), told)
    assert {name: int(one.sum()) for name, one in counted.items()} == dict.fromkeys(vocabtrim.SOURCES, 384)
