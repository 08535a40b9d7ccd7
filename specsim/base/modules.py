"""Import a user's file, such as a rule or a subject, as Python imports it; list the files that it imports.

Modules beside the file are found where no installed one has their name, a file of a package may use
relative imports, and a dataclass finds its own module.
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

# Every module of a rule has one of these functions, which says its family.
FAMILY_FUNCTIONS = ("verify", "draw", "ask", "more", "loss")

# Modules that were read from users' files, by their names.
_READ: dict[str, ModuleType] = {}
# Folders that were added to the search path, so that users' files find the modules beside them.
_FOLDERS: list[str] = []
# Modules by their identity, each with the files that it was made of.
_MADE_OF: dict[int, tuple[ModuleType, tuple[Path, ...]]] = {}

# Modules that an extra of this package installs, with the name of the extra.
EXTRAS = {"jax": "jax", "jaxlib": "jax", "torch": "real", "transformers": "real"}


def own_rule(rule: Any) -> ModuleType | None:
    """Return a rule's module, given itself or the path of its file; None for a rule's name or another value."""
    if isinstance(rule, Path) or (isinstance(rule, str) and rule.endswith(".py")):
        return read(Path(rule), "rule")
    is_rule = any(callable(getattr(rule, name, None)) for name in FAMILY_FUNCTIONS)
    return rule if is_rule else None


def read(path: Path, kind: str) -> ModuleType:
    """Return the module of a user's file; it is imported anew only if the file has changed.

    `kind` names the file in errors, as "rule" does. Raises ValueError if it cannot be imported.
    """
    if not path.is_file():
        raise ValueError(f"{kind} file {path} does not exist")
    recording.start()
    # A user's code may raise anything, and leave by sys.exit.
    try:
        with _exit_refused():
            return _loaded(path.resolve(), path.read_bytes())
    except (Exception, SystemExit) as error:
        raise not_imported(path, kind, error) from None


@contextlib.contextmanager
def _exit_refused() -> Iterator[None]:
    """Make os._exit raise SystemExit in this process: an end with status 0 would pass for a verdict."""
    exit_process, process_id = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        """Raise SystemExit; a process that was forked meanwhile ends."""
        if os.getpid() != process_id:
            exit_process(status)
        raise SystemExit(f"os._exit({status})")

    try:
        os._exit = refuse
        yield
    finally:
        os._exit = exit_process


def made_of(module: ModuleType) -> tuple[Path, ...]:
    """Return the files that a module's values come from, and those that its code ran or read.

    They are those of the first call, which `read` makes once the file is loaded: what a function
    reads later is not among them.
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
        package_name = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(package_name)
        remedy = f": install the extra `{extra}` (specsim-llm[{extra}])" if extra else ""
    words = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else error
    return ValueError(f"{kind} file {path} cannot be imported: {type(error).__name__}: {words}{remedy}")


def imported_names(path: Path) -> list[str]:
    """Return the dotted names that a file imports anywhere in it, each once.

    Of `from a import b` they are a and a.b, since b may be a module. A file that is no Python has none.
    """
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
    """Yield the files that the import of a dotted name runs: its packages, outermost first, and itself.

    `near` is the file that imports it. A name that is no module has none.
    """
    search: Any = None
    parts = name.split(".")
    for i in range(len(parts)):
        # A module that is imported already knows its file; others are looked for.
        dotted = ".".join(parts[: i + 1])
        spec = getattr(sys.modules.get(dotted), "__spec__", None)
        if spec is None:
            spec = PathFinder.find_spec(dotted, search) if i else _spec_of(dotted)
        if spec is None:
            spec = _spec_beside(parts[: i + 1], near)
        if spec is None:
            return
        if spec.origin and spec.has_location:
            yield Path(spec.origin)
        # Only a package has modules in it.
        search = spec.submodule_search_locations
        if search is None:
            return


