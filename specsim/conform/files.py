"""A subject's file, imported as Python imports it.

Modules beside the file are found where no installed one has their name, a file of a package may use relative imports,
and a dataclass finds its own module.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from specsim.base.modules import not_imported

# Modules that were read from files of one's own, by their names, and the folders in which modules beside them lie.
_READ: dict[str, ModuleType] = {}
_FOLDERS: list[str] = []


def read(path: Path) -> ModuleType:
    """The module in a user's file, imported once for as long as the file says the same."""
    if not path.is_file():
        raise ValueError(f"subject file {path} does not exist")
    try:
        return _loaded(path.resolve(), path.read_bytes())
    except (Exception, SystemExit) as error:  # the file is the user's: whatever it raises is the answer
        raise not_imported(path, "subject", error) from None


def package(path: Path) -> list[str]:
    """Return the names of the packages that a file is in, the outermost first."""
    names: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return names


@lru_cache
def _loaded(path: Path, source: bytes) -> ModuleType:
    # Modules beside the file, and beside its package, are found after the installed ones.
    packages = package(path)
    folders = [str(path.parents[len(packages)]), str(path.parent)]
    new = [folder for folder in dict.fromkeys(folders) if folder not in sys.path]
    _FOLDERS.extend(new)
    sys.path.extend(new)

    relative = any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(ast.parse(source)))
    spec = importlib.util.spec_from_file_location(_free(path, packages if relative else []), path)
    if spec is None:
        raise ImportError("its name does not end in .py")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # a dataclass looks for its own module
    try:
        exec(compile(source, path, "exec"), vars(module))  # bytecode may be of what the file was
    except BaseException:
        sys.modules.pop(spec.name, None)
        if before is not None:
            sys.modules[spec.name] = before
        raise
    _READ[spec.name] = module
    return module


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
