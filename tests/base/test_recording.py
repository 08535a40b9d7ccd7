"""Files that code reads and runs by names that no statement tells are known by their owner."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers import hidden_code

from specsim.base import modules, source

STEP = "from specsim.verify.step.recursive import *\nTHEOREM = 'open'\n"
# What a rule file does when it is loaded; `left` is called once where it is a function.
DATA = {
    "JSON": "import json\nX = json.loads((HERE / 'c.json').read_text())\n",
    "CSV": "import csv\nwith open(HERE / 'c.json', newline='') as file:\n    X = [*csv.reader(file)]\n",
    "NumPy": "import numpy\nX = numpy.fromfile(HERE / 'c.json', dtype='u1')\n",
    "bytes": "import os\nfile = os.open(HERE / 'c.json', os.O_RDONLY)\nX = os.read(file, 99)\nos.close(file)\n",
    "a file that is read and written": "with open(HERE / 'c.json', 'r+') as file:\n    X = file.read()\n",
    "a thread": "import threading\nt = threading.Thread(target=(HERE / 'c.json').read_text)\nt.start()\nt.join()\n",
}


def rule(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.py"
    path.write_text(hidden_code.PATH + text + STEP)
    return path


def of(path: Path) -> str:
    module = modules.own_rule(path)
    assert module is not None
    return source.of_module(module)


@pytest.mark.parametrize("way", DATA)
def test_data_that_a_rule_reads_when_it_is_loaded_counts(way: str, tmp_path: Path) -> None:
    data = tmp_path / "c.json"
    data.write_text('{"x": 1}')
    path = rule(tmp_path, DATA[way])
    before = of(path)
    assert before == of(path)
    data.write_text('{"x": 2}')
    assert of(path) != before
    data.unlink()
    assert of(path) != before


@pytest.mark.parametrize("way", hidden_code.WAYS)
def test_code_that_a_rule_runs_when_it_is_loaded_counts(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = "ruled_by_" + "".join(letter if letter.isalpha() else "_" for letter in way)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / f"{engine}.py"
    file.write_text(hidden_code.RIGHT_ENGINE)
    text = hidden_code.WAYS[way].replace("'ENG' + 'INE'", f"{engine[:6]!r} + {engine[6:]!r}").replace("ENGINE", engine)
    path = rule(tmp_path, text + "import numpy\nleft(numpy.ones(2), numpy.zeros(2))\n")
    before = of(path)
    file.write_text(hidden_code.WRONG_ENGINE)
    assert of(path) != before


def test_a_module_that_is_imported_already_counts_for_both_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second rule runs no code of it: Python knows the module by then."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "shared_by_two.py").write_text("X = 1\n")
    text = "import importlib\nX = importlib.import_module('shared_' + 'by_two').X\n"
    paths = rule(tmp_path, text, "first"), rule(tmp_path, text + "# Another.\n", "second")
    before = [of(path) for path in paths]
    (tmp_path / "shared_by_two.py").write_text("X = 2\n")
    assert not set(before) & {of(path) for path in paths}


def test_what_a_rule_reads_later_is_told_apart(tmp_path: Path) -> None:
    """It is in no key, which is made before the rule runs."""
    (tmp_path / "c.json").write_text("1")
    path = rule(tmp_path, "def late(): return (HERE / 'c.json').read_text()\n")
    module = modules.own_rule(path)
    assert module is not None
    before = of(path)
    assert source.read_late([module]) == {}
    vars(module)["late"]()
    late = source.read_late([module])
    assert [Path(name).name for name in late] == ["c.json"]
    assert of(path) == before
    assert source.changed(late) == []
    (tmp_path / "c.json").write_text("2")
    assert source.changed(late) == ["c.json"]


def test_what_others_read_and_what_is_written_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("1")
    path = rule(tmp_path, "(HERE / 'log').write_text('x')\nimport json\nopen('/proc/self/stat').close()\n")
    before = of(path)
    (tmp_path / "c.json").read_text()
    (tmp_path / "c.json").write_text("2")
    (tmp_path / "log").write_text("y")
    assert of(path) == before
    assert [file.name for file in source.files_of(modules.own_rule(path))] == ["mine.py"]  # type: ignore[arg-type]


def test_processes_and_servers_that_are_asked_are_said(tmp_path: Path) -> None:
    path = rule(tmp_path, f"import subprocess\nsubprocess.run([{sys.executable!r}, '-c', ''], check=True)\n")
    module = modules.own_rule(path)
    assert module is not None
    assert (
        source.unknown_of([module])
        == "a rule depends on answers of another process: if these change, nothing is made anew"
    )
    quiet = modules.own_rule(rule(tmp_path, "", "quiet"))
    assert quiet is not None
    assert source.unknown_of([quiet]) == ""


def test_a_thread_of_a_pool_reads_for_all_who_may_have_asked_it(tmp_path: Path) -> None:
    """Two rules wait, in a thread each, for a third thread that reads and has no frame of either."""
    files = {}
    for name in ("first", "second"):
        (tmp_path / f"{name}.json").write_text("1")
        ask = f"def late(pool, both): both.wait(30); return pool.submit((HERE / '{name}.json').read_text).result()\n"
        files[name] = modules.own_rule(rule(tmp_path, ask, name))
    both = threading.Barrier(2)
    # One worker: while it reads for one rule, the other waits, too.
    with ThreadPoolExecutor(1) as pool, ThreadPoolExecutor(2) as rules:
        assert [*rules.map(lambda module: vars(module)["late"](pool, both), files.values())] == ["1", "1"]
    read = {}
    for name, module in files.items():
        assert module is not None
        read[name] = {Path(path).name for path in source.read_late([module])}
        assert f"{name}.json" in read[name]
    # Both were there at the first reading.
    assert read["first"] & read["second"]


def test_code_of_a_cache_counts_and_its_data_does_not(tmp_path: Path) -> None:
    """Code of models is run from caches; other files there come and go."""
    folder = tmp_path / ".cache"
    folder.mkdir()
    (folder / "c.json").write_text("1")
    (folder / "engine.py").write_text(hidden_code.RIGHT_ENGINE)
    text = "import runpy\nCACHE = HERE / '.cache'\nrunpy.run_path(str(CACHE / 'engine.py'))\n"
    text += "(CACHE / 'c.json').read_text()\n"
    module = modules.own_rule(rule(tmp_path, text))
    assert module is not None
    assert [file.name for file in source.files_of(module)] == ["mine.py", "engine.py"]


def test_bytecode_in_another_folder_is_that_of_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PYTHONPYCACHEPREFIX: no cache is listed, which changes with Python and not with the code."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "kept_by.py").write_text("LEFT = 1\n")
    text = "import importlib\nimportlib.import_module('kept' + '_by')\nimportlib.invalidate_caches()\n"
    first = modules.own_rule(rule(tmp_path, text))
    assert first is not None
    sys.modules.pop("kept_by")
    second = modules.own_rule(rule(tmp_path, text, "again"))
    assert second is not None
    assert [*(tmp_path / "cache").rglob("kept_by*.pyc")]
    for module in (first, second):
        assert {path.name for path in map(Path, modules.made_of(module))} >= {"kept_by.py"}
        assert not [path for path in modules.made_of(module) if Path(path).suffix == ".pyc"]
