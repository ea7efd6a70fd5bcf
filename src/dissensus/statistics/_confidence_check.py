"""Whether annotators who are sure are right."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ITEM, LEVEL, SAMPLE
from dissensus.errors import warn_caller
from dissensus.kernels.random import generator
from dissensus.statistics._confidence import (
    OF_ALL,
    OF_EACH,
    Wanted,
    cells_of,
    draws_of,
    given_confidence,
    levels_of,
    prior_counts,
    sentences,
    totals,
)
from dissensus.statistics._read import read, whole
from dissensus.statistics._resampling import units_of, warn_of_few
from dissensus.statistics._truth import labels_only, of_known_items, true_labels, warn_of_blind_fit

_DIMS: Final = dict(
    zip(
        (*OF_ALL, *OF_EACH),
        ((LEVEL,), (LEVEL,), (LEVEL,), (), (ANNOTATOR, LEVEL), (ANNOTATOR,)),
        strict=True,
    )
)


def confidence_check(
    annotations: xr.Dataset,
    truth: Any,
    *,
    bins: int = 10,
    prior: tuple[float, float] = (1.0, 1.0),
    per_annotator: bool = True,
    draws: int | None = None,
    cluster: Any = None,
    random_seed: Any = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    r"""How often labels are wrong by how sure annotators were, and how sure of wrong labels.

    With weights :math:`w_u \sim \mathrm{Exponential}(1)` of units u (items, or clusters of them),
    and :math:`n_{u\ell}` labels of confidence level :math:`\ell` of which :math:`e_{u\ell}` are
    wrong, each draw of the error rate is

    .. math:: \frac{g_1 + \sum_u w_u e_{u\ell}}{g_1 + g_2 + \sum_u w_u n_{u\ell}}, \qquad
        g_1 \sim \mathrm{Gamma}(a), \quad g_2 \sim \mathrm{Gamma}(b)

    The Bayesian bootstrap, with ``prior=(a, b)`` labels, wrong and right, in advance. If every unit
    has one label it is the conjugate posterior :math:`\mathrm{Beta}(a + e, b + n - e)`; if they
    have several it is wider than that, and has to be: labels of one item are right or wrong
    together, and a Beta would take each for evidence of its own.

    Parameters
    ----------
    annotations : Dataset
        Labels with confidence. Repeated labels (``trial=``) count each as a label.
    truth : mapping, Series or DataArray (item), or DataTree
        Known labels by item; or a fit whose posterior has ``truth`` (item, label): then each draw
        takes true labels drawn from one of the fit's.
    bins : int
        With more levels of confidence than this, the levels are so many bins, of about as many
        labels each; equal confidences are in one bin.
    prior : (float, float)
        Wrong and right labels, in advance, of each error rate; > 0.
    per_annotator : bool
        Return what there is by annotator too.
    draws : int, optional
        How many; 4,000, or, of a fit, as many as it has.
    cluster
        What was sampled, as in `bayesian_bootstrap`: items, or the clusters that annotations name.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    on_missing : {"raise", "drop"}
        Whether items without a known label are an error, or left out with a warning.

    Returns
    -------
    xarray.Dataset
        With ``chain`` and ``draw``: ``error_rate`` (level), the probability of a label to be wrong;
        ``level_share`` (level), of all labels; ``wrong_share`` (level), of wrong labels: how many
        were given so surely; ``discrimination``, the probability that of a right and a wrong label
        the right one was given with more confidence, ties in halves (the area under the ROC curve
        of confidence): .5 says nothing, 1 all. By annotator: ``annotator_error_rate`` (annotator,
        level) and ``annotator_discrimination`` (annotator).

        The coordinate ``level`` is a confidence, of a bin its mean; attributes say the ``lowest``
        and ``highest`` confidence of each level, and its ``n_labels``; ``in_words`` says in
        sentences what was found.

    Raises
    ------
    AnnotationError
        If there is no confidence, all are equally sure, or what is annotated is not labels.
    ArgumentError
        If an item has no known label, a setting makes no sense, or there is only one unit.

    Warns
    -----
    DissensusWarning
        If no label is wrong: there are no shares of wrong labels then, and no discrimination
        (NaN). So for an annotator. And if there are fewer than 20 units, or a fit knew nothing of
        confidence.

    Notes
    -----
    Intervals are for these annotators and new items. Shares have no prior: a level that no wrong
    label has is 0 in all draws. Where each trial shows something of its own, name it as an item,
    and what trials have in common as its cluster.

    ``discrimination`` of all annotators mixes who is how sure with when: if those who are always
    sure err more often it is low, however well each of them knows when.

    Of a fit it matters whether it knew of confidence. One that did not draws true labels whatever
    the confidence, wherever labels alone leave them open, and all levels come out more alike than
    they are: simulated with 200 items, three annotators of .8, and error rates of .33 and .13, it
    found .27 and .17 on average, and its 90 % intervals held 4 in 10. One that took confidence as
    evidence (`models.rasch` with ``confidence=True``) held 9 in 10. It has used confidence to say
    which labels are wrong, and supposes that annotators hesitate each for himself.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Figure 8a.

    Examples
    --------
    >>> import dissensus as dx
    >>> n = 120
    >>> ann = dx.annotations({
    ...     "item": range(n), "annotator": ["a", "b"] * 60, "label": [0, 1, 1] * 40,
    ...     "confidence": [0.5, 0.5, 1, 1] * 30}, confidence="confidence")
    >>> check = dx.confidence_check(ann, dict.fromkeys(range(n), 1), random_seed=1)
    >>> check["error_rate"].mean(("chain", "draw")).round(2).to_series().to_dict()
    {0.5: 0.34, 1.0: 0.34}
    >>> print(check.attrs["in_words"].splitlines()[0])
    50 % of wrong labels were given with the highest confidence (1).
    """
    annotations = labels_only(read(annotations))
    given_confidence(annotations)
    arguments.flags(per_annotator=per_annotator)
    bins, counts = whole("bins", bins, 2), prior_counts(prior)
    rng = generator(random_seed, "confidence check")
    units = units_of(annotations, cluster)
    warn_of_blind_fit(truth)
    known = true_labels(truth, annotations, rng, on_missing)
    annotations = of_known_items(annotations, known)
    n = known.number_of_draws(draws)
    levels = levels_of(given_confidence(annotations), bins)
    bears = np.bincount(annotations["item_code"], minlength=annotations.sizes[ITEM]) > 0
    warn_of_few("confidence_check", bears, units, stacklevel=2)
    people = annotations.sizes[ANNOTATOR] if per_annotator else 0
    wanted, cells = Wanted(levels, counts, people), cells_of(annotations, levels)
    pseudo = rng.spawn(1)[0]  # of its own: blocks may be of any size
    found, doubts = draws_of(totals(cells, known, units, rng, n), cells, wanted, pseudo)
    said = (doubt.words(name, draws=True) for name, doubt in doubts.items())
    if text := " ".join(filter(None, said)):
        warn_caller(text)
    confidence, about = levels.named()
    coords = {LEVEL: confidence} | known.draw_coords(n)
    shape = tuple(len(coords[dim]) for dim in SAMPLE)
    out = xr.Dataset(
        {
            name: ((*SAMPLE, *_DIMS[name]), values.reshape(*shape, *values.shape[1:]))
            for name, values in found.items()
        },
        coords=coords | ({ANNOTATOR: annotations[ANNOTATOR].to_numpy()} if people else {}),
        attrs={"truth": known.words, "prior": list(counts)} | about,
    )
    return out.assign_attrs(in_words="\n".join(sentences(out)))
