"""What an interrupted run of `train-drafters` has finished, so that the next one does not train it anew."""

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
    """Drafters that were trained in a folder, in a file there, until a run comes to its end.

    path: the file. makers: by the name of a drafter the file of `real.draft` with its recipe.
    """

    path: Path
    makers: Mapping[str, Any]

    def after(self, make: Make) -> Make:
        """Return a function that makes a drafter as `make` does, or returns what is known of one that is finished."""

        def made(name: str, said: Callable[[str], None]) -> dict[str, Any]:
            known = self._rows().get(name)
            if known is not None and known["made"] == self._identity(name):
                said("was finished before")
                row: dict[str, Any] = known["row"]
                return row
            row = make(name, said)
            write_json(self.path, self._rows() | {name: {"made": self._identity(name), "row": row}})
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
        """Return what the file holds, by name; nothing where it is damaged or not there."""
        try:
            rows = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return rows if isinstance(rows, dict) else {}

    def _identity(self, name: str) -> list[str]:
        """Return what is the same as long as recipe and weights are those of the run that finished the drafter."""
        path = _weights.path_of(name)
        weights = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        return [fingerprint(self.makers[name].RECIPES[name]), weights]
