"""Checkpoints that no simulation wrote, or that are damaged: one line names the file, which stays as it is."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specsim import simulate

P, Q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
RUN: dict[str, Any] = {"rule": "tokenwise", "gamma": 2, "blocks": 40, "sequences": 10}
Arrays = dict[str, Any]


def of_arrays(change: Callable[[Arrays], Arrays]) -> Callable[[bytes], bytes]:
    """A file of arrays that are changed."""

    def changed(good: bytes) -> bytes:
        buffer = io.BytesIO()
        with np.load(io.BytesIO(good)) as file:
            np.savez(buffer, **change(dict(file)))
        return buffer.getvalue()

    return changed


def without(name: str) -> Callable[[bytes], bytes]:
    return of_arrays(lambda found: {key: value for key, value in found.items() if key != name})


def zipped(good: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a.txt", "hello")
    return buffer.getvalue()


def of_row(good: bytes) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    return buffer.getvalue()


BAD: dict[str, Callable[[bytes], bytes]] = {
    "text": lambda good: b"hello",
    "nothing": lambda good: b"",
    "zeros": lambda good: bytes(100),
    "gzip": lambda good: b"\x1f\x8b" + bytes(50),
    "half": lambda good: good[: len(good) // 2],
    "without its end": lambda good: good[:-10],
    "damaged arrays": lambda good: good[:60] + b"\xff" * 80 + good[140:],
    "one array": of_row,
    "another zip": zipped,
    **{f"without {name}": without(name) for name in ("settings", "sequences", "kept", "states", "starts", "seconds")},
    "settings in a list": of_arrays(lambda found: found | {"settings": np.array("[]")}),
    "settings that are a number": of_arrays(lambda found: found | {"settings": np.array("1")}),
    "settings that are cut": of_arrays(lambda found: found | {"settings": np.array(str(found["settings"])[:-1])}),
    "states below 0": of_arrays(lambda found: found | {"states": found["states"] - 1}),
    "states that are no number": of_arrays(lambda found: found | {"states": found["states"] * np.nan}),
    "counts below 0": of_arrays(lambda found: found | {"kept": -found["kept"]}),
    "counts of words": of_arrays(lambda found: found | {"kept": np.array("x")}),
    "endless seconds": of_arrays(lambda found: found | {"seconds": np.array(np.inf)}),
    "a newer form": of_arrays(lambda found: found | {"more": np.arange(3)}),
}


@pytest.mark.parametrize("case", BAD)
def test_a_foreign_checkpoint_stays(case: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    simulate(P, Q, checkpoint=path, **RUN)
    path.write_bytes(BAD[case](path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"checkpoint .*run\.npz holds no trace \(") as error:
        simulate(P, Q, checkpoint=path, **RUN)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before
