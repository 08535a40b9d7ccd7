"""Files are read within limits that are checked first; text by its byte order mark; JSON without surprises."""

from __future__ import annotations

import codecs
import os
import threading
from pathlib import Path

import pytest

from specsim.base import reading


def test_a_size_is_checked_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = tmp_path / "huge.log"
    with huge.open("wb") as file:
        file.truncate(3 << 30)  # sparse: it takes no room
    monkeypatch.setattr(reading, "CHUNK", None)  # reading one piece would fail
    with pytest.raises(ValueError, match=r"^huge\.log has 3221225472 bytes; 1000 at most are read$"):
        reading.read_text(huge, 1000)


def test_a_device_that_may_have_no_end_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^/dev/zero is a device, which may have no end; expected a file$"):
        reading.read_text(Path("/dev/zero"), 1000)
    assert reading.read_text(Path(os.devnull), 1000) == ""


def test_a_pipe_that_nobody_writes_to_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(reading, "PIPE_WAIT", 10)
    with pytest.raises(ValueError, match=r"pipe is a pipe that nobody writes to; expected a file$"):
        reading.read_text(tmp_path / "pipe", 1000)


def test_a_folder_is_none(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as refused:
        reading.read_text(tmp_path, 1000)
    assert refused.value.filename == str(tmp_path)


@pytest.mark.parametrize("size", [5, 3_000_000])
def test_a_pipe_is_read_up_to_the_limit(size: int, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        with (tmp_path / "pipe").open("wb", buffering=0) as file:
            for _ in range(max(size // 5000, 1)):
                try:
                    file.write(b"abcd\n" * min(1000, size // 5))
                except BrokenPipeError:
                    return

    writer = threading.Thread(target=write)
    writer.start()
    if size == 5:
        assert reading.read_text(tmp_path / "pipe", 2_000_000) == "abcd\n"
    else:
        with pytest.raises(ValueError, match=r"pipe has more than 2000000 bytes, the most that are read$"):
            reading.read_text(tmp_path / "pipe", 2_000_000)
    writer.join()


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_text_is_read_by_its_byte_order_mark(mark: bytes, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "on.log").write_bytes(mark + "größe\r\n1\n".encode(encoding))
    assert reading.read_text(tmp_path / "on.log", 1000) == "größe\r\n1\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"ab\xff", r"^on\.log is not UTF-8 text \(byte 2\); save it as UTF-8 text$"),
        (codecs.BOM_UTF16_LE + b"a", r"^on\.log is not UTF-16 text"),
        ("eval time".encode("utf-16-le"), r"looks like UTF-16 without a byte order mark; save it as UTF-8 text$"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "on.log").write_bytes(data)
    with pytest.raises(ValueError, match=words):
        reading.read_text(tmp_path / "on.log", 1000)


def test_lines_have_a_limit_and_files_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\xef\xbb\xbfab\n\ncd")
    monkeypatch.setattr(reading, "CHUNK", 2)
    assert list(reading.read_lines(path, 5)) == ["ab", "", "cd"]
    path.write_bytes(b"ab\n" + b"c" * 9)
    with pytest.raises(ValueError, match=r"^log\.jsonl, line 2 has more than 5 bytes"):
        list(reading.read_lines(path, 5))
    path.write_bytes(b"ab\n\xff\n")
    with pytest.raises(ValueError, match=r"^log\.jsonl, line 2 is not UTF-8 text"):
        list(reading.read_lines(path, 5))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "^it is nested too deep; expected JSON of a few levels$"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "^it has the key 'c' twice; leave out what is not to be read$"),
        ("{", "^it is no JSON: "),
        (b"\xff", "^it is no JSON: it is not UTF-8 text$"),
        (f"[{'9' * 5000}]", "^it is no JSON: "),
    ],
)
def test_json_that_is_none_is_refused_in_a_line(text: str | bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        reading.parsed_json(text, "it")
    assert "\n" not in str(refused.value)


def test_json_lines_are_a_list() -> None:
    assert reading.json_values('{"a": 1}\n\n{"a": 2}\n', "it") == [{"a": 1}, {"a": 2}]
    assert reading.json_values("[1, 2]", "it") == [1, 2]
    assert reading.json_values("3", "it") == [3]
    with pytest.raises(ValueError, match=r"^it, line 2 is no JSON"):
        reading.json_values("1\n{\n", "it")
