"""The annotation processes, one PyMC model per file. This is the only list of models.

Every module has the same shape: its docstring is the model's card; ``build`` returns a
`pymc.Model`; ``fit`` returns an `xarray.DataTree` in ArviZ's schema.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Final

from dissensus import registry
from dissensus.registry import find


@dataclass(frozen=True)
class Model:
    """Description of a model. It does not load the model's module.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.models.get("rasch").summary
    'abilities and difficulties, the truth known or not'
    """

    name: str
    kinds: tuple[str, ...]
    """Kinds of annotations that the model can be fitted to with its default settings."""
    summary: str
    pools: bool = False
    """Whether the model compares pools of annotators, so that it needs two or more pools."""
    home: str = ""
    """The module of a model that another package provides; empty for models of dissensus."""
    plausibility: bool = True
    """Whether fits have a ``plausibility``, so that `dissensus.evaluate` takes the model."""

    @property
    def module(self) -> ModuleType:
        """The module of the model."""
        return import_module(self.home or f"dissensus.models.{self.name}")


MODELS: Final = (
    Model("dirichlet", ("nominal", "ordinal"), "one label from each annotator"),
    Model("inverse_rank", ("nominal", "ordinal", "ranking"), "rankings, weighted by inverse rank"),
    Model("plackett_luce", ("nominal", "ordinal", "ranking"), "rankings with ties, one by one"),
    Model(
        "normal_scores",
        ("continuous", "ordinal"),
        "scores with a mean and a spread per item",
        plausibility=False,
    ),
    Model(
        "crossed_effects",
        ("continuous", "ordinal"),
        "items, annotators and chance: ICC (also of two labels)",
        plausibility=False,
    ),
    Model(
        "cross_replication",
        ("continuous", "ordinal"),
        "crossed effects in several pools: xCC (also of two labels)",
        pools=True,
        plausibility=False,
    ),
    Model(
        "symmetric_confusion",
        ("nominal", "ordinal"),
        "one truth, accuracies of annotators and systems",
        plausibility=False,
    ),
    Model(
        "dawid_skene",
        ("nominal", "ordinal"),
        "one truth, a confusion matrix for each annotator",
        plausibility=False,
    ),
    Model(
        "rasch",
        ("nominal", "ordinal"),
        "abilities and difficulties, the truth known or not",
        plausibility=False,
    ),
    Model(
        "bradley_terry",
        ("pair",),
        "strengths of systems, from votes on pairs",
        plausibility=False,
    ),
)


def names() -> list[str]:
    """Return the names of all models; models of other packages are last.

    Examples
    --------
    >>> import dissensus as dx
    >>> "plackett_luce" in dx.models.names()
    True
    """
    return [model.name for model in MODELS] + plugins()


def plugins() -> list[str]:
    """Return the names of models that other packages provide by an entry point.

    The group of the entry point is ``dissensus.models``; the name of the entry point is the name of
    the model. Its value is a module with the same functions as the modules of this package, and
    with a description of the model: a `Model` called ``MODEL``. See the guide to your own models in
    the documentation.

    Warns
    -----
    DissensusWarning
        If a package provides a model with an existing name; the model is left out.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.models.plugins()
    []
    """
    return list(registry.plugin_entries(taken=[model.name for model in MODELS]))


def get(name: str) -> Model:
    """Return the description of a model.

    Raises
    ------
    ArgumentError
        If no model has that name, or the model of another package is invalid.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.models.get("dirichlet").kinds
    ('nominal', 'ordinal')
    """
    provided = registry.plugin_entries(taken=[model.name for model in MODELS])
    entries: list[Model | EntryPoint] = [*MODELS, *provided.values()]
    entry = find(entries, name, "model")
    if isinstance(entry, Model):
        return entry
    module = registry.loaded(entry, Model)
    return replace(module.MODEL, home=module.__name__)


def __getattr__(name: str) -> ModuleType:
    if name in {model.name for model in MODELS}:
        return import_module(f"dissensus.models.{name}")
    if not name.startswith("_") and name in plugins():
        return get(name).module
    raise AttributeError(f"no model {name!r}; there are {', '.join(names())}")


def __dir__() -> list[str]:
    return [*names(), "MODELS", "Model", "get", "names", "plugins"]
