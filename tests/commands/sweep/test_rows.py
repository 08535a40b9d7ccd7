"""Rows of a study: every one once, the same on any executor, kept when a run stops, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import studies
from helpers.studies import PLAN, SIMULATE, rows_of, study_file, threads
from typer.testing import CliRunner

pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")
pytest.importorskip("duckdb", reason="duckdb (extra `sweep`) is not installed")

from specsim.cli import app
from specsim.commands.sweep import gather, pools, run, store, work
from specsim.commands.sweep.options import Sweep
from specsim.commands.sweep.pools import Pool
from specsim.commands.sweep.study import key, points, read


@pytest.fixture(autouse=True)
def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started: that is tested in test_workers.py."""
    monkeypatch.setattr(pools, "processes", lambda count: threads(count)())


def swept(folder: Path, **told: Any) -> tuple[str, bool]:
    return run.run(Sweep(folder / "study.toml", folder / "rows.parquet", **told))


def test_rows_are_those_of_the_study_in_order(tmp_path: Path) -> None:
    study = read(study_file(tmp_path))
    said, finished = swept(tmp_path)
    assert finished
    assert "30 of 30 rows, 30 of them new" in said
    found, given = rows_of(tmp_path / "rows.parquet"), list(points(study))
    assert [row["key"] for row in found] == [key(study.kind, one) for one in given]
    assert [{name: row[name] for name in study.kind.inputs} for row in found] == given
    assert [row["speedup"] for row in found] == [one["speedup"] for one in work.computed("plan", given)]
    assert not store.parts(tmp_path / "rows.parquet").exists()


