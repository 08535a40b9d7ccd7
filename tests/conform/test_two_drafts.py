"""Blocks of two drafts of public packages: exact, quick, and what was published of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.conform_record import outcomes, outcomes_of, recorded

from specsim.conform import Subject, record

PUBLISHED = {  # what was published of a block of two drafts: the subjects, and whether they are lossless
    "dflash.model._rejection_sample": True,
    "eagle.model.utils.evaluate_posterior": True,
    "economize.decoding.verifiers.RejectionVerifier.verify": True,
    "economize.decoding.verifiers.RejectionVerifier.verify_batch": True,
    "economize.decoding.verifiers.RejectionVerifier.verify_tree, i.i.d.": True,
    "economize.decoding.verifiers.RejectionVerifier.verify_tree, without replacement": True,
    "mini_infer.speculative.verifier.speculative_step": True,
    "seqspecdecod.capped_hsd.capped_hsd_step": False,
    "seqspecdecod.naive_hsd.naive_hsd_step": True,
    "seqspecdecod.standard_sd.standard_speculative_step": True,
    "transformers.generation.utils._speculative_sampling": True,
}


def exact(held: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Subject -> its block of two drafts, where that is scripted."""
    every = [one for found in held["adapters"].values() for one in found["subjects"]]
    found = [one for one in every if one["two drafts"]]
    more = [{"joint": outcomes_of(one)["joint"], "block": "vacuity" in outcomes_of(one)} for one in found]
    return {one["subject"]: one["two drafts"] | said for one, said in zip(found, more, strict=True)}


def inexact(held: dict[str, Any]) -> list[str]:
    """Subjects whose block of two drafts is not what the verdict says: equal to 1e-6, or not."""
    return [name for name, two in exact(held).items() if (two["distance"] <= 1e-6) != (two["joint"] == "lossless")]


def late(held: dict[str, Any], most: float = 2.0) -> list[str]:
    """Subjects whose block of two drafts took longer, if it was timed; what writes whole texts has several blocks."""
    return [name for name, two in exact(held).items() if two["block"] and (two["seconds"] or 0.0) >= most]


def otherwise(held: dict[str, Any]) -> list[str]:
    """Subjects whose block of two drafts has not the law that was published, to 1e-6."""
    found = exact(held)
    return [name for name, right in PUBLISHED.items() if (found[name]["distance"] <= 1e-6) is not right]


def test_blocks_of_two_drafts_are_judged_exactly() -> None:
    held = recorded()
    assert inexact(held) == []
    several = {name for name, found in held["adapters"].items() if set(outcomes(found)) & set(exact(held))}
    assert len(several) >= 5
    worse = json.loads(json.dumps(held))
    next(one for one in worse["adapters"]["dflash"]["subjects"] if one["two drafts"])["two drafts"]["distance"] = 2e-6
    assert len(inexact(worse)) == 1


def test_blocks_of_two_drafts_take_two_seconds_at_most() -> None:
    held = recorded()
    slow = json.loads(json.dumps(held))
    next(one for one in slow["adapters"]["dflash"]["subjects"] if one["two drafts"])["two drafts"]["seconds"] = 2.0
    assert len(late(slow)) == len(late(held)) + 1
    assert late(held) == []
    if not [two for two in exact(held).values() if two["seconds"] is not None]:
        pytest.skip("not measured: the record was made without --timed")


def test_what_was_published_is_found_again_in_two_seconds() -> None:
    """Of six packages."""
    held = recorded()
    assert otherwise(held) == []
    assert len({name.partition(".")[0] for name in PUBLISHED}) == 6
    worse = json.loads(json.dumps(held))
    (one,) = (s for s in worse["adapters"]["mini_infer"]["subjects"])
    one["two drafts"]["distance"] = 2e-6
    assert otherwise(worse) == [one["subject"]]
    seconds = [exact(held)[name]["seconds"] for name in PUBLISHED]
    timed = [one for one in seconds if one is not None]
    if not timed:
        pytest.skip("not measured: the record was made without --timed")
    assert len(timed) >= 5
    assert max(timed) < 2


def test_two_drafts() -> None:
    def run(p: Any, q: Any, drafts: Any, random: Any) -> Any:
        return 0, random.choice(3, p=p[0])

    one = Subject("none", "chain", run)
    found = record.two_drafts(one, timed=False)
    assert found is not None
    assert (found["runs"], found["seconds"]) == (27, None)
    assert found["distance"] < 1e-12
    timed = record.two_drafts(one, timed=True)
    assert timed is not None
    assert 0 < timed["seconds"] < 2
    assert record.two_drafts(one._replace(run=lambda *_: 1 / 0), timed=True) is None
    assert record.two_drafts(one._replace(kind="drafter"), timed=True) is None
