"""The checkpoint of a simulation: what it is carried on from, and when it is begun anew.

The settings of a checkpoint hold the hash of the source that is known before the run. Files that a
rule reads only while it runs are known after it: they stand beside the settings with their hashes,
and are hashed again before the checkpoint is carried on.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim.base import source
from specsim.base.warned import warn
from specsim.simulation.shards import Job
from specsim.simulation.trace import Trace, changed_source, load, same_settings, save

# The setting that holds files which were read while the rule ran: path -> hash.
LATE = "files read while it ran (SHA-256)"


class Checkpoint(NamedTuple):
    """The file of a run, whether to begin it anew in any case, and the rules whose files it depends on."""

    path: Path
    force: bool
    modules: tuple[ModuleType, ...]


def continued(checkpoint: Checkpoint, job: Job, sequences: range) -> Trace | None:
    """Return the trace that is carried on; None if there is none, or other source code has made it.

    ValueError if it is of another simulation, or of other sequences.
    """
    path = checkpoint.path
    if not path.is_file() or checkpoint.force:
        return None
    # Source that has changed is said in one line.
    done, late = _without_late(load(path), path)
    changed = [f"the source of {name}" for name in changed_source(done, job.settings)]
    changed += [f"{name}, which its rule reads," for name in source.changed(late)]
    if changed:
        warn(f"checkpoint {path} is begun anew: {' and '.join(changed)} has changed since it was made")
        return None
    # The same simulation, and no other sequences.
    same_settings(done, job.settings, f"checkpoint {path} is of another simulation")
    _check_blocks(done, job, path)
    if foreign := set(done.sequences.tolist()) - set(sequences):
        raise ValueError(f"checkpoint {path} holds sequence {min(foreign)}, which is not in {sequences}")
    return done


def store(done: Trace, checkpoint: Checkpoint) -> None:
    """Write the trace, with the files that its rules have come to read while they ran."""
    late = source.read_late(checkpoint.modules)
    settings = json.dumps({**json.loads(done.settings), LATE: late}) if late else done.settings
    save(done._replace(settings=settings), checkpoint.path)


def _without_late(trace: Trace, path: Path) -> tuple[Trace, dict[str, str]]:
    """Return the trace with the settings that it was asked for, and the files that stand beside them."""
    settings = json.loads(trace.settings)
    late = settings.pop(LATE, {})
    if not isinstance(late, dict) or not all(isinstance(digest, str) for digest in late.values()):
        raise ValueError(f"checkpoint {path} holds no trace ({LATE} is {late!r:.60})")
    return trace._replace(settings=json.dumps(settings)), late


def _check_blocks(done: Trace, job: Job, path: Path) -> None:
    """Raise ValueError unless a checkpoint counts blocks of the run's depth, and its number for every sequence."""
    columns = done.kept.shape[1]
    if columns != job.loop.depth + 1:
        raise ValueError(f"checkpoint {path} counts blocks that kept 0..{columns - 1} drafts, not 0..{job.loop.depth}")
    counted = done.kept.sum(axis=1)
    if job.blocks is not None and (counted != job.blocks).any():
        wrong = int(np.flatnonzero(counted != job.blocks)[0])
        raise ValueError(
            f"checkpoint {path} has {counted[wrong]} blocks of sequence {done.sequences[wrong]}; all have {job.blocks}"
        )
