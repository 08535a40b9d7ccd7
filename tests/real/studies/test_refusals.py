"""Bad input of a comparison is told before any forward: what the other tests forbid is all there is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.forwards import Forward, forbid, refusal
from helpers.tiny_models import tiny_gpt2
from typer.testing import CliRunner

import real.cli
from real import TINY
from real.decode.loop import decode, keyed
from real.decode.score import laws
from real.decode.stops import check_strings
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping
from real.load_pair import load
from real.options import parse_numbers, within
from real.pair import Pair
from real.studies.calibrate import Calibration
from specsim.verify.chain import tokenwise

SMALL = ("compare", "tiny", "--widen", "0", "--count", "1", "--max-tokens", "4", "--calibrate", "1")


def command(*arguments: str) -> Any:
    return CliRunner().invoke(real.cli.app, list(arguments))


def decoded(pair: Pair, rule: Any) -> Any:
    more = {"max_tokens": 2, "gamma": 1, "uniforms": keyed(0, 0), "rule": rule}
    return decode(pair.target, pair.draft, [1, 2, 3], **more)


def calibrated(pair: Pair) -> Any:
    return Calibration(pair.target, pair.draft, [[1, 2, 3]], warping=Warping(), rule=tokenwise, gammas=[1])


@pytest.mark.parametrize(
    "work",
    [
        lambda pair: decoded(pair, tokenwise),
        lambda pair: decoded(pair, TreeVerifier("tokenwise", [-1, -1], "iid")),
        lambda pair: laws(pair.target, pair.draft, [1, 2], [3], Warping()),
        calibrated,
    ],
    ids=["chains", "trees", "laws", "calibration"],
)
def test_whatever_computes_is_forbidden(work: Callable[[Pair], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pair = load(TINY / "target", TINY / "draft")
    work(pair)
    forbid(monkeypatch.setattr)
    with pytest.raises(Forward):
        work(pair)


@pytest.mark.parametrize("more", [("--gamma", "1"), ("--tree", "2,1"), ("--tree", "sequoia:4")])
def test_a_good_command_reaches_a_forward(more: tuple[str, ...], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    forbid(monkeypatch.setattr)
    arguments = SMALL if more[0] == "--gamma" else SMALL[:-2]
    assert isinstance(command(*arguments, *more).exception, Forward)


@pytest.fixture(scope="module")
def slow_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair that Hugging Face's own forward runs, with the tokenizer of the bundled pair."""
    folder = tmp_path_factory.mktemp("gpt2")
    vocab = load(TINY / "draft", TINY / "draft").target.embeddings
    for name in ("target", "draft"):
        tiny_gpt2(vocab, context=256).save_pretrained(folder / name)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(TINY / name / file, folder / name / file)
    return folder


@pytest.mark.parametrize("off", ["target", "draft"])
def test_trees_need_the_fast_path(off: str, slow_path: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    models = {name: str((slow_path if name == off else TINY) / name) for name in ("target", "draft")}
    forbid(monkeypatch.setattr)
    result = command(SMALL[0], *SMALL[2:-2], *models.values(), "--tree", "2,1")
    said = f"trees need the fast path (real.models.llama), which does not run the {off}: decode it with chains"
    assert refusal(result) == f"error: {said}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare tiny --gamma 1-1000000000", "gamma is 1000000000; it must be at most 4096"),
        ("compare tiny --calibrate 1,99999", "calibrate is 99999; it must be at most 4096"),
        ("compare tiny --threads 99999", "threads is 99999; the largest that is sensible is 1024"),
        ("compare tiny --widen 999999999", "widen is 999999999; the largest that is sensible is 16777216"),
        ("forced --batch 1-1000000 --context 1-100000", "batch is 1000000; it must be at most"),
        (
            "forced --batch 1-1000 --context 1001-4000",
            "the number of settings, batch x context, is 3000000; the largest that is sensible is 4096",
        ),
        ("forced --alpha nan", "alpha is nan; it must lie in [0, 1]"),
        ("drafts --num-drafts 1-65537", "num_drafts is 65537; it must be at most 65536"),
        ("drafts --samples 1000000000", "samples is 1000000000; the largest that is sensible is 16777216"),
        ("trees --nodes 8-5000", "nodes is 5000; it must be at most 4096"),
        ("rows --max-tokens 1000000000", "max_tokens is 1000000000; the largest that is sensible is 16777216"),
    ],
)
def test_numbers_beyond_sense_are_refused(arguments: str, message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refusal(command(*arguments.split()))


def test_numbers_are_told_in_brief() -> None:
    with pytest.raises(ValueError, match=r"^gamma is 10{19}; it must be at most 4096$"):
        parse_numbers("1-1" + "0" * 400)
    with pytest.raises(ValueError, match=r"^x is 10{56}\.\.\.; the largest that is sensible is 5$"):
        within(10**400, "x", 1, 5)
    assert parse_numbers("1-4", most=4) == (1, 2, 3, 4)
    assert parse_numbers("4,1", most=4) == (4, 1)
    assert parse_numbers("1-4,8,10-11") == (1, 2, 3, 4, 8, 10, 11)
    assert parse_numbers("1k,2k", "context", 2**20) == (1024, 2048)
    with pytest.raises(ValueError, match=r"^gamma has 3 twice; leave out one of them$"):
        parse_numbers("1-4,3")
    with pytest.raises(ValueError, match=r"^gamma has '8-6', an empty range; write the smaller number first$"):
        parse_numbers("1-4,8-6")


@pytest.mark.parametrize("call", [check_strings, lambda value: Warping(logit_bias=value)])
def test_what_is_no_list_is_told_in_one_line(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"^[^\n]*, got masked_array[^\n]*$"):
        call(np.ma.masked_array([0.5, 0.5], [False, True]))


@pytest.mark.parametrize("token", [1.5, 1j, "x", np.ma.masked])
def test_a_token_that_is_no_integer_is_named(token: Any) -> None:
    with pytest.raises(TypeError, match=r"^a token of text must be an integer, got "):
        load(TINY / "draft", TINY / "draft").score([5, token])


@pytest.mark.parametrize(("size", "error"), [(1e300, TypeError), (0, ValueError), (10**400, ValueError)])
def test_a_size_that_is_none_is_refused_before_loading(size: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^widen_to "):
        load("no/model", "no/draft", widen_to=size)
