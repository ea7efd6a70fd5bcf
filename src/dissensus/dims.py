"""The names of dimensions: the one place where they are spelled.

Words of the field are many (rater, labeler, coder; case, sample, unit; judge, classifier),
the names here are one each. A *model* is always a PyMC model; what is evaluated is a *system*.
"""

from __future__ import annotations

from typing import Final

ITEM: Final = "item"
"""The annotated units."""
ANNOTATOR: Final = "annotator"
"""Who annotated it."""
LABEL: Final = "label"
"""The labels that an annotator may give."""
RESPONSE: Final = "response"
"""The label that was given, in a confusion matrix, whose `LABEL` is the true one."""
CANDIDATE: Final = "candidate"
"""A label named for the item, or (last) the remainder: all unnamed labels."""
SYSTEM: Final = "system"
"""The evaluated systems."""
SCORED_SYSTEM: Final = "scored_system"
"""A system that gave a probability for every label."""
POSITION: Final = "position"
"""Place in a system's list of labels for an item."""
POOL: Final = "pool"
"""A group of annotators."""
CLUSTER: Final = "cluster"
"""Items that belong together, such as the images of one patient."""
STRATUM: Final = "stratum"
"""Items of one kind, for results kind by kind."""
ANNOTATION: Final = "annotation"
"""A row: one thing one annotator said about one item."""
CHAIN: Final = "chain"
DRAW: Final = "draw"
SAMPLE: Final = (CHAIN, DRAW)
"""The dimensions that carry posterior uncertainty; metrics keep them in front."""
BOUNDARY: Final = "boundary"
"""Between one ordered label and the next, where its cutpoint is."""
MEMBER: Final = "member"
"""An annotator in a pool: an annotator in two pools is two members."""
RELIABILITY: Final = "reliability"
"""The values of the trust parameter along which an evaluation is repeated."""
BIN: Final = "bin"
"""Items whose leading label is about equally probable."""
COLUMN: Final = "column"
"""Of a table: the columns of each bin."""
ESTIMATOR: Final = "estimator"
"""Method of estimating an accuracy, where several are compared."""
STUDY: Final = "study"
"""A simulated study, of several alike."""
THRESHOLD: Final = "threshold"
"""The scores from which on a system says yes."""
SCOPE: Final = "scope"
"""Whether an interval speaks of the items at hand or of new items like them."""
SCOPES: Final = ("these items", "new items")
"""The coordinate of `SCOPE`. New items add the uncertainty of having seen only some."""
LEVEL: Final = "level"
"""Of confidence: what annotators may say of how sure they are."""
TERM: Final = "term"
"""A column of a formula's design: a covariate, a level of one, or a product."""
SCALE: Final = "scale"
"""Of a reliability: latent, where effects add up, or observed, of labels as they were given."""


def other(dim: str) -> str:
    """Name the second of two equal dimensions, as in a matrix of pairs.

    Examples
    --------
    >>> other("system")
    'system_'
    """
    return f"{dim}_"
