"""Where results go: whole or not at all, through what is no file, and along links."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from specsim.base import check
from specsim.base.files import check_writable, write_bytes, write_json


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "out.json"
    check_writable(path)
    assert not path.parent.exists()  # nothing is made before there is something to write
    write_json(path, [1])
    os.umask(mask := os.umask(0))
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    before = path.stat().st_ino
    write_json(path, [2])
    assert path.read_text() == "[\n 2\n]\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_ino != before
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, float("nan"))
    assert path.read_text() == "[\n 2\n]\n"
    assert os.listdir(path.parent) == ["out.json"]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    real, link, second = tmp_path / "far" / "real.json", tmp_path / "link.json", tmp_path / "second.json"
    link.symlink_to(Path("far") / "real.json")  # to nothing yet
    second.symlink_to(link)
    for text in (b"1", b"2"):
        write_bytes(check_writable(second), text)
        assert link.is_symlink()
        assert second.is_symlink()
        assert (real.is_symlink(), real.read_bytes()) == (False, text)
    assert os.listdir(real.parent) == ["real.json"]
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(ValueError, match=r"circle cannot be written: Too many levels of symbolic links$"):
        check_writable(circle)


@pytest.fixture(params=[3, 7], ids=["null", "full"])
def device(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A device of our own where we may make one: were the code wrong, root would lose the machine's."""
    path = tmp_path / "device"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, request.param))
        path.open("wb").close()
    except PermissionError:
        if os.geteuid() == 0:
            pytest.skip("this root may make no devices")
        return Path({3: "/dev/null", 7: "/dev/full"}[request.param])
    return path


def test_a_device_stays_a_device(device: Path) -> None:
    number = device.stat().st_rdev
    check_writable(device, ".png")
    if number == os.makedev(1, 7):
        with pytest.raises(OSError, match=r"No space left on device: '.*device'$"):
            write_bytes(device, b"x" * 100)
    else:
        write_bytes(device, b"x" * 100)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert device.stat().st_rdev == number


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    check_writable(pipe, ".png")  # returns although nobody listens
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_bytes(pipe, b"picture")
    reader.join(timeout=20)
    assert heard == [b"picture"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_written_through(tmp_path: Path, name: str) -> None:
    """Also where it is a file: a rename would leave what else is printed in a file without a name."""
    code = f"""
from pathlib import Path
from specsim.base.files import check_writable, write_bytes
write_bytes(check_writable(Path({name!r})), b"picture")
"""
    path = tmp_path / "out"
    with path.open("wb") as file:
        before = path.stat().st_ino
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (path.stat().st_ino, path.read_bytes()) == (before, b"picture")


@pytest.mark.parametrize(
    ("name", "ending", "message"),
    [
        ("folder", "", r"^output .*folder is a directory; give a file name$"),
        ("file/out.json", "", r"^output .*out\.json cannot be written: Not a directory$"),
        ("x" * 300, "", r"cannot be written: File name too long$"),
        ("a.txt", ".png", r"^output .*a\.txt must end in \.png$"),
        ("loose", ".png", r"^output .*loose must end in \.png$"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(tmp_path: Path, name: str, ending: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=message):
        check_writable(tmp_path / name, ending)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ma.masked_array([0.5, 0.5], [0, 1]), r"^p\[1\] is masked; give a number there"),
        ([np.ma.masked_array([0.5, 0.5], [0, 1]), [0.5, 0.5]], r"^p\[0\]\[1\] is masked; give a number there"),
        (np.ma.masked_array([1, 0], [1, 0], dtype=object), r"^p\[0\] is masked"),
        (b"\x01\x00", r"^p must hold numbers \(got"),
        (bytearray(b"\x01\x00"), r"^p must hold numbers \(got"),
        (memoryview(b"\x01\x00"), r"^p must hold numbers \(got"),
        ([b"0.5", b"0.5"], r"^p must hold numbers \(got"),
        (["0.5", "0.5"], r"^p must hold numbers \(got"),
        (np.array(["0.5", "0.5"]), r"^p must hold numbers \(got"),
        (np.array([0.5, "0.5"], dtype=object), r"^p must hold numbers \(got"),
        (np.array([1, 2], dtype="m8[s]"), r"^p must hold numbers \(got"),
    ],
)
def test_what_only_looks_like_numbers_is_refused(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        check.law(value, "p")
    with pytest.raises(TypeError, match=r"masked|^p must hold integer token ids"):
        check.tokens(value, "p", 3)


def test_a_mask_that_masks_nothing_is_no_reason_to_refuse() -> None:
    assert type(check.law(np.ma.masked_array([0.5, 0.5]), "p")) is np.ndarray
    with pytest.raises(TypeError, match=r"^level is masked"):
        check.scalar(np.ma.masked, "level", "[0, 1]")
