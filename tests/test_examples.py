"""Every public name has an example, and the example stands on its own.

Doctest runs the examples, with all that their module knows: that they say themselves what they use
is seen here.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import dissensus as dx

MODULES = (
    "datasets", "distributions", "errors", "formats", "metrics", "models", "plausibility", "plots",
    "schema", "simulate", "statistics", "steps",
)  # fmt: skip


def passed_on(module):
    """Return the names that a module imports for others: ``import name as name``."""
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in imports for alias in node.names if alias.name == alias.asname}


def offered(module):
    """Return what a module offers, by name: modules and data have no docstring to look at."""
    names = getattr(module, "__all__", None)
    if names is None:
        others = passed_on(module)
        names = [
            name
            for name, thing in vars(module).items()
            if name in others or getattr(thing, "__module__", "") == module.__name__
        ]
    result = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {
        name: thing
        for name, thing in result.items()
        if inspect.isfunction(thing) or inspect.isclass(thing)
    }


def public():
    """Return all that is public, each thing once, by the first name it is found under."""
    result = dict(offered(dx))
    modules = {name: getattr(dx, name) for name in MODULES}
    modules |= {f"models.{name}": dx.models.get(name).module for name in dx.models.names()}
    for place, module in modules.items():
        result |= {f"{place}.{name}": thing for name, thing in offered(module).items()}
    result |= {f"plots.{name}": getattr(dx.plots, name) for name in dx.plots.names()}
    once = {}
    for name, thing in result.items():
        once.setdefault(id(thing), (name, thing))
    return dict(once.values())


def free(source):
    """Return the names that a piece of code uses, and does not say what they are.

    Whether a name is bound before it is used is for doctest to find.
    """
    bound, used = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias():
                bound.add((node.asname or node.name).split(".")[0])
    return used - bound


PUBLIC = public()


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_that_stands_on_its_own(name):
    text = PUBLIC[name].__doc__ or ""  # its own, where inspect would find that of a parent
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, "no example"
    assert free("".join(example.source for example in examples)) == set()


def test_what_is_public_is_found():
    assert all(not isinstance(thing, ModuleType) for thing in PUBLIC.values())
    assert {
        "AnnotationError", "ConvergenceWarning", "evaluate", "krippendorff_alpha", "top_k_accuracy",
        "datasets.load", "distributions.LogGamma", "errors.brief", "formats.get", "metrics.names",
        "models.Model", "models.rasch.build", "models.rasch.fit", "plausibility.space",
        "plots.better", "schema.check_form", "schema.label_counts", "simulate.toy",
        "statistics.registered", "steps.RaschGibbs",
    } <= set(PUBLIC)  # fmt: skip


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("layout(ann)\n", {"layout", "ann"}),
        ("import numpy as np\nimport os.path\nnp.zeros(len(os.path.sep))\n", set()),
        ("from a import b as c\nx, (y, *z) = c\nx, y, z\n", set()),
        ("[one for one in range(3)]\nwith open('a') as file:\n    file\n", set()),
        ("try:\n    1\nexcept ValueError as problem:\n    problem\n", set()),
        ("def twice(x, *more, y=1, **rest): return x, more, y, rest\ntwice(1)\n", set()),
        ("f = lambda row: line\nf(1)\n", {"line"}),
        ("x.y = 1\n", {"x"}),
    ],
)
def test_names_that_are_free_are_found(source, names):
    assert free(source) == names
