"""docs/developer/measure_style.py counts what it says it counts: one example of each kind is planted."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "developer" / "measure_style.py"
PLAIN = '''"""A module."""


def double(value: int) -> int:
    """Return the value twice."""
    return 2 * value
'''
PLANTED = f'''"""A module."""

# The only comment on its own line.
LIMIT = 5  # this one shares its line


def many(a, b, c, d, e, f, g, h, *rest):
    """Of nine parameters, this is a riddle. {"long " * 14}"""
    found = a if b else c if d else e
    if (f if g else h):
        return (rest if a else b)
    return found


def uncommented(value):
    """Return the value."""
{chr(10).join("    value += 1" for _ in range(16))}
    return value
'''


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_kind_is_counted(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    room = tmp_path / "package" / "room"
    room.mkdir(parents=True)
    (tmp_path / "package" / "plain.py").write_text(PLAIN, encoding="utf-8")
    (room / "planted.py").write_text(PLANTED, encoding="utf-8")
    script.main([str(tmp_path / "package"), "--json"])
    rooms = json.loads(capsys.readouterr().out)

    assert list(rooms) == ["package", "package/room", "all"]
    plain, planted = rooms["package"], rooms["package/room"]
    # `double` has two lines of code and 15 nodes, its docstring's two among them.
    assert plain["nodes_per_line"] == 7.5
    assert plain["code_lines"] == 2
    assert planted["code_lines"] == 24
    assert planted["conditionals"] == round(100 * 4 / 24, 1)
    assert planted["comments"] == round(100 * 1 / 24, 1)
    assert planted["empty_names"] == round(1000 * 2 / 24, 1)
    assert planted["long_lines"] == 3.6
    for key in ("many_parameters", "riddles", "stacked", "uncommented"):
        assert (plain[key], planted[key], rooms["all"][key]) == (0, 1, 1), key


def test_the_table_explains_its_columns(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    script.main([str(SCRIPT.parent)])
    lines = capsys.readouterr().out.splitlines()
    assert [line[4:] for line in lines[: len(script.COLUMNS)]] == list(script.COLUMNS.values())
    assert lines[-1].startswith("all ")


def test_a_folder_without_code_is_refused(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        script.main([str(tmp_path)])
    assert f"FOLDER {tmp_path} has no Python file" in capsys.readouterr().err
