"""Units of a system's run: minutes of work each, kept in a file, so that a run that is cut off carries on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from specsim.base.files import write_json


class Units:
    """Values of the units of a run, each written when it has ended; a run that is cut off carries on.

    Parameters
    ----------
    path : Path
        Their file, beside the record.
    key : str
        A digest of all that decides the values; a file of another key is not used.

    Attributes
    ----------
    earlier : float
        Seconds that earlier sittings of the run took, each up to its last unit that was kept.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self._values: dict[str, Any] = {}
        self.earlier, self._began = 0.0, time.monotonic()
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            if held["key"] == key:
                self._values, self.earlier = dict(held["units"]), float(held["seconds"])
        # There is no file, or none that can be read.
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the value of a unit, in the form that the file gives back."""
        if name not in self._values:
            self._values[name] = json.loads(json.dumps(make()))
            seconds = round(self.earlier + time.monotonic() - self._began, 1)
            write_json(self._path, {"key": self._key, "seconds": seconds, "units": self._values})
        return self._values[name]

    def forget(self) -> None:
        """Remove the file: the record is written."""
        self._path.unlink(missing_ok=True)
