"""A name that is nearly right is answered with the right one, whatever it names."""

from __future__ import annotations

import re
import shlex

import pytest
from typer.testing import CliRunner

import real
import specsim
from specsim.cli import app

MODELS = "plan 0.8 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm"
LAWS = "simulate --target law:1/2,1/2 --draft law:1/2,1/2"
WRONG = {
    "plann 0.8": "plan",
    "plan 0.8 --cost-ration 0.1": "--cost-ratio",
    "plan 0.8 --cost-ratio 0.1 --emit vlm": "vllm",
    "plan 0.8 --cost-ratio 0.1 --weights in4": "int4",
    f"{MODELS} --draft-weights in4": "int4",
    "plan 0.8 --target llama-3.1-8b --draft eagel --hardware h100-sxm": "eagle",
    "check rejecton": "rejection",
    "check rejection --family stp": "step",
    "conform rejecton": "rejection",
    "conform rejection --property margnal": "marginal",
    "claims --run recursive_optimum": "recursive_optimal",
    "validate --fit magicdec-01": "magicdec-017",
    f"{LAWS} --rule blok --gamma 2": "block",
    f"{LAWS} --backend numpi --gamma 2": "numpy",
    f"{LAWS} --rule traversal --tree 2,2 --scheme idd": "iid",
    "simulate --target lwa:1/2,1/2 --draft law:1/2,1/2 --gamma 2": "law:",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_near_name_is_proposed_in_one_line(words: str) -> None:
    ended = CliRunner().invoke(app, shlex.split(words))
    (line,) = ended.stderr.splitlines()
    assert ended.exit_code in (2, 3)
    assert re.search(rf"did you mean '?{re.escape(WRONG[words])}(?!\w)", line)


def test_a_name_of_a_package_is_proposed() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'acceptance_rat'; did you mean 'acceptance_rate'\?$"):
        _ = specsim.acceptance_rat
    with pytest.raises(AttributeError, match=r"no attribute 'compar'; did you mean 'compare'\?$"):
        _ = real.compar  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        _ = specsim.zzz