def package(path: Path, level: int = 1) -> list[str]:
    """Return the names of the packages that a file is in, the outermost first.

    `level` counts the dots of a relative import: each beyond the first leaves out the innermost
    package that is left. For level 0, an import that is not relative, the list is empty.
    """
    names: list[str] = []
    folder = path.parent
    while level and (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return names[: len(names) - level + 1] if level else []


@lru_cache
def _loaded(path: Path, source: bytes) -> ModuleType:
    """Run a file whose content is `source`, and return its module."""
    # Modules beside the file, and beside its package, are found after the installed ones.
    packages = package(path)
    folders = [str(path.parents[len(packages)]), str(path.parent)]
    new = [folder for folder in dict.fromkeys(folders) if folder not in sys.path]
    _FOLDERS.extend(new)
    sys.path.extend(new)
    _refuse_namesakes(path, folders)

    # Make its module. Only a file with relative imports needs the name of its package.
    nodes = ast.walk(ast.parse(source))
    is_relative = any(isinstance(node, ast.ImportFrom) and node.level for node in nodes)
    name = _free_name(path, packages if is_relative else [])
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ImportError("its name does not end in .py")
    module = importlib.util.module_from_spec(spec)

    # Run it. A dataclass looks for its own module in sys.modules. The source is compiled here, for
    # cached bytecode may be of an earlier one.
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        with recording.imports_named():
            exec(compile(source, path, "exec"), vars(module))
    except BaseException:
        sys.modules.pop(spec.name, None)
        if before is not None:
            sys.modules[spec.name] = before
        raise
    _READ[spec.name] = module
    made_of(module)
    return module


def _refuse_namesakes(path: Path, folders: list[str]) -> None:
    """Raise ImportError where a file would get a module that lies beside another user's file.

    `folders` are those in which the file's own modules lie.
    """
    for name in dict.fromkeys(name.partition(".")[0] for name in imported_names(path)):
        # `taken` is the file that the name stands for now; the user means the one beside this file.
        is_imported = name in sys.modules
        spec = getattr(sys.modules[name], "__spec__", None) if is_imported else _spec_of(name)
        taken = _origin(spec)
        if taken and str(Path(taken).parent) in _FOLDERS and taken != _origin(PathFinder.find_spec(name, folders)):
            raise ImportError(f"{name} would be {taken}, which lies beside another file: rename the module of this one")


def _origin(spec: Any) -> str | None:
    """Return the file of a module's specification; None without one."""
    return None if spec is None else spec.origin


def _free_name(path: Path, packages: list[str]) -> str:
    """Return a dotted name for a user's module that no import gives to another file, now or later.

    It is the file's name, with as many "_" behind as make it free: vllm.py may itself import vllm. A
    file in a package always gets one "_", since the package may import the file by its plain name.

    Examples
    --------
    >>> _free_name(Path("numpy.py"), []), _free_name(Path("rule.py"), ["mine"])
    ('numpy_', 'mine.rule_')
    """
    name = ".".join([*packages, path.stem.replace(".", "_")])
    if packages:
        name = f"{name}_"
    while _is_taken(name, path):
        name = f"{name}_"
    return name


def _is_taken(name: str, path: Path) -> bool:
    """Return whether a name belongs to an imported or installed module that is no user's file.

    `path` is the user's file that is to get the name.
    """
    # Imported: the name is free again if a user's file, which `read` loaded, has it.
    if name in sys.modules:
        return sys.modules[name] is not _READ.get(name)
    # A name inside a package is no installed module's, for it ends in "_".
    if "." in name:
        return False
    # Installed: unless the file that an import would give lies beside this or another user's file.
    spec = importlib.util.find_spec(name)
    if spec is None:
        return False
    users_folders = [*_FOLDERS, str(path.parent)]
    return str(Path(spec.origin or "").parent) not in users_folders


def _spec_of(name: str) -> Any:
    """Return the specification of a module of the first level, which is not imported; None without one.

    An editable install may have its own way to find modules: all ways are tried.
    """
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _spec_beside(parts: list[str], near: Path) -> Any:
    """Return the specification of a module beside the package of the file `near`, whatever sys.path holds.

    `parts` are those of the module's dotted name.
    """
    root = near.parents[len(package(near))]
    return PathFinder.find_spec(".".join(parts), [str(root.joinpath(*parts[:-1]))])
