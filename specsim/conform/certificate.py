"""A certificate: what was judged, with the hash of its source; it holds for that source and no other.

It carries a digest of all else in it, so that an edit by hand is noticed; it is not signed.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import specsim
from specsim.base.files import check_writable, write_bytes
from specsim.base.modules import origins
from specsim.base.reading import parsed_json
from specsim.conform import registry
from specsim.conform.report import as_json, outcome
from specsim.conform.sources import CODE, label, since, sources
from specsim.conform.subject import Subject
from specsim.conform.verdict import ORDER, STATUS, Report, Verdict

# Bytes of the largest certificate that is read.
LARGEST = 64 * 2**20
SHOWN = 12  # names of files in a list of them
SAID = ("property", "outcome", "evidence", "reach", "words")  # of a verdict, which its outcome in words needs


class NotHeld(Exception):
    """A certificate is of something else than what is installed, or what it certifies did not pass."""

    def __init__(self, words: str, status: int = 2) -> None:
        super().__init__(words)
        self.status = status


class Draft(NamedTuple):
    """The sources to be certified, as they were before the judgement."""

    module: ModuleType
    subjects: tuple[Subject, ...]
    loaded: tuple[Path, ...]
    sources: dict[str, str]  # label of a file -> its hash
    versions: dict[str, str]  # distribution -> version


class Held(NamedTuple):
    """Identify the code that a certificate covers."""

    subjects: list[str]
    outcomes: list[str]  # of each, in words, with their reach
    judged: list[str]  # properties that every one of them was judged by
    sources: dict[str, str]
    versions: dict[str, str]


def drafted(module: ModuleType, subjects: Iterable[Subject], before: Iterable[str] | None = None) -> Draft:
    """The sources of a file's subjects, hashed; `before` are the names in sys.modules before the file was read."""
    chosen, loaded = tuple(subjects), tuple(since(before) if before is not None else ())
    return Draft(module, chosen, loaded, *_hashed(module, chosen, loaded))


def write(path: Path, draft: Draft, reports: list[Report], false_alarm: float) -> dict[str, str]:
    """Write the certificate of what was judged, and return the hashes in it; NotHeld if a source changed meanwhile.

    Files that were imported only while the subject ran are among them.
    """
    check_writable(path)
    loaded = [*draft.loaded, *(Path(file) for report in reports for file in report.loaded)]
    found, versions = _hashed(draft.module, draft.subjects, loaded)
    changed = [name for name, digest in draft.sources.items() if found.get(name) != digest]
    if changed:
        raise NotHeld(f"{', '.join(changed)} changed while it was judged: nothing is certified")
    held = {
        "subjects": [subject.name for subject in draft.subjects],
        "sources": found,
        "versions": versions,
        "specsim": specsim.__version__,
        "python": platform.python_version(),
        "false_alarm": false_alarm,
        "reports": [as_json(one) for one in reports],
    }
    write_bytes(path, (json.dumps(held | {"digest": _digest(held)}, indent=1) + "\n").encode())
    return found


def check(
    path: Path,
    module: ModuleType,
    before: Iterable[str] | None = None,
    *,
    subject: str | None = None,
    properties: Sequence[str] = (),
) -> Held:
    """Describe the code that a certificate holds for.

    NotHeld unless its sources are still the same, it is of the `subject` (by default of all that the file has), and
    every one passed, by the `properties`, too. ValueError for a file that is no certificate, or was edited.
    """
    held = _read(path)
    handed = registry.subjects_or_reason(module)
    if isinstance(handed, str):
        raise NotHeld(f"the subject cannot be had here: {handed}")
    if subject is not None:
        handed = [registry.one_of(handed, subject)]
    names = [one.name for one in handed]

    # Is it of what is installed?
    if held["subjects"] != [one["subject"] for one in held["reports"]]:
        raise NotHeld(f"{path} does not judge every subject that it names")
    if subject is None and held["subjects"] != names:
        raise NotHeld(f"{path} certifies {_several(held['subjects'])}, not {_several(names)}: name one by --subject")
    if subject is not None and names[0] not in held["subjects"]:
        raise NotHeld(f"{path} certifies {_several(held['subjects'])}, not {names[0]}")
    found, versions = _hashed(module, handed, since(before) if before is not None else ())
    found |= _found_again(held["sources"].keys() - found.keys(), Path(str(module.__file__)))
    versions |= {name: _version(name) for name in held["versions"].keys() - versions.keys()}
    for what, now, then in (("source", found, held["sources"]), ("version", versions, held["versions"])):
        for name in [*then, *(now.keys() - then.keys())]:
            if now.get(name) != then.get(name):
                raise NotHeld(f"{path} certifies another {what} of {name}: {then.get(name)}, not {now.get(name)}")

    # Did it pass?
    reports = [one for one in held["reports"] if one["subject"] in names]
    for one in reports:
        if one["outcome"] not in ("lossless", "lossy by design"):
            raise NotHeld(f"{path} says of {one['subject']}: {one['outcome']}", STATUS.get(one["outcome"], 2))
    judged = [[verdict["property"] for verdict in one["verdicts"]] for one in reports]
    common = [name for name in judged[0] if all(name in others for others in judged)]
    for name in properties:
        if name not in common:
            raise NotHeld(f"{path} says nothing of the property {name}: it is of {', '.join(common)}")
    return Held(names, [outcome(_report(one)) for one in reports], common, held["sources"], held["versions"])


