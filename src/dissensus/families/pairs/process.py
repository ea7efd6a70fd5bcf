"""Checked votes on pairs of systems, for the PyMC model and the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.pairs import checked_pairs, copies, system_groups
from dissensus.dims import ANNOTATOR, ITEM, SYSTEM, VOTE
from dissensus.errors import ArgumentError, DesignWarning, brief, shown, warn_caller
from dissensus.families.pairs.evidence import Evidence, remarks, with_evidence
from dissensus.families.pairs.kernels.votes import Cells, Form, Votes
from dissensus.families.pairs.sides import side_warnings
from dissensus.kernels.types import Array, Floats, Ints

KINDS: Final = ("pair",)
SCALES: Final = {
    "strength_spread": 2.0, "item_spread": 1.0, "sharpness_spread": 0.5,
    "annotator_tie_spread": 1.5, "annotator_side_spread": 0.5, "item_tie_spread": 1.5,
    "annotator_taste_spread": 1.0,
}  # fmt: skip
"""The scales of spreads' priors, in the order of `kernels.votes.Parameters.spread`.

The first prior is a Rayleigh distribution, all others are half-normal.
"""
SDS: Final = {
    "tie": 2.0, "side": 1.0, "judge_weight": 2.0, "judge_system_weight": 2.0, "coefficient": 1.0,
    "judge_tie": 2.0,
}  # fmt: skip
"""The standard deviations of normal priors with mean 0."""


@dataclass(frozen=True)
class Process:
    """Votes as codes, and the parts that the model has."""

    annotations: xr.Dataset
    form: Form
    priors: Mapping[str, float]
    """The scale of each spread's prior, and the standard deviation of each normal prior."""
    evidence: Evidence | None = None
    """Verdicts and covariates; None if there are neither."""

    @property
    def systems(self) -> Array:
        """The names of the systems."""
        return self.annotations[SYSTEM].to_numpy()

    @property
    def words(self) -> str:
        """The widths of all priors in words, for the attributes of a fit."""
        return "; ".join(
            f"{name} {'rayleigh ' * (name == 'strength_spread')}{width:g}"
            for name, width in self.priors.items()
        )

    def names(self, dim: str) -> Array:
        """Return the names along a dim; an empty array if the model ignores this dim."""
        known = {SYSTEM: 1, ANNOTATOR: self.form.annotators, ITEM: self.form.items}
        return self.annotations[dim].to_numpy() if known[dim] else np.empty(0, dtype=np.str_)

    def code(self, name: str) -> Ints:
        """Return a code for each vote; zeros if the model ignores the dim of these codes."""
        dim = name.removesuffix("_code")
        if dim in (ANNOTATOR, ITEM) and not len(self.names(dim)):
            return np.zeros(self.annotations.sizes[VOTE], dtype=np.int64)
        return self.annotations[name].to_numpy().astype(np.int64)

    @property
    def along(self) -> Floats:
        """The covariates of the difference (vote, covariate)."""
        if self.evidence is None:
            return np.empty((self.annotations.sizes[VOTE], 0))
        return self.evidence.along[self.evidence.place] * self.evidence.turn[:, None]

    @property
    def tied(self) -> Floats:
        """The covariates of ties (vote, covariate)."""
        if self.evidence is None or not self.form.ties:
            return np.empty((self.annotations.sizes[VOTE], 0))
        return self.evidence.tied[self.evidence.place]

    def precisions(self) -> Floats:
        """Return the precisions of normal priors: of ties, side, and all coefficients."""
        sds = [self.priors["tie"], self.priors["side"]]
        if self.evidence is not None:
            for name in ("judge_weight", "judge_system_weight"):
                sds += [self.priors[name]] * len(self.evidence.judges)
            sds += [self.priors["coefficient"]] * len(self.evidence.terms)
            sds += [self.priors["judge_tie"]] * self.tied.shape[1]
        return np.array(sds) ** -2.0

    @cached_property
    def votes(self) -> tuple[Votes, Ints]:
        """The distinct votes, for the kernel, and the index of each vote among them."""
        n_systems, n_items = len(self.systems), max(len(self.names(ITEM)), 1)
        names = ("item_code", "left_code", "right_code", "annotator_code", "outcome")
        codes = [self.code(name) for name in names]
        codes.append(self.evidence.place if self.evidence is not None else np.zeros_like(codes[0]))
        rows = np.stack(codes, axis=1)
        distinct, first, place, times = np.unique(
            rows, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        item, left, right, annotator, outcome, _ = distinct.T
        n_people, form = max(len(self.names(ANNOTATOR)), 1), self.form
        side, weight = 1.0 - outcome, times.astype(float)
        ends = [left, right, np.full_like(left, n_systems)]
        prompts, voters = (
            _sorted(group, n, side, weight, ends[:n_ends], n_systems)
            for group, n, n_ends in (
                (item, n_items, (2 + form.ties) * form.items),
                (annotator, n_people, 2 * form.tastes),
            )
        )  # fmt: skip
        return Votes(
            left.copy(), right.copy(), annotator.copy(), side, weight, prompts, voters,
            self.along[first], self.tied[first],
        ), place  # fmt: skip

    @property
    def taste_places(self) -> tuple[Ints, Ints]:
        """The places of each vote's two systems among the voters' cells of the kernel."""
        votes, place = self.votes
        at = np.argsort(votes.voters.order)[place]
        return votes.voters.left[at], votes.voters.right[at]


def cells(of: Cells) -> tuple[Ints, Ints]:
    """Return two codes of each cell of the kernel: its prompt (or voter), and its system.

    With ties, a prompt's last cell is its tendency to ties, with the number of systems as code.
    """
    return np.repeat(np.arange(len(of.cell_start) - 1), np.diff(of.cell_start)), of.system


def _sorted(
    group: Ints, n: int, side: Floats, weight: Floats, ends: list[Ints], n_systems: int
) -> Cells:
    """Sort votes by prompt or voter, of which there are ``n``.

    Each array in ``ends`` has, for each vote, the system of one of its cells.
    """
    order, width = np.argsort(group, kind="stable"), n_systems + 1
    keys = np.array([group * width + end for end in ends], dtype=np.int64)
    distinct, code = np.unique(keys, return_inverse=True)
    places = code.reshape(len(ends), len(group)).astype(np.int64).take(order, axis=1)
    left, right, tie = [*places, *np.empty((3, 0), dtype=np.int64)][:3]
    owner, system = np.divmod(distinct, width)
    return Cells(
        order, np.searchsorted(group[order], np.arange(n + 1)), side[order], weight[order],
        left, right, tie, np.searchsorted(owner, np.arange(n + 1)), system,
    )  # fmt: skip


def process(
    pairs: xr.Dataset, *, annotators: Any = False, items: Any = False, side: Any = False,
    ties: Any = None, priors: Any = None, predictions: Any = None, answers: Any = None,
    sampler: Any = "gibbs",
) -> Process:  # fmt: skip
    """Check votes and settings."""
    pairs, evidence = with_evidence(checked_pairs(pairs), predictions, answers)
    arguments.one_of("sampler", sampler, ("gibbs", "nuts"))
    arguments.flags(side=side)
    one_prompt_each = predictions is None and _is_nested(ITEM, pairs)
    included = {}
    for name, value, dim in (("annotators", annotators, ANNOTATOR), ("items", items, ITEM)):
        if value is not None:
            arguments.flags(**{name: value})
        if value and dim not in pairs.coords:
            raise ArgumentError(
                name, expected=f"False or None, since the votes have no {dim}s", found="True",
                hint=f'Name the column: dx.pairs(frame, {dim}="...")',
            )  # fmt: skip
        seen = len(np.unique(pairs[f"{dim}_code"])) if dim in pairs.coords else 0
        often = predictions is not None or pairs.sizes[VOTE] >= _LEAST * seen
        several = seen > 1 and often and not (dim == ITEM and one_prompt_each)
        included[name] = bool(several if value is None else value)
    tied = bool((pairs["outcome"] == 1).any())
    if ties is not None:
        arguments.flags(ties=ties)
    if tied and ties is not None and not ties:
        raise ArgumentError(
            "ties", expected="True or None, since some votes are ties", found="False",
            hint="Leave them out: pairs.isel(vote=pairs[\"outcome\"].to_numpy() != 1)",
        )  # fmt: skip
    tastes = included["annotators"] and _has_tastes(pairs)
    form = Form(
        int(tied or bool(ties)), int(side), int(included["items"]), int(included["annotators"]),
        int(tastes),
    )  # fmt: skip
    checked = Process(pairs, form, _priors(priors), evidence)
    known = () if evidence is None else remarks(evidence, len(checked.systems))
    nested = [_NESTED] if form.items and one_prompt_each else []
    duplicates = copies(pairs)
    for text in (*_apart(checked), *nested, *known, *([f"{duplicates}."] if duplicates else [])):
        warn_caller(text, DesignWarning)
    return checked


_NESTED: Final = (
    "Each system has votes on one prompt only, so the votes cannot separate its strength from the "
    "effect of the prompt: leave items= out, or type items=False."
)


def _is_nested(dim: str, pairs: xr.Dataset) -> bool:
    """Return whether each system has votes on a single prompt, or by a single voter."""
    if dim not in pairs.coords:
        return False
    systems, counts = _votes_of_cells(dim, pairs)
    return len(counts) == len(np.unique(systems))


def _has_tastes(pairs: xr.Dataset) -> bool:
    """Return whether votes can separate voters' tastes from chance, and from strengths.

    They can if a vote of a voter on a system has, on average, at least one other vote of the same
    voter on that system, and if some system has votes of two voters.
    """
    _, counts = _votes_of_cells(ANNOTATOR, pairs)
    return bool((counts**2).sum() >= _LEAST * counts.sum()) and not _is_nested(ANNOTATOR, pairs)


def _votes_of_cells(dim: str, pairs: xr.Dataset) -> tuple[Ints, Ints]:
    """Return the system and the number of votes of each cell: a prompt or voter, and a system."""
    group, n = pairs[f"{dim}_code"].to_numpy().astype(np.int64), pairs.sizes[dim]
    sides = [pairs[f"{side}_code"].to_numpy() * n + group for side in ("left", "right")]
    cell_keys, counts = np.unique(np.concatenate(sides), return_counts=True)
    return cell_keys // n, counts


def _priors(priors: Any) -> dict[str, float]:
    """Return the widths of all priors; raise if a given name or width is not valid."""
    known = {**SCALES, **SDS}
    if priors is not None and not isinstance(priors, Mapping):
        raise ArgumentError(
            "priors", expected=f"a mapping from {shown(list(known), 9)} to numbers",
            found=brief(priors),
        )  # fmt: skip
    for name, value in (priors or {}).items():
        arguments.one_of("priors", name, tuple(known))
        known[name] = arguments.within(f"priors[{name!r}]", value, 1e-3, 1e3)
    return known


def _apart(process: Process) -> Iterator[str]:
    """Yield warnings about groups that no votes compare, and about the advantage of the side."""
    n = len(process.systems)
    left, right = process.code("left_code"), process.code("right_code")
    ends = left, right
    if process.evidence is not None and len(process.evidence.judges):
        known = process.evidence  # Verdicts compare systems without votes, too.
        ends = np.concatenate([left, known.left]), np.concatenate([right, known.right])
    label = system_groups(*ends, n)
    count = int(label.max()) + 1
    if count > 1:
        groups = [shown(process.systems[label == k].tolist()) for k in range(min(count, _GROUPS))]
        more = f" | and {count - _GROUPS:,} more groups" if count > _GROUPS else ""
        yield (
            f"No votes compare systems of different groups ({' | '.join(groups)}{more}), not even "
            "indirectly: only the prior determines how the groups compare. Get votes on "
            "pairs of different groups, or fit each group alone."
        )
    for reason, remedy in side_warnings(process.annotations, modelled=bool(process.form.side)):
        yield f"{reason} {remedy}"


_LEAST: Final = 2
"""Minimum mean number of votes per voter, or per prompt, for a model to have effects of voters, or
of prompts, by default. With one vote each, only priors separate the spreads of these effects from
strengths, and chains mix very slowly."""
_GROUPS: Final = 5
"""Number of groups that a warning lists."""
