"""The distribution of labels that are right with given probabilities, with truths summed out."""

from __future__ import annotations

from typing import Any, Final

import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.raise_op import Assert
from pytensor.tensor.random.basic import uniform
from pytensor.tensor.random.utils import normalize_size_param

from dissensus.data import layout
from dissensus.errors import ArgumentError
from dissensus.sampling import places

_LABELS: Final = Assert("labels must be codes below the number of labels times that of levels")
_RESPONDENTS: Final = Assert("respondents must be codes below the number of annotators")
_ITEMS: Final = Assert(
    "difficulty, truth_code and covariates must have the items of respondent_code: set all data "
    "of items by pymc.set_data, and let pymc.sample_posterior_predictive draw new difficulties: "
    'sample_vars=["difficulty", "truth"]'
)


class LatentAnswersRV(SymbolicRandomVariable):
    """Draws the truth of each item, and labels and levels of confidence given the truths."""

    name = "latent_answers"
    extended_signature = "[rng],[size],(k),(m),(r,c),(m)->[rng],(m)"
    _print_name = ("LatentAnswers", "\\operatorname{LatentAnswers}")

    @classmethod
    def rv_op(
        cls, log_truth: Any, logit: Any, log_level: Any, respondent: Any, *, size: Any = None,
        rng: Any = None,
    ) -> Any:  # fmt: skip
        """Build the graph of a draw."""
        log_truth, logit, log_level = (
            pt.as_tensor(each, dtype="float64") for each in (log_truth, logit, log_level)
        )
        respondent = pt.as_tensor(respondent, dtype="int64")
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        giver = respondent
        if not rv_size_is_none(size) and size.type.shape != (0,):  # the number of items
            if size.type.shape != (1,):
                raise NotImplementedError("labels of one study at a time: size is of items only")
            giver = pt.broadcast_to(respondent, (size[0], respondent.shape[1]))
        draws = []
        last = rng
        for shape in (giver.shape[:1], giver.shape, giver.shape, giver.shape):
            last, variate = uniform(size=shape, rng=last, return_next_rng=True)
            draws.append(variate)
        n_labels, n_levels = log_truth.shape[1], log_level.shape[1]
        truth = _place(draws[0], pt.exp(log_truth))[:, None]
        right = draws[1] < pt.sigmoid(logit)
        step = 1 + pt.floor(draws[2] * (n_labels - 1)).astype("int64")
        label = pt.switch(right, truth, (truth + step) % n_labels)
        weight = pt.exp(log_level)
        level = _place(draws[3], pt.switch(right[..., None], weight[1], weight[0]))
        code = pt.switch(giver < 0, layout.EMPTY, label * n_levels + level).astype("int64")
        inputs = [rng, size, log_truth, logit, log_level, respondent]
        return cls(inputs=inputs, outputs=[last, code])(*inputs)


def _place(number: Any, weight: Any) -> Any:
    """Return the category into which a uniform number falls, given the categories' weights."""
    edge = pt.cumsum(weight, axis=-1)
    return (edge[..., :-1] <= number[..., None] * edge[..., -1:]).sum(axis=-1)


