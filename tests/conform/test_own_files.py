"""Files of one's own are what they are now, whatever was compiled of them before."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from specsim.base.modules import own_rule
from specsim.conform import registry

pytestmark = pytest.mark.fast


def test_a_file_that_changed_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytecode is told by seconds and sizes: an edit within a second that keeps the length would not be seen."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    mine = tmp_path / "mine.py"
    for nanoseconds, value in enumerate((1, 2)):
        mine.write_text(f"number = {value}\nverify = subject = lambda: None\n")
        os.utime(mine, ns=(10**18, 10**18 + nanoseconds))
        found = registry.find(str(mine))
        assert found.number == value
        rule = own_rule(mine)
        assert rule is not None
        assert rule.number == value
        assert own_rule(str(mine)) is rule
