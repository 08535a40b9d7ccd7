"""The sentence that `specsim plan` begins with, for each kind of answer."""

from __future__ import annotations

import pytest
from helpers.planning import SMALL, as_json
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.commands.plan.sentence import Facts, sentence
from specsim.report import text


def test_yes_no_and_perhaps() -> None:
    assert as_json(f"{SMALL} 0.28")["helps"] == "perhaps"  # the interval holds 1
    no = as_json(f"{SMALL} 0.15")
    assert (no["helps"], no["doubts"]) == ("no", [])
    assert no["sentence"].startswith("No: with 1 draft per block, decoding is 0.9")
    assert as_json(f"{SMALL} 0.7 --batch 512,1 --context 0")["sentence"].endswith(" At 1 of the 2 points it helps.")
    least = specsim.break_even_alpha(
        specsim.roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm"), gamma=1, context=1024
    )
    assert no["sentence"].endswith(f"it pays above an acceptance of {least:.2f}.")
    assert as_json("0.5 --cost-ratio 3")["sentence"].endswith("it would not at any acceptance.")


FACTS = Facts(
    "yes", 3, "batch 1, context 64", "1.50", "", 0, True, False, 0.4, ("other work", "it takes more", 1.2), 4, 0
)


CHAIN = "Yes: with 3 drafts per block, decoding is 1.50 times as fast (predicted, batch 1, context 64); "


DOUBT = "it depends most on other work (if it takes more: 1.20)."


NO = CHAIN.replace("Yes", "No")


SENTENCES = [
    (FACTS, CHAIN + DOUBT),
    (FACTS._replace(off=2), CHAIN + DOUBT + " At 2 of the 4 points it does not help."),
    (FACTS._replace(gamma=1), (CHAIN + DOUBT).replace("3 drafts", "1 draft")),
    (FACTS._replace(tree="1.70", nodes=9), CHAIN + "with a tree of 9 nodes it is 1.70; " + DOUBT),
    (
        FACTS._replace(tree="1.70", nodes=9, chain_pays=False, helps="perhaps"),
        "Perhaps: with a tree of 9 nodes, decoding is 1.70 times as fast (predicted, batch 1, context 64); with 3 "
        "drafts per block it is 1.50, and no other length does better; " + DOUBT,
    ),
    (
        FACTS._replace(helps="no", worst=None, off=4),
        NO + "no other length does better; it pays above an acceptance of 0.40.",
    ),
    (
        FACTS._replace(helps="no", worst=None, off=3, trees_tried=True, even=None),
        NO + "no other length and no tree does better; it would not at any acceptance. At 1 of the 4 points it helps.",
    ),
]


@pytest.mark.parametrize(("facts", "said"), SENTENCES)
def test_each_sentence(facts: Facts, said: str) -> None:
    assert sentence(facts) == said


PAIR = "plan 0.8 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm".split()  # noqa: SIM905


def test_a_terminal_wraps_sentences_and_a_pipe_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*PAIR, "--batch", "1,128"]
    piped = CliRunner().invoke(app, words).output
    assert max(len(line) for line in piped.splitlines()) > 100
    monkeypatch.setattr(text, "terminal_width", lambda stream=None: 80)
    shown = CliRunner().invoke(app, words).output
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert shown.split()[:30] == piped.split()[:30]
    assert CliRunner().invoke(app, [*words, "--markdown"]).output.splitlines()[0] == piped.splitlines()[0]
    assert "note: batch 128, context 1024: the interval of the speedup holds 1" in piped


def test_heads_name_what_there_is() -> None:
    """No level where no number has an interval, no tokens a second where time is in steps."""
    steps = CliRunner().invoke(app, ["plan", "0.8", "--cost-ratio", "0.05"]).output
    seconds = CliRunner().invoke(app, PAIR)
    shown = [("speedup, 95%" in said, "  per s\n" in said) for said in (steps, seconds.output)]
    assert shown == [(False, False), (True, True)]


def test_the_help_names_devices_and_models_that_exist() -> None:
    shown = CliRunner().invoke(app, ["plan", "-h"]).output
    for device in ("h100-sxm", "a100-sxm4-80gb"):
        assert device in shown
        assert (
            CliRunner()
            .invoke(app, f"plan 0.8 --target llama-3.1-8b --draft llama-3.2-1b --hardware {device}".split())
            .exit_code
            == 0
        )
