"""The Parquet file of a study, and the parts beside it from which an interrupted one goes on."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import specsim
from specsim.base import extras
from specsim.base.files import check_writable, write_bytes
from specsim.base.parquet import MARK, SCHEMA, marked
from specsim.base.parquet import table as read_table
from specsim.commands.sweep.inputs import Kind
from specsim.commands.sweep.study import Study, digest, points

with extras.needed("specsim sweep"):
    import pyarrow as arrow
    from pyarrow import parquet

REMEDY = "give another --out, or --force to replace it"
# Begins the names of sources that a rule read only while it ran; their paths follow.
LATE = "read: "
# A table of pyarrow, which has no types.
Table = Any


class Held(NamedTuple):
    """Finished rows: their table (None if there are none), their keys, their files, and the source that made them."""

    table: Table | None
    keys: frozenset[str]
    files: tuple[Path, ...] = ()
    sources: Mapping[str, str] = MappingProxyType({})


def parts(out: Path) -> Path:
    """Return the folder of rows that are not yet in the file."""
    return out.with_name(f"{out.name}.parts")


def check_out(out: Path) -> None:
    """Raise ValueError unless the path can be a file that is read again: a device or a pipe cannot."""
    if out.suffix.lower() != ".parquet":
        raise ValueError(f"output {out} must end in .parquet")
    check_writable(out)
    if out.exists() and not out.is_file():
        raise ValueError(f"output {out} is no regular file: finished rows are read again, and stand beside it")
    check_writable(parts(out) / "part.parquet")


def schema(kind: Kind) -> Any:
    """Return the columns: key, inputs, outputs, and why a row is refused."""
    inputs = {name: entry.column for name, entry in kind.inputs.items()}
    columns = {"key": "string", **inputs, **kind.outputs, "refused": "string"}
    return arrow.schema([(name, _type(column)) for name, column in columns.items()])


def _type(column: str) -> Any:
    """Return the type of Arrow for a column."""
    inner = column.removeprefix("list<").removesuffix(">")
    arrow_type = {"double": arrow.float64(), "int64": arrow.int64(), "string": arrow.string()}[inner]
    return arrow_type if inner == column else arrow.list_(arrow_type)


def mark(kind: Kind, complete: bool, sources: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return the metadata of a file of rows."""
    content = {"schema": SCHEMA, "kind": kind.name, "version": specsim.__version__, "complete": complete}
    content["sources"] = dict(sources)
    return {MARK: json.dumps(content).encode()}


def held(out: Path, kind: Kind, *, anew: bool = False) -> Held:
    """Return all rows of the file (if not anew) and of its parts.

    ValueError if one is of another kind of study, or of another version.
    """
    tables, files = [], []
    sources: dict[str, str] = {}
    for path in (*([out] if out.exists() and not anew else []), *sorted(parts(out).glob("*.parquet"))):
        # The file must be of this kind and version, with these columns and a key for each row.
        marks = marked(path)
        for name, expected in (("kind", kind.name), ("version", specsim.__version__)):
            if marks.get(name) != expected:
                raise ValueError(
                    f"out {path} holds another study ({name} is {marks.get(name)!r:.60}, here {expected!r}): {REMEDY}"
                )
        table = read_table(path)
        if table.schema.remove_metadata() != schema(kind):
            raise ValueError(f"out {path} holds another study (its columns are others): {REMEDY}")
        if len({*table.column("key").to_pylist()} - {None}) < table.num_rows:
            raise ValueError(f"out {path} has rows without a key, or two of one key, as no sweep writes them: {REMEDY}")
        tables.append(table)
        files.append(path)
        made_by = marks.get("sources")
        sources |= made_by if isinstance(made_by, dict) else {}
    if not tables:
        return Held(None, frozenset())
    table = arrow.concat_tables([part.replace_schema_metadata(None) for part in tables])
    return Held(table, frozenset(table.column("key").to_pylist()), tuple(files), sources)


def read_late(finished: Held) -> dict[str, str]:
    """Return the files that rules read only while they made these rows, with their hashes."""
    late = {name: digest for name, digest in finished.sources.items() if name.startswith(LATE)}
    return {name.removeprefix(LATE): str(digest) for name, digest in late.items()}


def stale(finished: Held, study: Study, keys: frozenset[str], out: Path) -> frozenset[str]:
    """Return digests of the inputs of rows of the study whose source has changed since.

    keys: those that the study's rows have now. ValueError if the file has rows of inputs that the
    study does not have.
    """
    # Rows whose key is not of the study: their inputs are, if the source alone has changed.
    foreign = finished.keys - keys
    if not foreign or finished.table is None:
        return frozenset()
    names = list(study.kind.inputs)
    rows = finished.table.select(["key", *names]).to_pylist()
    row_inputs = {digest({name: row[name] for name in names}) for row in rows if row["key"] in foreign}
    study_inputs = {digest(inputs) for inputs in points(study)}
    if unknown_inputs := row_inputs - study_inputs:
        raise ValueError(
            f"out {out} holds another study ({len(unknown_inputs)} of its {len(finished.keys)} rows are not in this "
            f"one): {REMEDY}"
        )
    return frozenset(row_inputs)


def write_part(out: Path, kind: Kind, rows: Sequence[Mapping[str, Any]], sources: Mapping[str, str]) -> None:
    """Write finished rows as a part, whole or not at all, under the key of the first row."""
    table = arrow.Table.from_pylist(list(rows), schema(kind))
    data = _bytes(table.replace_schema_metadata(mark(kind, False, sources)))
    write_bytes(parts(out) / f"{rows[0]['key']}.parquet", data)


def merge(
    out: Path, kind: Kind, order: Sequence[str], sources: Mapping[str, str], *, anew: bool = False
) -> Table | None:
    """Write every finished row once, in this order, as the file, and remove the parts; None if no row is finished.

    anew: ignore the file that is there.
    """
    finished = held(out, kind, anew=anew)
    all_rows = finished.table
    if all_rows is None:
        return None

    # Of rows with equal keys the first; rows in the order of the study.
    first: dict[str, int] = {}
    for i, key in enumerate(all_rows.column("key").to_pylist()):
        first.setdefault(key, i)
    rows = [first[key] for key in order if key in first]
    table = all_rows.take(arrow.array(rows, arrow.int64())).combine_chunks()

    # The file, and the sources that made its rows.
    late = {LATE + name: digest for name, digest in read_late(finished).items()}
    marks = mark(kind, len(rows) == len(order), {**sources, **late})
    write_bytes(out, _bytes(table.replace_schema_metadata(marks)))
    remove_parts(out, [path for path in finished.files if path != out])
    return table


def remove_parts(out: Path, read: Sequence[Path] | None = None) -> None:
    """Remove the parts that were read, or all, and their folder if nothing else is in it."""
    folder = parts(out)
    removed = folder.glob("*.parquet") if read is None else read
    # A process that was killed leaves temporary files.
    for path in (*removed, *folder.glob(".specsim.*")):
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _bytes(table: Table) -> bytes:
    """Return the rows as a file's bytes; equal rows give equal bytes."""
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    return buffer.getvalue()