class LatentAnswers(Discrete):
    r"""Labels that are right with given probabilities, else wrong at random; truths are summed out.

    .. math:: P(y_i, c_i) = \sum_z t_{iz} \prod_n \begin{cases}
        p_{in}\, l_{1 c_{in}} & y_{in} = z \\
        \frac{1 - p_{in}}{K - 1}\, l_{0 c_{in}} & y_{in} \ne z \end{cases}

    Here :math:`t_{iz}` is the probability that label z is the truth, and :math:`p_{in}` that label
    n is right; l are the probabilities of levels of confidence, and K is the number of labels. A
    value is the code of a label times the number of levels, plus the code of the level. The
    log-probability has one number for each item.

    Parameters
    ----------
    log_truth : tensor_like of float (item, label)
        Log-probabilities of truths; if the truth of an item is known, minus infinity for the other
        labels. A single row is for all items.
    logit : tensor_like of float (item, place)
        Log odds of each label to be right; any number at places without a label.
    log_level : tensor_like of float (right, level)
        Log-probabilities of levels of confidence of wrong labels (0), and of right ones (1).
        Without confidence, one level of log-probability 0.
    respondent : tensor_like of int (item, place)
        Code of the respondent who gave each label; -1 at places without a label, where the value is
        -1 too.

    Raises
    ------
    ArgumentError
        If a parameter does not have two dimensions.

    Examples
    --------
    Two labels of equal prevalence, and respondents with accuracy .75, who give one item two labels,
    and another item one:

    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import LatentAnswers
    >>> share, logit = np.log([[0.5, 0.5]]), np.full((2, 2), np.log(3.0))
    >>> y = LatentAnswers.dist(share, logit, np.zeros((2, 1)), [[0, 1], [1, -1]])
    >>> np.exp(pm.logp(y, [[1, 1], [0, -1]]).eval()).round(4)
    array([0.3125, 0.5   ])
    """

    rv_type = LatentAnswersRV
    rv_op = LatentAnswersRV.rv_op

    @classmethod
    def dist(
        cls, log_truth: Any, logit: Any, log_level: Any, respondent: Any, **kwargs: Any
    ) -> Any:
        """Return an unnamed variable."""
        log_truth, logit, log_level = (
            pt.as_tensor(each, dtype="float64") for each in (log_truth, logit, log_level)
        )
        respondent = pt.as_tensor(respondent, dtype="int64")
        for name, value in (
            ("log_truth", log_truth), ("logit", logit), ("log_level", log_level),
            ("respondent", respondent),
        ):  # fmt: skip
            if value.type.ndim != 2:
                raise ArgumentError(name, expected="2 dimensions", found=str(value.type.ndim))
        return super().dist([log_truth, logit, log_level, respondent], **kwargs)

    def support_point(rv: Any, *args: Any) -> Any:  # noqa: N805
        """Return the first label at all places."""
        return pt.switch(args[-1] < 0, layout.EMPTY, 0)

    def logp(value: Any, log_truth: Any, logit: Any, log_level: Any, respondent: Any) -> Any:  # noqa: N805
        """Return the log-probability of the labels of each item."""
        return pt.logsumexp(joint(value, log_truth, logit, log_level, respondent), axis=-1)


def joint(code: Any, log_truth: Any, logit: Any, log_level: Any, respondent: Any) -> Any:
    """Return log-probabilities of each truth together with the labels (item, label)."""
    n_items, n_labels, n_levels = respondent.shape[0], log_truth.shape[1], log_level.shape[1]
    # Without these checks, compiled code could read past the ends of arrays.
    logit, code = (pt.specify_shape(each, respondent.shape) for each in (logit, code))
    item, place = (places.paired(respondent, code) >= 0).nonzero()
    logit, code = logit[item, place], code[item, place]
    code = _LABELS(code, pt.all(code < n_labels * n_levels))
    label, level = code // n_levels, code % n_levels
    # Not `softplus`: PyTensor's interpreter would evaluate it in a Python loop.
    wrong = log_level[0, level] - pt.logaddexp(0.0, logit) - pt.log(n_labels - 1.0)
    odds = log_level[1, level] - log_level[0, level] + logit + pt.log(n_labels - 1.0)
    base = pt.inc_subtensor(pt.zeros(n_items)[item], wrong)
    table = pt.inc_subtensor(pt.zeros((n_items, n_labels))[item, label], odds)
    return table + base[:, None] + log_truth


def difference(ability: Any, difficulty: Any, respondent: Any) -> Any:
    """Return the respondent's ability minus the item's difficulty for each label (item, place)."""
    index = pt.maximum(respondent, 0)
    index = _RESPONDENTS(index, pt.all(index < ability.shape[0]))
    # Indexed by a vector: not all backends accept a matrix of indices.
    return ability[index.ravel()].reshape(index.shape) - of_items(difficulty, respondent)[:, None]


def of_items(values: Any, respondent: Any) -> Any:
    """Return values (item, ...); the graph raises if the number of items differs."""
    return _ITEMS(values, pt.eq(values.shape[0], respondent.shape[0]))
