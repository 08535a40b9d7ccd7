"""Messages for a package that is not installed: what needs it, and which extra installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

DISTRIBUTION = "specsim-llm"
# The package that is imported -> the extra that installs it.
EXTRA = {
    "cvxpy": "solve",
    "distributed": "sweep",
    "duckdb": "sweep",
    "gguf": "real",
    "hypothesis": "testing",
    "jax": "jax",
    "matplotlib": "plot",
    "ot": "bench",
    "platformdirs": "real",
    "pyarrow": "sweep",
    "safetensors": "real",
    "sklearn": "images",
    "tokenizers": "real",
    "torch": "real",
    "transformers": "real",
    "vl_convert": "report",
}

# The package that is imported -> the name under which it is installed; no extra brings it.
REQUIRED = {
    "array_api_compat": "array-api-compat",
    "numpy": "numpy",
    "pandas": "pandas",
    "rich": "rich",
    "scipy": "scipy",
    "typer": "typer",
}


def missing(error: ImportError, what: str = "this") -> str:
    """Return one line with the package that `what` needs and its extra; else the error's text.

    >>> missing(ModuleNotFoundError("No module named 'torch'", name="torch.nn"), "specsim-real compare")
    'specsim-real compare needs torch: install the extra `real` (specsim-llm[real])'
    >>> missing(ImportError("libfoo.so: no such file"))
    'libfoo.so: no such file'
    >>> missing(ModuleNotFoundError("No module named 'array_api_compat'", name="array_api_compat"))
    'this needs array-api-compat, which is not installed: pip install array-api-compat'
    """
    package = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package in REQUIRED:
        name = REQUIRED[package]
        return f"{what} needs {name}, which is not installed: pip install {name}"
    if not isinstance(error, ModuleNotFoundError) or package not in EXTRA:
        return " ".join(str(error).split())
    extra = EXTRA[package]
    return f"{what} needs {package}: install the extra `{extra}` ({DISTRIBUTION}[{extra}])"


@contextmanager
def needed(what: str) -> Iterator[None]:
    """Import optional packages inside: an ImportError that leaves says in one line what to install.

    >>> with needed("sorting"):
    ...     import math
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(missing(error, what)) from None
