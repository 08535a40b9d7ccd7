"""The sentence that `specsim plan` begins with, for each kind of answer."""

from __future__ import annotations

import pytest
from helpers.planning import SMALL, as_json

import specsim
from specsim.commands.plan.sentence import Facts, sentence


def test_yes_no_and_perhaps() -> None:
    assert as_json(f"{SMALL} --alpha 0.28")["helps"] == "perhaps"  # the interval holds 1
    no = as_json(f"{SMALL} --alpha 0.15")
    assert (no["helps"], no["doubts"]) == ("no", [])
    assert no["sentence"].startswith("No: with 1 draft a block decoding is 0.9")
    assert as_json(f"{SMALL} --alpha 0.7 --batch 512,1 --context 0")["sentence"].endswith(
        " At 1 of the 2 points it helps."
    )
    least = specsim.break_even_alpha(
        specsim.roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm"), gamma=1, context=1024
    )
    assert no["sentence"].endswith(f"it pays above an acceptance of {least:.2f}.")
    assert as_json("0.5 --cost-ratio 3")["sentence"].endswith("it would not at any acceptance.")


FACTS = Facts("yes", 3, 1, 64, "1.50", "", 0, True, False, 0.4, ("other work", "it takes more", 1.2), 4, 0)


CHAIN = "Yes: with 3 drafts a block decoding is 1.50 times as fast (predicted, batch 1, context 64); "


DOUBT = "of what this assumes other work matters most (if it takes more: 1.20)."


NO = CHAIN.replace("Yes", "No")


SENTENCES = [
    (FACTS, CHAIN + DOUBT),
    (FACTS._replace(off=2), CHAIN + DOUBT + " At 2 of the 4 points it does not help."),
    (FACTS._replace(gamma=1), (CHAIN + DOUBT).replace("3 drafts", "1 draft")),
    (FACTS._replace(tree="1.70", nodes=9), CHAIN + "with a tree of 9 nodes it is 1.70; " + DOUBT),
    (
        FACTS._replace(tree="1.70", nodes=9, chain_pays=False, helps="perhaps"),
        "Perhaps: with a tree of 9 nodes decoding is 1.70 times as fast (predicted, batch 1, context 64); with 3 "
        "drafts a block it is 1.50, and no other length does better; " + DOUBT,
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