@pytest.mark.parametrize("text", [PLAN, SIMULATE], ids=["plan", "simulate"])
def test_the_same_bytes_on_any_number_of_workers(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for workers, chunk in ((1, 1000), (8, 1), (3, 7)):
        folder = tmp_path / str(workers)
        folder.mkdir()
        study = read(study_file(folder, text))
        order = [key(study.kind, one) for one in points(study)]
        todo, out = study._replace(kind=study.kind._replace(chunk=chunk)), folder / "rows.parquet"
        run.made(todo, out, order, range(len(order)), threads(workers))
        made.append(out.read_bytes())
    assert made[0] == made[1] == made[2]


def test_each_worker_has_a_part_of_a_small_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 points of a kind whose workers take up to 200 at once."""
    study, given = read(study_file(tmp_path)), []
    monkeypatch.setattr(run, "gather", lambda opened, kind, todo, *rest: given.extend(todo))
    run.made(study, tmp_path / "rows.parquet", [""] * 30, range(30), threads(1))
    assert study.kind.chunk > 30
    assert given == [[i] for i in range(30)]


def stopping(after: int) -> studies.Opened:
    """Ctrl-C once so many chunks are done."""

    @contextmanager
    def opened() -> Iterator[Pool]:
        with ThreadPoolExecutor(1) as executor:
            submitted = []
            submit = executor.submit

            def counting(*words: Any) -> Future[Any]:
                future = submit(*words)
                submitted.append(future)
                if len(submitted) > after:
                    for one in submitted[:after]:
                        one.result()
                    raise KeyboardInterrupt
                return future

            executor.submit = counting  # type: ignore[assignment]
            yield Pool(executor)

    return opened


def test_ctrl_c_keeps_what_is_finished_and_resume_runs_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_file(tmp_path, SIMULATE)
    swept(tmp_path)
    whole = (tmp_path / "rows.parquet").read_bytes()
    (tmp_path / "rows.parquet").unlink()
    monkeypatch.setattr(gather, "AHEAD", 2)
    monkeypatch.setattr(pools, "processes", lambda count: stopping(5)())
    said, finished = swept(tmp_path)
    assert not finished
    assert "interrupted; the same command carries on" in said
    kept = rows_of(tmp_path / "rows.parquet")
    assert 3 <= len(kept) <= 5
    computed: list[Any] = []
    monkeypatch.setattr(pools, "processes", lambda count: threads()())
    monkeypatch.setattr(work, "computed", _counted(computed))
    said, finished = swept(tmp_path)
    assert finished
    assert len(computed) == 16 - len(kept)  # what was there is not run again
    assert (tmp_path / "rows.parquet").read_bytes() == whole
    assert swept(tmp_path)[0].endswith("rows.parquet: 16 of 16 rows")  # nothing is left to be done
    assert len(computed) == 16 - len(kept)


def _counted(computed: list[Any]) -> Any:
    honest = work.computed

    def counting(kind: str, given: Any) -> Any:
        computed.extend(given)
        return honest(kind, given)

    return counting


def test_a_row_in_the_file_and_in_a_part_is_one_row(tmp_path: Path) -> None:
    """As after a kill between the merge and the removal of the parts."""
    study = read(study_file(tmp_path))
    swept(tmp_path)
    out = tmp_path / "rows.parquet"
    whole, found = out.read_bytes(), rows_of(out)
    store.write_part(out, study.kind, found[3:7], {})
    (store.parts(out) / ".specsim.half").write_bytes(b"half a part")
    assert swept(tmp_path)[0].endswith("30 of 30 rows")
    assert out.read_bytes() == whole
    assert not store.parts(out).exists()


def test_a_study_that_grew_keeps_its_rows(tmp_path: Path) -> None:
    study_file(tmp_path)
    swept(tmp_path)
    study_file(tmp_path, PLAN.replace("[0.6, 0.8]", "[0.6, 0.7, 0.8]"))
    assert "45 of 45 rows, 15 of them new" in swept(tmp_path)[0]


OTHERS = [
    (PLAN.replace("0.8", "0.9"), r"\(15 of its 30 rows are not in this one\)"),
    (SIMULATE, r"\(kind is 'plan', here 'simulate'\)"),
]


@pytest.mark.parametrize(("text", "said"), OTHERS, ids=["grid", "kind"])
def test_a_file_of_another_study_stays(text: str, said: str, tmp_path: Path) -> None:
    study_file(tmp_path)
    swept(tmp_path)
    whole = (tmp_path / "rows.parquet").read_bytes()
    study_file(tmp_path, text)
    with pytest.raises(ValueError, match=f"holds another study {said}: give another --out, or --force"):
        swept(tmp_path)
    assert (tmp_path / "rows.parquet").read_bytes() == whole
    assert swept(tmp_path, force=True)[1]
    assert (tmp_path / "rows.parquet").read_bytes() != whole


def test_rows_of_another_version_or_other_columns_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a row is may have changed, though its key has not."""
    study = read(study_file(tmp_path))
    swept(tmp_path)
    out = tmp_path / "rows.parquet"
    whole, found = out.read_bytes(), rows_of(out)
    monkeypatch.setattr("specsim.__version__", "0.0.0")
    with pytest.raises(ValueError, match=r"holds another study \(version is '.*', here '0.0.0'\)"):
        swept(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(pools, "processes", lambda count: threads(count)())
    fewer = study.kind._replace(outputs={"tau": "double"})
    store.write_part(out, fewer, [{"key": found[0]["key"], "tau": 1.0}], {})
    with pytest.raises(ValueError, match=r"holds another study \(its columns are others\)"):
        swept(tmp_path)
    assert out.read_bytes() == whole


def test_force_takes_nothing_from_an_interrupted_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that an earlier run left stays away, also if the forced run is interrupted before it comes to that row."""
    study = read(study_file(tmp_path, SIMULATE))
    swept(tmp_path)
    out = tmp_path / "rows.parquet"
    whole, found = out.read_bytes(), rows_of(out)
    store.write_part(out, study.kind, [{**found[-1], "tau": 99.0}], run.made_with(study))
    with monkeypatch.context() as patch:
        patch.setattr(gather, "AHEAD", 2)
        patch.setattr(pools, "processes", lambda count: stopping(5)())
        assert not swept(tmp_path, force=True)[1]
    assert swept(tmp_path)[1]
    assert out.read_bytes() == whole


def test_an_interrupted_study_is_not_shown_as_if_it_were_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study_file(tmp_path, SIMULATE)
    monkeypatch.setattr(gather, "AHEAD", 2)
    monkeypatch.setattr(pools, "processes", lambda count: stopping(5)())
    said, finished = swept(tmp_path, show="select count(*) from rows")
    assert not finished
    assert "interrupted; the same command carries on" in said


def test_a_file_that_is_no_sweep_stays(tmp_path: Path) -> None:
    study_file(tmp_path)
    out = tmp_path / "rows.parquet"
    for data in (b"", b"PAR1 but not really PAR1"):
        out.write_bytes(data)
        with pytest.raises(ValueError, match="is no Parquet file of specsim sweep"):
            swept(tmp_path)
        assert out.read_bytes() == data


def test_rows_that_are_refused_say_why(tmp_path: Path) -> None:
    text = 'kind = "acceptance"\n[grid]\ntarget = "law:1/2,1/2"\ndraft = ["zipf:2:1", "zipf:3:1"]\n'
    study_file(tmp_path, text)
    assert "1 row is refused (column `refused`), the first: " in swept(tmp_path)[0]
    good, bad = rows_of(tmp_path / "rows.parquet")
    assert (good["acceptance"], good["refused"]) == (pytest.approx(5 / 6), None)
    assert bad["acceptance"] is None
    assert "2" in bad["refused"]


WRONG = [
    (["--out", "rows.csv"], "output rows.csv must end in .parquet"),
    (["--out", "/dev/null"], "output /dev/null must end in .parquet"),
    (["--out", "pipe.parquet"], "output pipe.parquet is no regular file"),
    (["--out", "folder.parquet"], "output folder.parquet is a directory; give a file name"),
    (["--workers", "0"], "workers must be at least 1, got 0"),
    (["--workers", "2", "--scheduler", "local:2"], "--workers and --scheduler are both given"),
    (["--scheduler", "host"], "scheduler 'host' is no address: give tcp://host:8786, or local:4"),
    (["--scheduler", "local:0"], "scheduler 'local:0': local:N starts 1 to 1024 workers"),
    (["--show", "select 1; select 2"], "show 'select 1; select 2' must be one query"),
    (["--show", "select nothing from rows"], "nothing"),
    (["--show", "drop table rows"], "show 'drop table rows' must be one query"),
    (["--show", "explain select 1"], "show 'explain select 1' must be one query"),
    (["--show", ""], "show '' must be one query"),
    (["--show", "select * from 'study.toml'"], "show "),
    (["--show", "select * from read_text('study.toml')"], "show "),
    (["--json", "--markdown"], "--json and --markdown are both given"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_bad_words_are_one_line_and_leave_nothing(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "made", lambda *told: pytest.fail("it began to work"))
    study_file(tmp_path)
    os.mkfifo("pipe.parquet")
    Path("folder.parquet").mkdir()
    there = sorted(tmp_path.rglob("*"))
    ended = CliRunner().invoke(app, ["sweep", "study.toml", *words])
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == there


def test_compared_rows_are_measured_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study_file(tmp_path, 'kind = "compare"\n[grid]\ngamma = [1, 2]\n')
    with pytest.raises(ValueError, match="rows of kind compare are measured times: --workers must be 1, got 2"):
        swept(tmp_path, workers=2)
    asked: list[int] = []

    def refused(count: int) -> Any:
        asked.append(count)
        raise KeyboardInterrupt

    monkeypatch.setattr(pools, "processes", refused)
    assert not swept(tmp_path)[1]
    assert asked == [1]


def test_the_rest_of_a_removed_study(tmp_path: Path) -> None:
    """Parts without a file, as after a kill, are not taken for nothing."""
    study = read(study_file(tmp_path))
    swept(tmp_path)
    out = tmp_path / "rows.parquet"
    found = rows_of(out)
    out.unlink()
    store.write_part(out, study.kind, found[:4], {})
    assert "30 of 30 rows, 26 of them new" in swept(tmp_path)[0]
    assert rows_of(out) == found
