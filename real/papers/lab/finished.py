"""Drafters that an interrupted run of `train-drafters` has finished: the next run skips them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from real.draft import _weights
from real.models.shipped import fingerprint
from specsim.base.files import write_json

Make = Callable[[str, Callable[[str], None]], dict[str, Any]]


class Finished(NamedTuple):
    """A file with the drafters that were trained in a folder, until a run comes to its end.

    path: the file. makers: name of a drafter -> the file of `real.draft` with its recipe.
    """

    path: Path
    makers: Mapping[str, Any]

    def after(self, make: Make) -> Make:
        """Return a function that makes a drafter as `make` does, or returns the row of a finished one."""

        def made(name: str, show_stage: Callable[[str], None]) -> dict[str, Any]:
            """Make a drafter, or return its row if it is finished."""
            known = self._rows().get(name)
            if known is not None and known["made"] == self._identity(name):
                show_stage("was finished before")
                row: dict[str, Any] = known["row"]
                return row
            row = make(name, show_stage)
            entry = {"made": self._identity(name), "row": row}
            write_json(self.path, self._rows() | {name: entry})
            return row

        return made

    def forget(self, names: Iterable[str]) -> None:
        """Forget drafters: the next run that names them trains them anew."""
        left = {name: known for name, known in self._rows().items() if name not in set(names)}
        if left:
            write_json(self.path, left)
        else:
            self.path.unlink(missing_ok=True)

    def _rows(self) -> dict[str, Any]:
        """Return the entries of the file by name; {} where it is damaged or not there."""
        try:
            rows = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return rows if isinstance(rows, dict) else {}

    def _identity(self, name: str) -> list[str]:
        """Return hashes of a drafter's recipe and weights: an entry with others is not of this one."""
        path = _weights.path_of(name)
        weights = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        return [fingerprint(self.makers[name].RECIPES[name]), weights]
