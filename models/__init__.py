"""The annotation processes, one PyMC model a file. This list is the only one of them.

Every module has the same shape: its docstring is the model's card; ``build`` returns a
`pymc.Model`; ``fit`` returns an `xarray.DataTree` in ArviZ's schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Final

from dissensus.registry import find


@dataclass(frozen=True)
class Model:
    """What the library knows of a model without loading it."""

    name: str
    kinds: tuple[str, ...]
    """Kinds of annotations it can be fitted to as it stands, without a word on the family."""
    summary: str
    pools: bool = False
    """Whether it compares pools of annotators, and so needs two or more."""

    @property
    def module(self) -> ModuleType:
        """The module, loaded."""
        return import_module(f"dissensus.models.{self.name}")


MODELS: Final = (
    Model("dirichlet", ("nominal", "ordinal"), "one label from each annotator"),
    Model("inverse_rank", ("nominal", "ordinal", "ranking"), "rankings, weighed by inverse rank"),
    Model("plackett_luce", ("nominal", "ordinal", "ranking"), "rankings with ties, one by one"),
    Model("normal_scores", ("continuous", "ordinal"), "scores with a mean and a spread per item"),
    Model(
        "crossed_effects",
        ("continuous", "ordinal"),
        "items, annotators and chance: ICC (also of two labels)",
    ),
    Model(
        "cross_replication",
        ("continuous", "ordinal"),
        "crossed effects in several pools: xCC (also of two labels)",
        pools=True,
    ),
    Model(
        "symmetric_confusion",
        ("nominal", "ordinal"),
        "one truth, accuracies of annotators and systems",
    ),
    Model(
        "dawid_skene",
        ("nominal", "ordinal"),
        "one truth, a confusion matrix for each annotator",
    ),
    Model("rasch", ("nominal", "ordinal"), "abilities and difficulties, the truth known or not"),
)


def names() -> list[str]:
    """Return the names of all models.

    Examples
    --------
    >>> "dirichlet" in names()
    True
    """
    return [model.name for model in MODELS]


def get(name: str) -> Model:
    """Return what is known of one model.

    Raises
    ------
    ArgumentError
        If there is none of that name.

    Examples
    --------
    >>> get("dirichlet").kinds
    ('nominal', 'ordinal')
    """
    return find(MODELS, name, "model")


def __getattr__(name: str) -> ModuleType:
    if name in names():
        return import_module(f"dissensus.models.{name}")
    raise AttributeError(f"no model {name!r}; there are {', '.join(names())}")


def __dir__() -> list[str]:
    return [*names(), "MODELS", "get", "names"]
