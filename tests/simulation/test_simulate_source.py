"""Checkpoints are of the source that is there now, and one run at a time writes one."""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from specsim import simulate
from specsim.base import source
from specsim.base.locks import locked


def test_a_step_rule_whose_file_changed_is_begun_anew(tmp_path: Path) -> None:
    """Tau 2.0271 of the old rule once, where 1.523 is right: only the tree rule's own file was hashed."""
    own, out = tmp_path / "my.py", tmp_path / "run.npz"
    what: dict[str, Any] = {"rule": "tokenwise", "parents": [-1, -1], "blocks": 200, "sequences": 20}
    laws = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
    for name in ("recursive", "naive"):
        own.write_text(f"from specsim.verify.step.{name} import *\nTHEOREM = 'open'\n")
        fresh = simulate(*laws, step=name, **what).tau
        with (
            nullcontext() if name == "recursive" else pytest.warns(UserWarning, match="the source of step has changed")
        ):
            assert simulate(*laws, step=own, checkpoint=out, **what).tau == fresh
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert simulate(*laws, step=own, checkpoint=out, **what).tau == fresh  # nothing has changed
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".py"] == ["run.npz"]


LATE = """
import pathlib
from specsim.verify.step import naive, recursive
from specsim.verify.step.recursive import *
THEOREM = 'open'
def of(): return {"naive": naive, "recursive": recursive}[(pathlib.Path(__file__).parent / "name.txt").read_text()]
def prepare(p, q, num_drafts): return of().prepare(p, q, num_drafts)
def verify(plan, drafts, u): return of().verify(plan, drafts, u)
"""


@pytest.mark.parametrize("when", ["loaded", "run"])
def test_data_that_changed_begins_a_checkpoint_anew(when: str, tmp_path: Path) -> None:
    """Whether a rule reads it when it is loaded, which its key holds, or only while it runs."""
    own, data, out = tmp_path / "my.py", tmp_path / "name.txt", tmp_path / "run.npz"
    own.write_text(LATE + ("of()\n" if when == "loaded" else ""))
    what: dict[str, Any] = {"rule": own, "num_drafts": 2, "gamma": 1, "blocks": 200, "sequences": 20}
    laws = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
    data.write_text("recursive")
    first = simulate(*laws, checkpoint=out, **what)
    data.write_text("naive")
    words = "the source of rule has" if when == "loaded" else r"name\.txt, which its rule reads, has"
    with pytest.warns(UserWarning, match=f"is begun anew: {words} changed"):
        second = simulate(*laws, checkpoint=out, **what)
    assert second.tau == simulate(*laws, **what).tau != first.tau
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = simulate(*laws, checkpoint=out, **what)
    assert (again.tau, again.settings) == (second.tau, second.settings)


def test_a_rule_that_asks_a_process_is_said(tmp_path: Path) -> None:
    own = tmp_path / "my.py"
    asks = f"import subprocess\nsubprocess.run([{sys.executable!r}, '-c', ''], check=True)\n"
    own.write_text(asks + "from specsim.verify.step.recursive import *\nTHEOREM = 'open'\n")
    what: dict[str, Any] = {"rule": own, "num_drafts": 2, "gamma": 1, "blocks": 20, "sequences": 2}
    with pytest.warns(UserWarning, match=r"run\.npz: a rule depends on answers of another process"):
        simulate([0.5, 0.5], [0.9, 0.1], checkpoint=tmp_path / "run.npz", **what)


def test_a_checkpoint_of_another_version_of_the_package_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what: dict[str, Any] = {
        "rule": "block",
        "gamma": 2,
        "blocks": 100,
        "sequences": 10,
        "checkpoint": tmp_path / "a.npz",
    }
    simulate([0.5, 0.5], [0.9, 0.1], **what)
    monkeypatch.setattr(source, "package", lambda: "other")
    with pytest.warns(UserWarning, match=r"is begun anew: the source of specsim has changed since it was made$"):
        simulate([0.5, 0.5], [0.9, 0.1], **what)


def test_two_simulations_of_one_checkpoint(tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    with (
        locked(out),
        pytest.raises(ValueError, match=rf"^output {out} is being written by another run \(process \d+\)"),
    ):
        simulate([0.5, 0.5], [0.9, 0.1], rule="block", gamma=2, blocks=10, sequences=10, checkpoint=out)
    assert not out.exists()
