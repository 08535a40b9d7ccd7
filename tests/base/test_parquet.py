"""Parquet files of sweeps are read on one thread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specsim.base.parquet import marked

pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")

CODE = """
import sys
from pathlib import Path
import pyarrow
from pyarrow import parquet
from specsim.base.parquet import table

threads = lambda: len(list(Path("/proc/self/task").iterdir()))
path = Path(sys.argv[1])
parquet.write_table(pyarrow.table({"a": [1, 2], "b": ["x", "y"]}), path)
before = threads()
print(table(path, ["b"]).to_pydict(), table(path).num_rows, threads() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are read from /proc")
def test_reading_starts_no_thread(tmp_path: Path) -> None:
    """A thread that Arrow is still starting aborts a command that ends just then, as one after Ctrl-C does."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "rows.parquet")], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("{'b': ['x', 'y']} 2 0\n", "")


@pytest.mark.parametrize("said", [b"[" * 100_000, b"[]", b'{"schema": 1, "schema": 2}', b"\xff", b"{}"])
def test_what_a_file_says_of_itself_is_no_traceback(said: bytes, tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = pyarrow.table({"a": [1]}).replace_schema_metadata({b"specsim": said})
    parquet.write_table(rows, tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="is no Parquet file of specsim sweep"):
        marked(tmp_path / "rows.parquet")
