"""torch under a script: calls that make random numbers return stand-ins, calls that get one are followed or refused."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from specsim.forking.programs.races import Exponentials
from specsim.forking.programs.script import Script
from specsim.forking.programs.standins import JOINS, LOW, StandIn, apply, joined, tensor
from specsim.forking.programs.uniforms import Uniforms

# Name of a function of torch -> the Python operator that it is.
OPERATORS = {
    "lt": "lt", "less": "lt", "le": "le", "less_equal": "le", "gt": "gt", "greater": "gt", "ge": "ge",
    "greater_equal": "ge", "mul": "mul", "multiply": "mul", "rmul": "mul", "div": "truediv", "divide": "truediv",
    "true_divide": "truediv", "truediv": "truediv", "add": "add", "sub": "sub", "subtract": "sub", "log": "log",
    "exp": "exp", "neg": "neg", "negative": "neg",
}  # fmt: skip
# Methods of tensors that stand-ins have.
_METHODS = """reshape view flatten ravel squeeze unsqueeze expand transpose gather unbind to cpu cuda clone detach
 contiguous float double numpy item tolist argmax reciprocal scatter_ mul_ size dim numel long int floor __getitem__
 __len__"""
METHODS = frozenset(_METHODS.split())
# Attributes of a tensor that do not depend on its numbers.
FACTS = ("shape", "device", "dtype", "ndim", "is_cuda", "layout", "requires_grad")
# Functions that make random numbers which no stand-in follows.
_RANDOM = """randn randn_like randint randint_like randperm normal normal_ poisson bernoulli_ geometric_ cauchy_
 log_normal_ random_ dropout dropout_ alpha_dropout feature_dropout rrelu native_dropout binomial"""
RANDOM = frozenset(_RANDOM.split())


class Mode(TorchFunctionMode):
    """Intercepts every call of torch while a program runs."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        # Id of a tensor that was filled in place -> (the tensor, its numbers).
        self.filled: dict[int, tuple[Any, StandIn]] = {}
        # Addresses of the memory of those tensors.
        self.stores: set[int] = set()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch: return stand-ins if it makes random numbers, follow it if it gets some."""
        kwargs, name = kwargs or {}, getattr(function, "__name__", str(function))
        # Functions that make random numbers.
        if kwargs.get("generator") is not None and kwargs["generator"] is not torch.default_generator:
            self.script.refuse("a generator of the program's own")
        if name in ("rand", "rand_like", "uniform_", "exponential_", "multinomial", "bernoulli"):
            return getattr(self, f"_{name.strip('_')}")(*args, **kwargs)
        if name in RANDOM and not (name.endswith("dropout") and not kwargs.get("training", True)):
            self.script.refuse(f"torch.{name}")

        # Nothing to follow yet, as in most calls of a program that reads models.
        if not self.script.held:
            return function(*args, **kwargs)
        # Attributes, then functions with random numbers among their arguments.
        if name in ("__get__", "__set__"):
            return self._attribute(function, args, kwargs)
        if not self._has_random(args) and not (kwargs and self._has_random(kwargs.values())):
            return function(*args, **kwargs)
        known = {key: self._known(value) for key, value in kwargs.items()}
        return self._follow(name, tuple(map(self._known, args)), known)

    def _has_random(self, values: Any) -> bool:
        """Return whether random numbers are among the values, or in a list or tuple among them."""
        for value in values:
            if isinstance(value, torch.Tensor):
                if self.filled and isinstance(self._known(value), StandIn):
                    return True
            elif isinstance(value, StandIn) or (isinstance(value, list | tuple) and self._has_random(value)):
                return True
        return False

    def _known(self, value: Any) -> Any:
        """Return the stand-in that a tensor holds, or the value as it is.

        A tensor that shares memory with a filled one is refused.
        """
        if not isinstance(value, torch.Tensor) or not self.filled:
            return value
        if id(value) in self.filled:
            return self.filled[id(value)][1]
        if _store(value) in self.stores:
            self.script.refuse("a second view of memory that holds random numbers")
        return value

    def _attribute(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Return an attribute of a tensor; of random numbers only T and those in FACTS."""
        name, value = function.__self__.__name__, self._known(args[0])
        if not isinstance(value, StandIn) or name in FACTS:
            return function(*args, **kwargs)
        return value.T if name == "T" else self.script.refuse(f"tensor.{name}")

    def _follow(self, name: str, args: Any, kwargs: Any) -> Any:
        """Return the stand-in that a function of torch makes of stand-ins; other functions are refused."""
        plain = name.strip("_")
        # In place, as in weights.div_(noise): the tensor now holds the result.
        if name.endswith("_") and not name.startswith("_") and isinstance(args[0], torch.Tensor):
            return self._hold(args[0], self._follow(plain, args, kwargs))

        # Operators and searches.
        if plain == "rsub" and not kwargs:
            return apply(self.script, "sub", args[::-1])
        if plain in OPERATORS and not kwargs:
            return apply(self.script, OPERATORS[plain], args)
        if plain == "searchsorted" and isinstance(args[1], Uniforms) and len(args) == 2:
            right = bool(kwargs.pop("right", False)) or kwargs.pop("side", "left") == "right"
            return args[1]._place(args[0], right) if not kwargs else self.script.refuse("searchsorted")
        # What makes one array of several, and methods.
        if name in JOINS:
            return joined(self.script, name, [self._known(part) for part in args[0]], *args[1:], **kwargs)
        if name in ("tensor", "as_tensor", "asarray"):
            made = tensor(self.script, args[0]).to(*args[1:], *kwargs.values())
            return made.clone() if name == "tensor" else made
        if name in METHODS and isinstance(args[0], StandIn):
            return getattr(args[0], name)(*args[1:], **kwargs)
        self.script.refuse(f"torch.{name} of random numbers")

    def _hold(self, tensor: Any, made: StandIn) -> Any:
        """Note that a tensor holds these random numbers; refuse a part of a tensor."""
        if not tensor.is_contiguous() or tensor.numel() * tensor.element_size() != tensor.untyped_storage().nbytes():
            self.script.refuse("random numbers written into a part of a tensor")
        self.filled[id(tensor)] = tensor, made
        self.stores.add(_store(tensor))
        return made

    def _fresh(self, sizes: Any, kind: Any, like: Any) -> Any:
        """Return new random numbers of a kind (Uniforms or Exponentials), in their standard law."""
        if like.pop("out", None) is not None or any(str(like.get("dtype")).endswith(low) for low in LOW):
            self.script.refuse("torch.rand with out=, or in half precision")
        return kind.fresh(self.script, tuple(int(n) for n in sizes), "torch")

    def _rand(self, *sizes: Any, **like: Any) -> Any:
        """Follow torch.rand."""
        sizes = like.pop("size", sizes)
        nested = len(sizes) == 1 and not isinstance(sizes[0], int)
        return self._fresh(sizes[0] if nested else sizes, Uniforms, like)

    def _rand_like(self, tensor: Any, **like: Any) -> Any:
        """Follow torch.rand_like."""
        return self._fresh(tensor.shape, Uniforms, {"dtype": tensor.dtype} | like)

    def _uniform(self, tensor: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None, **more: Any) -> Any:
        """Follow tensor.uniform_."""
        return self._fill(tensor, Uniforms, more.get("from", low), more.get("to", high))

    def _exponential(self, tensor: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
        """Follow tensor.exponential_."""
        return self._fill(tensor, Exponentials, lambd)

    def _fill(self, tensor: Any, kind: Any, *law: float) -> Any:
        """Fill a tensor in place with random numbers of a kind, and return their stand-in.

        `law` has the parameters: the two limits of Uniforms, the rate of Exponentials.
        """
        # Numbers of this kind that the tensor holds already are drawn anew.
        held = self._known(tensor)
        if isinstance(held, kind):
            return held.redraw(*law)
        if isinstance(held, StandIn):
            self.script.refuse("another kind of random numbers in the same place")
        # New numbers have their standard law: draw them again with the parameters.
        standard = self._fresh(tensor.shape, kind, {"dtype": tensor.dtype})
        return self._hold(tensor, standard.redraw(*law))

    def _multinomial(self, weights: Any, num_samples: int, replacement: bool = False, **more: Any) -> Any:
        """Follow torch.multinomial: draws from each row."""
        if isinstance(self._known(weights), StandIn) or more.get("out") is not None:
            self.script.refuse("torch.multinomial of random numbers, or with out=")
        rows = weights.detach().cpu().double().reshape(-1, weights.shape[-1])
        drawn = []
        for row in rows.tolist():
            for _ in range(num_samples):
                place = self.script.choose(row)
                drawn.append(place)
                if not replacement:
                    row = [0.0 if i == place else weight for i, weight in enumerate(row)]
        return torch.tensor(drawn, dtype=torch.int64).reshape(*weights.shape[:-1], num_samples)

    def _bernoulli(self, chance: Any, *args: Any, **more: Any) -> Any:
        """Follow torch.bernoulli: single trials."""
        if isinstance(self._known(chance), StandIn) or args or more.get("out") is not None:
            self.script.refuse("torch.bernoulli of random numbers, or with out=")
        drawn = [1 - self.script.choose((p, 1 - p)) for p in chance.detach().cpu().double().flatten().tolist()]
        return torch.tensor(drawn, dtype=chance.dtype).reshape(chance.shape)


def _store(tensor: Any) -> int:
    """Return the address of a tensor's memory."""
    return int(tensor.untyped_storage().data_ptr())
