"""Write a text to a file and read the runs in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specsim.lengths.request_record import AcceptanceRecord
from specsim.logs.read import read_log
from specsim.logs.record import EngineLog


def read(text: str, folder: Path, name: str = "on.log") -> tuple[EngineLog, ...]:
    (folder / name).write_text(text)
    return read_log(folder / name)


def only(text: str, folder: Path) -> tuple[EngineLog, AcceptanceRecord]:
    (run,) = read(text, folder)
    assert run.requests is not None
    return run, run.requests


def lines(*values: Any) -> str:
    return "\n".join(json.dumps(value) for value in values) + "\n"
