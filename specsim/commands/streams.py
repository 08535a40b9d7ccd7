"""`-` as the name of a file: standard input where a file is read, standard output where one is written.

While a file goes to standard output, the words of the command go to standard error.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from specsim.base.files import STANDARD_OUTPUT

STANDARD_INPUT = Path("/dev/stdin")
DASH = "-"
# Names of options and arguments that are files to read, and files to write.
READ_LOGS = {"against", "costs", "counts", "draft_costs", "file", "hazards", "histogram", "log", "off", "on", "rows"}
READ = frozenset({"check", "comparison", "config", "prompts", "record", "records", "study", "text", *READ_LOGS})
WRITTEN = frozenset(("badge", "certificate", "html", "junit", "out", "plot"))
# Command and option that standard output cannot replace, with the reason and the remedy.
PICTURE_BESIDE = "its picture is written beside it, and it can be carried on; --json prints the record"
FOLDER = "it is a folder"
REFUSED = {
    "simulate checkpoint": "it is read to carry a run on",
    "sweep out": "unfinished rows are kept beside it; --show prints rows",
    "compare out": PICTURE_BESIDE,
    "drafts out": PICTURE_BESIDE,
    "forced out": PICTURE_BESIDE,
    "trees out": PICTURE_BESIDE,
    "systems out": FOLDER,
    "systems report": FOLDER,
    "train-pair out": FOLDER,
    "train-drafters work": FOLDER,
}


def open_streams(command: str, parameters: Iterable[Any], values: dict[str, Any]) -> bool:
    """Replace `-` by the paths of standard input and output; return whether a file goes to standard output.

    ValueError where `-` cannot stand, or stands twice.
    """
    inputs: list[str] = []
    outputs: list[str] = []
    # Each parameter that holds `-`, once or in a list.
    for parameter in parameters:
        name, value = parameter.name, values.get(parameter.name)
        items = list(value) if isinstance(value, list | tuple) else [value]
        if not is_path(parameter) or DASH not in map(str, items):
            continue
        label = parameter.opts[0] if parameter.param_type_name == "option" else name.upper()
        if f"{command} {name}" in REFUSED:
            raise ValueError(f"{label} cannot be `-`: {REFUSED[f'{command} {name}']}")
        # It is read or written.
        is_read = name in READ
        (inputs if is_read else outputs).extend([label] * list(map(str, items)).count(DASH))
        stream = STANDARD_INPUT if is_read else STANDARD_OUTPUT
        streams = [stream if str(item) == DASH else item for item in items]
        values[name] = streams if isinstance(value, list | tuple) else streams[0]
    # Each stream is used once.
    for labels, use in ((inputs, "standard input is read"), (outputs, "standard output is written")):
        if len(labels) > 1:
            raise ValueError(f"{' and '.join(labels)} are both `-`: {use} once")
    return bool(outputs)


def is_path(parameter: Any) -> bool:
    """Return whether an option or argument is the path of a file."""
    descriptor = getattr(parameter, "type_descriptor", None)
    return descriptor is not None and "Path" in str(descriptor.annotation)
