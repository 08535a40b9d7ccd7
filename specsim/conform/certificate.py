"""Certificates: reports with the hashes of the judged sources; a certificate holds for those sources and no others.

It carries a digest of all else in it, so that an edit by hand is noticed; it is not signed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import specsim
from specsim.base.files import check_writable, write_bytes
from specsim.base.reading import parsed_json
from specsim.conform import registry
from specsim.conform.hashes import digest as digest_of
from specsim.conform.hashes import hashed, hashes_of_late
from specsim.conform.report import as_json, outcome
from specsim.conform.sources import since
from specsim.conform.subject import Subject
from specsim.conform.verdict import ORDER, STATUS, Report, Verdict

# Bytes of the largest certificate that is read.
LARGEST = 64 * 2**20
# Largest number of names of files in a list of them.
SHOWN = 12
# Fields of a verdict that the outcome in words is made of.
VERDICT_FIELDS = ("property", "outcome", "evidence", "reach", "words")


class NotHeld(Exception):
    """A certificate is of other code than what is installed, or what it certifies did not pass."""

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
    unhashed: list[str]  # what the code depends on and no file holds, in words


def drafted(module: ModuleType, subjects: Iterable[Subject], before: Iterable[str] | None = None) -> Draft:
    """Return the hashed sources of a file's subjects.

    `before` are the names in sys.modules before the file was read.
    """
    chosen, loaded = tuple(subjects), tuple(since(before) if before is not None else ())
    used = hashed(module, chosen, loaded)
    return Draft(module, chosen, loaded, used.hashes, used.versions)


def write(path: Path, draft: Draft, reports: list[Report], false_alarm: float) -> Held:
    """Write the certificate of what was judged, and return what it covers; NotHeld if a source changed meanwhile.

    Files that were imported only while the subject ran are among them.
    """
    check_writable(path)
    # The sources as they are now, after the judgement.
    loaded = [*draft.loaded, *(Path(file) for report in reports for file in report.loaded)]
    used = hashed(draft.module, draft.subjects, loaded)
    changed = [name for name, digest in draft.sources.items() if used.hashes.get(name) != digest]
    if changed:
        raise NotHeld(f"{', '.join(changed)} changed while it was judged: nothing is certified")

    unhashed = list(dict.fromkeys([*used.unhashed, *(words for report in reports for words in report.unhashed)]))

    # The digest is of all else.
    content = {
        "subjects": [subject.name for subject in draft.subjects],
        "sources": used.hashes,
        "places": used.places,
        "unhashed": unhashed,
        "versions": used.versions,
        "specsim": specsim.__version__,
        "python": platform.python_version(),
        "false_alarm": false_alarm,
        "reports": [as_json(report) for report in reports],
    }
    write_bytes(path, (json.dumps(content | {"digest": digest_of(content)}, indent=1) + "\n").encode())
    return Held([subject.name for subject in draft.subjects], [], [], used.hashes, used.versions, unhashed)


def check(
    path: Path,
    module: ModuleType,
    before: Iterable[str] | None = None,
    *,
    subject: str | None = None,
    properties: Sequence[str] = (),
) -> Held:
    """Describe the code that a certificate holds for.

    NotHeld unless its sources are still the same, it is of the `subject` (by default of all that
    the file has), and every one passed, by the `properties`, too. ValueError for a file that is no
    certificate, or was edited.
    """
    content = _read(path)
    subjects = registry.subjects_or_reason(module)
    if isinstance(subjects, str):
        raise NotHeld(f"the subject cannot be had here: {subjects}")
    if subject is not None:
        subjects = [registry.one_of(subjects, subject)]
    names = [each.name for each in subjects]

    # Does it judge every subject that it names, and the one that is asked for?
    if content["subjects"] != [report["subject"] for report in content["reports"]]:
        raise NotHeld(f"{path} does not judge every subject that it names")
    if subject is None and content["subjects"] != names:
        raise NotHeld(f"{path} is of {_several(content['subjects'])}, not {_several(names)}: name one by --subject")
    if subject is not None and names[0] not in content["subjects"]:
        raise NotHeld(f"{path} is of {_several(content['subjects'])}, not {names[0]}")

    # Are the sources the same, and the versions of what they import?
    used = hashed(module, subjects, since(before) if before is not None else ())
    hashes, versions = used.hashes, used.versions
    late = content["sources"].keys() - hashes.keys()
    hashes |= hashes_of_late(late, content.get("places", {}), Path(str(module.__file__)).resolve())
    versions |= {name: _version(name) for name in content["versions"].keys() - versions.keys()}
    for kind, installed, certified in (
        ("source", hashes, content["sources"]),
        ("version", versions, content["versions"]),
    ):
        for name in [*certified, *(installed.keys() - certified.keys())]:
            if installed.get(name) != certified.get(name):
                raise NotHeld(
                    f"{path} is of another {kind} of {name}: {certified.get(name)}, not {installed.get(name)}"
                )

    # Did it pass?
    reports = [report for report in content["reports"] if report["subject"] in names]
    for report in reports:
        if report["outcome"] not in ("lossless", "lossy by design"):
            raise NotHeld(f"{path} says of {report['subject']}: {report['outcome']}", STATUS.get(report["outcome"], 2))
    first_judged, *later_judged = [[verdict["property"] for verdict in report["verdicts"]] for report in reports]
    common = [name for name in first_judged if all(name in judged for judged in later_judged)]
    for name in properties:
        if name not in common:
            raise NotHeld(f"{path} says nothing of the property {name}: it is of {', '.join(common)}")
    outcomes = [outcome(_report(report)) for report in reports]
    return Held(names, outcomes, common, content["sources"], content["versions"], content.get("unhashed", []))


def _report(fields: dict[str, Any]) -> Report:
    """Return as much of a report as its outcome in words needs."""
    subject = fields["subject"]
    verdicts = [Verdict(subject, **{name: verdict[name] for name in VERDICT_FIELDS}) for verdict in fields["verdicts"]]
    return Report(subject, tuple(verdicts), fields.get("complete") is True)


def unknown_in(held: Held) -> str:
    """Return in words what a certificate cannot cover; an empty text if nothing of that kind was seen.

    >>> unknown_in(Held([], [], [], {}, {}, ["answers of a server"]))
    'not hashed: the code depends on answers of a server'
    """
    return f"not hashed: the code depends on {' and '.join(held.unhashed)}" if held.unhashed else ""


def purpose(held: Held, *, passed: bool) -> str:
    """Return what a certificate does for its files, in words: it certifies nothing that did not pass.

    >>> purpose(Held([], [], [], {"mine.py": "ab"}, {}, []), passed=False)
    'records the judgement of mine.py, and certifies nothing'
    """
    if passed:
        return f"certifies {listed(held.sources)}"
    return f"records the judgement of {listed(held.sources)}, and certifies nothing"


def listed(names: Iterable[str]) -> str:
    """Return names of files in words.

    >>> listed(["mine.py", "engine.py"])
    'mine.py, engine.py'
    """
    several = list(names)
    more = f" and {len(several) - SHOWN} more, which the certificate names" if len(several) > SHOWN else ""
    return ", ".join(several[:SHOWN]) + more


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a certificate, in which every name that is read is of its type; ValueError otherwise."""
    wrong = ValueError(f"{path} is no certificate of specsim conform")
    if path.exists() and not path.is_file():
        raise wrong
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path} has more than {LARGEST // 2**20} MiB: that is no certificate")
    try:
        content = parsed_json(path.read_text(encoding="utf-8"), str(path))
        digest, reports = content.pop("digest"), content["reports"]

        # Everything that must be a text.
        texts = [digest, *content["subjects"], *content.get("unhashed", [])]
        for name in ("sources", "versions", "places"):
            fields = content.get(name, {}) if name == "places" else content[name]
            texts += [part for pair in fields.items() for part in pair]

        # Outcomes are known ones, and that of a report is made of its verdicts'.
        for report in reports:
            texts += [report["subject"], report["outcome"]]
            texts += [verdict[name] for verdict in report["verdicts"] for name in VERDICT_FIELDS]
            outcomes = [report["outcome"], *(verdict["outcome"] for verdict in report["verdicts"])]
            if not set(outcomes) <= set(ORDER) or _report(report).outcome != report["outcome"]:
                raise wrong

        # The rate of false alarms is one, and no subject stands twice.
        if not 0 < content["false_alarm"] < 1 or len(set(content["subjects"])) != len(content["subjects"]):
            raise wrong
        edited = digest != digest_of(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise wrong from None
    if not reports or not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise wrong
    if edited:
        raise ValueError(f"{path} was edited: its digest is of other content")
    return dict(content)


def _version(distribution: str) -> str | None:
    """Return the version of a distribution, None if it is not installed."""
    try:
        return metadata.version(distribution)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _several(names: list[str]) -> str:
    """Return names in words."""
    return ", ".join(names) or "nothing"
