"""The work of a worker, on any machine: rows of points. It needs this package, and nothing of its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from specsim.base import source
from specsim.base.modules import own_rule
from specsim.commands.errors import sentence
from specsim.commands.sweep import kinds
from specsim.commands.sweep.inputs import RULE_FILE

# Outputs that are no columns: files which rules read only while they ran, with their hashes; and, in
# words, what no hash covers.
LATE, UNKNOWN = "files read late", "not hashed"


def computed(kind: str, points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the outputs of each point; `refused` says why a point has none."""
    outputs = [_outputs(kind, point) for point in points]
    modules = own_rules(points)
    aside = {LATE: source.read_late(modules), UNKNOWN: source.unknown_of(modules)}
    return [{**output, **aside} for output in outputs] if any(aside.values()) else outputs


def own_rules(points: Sequence[Mapping[str, Any]]) -> list[ModuleType]:
    """Return the modules of the rule files that points name."""
    names = {value: None for point in points for value in point.values() if str(value).endswith(RULE_FILE)}
    return [module for name in names if (module := own_rule(name)) is not None]


def _outputs(kind: str, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs of one point, or why it is refused."""
    try:
        return {**kinds.find(kind).row(point), "refused": None}
    except (ValueError, TypeError) as error:
        return {"refused": sentence(error)}


def begin() -> None:
    """Begin a process of a pool: it ignores Ctrl-C, and ends, with all processes it started, when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """Wait for the end of the parent, and end this group of processes."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
