"""Labels of items that each have one truth, which nobody sees: the truth summed out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.graph.basic import Constant
from pytensor.tensor.random.basic import uniform
from pytensor.tensor.random.utils import normalize_size_param

from dissensus.errors import ArgumentError
from dissensus.kernels.votes import votes


class LatentTruthRV(SymbolicRandomVariable):
    """A state for each item, and a label from each voice in the way it labels such a state."""

    name = "latent_truth"
    extended_signature = "[rng],[size],(s),(v,k,s),(n),(n)->[rng],(n)"
    _print_name = ("LatentTruth", "\\operatorname{LatentTruth}")

    @classmethod
    def rv_op(
        cls, log_weight: Any, log_response: Any, item: Any, voice: Any, *, size: Any = None,
        rng: Any = None,
    ) -> Any:  # fmt: skip
        """Build the graph of a draw."""
        log_weight, log_response = (
            pt.as_tensor(one, dtype="float64") for one in (log_weight, log_response)
        )
        item, voice = (pt.as_tensor(one, dtype="int64") for one in (item, voice))
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        if not rv_size_is_none(size) and size.type.shape != (0,):
            raise NotImplementedError("labels of one study at a time: size is not supported")
        n_items = pt.max(item) + 1
        middle_rng, first = uniform(size=(n_items,), rng=rng, return_next_rng=True)
        next_rng, second = uniform(size=item.shape, rng=middle_rng, return_next_rng=True)
        state = _place(first, pt.cumsum(pt.exp(log_weight)))
        chances = pt.exp(log_response)[voice, :, state[item]]
        label = (pt.cumsum(chances, axis=-1)[:, :-1] <= second[:, None]).sum(axis=-1)
        return cls(
            inputs=[rng, size, log_weight, log_response, item, voice],
            outputs=[next_rng, label.astype("int64")],
        )(rng, size, log_weight, log_response, item, voice)


def _place(number: Any, cumulative: Any) -> Any:
    return pt.clip(pt.searchsorted(cumulative, number, side="right"), 0, cumulative.shape[0] - 1)


class LatentTruth(Discrete):
    r"""Labels that voices give to items, each in a state that is summed out.

    .. math:: P(y) = \prod_i \sum_s w_s \prod_{n: \, i_n = i} R_{v_n y_n s}

    A *state* is the true label, and whatever else items differ in; given it all labels are
    independent. Items with the same labels from the same voices are computed once.

    Parameters
    ----------
    log_weight : tensor_like of float (state)
        Log-probabilities of states; normalised.
    log_response : tensor_like of float (voice, response, state)
        Log-probabilities of labels; normalised over responses.
    item, voice : array of int (label)
        Whose label it is, and of which item. They are given, and hang on nothing.

    Raises
    ------
    ArgumentError
        If the shapes do not fit.

    Examples
    --------
    Two items, a coin for the truth, and voices that are right three times in four:

    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.distributions import LatentTruth
    >>> table = np.log([[[0.75, 0.25], [0.25, 0.75]]])
    >>> y = LatentTruth.dist(np.log([0.5, 0.5]), table, item=[0, 0, 1], voice=[0, 0, 0])
    >>> bool(np.isclose(np.exp(pm.logp(y, [1, 1, 0]).eval()), (0.75**2 + 0.25**2) / 2 * 0.5))
    True
    """

    rv_type = LatentTruthRV
    rv_op = LatentTruthRV.rv_op

    @classmethod
    def dist(cls, log_weight: Any, log_response: Any, item: Any, voice: Any, **kwargs: Any) -> Any:
        """Return an unnamed variable."""
        log_weight = pt.as_tensor(log_weight, dtype="float64")
        log_response = pt.as_tensor(log_response, dtype="float64")
        item, voice = (np.asarray(one, dtype=np.int64) for one in (item, voice))
        for name, value, ndim in (("log_weight", log_weight, 1), ("log_response", log_response, 3)):
            if value.type.ndim != ndim:
                raise ArgumentError(name, expected=f"{ndim} dimensions", found=str(value.type.ndim))
        if item.ndim != 1 or item.shape != voice.shape:
            raise ArgumentError(
                "voice", expected=f"one for each of the {item.shape} items' labels",
                found=f"shape {voice.shape}",
            )  # fmt: skip
        return super().dist([log_weight, log_response, item, voice], **kwargs)

    def support_point(rv: Any, *args: Any) -> Any:  # noqa: N805
        """Return the first label for all."""
        *_, item, _voice = args
        return pt.zeros_like(item)

    def logp(value: Any, log_weight: Any, log_response: Any, item: Any, voice: Any) -> Any:  # noqa: N805
        """Return the log-probability of all labels together."""
        if all(isinstance(one, Constant) for one in (value, item, voice)):
            who, which, what = (
                np.asarray(one.data, dtype=np.int64) for one in (voice, item, value)
            )
            found, _ = votes(which, who, what, int(which.max(initial=-1)) + 1)
            pattern = np.repeat(np.arange(len(found.n_items)), np.diff(found.start))
            rows = found.times[:, None] * log_response[found.voice, found.label]
            return _summed(rows, pattern, len(found.n_items), log_weight, found.n_items)
        rows = log_response[voice, value]
        return _summed(rows, item, pt.max(item) + 1, log_weight, 1)


def _summed(rows: Any, group: Any, n_groups: Any, log_weight: Any, times: Any) -> Any:
    """Add up the rows of each group, sum over states, and add up groups as often as they come."""
    start = pt.zeros((n_groups, log_weight.shape[0]))
    total = pt.inc_subtensor(start[group], rows)
    return pt.sum(times * pt.logsumexp(total + log_weight, axis=-1))
