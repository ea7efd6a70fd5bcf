"""The distribution of labels that are right with given probabilities, truths summed out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor.random.basic import uniform
from pytensor.tensor.random.utils import normalize_size_param

from dissensus.errors import ArgumentError


class LatentAnswersRV(SymbolicRandomVariable):
    """Truths of items, and a label and a level of confidence for each row."""

    name = "latent_answers"
    extended_signature = "[rng],[size],(i,k),(n),(r,c),(n)->[rng],(n)"
    _print_name = ("LatentAnswers", "\\operatorname{LatentAnswers}")

    @classmethod
    def rv_op(
        cls, log_truth: Any, logit: Any, log_level: Any, item: Any, *, size: Any = None,
        rng: Any = None,
    ) -> Any:  # fmt: skip
        """Build the graph of a draw."""
        log_truth, logit, log_level = (
            pt.as_tensor(one, dtype="float64") for one in (log_truth, logit, log_level)
        )
        item = pt.as_tensor(item, dtype="int64")
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        if not rv_size_is_none(size) and size.type.shape != (0,):
            raise NotImplementedError("labels of one study at a time: size is not supported")
        draws = []
        last = rng
        for shape in ((log_truth.shape[0],), item.shape, item.shape, item.shape):
            last, one = uniform(size=shape, rng=last, return_next_rng=True)
            draws.append(one)
        n_labels, n_levels = log_truth.shape[1], log_level.shape[1]
        truth = _place(draws[0], pt.exp(log_truth))[item]
        right = draws[1] < pt.sigmoid(logit)
        step = 1 + pt.floor(draws[2] * (n_labels - 1)).astype("int64")
        label = pt.switch(right, truth, (truth + step) % n_labels)
        level = _place(draws[3], pt.exp(log_level)[right.astype("int64")])
        code = (label * n_levels + level).astype("int64")
        return cls(inputs=[rng, size, log_truth, logit, log_level, item], outputs=[last, code])(
            rng, size, log_truth, logit, log_level, item
        )


def _place(number: Any, weight: Any) -> Any:
    """Return the category of a uniform number by the weights of its row."""
    edge = pt.cumsum(weight, axis=1)
    return (edge[:, :-1] <= number[:, None] * edge[:, -1:]).sum(axis=1)


class LatentAnswers(Discrete):
    r"""Labels that are right with given probabilities, and wrong ones at random; truths summed out.

    .. math:: P(y, c) = \prod_i \sum_z t_{iz} \prod_{n: \, i_n = i} \begin{cases}
        p_n\, l_{1 c_n} & y_n = z \\ \frac{1 - p_n}{K - 1}\, l_{0 c_n} & y_n \ne z \end{cases}

    A value is the code of a label times the number of levels, plus the code of the level.

    Parameters
    ----------
    log_truth : tensor_like of float (item, label)
        Log-probabilities of truths; minus infinity for the others if one is known.
    logit : tensor_like of float (given)
        Log odds of each label to be right.
    log_level : tensor_like of float (right, level)
        Log-probabilities of levels of confidence of wrong labels (0), and of right ones (1). One
        level, of log-probability 0, if there is no confidence.
    item : array of int (given)
        Item of each label; constant.

    Raises
    ------
    ArgumentError
        If the shapes do not fit.

    Examples
    --------
    A coin for the truth, and two labels that are right three times in four:

    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import LatentAnswers
    >>> share, logit = np.log([[0.5, 0.5]]), np.log([3.0, 3.0])
    >>> y = LatentAnswers.dist(share, logit, np.zeros((2, 1)), item=[0, 0])
    >>> bool(np.isclose(np.exp(pm.logp(y, [1, 1]).eval()), (0.75**2 + 0.25**2) / 2))
    True
    """

    rv_type = LatentAnswersRV
    rv_op = LatentAnswersRV.rv_op

    @classmethod
    def dist(cls, log_truth: Any, logit: Any, log_level: Any, item: Any, **kwargs: Any) -> Any:
        """Return an unnamed variable."""
        log_truth, logit, log_level = (
            pt.as_tensor(one, dtype="float64") for one in (log_truth, logit, log_level)
        )
        item = np.asarray(item, dtype=np.int64)
        for name, value, ndim in (
            ("log_truth", log_truth, 2), ("logit", logit, 1), ("log_level", log_level, 2)
        ):  # fmt: skip
            if value.type.ndim != ndim:
                raise ArgumentError(name, expected=f"{ndim} dimensions", found=str(value.type.ndim))
        if item.ndim != 1:
            raise ArgumentError("item", expected="1 dimension", found=str(item.ndim))
        return super().dist([log_truth, logit, log_level, item], **kwargs)

    def support_point(rv: Any, *args: Any) -> Any:  # noqa: N805
        """Return the first label for all rows."""
        return pt.zeros_like(args[-1])

    def logp(value: Any, log_truth: Any, logit: Any, log_level: Any, item: Any) -> Any:  # noqa: N805
        """Return the log-probability of all labels together."""
        n_labels, n_levels = log_truth.shape[1], log_level.shape[1]
        label, level = value // n_levels, value % n_levels
        right = -pt.softplus(-logit) + log_level[1, level]
        wrong = -pt.softplus(logit) - pt.log(n_labels - 1.0) + log_level[0, level]
        base = pt.inc_subtensor(pt.zeros(log_truth.shape[0])[item], wrong)
        table = pt.inc_subtensor(pt.zeros_like(log_truth)[item, label], right - wrong)
        return pt.sum(pt.logsumexp(table + log_truth, axis=1) + base)
