"""Names of number types: both commands take the short and the long one."""

from __future__ import annotations

LONG = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
SHORT = {long: short for short, long in LONG.items()}


def long_name(name: str) -> str:
    """Return the long name of a type, as torch has it; any other word stays what it is.

    >>> long_name("bf16"), long_name("bfloat16"), long_name("int8")
    ('bfloat16', 'bfloat16', 'int8')
    """
    return LONG.get(name, name)


def short_name(name: str) -> str:
    """Return the short name of a type, as tables of devices have it; any other word stays what it is.

    >>> short_name("bfloat16"), short_name("fp8")
    ('bf16', 'fp8')
    """
    return SHORT.get(name, name)
