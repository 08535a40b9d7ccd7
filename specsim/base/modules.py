"""A user's file, such as a rule or a subject: imported as Python imports it, and the files that it imports.

Modules beside the file are found where no installed one has their name, a file of a package may use relative imports,
and a dataclass finds its own module.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from specsim.base import recording
from specsim.base.reach import definition

TELLING = ("verify", "draw", "ask", "more", "loss")  # each family's modules have one of these functions

# Modules that were read from users' files, by their names, and the folders in which modules beside them lie.
_READ: dict[str, ModuleType] = {}
_FOLDERS: list[str] = []
# Modules by their identity, and the files that they were made of.
_MADE_OF: dict[int, tuple[ModuleType, tuple[Path, ...]]] = {}

# Modules that an extra of this package installs -> that extra.
EXTRAS = {"jax": "jax", "jaxlib": "jax", "torch": "real", "transformers": "real"}


def own_rule(rule: Any) -> ModuleType | None:
    """The rule that a module or the path of a Python file is; None for anything else, such as a rule's name."""
    if isinstance(rule, Path) or (isinstance(rule, str) and rule.endswith(".py")):
        return read(Path(rule), "rule")
    return rule if any(callable(getattr(rule, name, None)) for name in TELLING) else None


def read(path: Path, kind: str) -> ModuleType:
    """The module in a user's file, imported once for as long as the file says the same; `kind` is for errors."""
    if not path.is_file():
        raise ValueError(f"{kind} file {path} does not exist")
    recording.start()
    try:
        with _kept_alive():
            return _loaded(path.resolve(), path.read_bytes())
    except (Exception, SystemExit) as error:  # the file is the user's: whatever it raises is the answer
        raise not_imported(path, kind, error) from None


@contextlib.contextmanager
def _kept_alive() -> Iterator[None]:
    """Let no code end the process in which it is loaded: status 0 would pass for a verdict."""
    end, own = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        """Raise SystemExit; a process that was forked meanwhile ends."""
        if os.getpid() != own:
            end(status)
        raise SystemExit(f"os._exit({status})")

    try:
        os._exit = refuse
        yield
    finally:
        os._exit = end


def made_of(module: ModuleType) -> tuple[Path, ...]:
    """Return the files that a module's values come from, and that its code ran or read by the first call of this.

    `read` calls it once the file is loaded; what a function reads later is not among them.
    """
    key = id(module)
    if key not in _MADE_OF or _MADE_OF[key][0] is not module:
        files, unhashed = definition([module])
        if unhashed:
            recording.note_unhashed(str(module.__file__), unhashed)
        _MADE_OF[key] = module, (*files, *recording.used_by([str(module.__file__), *files]))
    return _MADE_OF[key][1]


def not_imported(path: Path, kind: str, error: BaseException) -> ValueError:
    """Return the error for a user's file that cannot be imported, with the extra that has a missing module."""
    remedy = ""
    if isinstance(error, ModuleNotFoundError):
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        remedy = f": install the extra `{extra}` (specsim-llm[{extra}])" if extra else ""
    words = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else error
    return ValueError(f"{kind} file {path} cannot be imported: {type(error).__name__}: {words}{remedy}")


def imported_names(path: Path) -> list[str]:
    """Dotted names that a file imports anywhere in it; of `from a import b` both a and a.b, since b may be a module."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return []
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package(path, node.level), *filter(None, [node.module])])
            names |= dict.fromkeys([base, *(f"{base}.{alias.name}" for alias in node.names)])
    return [name for name in names if name]


def origins(name: str, near: Path) -> Iterator[Path]:
    """The files that are run by the import of a dotted name: its packages and itself; none for what is no module."""
    search: Any = None
    parts = name.split(".")
    for i in range(len(parts)):
        whole = ".".join(parts[: i + 1])
        spec = getattr(sys.modules.get(whole), "__spec__", None)
        if spec is None:
            spec = (PathFinder.find_spec(whole, search) if i else _found(whole)) or _beside(parts[: i + 1], near)
        if spec is None:
            return
        if spec.origin and spec.has_location:
            yield Path(spec.origin)
        search = spec.submodule_search_locations
        if search is None:
            return


def package(path: Path, level: int = 1) -> list[str]:
    """Names of the packages that a file is in, the outermost first, without the last `level` - 1; none for level 0."""
    names: list[str] = []
    folder = path.parent
    while level and (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return names[: len(names) - level + 1] if level else []


@lru_cache
def _loaded(path: Path, source: bytes) -> ModuleType:
    # Modules beside the file, and beside its package, are found after the installed ones.
    packages = package(path)
    folders = [str(path.parents[len(packages)]), str(path.parent)]
    new = [folder for folder in dict.fromkeys(folders) if folder not in sys.path]
    _FOLDERS.extend(new)
    sys.path.extend(new)
    _refuse_namesakes(path, folders)

    relative = any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(ast.parse(source)))
    spec = importlib.util.spec_from_file_location(_free(path, packages if relative else []), path)
    if spec is None:
        raise ImportError("its name does not end in .py")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # a dataclass looks for its own module
    try:
        with recording.imports_named():
            exec(compile(source, path, "exec"), vars(module))  # bytecode may be of what the file was
    except BaseException:
        sys.modules.pop(spec.name, None)
        if before is not None:
            sys.modules[spec.name] = before
        raise
    _READ[spec.name] = module
    made_of(module)
    return module


def _refuse_namesakes(path: Path, folders: list[str]) -> None:
    """Raise ImportError where a file would get a module that lies beside another user's file."""
    for name in dict.fromkeys(name.partition(".")[0] for name in imported_names(path)):
        taken = _origin(getattr(sys.modules[name], "__spec__", None) if name in sys.modules else _found(name))
        if taken and str(Path(taken).parent) in _FOLDERS and taken != _origin(PathFinder.find_spec(name, folders)):
            raise ImportError(f"{name} would be {taken}, which lies beside another file: rename the module of this one")


def _origin(spec: Any) -> str | None:
    return None if spec is None else spec.origin


def _free(path: Path, packages: list[str]) -> str:
    """Return a name under which no other file is imported, now or later: vllm.py may import vllm.

    A file of a package is imported again where the package imports it, by its own name.
    """
    name = ".".join([*packages, path.stem.replace(".", "_")])
    taken = bool(packages)
    while taken or _is_of_another(name, path):
        name, taken = f"{name}_", False
    return name


def _is_of_another(name: str, path: Path) -> bool:
    """Whether a name is that of a module that is no file of one's own."""
    if name in sys.modules:
        return sys.modules[name] is not _READ.get(name)
    if "." in name:
        return False
    spec = importlib.util.find_spec(name)
    return spec is not None and str(Path(spec.origin or "").parent) not in [*_FOLDERS, str(path.parent)]


def _found(name: str) -> Any:
    """A module of the first level, which an editable install may have its own way to find; nothing is imported."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _beside(parts: list[str], near: Path) -> Any:
    """The module of that name beside the package of a file, whatever sys.path holds."""
    root = near.parents[len(package(near))]
    return PathFinder.find_spec(".".join(parts), [str(root.joinpath(*parts[:-1]))])
