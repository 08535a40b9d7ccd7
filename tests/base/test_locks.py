"""The lock of a file that a run writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specsim.base.locks import locked


def test_one_run_at_a_time_holds_the_lock_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    with locked(path):
        with pytest.raises(ValueError, match=rf"written by another run \(process {os.getpid()}\)"), locked(path):
            pass
        with locked(tmp_path / "others.parquet"):
            pass
    with locked(path):
        pass
    assert list(tmp_path.iterdir()) == []
