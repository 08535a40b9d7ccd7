"""Protocols that modules implement, and the frozen records that functions return.

A rule, a draft scheme, a process, a controller or an objective is a *module* in its family's
folder; the protocols say which names the module must have. p is always the target and q the draft,
both after warping.
"""

from specsim.types.families import (
    Controller,
    ControllerOptions,
    CoupledOptions,
    CoupledRule,
    Objective,
    ObjectiveOptions,
    Process,
    ProcessOptions,
)
from specsim.types.records import (
    Array,
    ChainResult,
    Draws,
    Law,
    Signals,
    StepResult,
    TokenTree,
    TreeResult,
)
from specsim.types.rules import (
    ChainOptions,
    ChainRule,
    DraftOptions,
    DraftScheme,
    LossyStepRule,
    Model,
    NoClosedForm,
    Scheme,
    StepOptions,
    StepRule,
    TreeOptions,
    TreeRule,
)

__all__ = [
    "Array",
    "ChainOptions",
    "ChainResult",
    "ChainRule",
    "Controller",
    "ControllerOptions",
    "CoupledOptions",
    "CoupledRule",
    "DraftOptions",
    "DraftScheme",
    "Draws",
    "Law",
    "LossyStepRule",
    "Model",
    "NoClosedForm",
    "Objective",
    "ObjectiveOptions",
    "Process",
    "ProcessOptions",
    "Scheme",
    "Signals",
    "StepOptions",
    "StepResult",
    "StepRule",
    "TokenTree",
    "TreeOptions",
    "TreeResult",
    "TreeRule",
]
