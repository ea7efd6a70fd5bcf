"""Simulated studies of the accuracy of a system without known labels."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import stats

from dissensus import models
from dissensus.dims import SCOPES
from dissensus.kernels.formulas import accuracy_from
from dissensus.kernels.types import Floats
from dissensus.sampling import convergence, fitting
from dissensus.statistics._lehner import lehner
from dissensus.studies.simulate._confusion import ConfusionStudy, confusion_study

MODEL: Final = "symmetric_confusion"
ESTIMATORS: Final = (MODEL, "lehner")
VIOLATIONS: Final[dict[str, Any]] = {"difficulty": 0.2, "asymmetry": 2.0, "error_range": 1.0}
"""Settings of Lehner (2015), Figures 8 to 14. Accuracies of annotators differ too: `UNEQUAL`."""
UNEQUAL: Final = 0.1
EXTENDED: Final[dict[str, Any]] = {"accuracy": "annotator", "errors": "graded", "difficulty": True}
"""Settings of a model without the violated assumptions."""

_ENOUGH: Final = 30.0
"""Effective sample size at which Monte Carlo error adds 1/30 to the variance of a mean."""
_LONGER: Final = (1, 4, 16)
"""Factors of the number of draws in the first, second and third attempt."""
_OF_SCOPE: Final = dict(zip(SCOPES, ("system_correct", "system_accuracy"), strict=True))


class Setting(NamedTuple):
    """Settings of all simulated studies."""

    kappa: float
    n_labels: int
    accuracy: float
    """The accuracy of the system."""
    violated: bool
    prob: float
    draws: int

    @property
    def annotator_accuracy(self) -> float:
        """The accuracy of annotators with this kappa (Lehner 2015, Eq. 2)."""
        apart = (1.0 - self.kappa) * (1.0 - 1.0 / self.n_labels)
        return float(accuracy_from(np.array(apart), self.n_labels))

    def accuracies(self, n_annotators: int) -> list[float]:
        """Return an accuracy for each annotator: all equal, or evenly spaced around the mean."""
        middle = self.annotator_accuracy
        # Accuracies are between guessing and 1.
        spread = min(UNEQUAL, 1.0 - middle, middle - 1.0 / self.n_labels) * self.violated
        shifts = np.linspace(-spread, spread, n_annotators)
        return np.clip(middle + shifts, 0.0, 1.0).tolist()


class StudyResult(NamedTuple):
    """The results of one study."""

    error: Floats
    """(estimator, scope): estimate minus truth, NaN without an estimate."""
    half_width: Floats
    """(scope): half the length of the model's interval."""
    covered: npt.NDArray[np.bool_]
    """(scope): whether the interval contains the truth."""
    kappa: float
    """Observed kappa of the study."""
    poor: bool
    """Whether the chains are still too short after all attempts."""


def studied(
    setting: Setting, n_annotators: int, n_items: int, rng: np.random.Generator
) -> StudyResult:
    """Simulate a study, and return how well the system's accuracy is estimated in it."""
    by_truth, by_fit = rng.spawn(2)
    study = confusion_study(
        n_items, n_annotators, setting.n_labels, ipc=setting.accuracies(n_annotators),
        system_accuracy=(setting.accuracy,), random_seed=by_truth,
        **(VIOLATIONS if setting.violated else {}),
    )  # fmt: skip
    draws, poor = _drawn(setting, study, by_fit)
    algebra = lehner(study.annotations, study.predictions)
    truth = np.array([study.truth[name].item() for name in _OF_SCOPE.values()])
    low, high = np.quantile(draws, [(1 - setting.prob) / 2, (1 + setting.prob) / 2], axis=1)
    chance = 1.0 / setting.n_labels
    return StudyResult(
        error=np.stack([draws.mean(axis=1), [algebra["system_accuracy"].item()] * 2]) - truth,
        half_width=(high - low) / 2,
        covered=(low <= truth) & (truth <= high),
        kappa=(algebra["agreement"].item() - chance) / (1.0 - chance),
        poor=poor,
    )


def _drawn(
    setting: Setting, study: ConfusionStudy, rng: np.random.Generator
) -> tuple[Floats, bool]:
    """Return draws of the system's accuracy (scope, draw), and whether chains are too short.

    If diagnostics are poor, chains are run again with more draws.
    """
    settings = EXTENDED if setting.violated else {}
    for times, seed in zip(_LONGER, rng.spawn(len(_LONGER)), strict=True):
        with fitting.all_or_nothing():
            fit = models.get(MODEL).module.fit(
                study.annotations, predictions=study.predictions, draws=times * setting.draws,
                tune=times * setting.draws, chains=2, random_seed=seed, progressbar=False,
                keep_items=False, **settings,
            )  # fmt: skip
        posterior = fit["posterior"].to_dataset()[list(_OF_SCOPE.values())]
        poor = _poor(posterior)
        if not poor:
            break
    return np.stack([posterior[name].to_numpy().ravel() for name in _OF_SCOPE.values()]), poor


def _poor(posterior: xr.Dataset) -> bool:
    """Return whether r-hat is too large, or the effective sample size too small, for a mean."""
    from arviz_stats import ess, rhat

    with np.errstate(invalid="ignore", divide="ignore"):  # a constant gives 0/0
        size = ess(posterior, method="mean")
        scale = rhat(posterior)
    diagnostics = [(size[name].item(), scale[name].item()) for name in posterior.data_vars]
    return any(n < _ENOUGH or r > convergence.R_HAT for n, r in diagnostics)


def known_items(accuracy: float, within: float, assurance: float) -> int:
    """Return the number of items with known labels that is enough to estimate an accuracy.

    The error is then at most ``within`` with probability ``assurance``.
    """
    # An upper bound of this number, by Chebyshev's inequality.
    most = int(np.ceil(accuracy * (1 - accuracy) / (within**2 * (1 - assurance)))) + 1
    n = np.arange(1, most + 1)
    low = np.ceil(n * (accuracy - within) - 1e-9)
    high = np.floor(n * (accuracy + within) + 1e-9)
    near = stats.binom.cdf(high, n, accuracy) - stats.binom.cdf(low - 1, n, accuracy)
    short = np.flatnonzero(near < assurance)
    return int(n[short[-1]]) + 1 if len(short) else 1
