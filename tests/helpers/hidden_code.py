"""Ways in which a user's file comes to run code of another file, `ENGINE`, and no import statement names it."""

from __future__ import annotations

# A residual, right and wrong: what the other file holds.
RIGHT_ENGINE = "def residual(p, q):\n    return (p - q).clip(0) / (p - q).clip(0).sum()\n"
WRONG_ENGINE = "def residual(p, q):\n    return p\n"
# Lines that load it by a computed name, and keep nothing but its function.
LOADED = "import importlib\nengine = importlib.import_module('ENG' + 'INE')\nresidual = engine.residual\ndel engine\n"
PATH = "import pathlib\nHERE = pathlib.Path(__file__).parent\n"

# Name of a way -> text of a file that defines `left(p, q)`, by residual of ENGINE.py.
WAYS = {
    "a list": LOADED + "RULES = [residual]\ndel residual\ndef left(p, q): return RULES[0](p, q)\n",
    "a dictionary in a tuple": LOADED
    + "T = ({'r': residual},)\ndel residual\ndef left(p, q): return T[0]['r'](p, q)\n",
    "a set": LOADED + "S = {residual}\ndel residual\ndef left(p, q): return [*S][0](p, q)\n",
    "a static method": LOADED
    + "class A:\n    r = staticmethod(residual)\ndel residual\ndef left(p, q): return A.r(p, q)\n",
    "a class method": LOADED
    + "class A:\n    r = classmethod(lambda cls, p, q, r=residual: r(p, q))\ndel residual\n"
    + "def left(p, q): return A.r(p, q)\n",
    "a property": LOADED
    + "class A:\n    r = property(lambda self, r=residual: r)\ndel residual\nA = A()\n"
    + "def left(p, q): return A.r(p, q)\n",
    "a cache": LOADED
    + "import functools\nget = functools.lru_cache(functools.partial(lambda r: r, residual))\ndel residual\n"
    + "def left(p, q): return get()(p, q)\n",
    "slots": LOADED
    + "class A:\n    __slots__ = ('r',)\nA = A()\nA.r = residual\ndel residual\ndef left(p, q): return A.r(p, q)\n",
    "a closure": LOADED
    + "def made(r):\n    def left(p, q): return r(p, q)\n    return left\nleft = made(residual)\ndel residual\n",
    "a default": LOADED + "def left(p, q, *, r=(residual,)): return r[0](p, q)\ndel residual\n",
    "a class attribute": LOADED
    + "class B:\n    def __init__(self, r): self.r = r\nclass A:\n    b = B(residual)\ndel residual\n"
    + "def left(p, q): return A.b.r(p, q)\n",
    "a function's attribute": LOADED + "def left(p, q): return left.r(p, q)\nleft.r = residual\ndel residual\n",
    "an array of objects": LOADED
    + "import numpy\nA = numpy.array([residual, None])\ndel residual\ndef left(p, q): return A[0](p, q)\n",
    "a weak reference": LOADED
    + "import weakref\nW = weakref.ref(residual)\ndel residual\ndef left(p, q): return W()(p, q)\n",
    "a late import": "def left(p, q):\n    import importlib\n"
    + "    return importlib.import_module('ENG' + 'INE').residual(p, q)\n",
    "__import__": "def left(p, q): return __import__('ENG' + 'INE').residual(p, q)\n",
    "a path": PATH
    + "import importlib.util\ndef left(p, q):\n"
    + "    spec = importlib.util.spec_from_file_location('elsewhere', HERE / 'ENGINE.py')\n"
    + "    module = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n"
    + "    return module.residual(p, q)\n",
    "runpy": PATH + "import runpy\ndef left(p, q): return runpy.run_path(HERE / 'ENGINE.py')['residual'](p, q)\n",
    "exec at the top": PATH + "exec((HERE / 'ENGINE.py').read_text())\nleft = residual\n",
    "exec in the function": PATH
    + "def left(p, q):\n    names = {}\n    exec((HERE / 'ENGINE.py').read_text(), names)\n"
    + "    return names['residual'](p, q)\n",
    "a thread": "from concurrent.futures import ThreadPoolExecutor\nimport importlib\n"
    + "def left(p, q):\n    with ThreadPoolExecutor(1) as pool:\n"
    + "        return pool.submit(importlib.import_module, 'ENG' + 'INE').result().residual(p, q)\n",
    "os.open": PATH
    + "import os\ndef left(p, q):\n    names = {}\n    file = os.open(HERE / 'ENGINE.py', os.O_RDONLY)\n"
    + "    text = os.read(file, 9999)\n    os.close(file)\n    exec(text, names)\n    return names['residual'](p, q)\n",
}