def _report(held: dict[str, Any]) -> Report:
    """Return as much of a report as its outcome in words needs."""
    verdicts = [Verdict(held["subject"], **{name: one[name] for name in SAID}) for one in held["verdicts"]]
    return Report(held["subject"], tuple(verdicts), held.get("complete") is True)


def listed(names: Iterable[str]) -> str:
    """Names of files in words.

    >>> listed(["mine.py", "engine.py"])
    'mine.py, engine.py'
    """
    several = list(names)
    more = f" and {len(several) - SHOWN} more, which the certificate names" if len(several) > SHOWN else ""
    return ", ".join(several[:SHOWN]) + more


def _hashed(
    module: ModuleType, subjects: Iterable[Subject], loaded: Iterable[Path]
) -> tuple[dict[str, str], dict[str, str]]:
    """Hashes of own files by their labels, and versions of distributions."""
    found = sources(module, subjects, loaded)
    out: dict[str, str] = {}
    first = Path(str(module.__file__)).resolve()
    for path in sorted(found.own, key=lambda path: (path != first, str(path))):
        name = label(path)
        while name in out:  # two files of one name in two folders
            name = f"{path.parents[name.count('/')].name}/{name}"
        out[name] = _hash(path)
    if found.specsim or registry.is_ours(module):  # it is what all of the package makes of it
        root = Path(specsim.__file__).parent
        out["all of specsim"] = _digest({str(file.relative_to(root)): _hash(file) for file in root.rglob("*.py")})
    distribution = str(vars(module).get("DISTRIBUTION", ""))
    versions = found.versions
    if distribution:
        files = {str(file): Path(str(file.locate())) for file in metadata.files(distribution) or []}
        hashes = {name: _hash(file) for name, file in files.items() if file.suffix in CODE and file.is_file()}
        out[f"all of {distribution}"] = _digest(hashes)
        versions = versions | {distribution: metadata.version(distribution)}
    return out, versions


def _found_again(names: Iterable[str], near: Path) -> dict[str, str]:
    """Hashes of files that were imported only while the subject ran, found by the names of their modules."""
    out = {}
    for name in names:
        parts = name.partition(".")[0].removesuffix("/__init__").split("/")
        for path in origins(".".join(parts), near):
            if label(path) == name and path.is_file():
                out[name] = _hash(path)
    return out


def _read(path: Path) -> dict[str, Any]:
    """The content of a certificate, in which every name that is read is of its type; ValueError otherwise."""
    wrong = ValueError(f"{path} is no certificate of specsim conform")
    if path.exists() and not path.is_file():
        raise wrong
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path} has more than {LARGEST // 2**20} MiB: that is no certificate")
    try:
        held = parsed_json(path.read_text(encoding="utf-8"), str(path))
        digest, reports = held.pop("digest"), held["reports"]
        texts = [digest, *held["subjects"]]
        for name in ("sources", "versions"):
            texts += [part for pair in held[name].items() for part in pair]
        for report in reports:
            texts += [report["subject"], report["outcome"]]
            texts += [one[name] for one in report["verdicts"] for name in SAID]
            outcomes = [report["outcome"], *(one["outcome"] for one in report["verdicts"])]
            if not set(outcomes) <= set(ORDER) or _report(report).outcome != report["outcome"]:
                raise wrong
        if not 0 < held["false_alarm"] < 1 or len(set(held["subjects"])) != len(held["subjects"]):
            raise wrong
        edited = digest != _digest(held)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise wrong from None
    if not reports or not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise wrong
    if edited:
        raise ValueError(f"{path} was edited: its digest is of other content")
    return dict(held)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _several(names: list[str]) -> str:
    return ", ".join(names) or "nothing"


def _digest(held: Mapping[str, Any]) -> str:
    """Return the digest of a JSON value: equal before it is written and after it is read, in any order of keys."""
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
