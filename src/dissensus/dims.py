"""The names of the dimensions that several modules share.

Fields have different words for each concept (rater, labeler, coder; case, sample, unit; judge,
classifier); here each concept has one name. A *model* is always a PyMC model; the subject of the
evaluation is a *system*.
"""

from __future__ import annotations

from typing import Final

ITEM: Final = "item"
"""The annotated units."""
ANNOTATOR: Final = "annotator"
"""The annotators."""
LABEL: Final = "label"
"""The labels that an annotator may give."""
ELEMENT: Final = "element"
"""The single labels of sets; in annotations of sets, the coordinate of `LABEL` has sets."""
RESPONSE: Final = "response"
"""The given label in a confusion matrix, in which `LABEL` is the true label."""
CANDIDATE: Final = "candidate"
"""A label named for the item, or (last) the remainder: all other labels together."""
SYSTEM: Final = "system"
"""The evaluated systems."""
LISTING_SYSTEM: Final = "listing_system"
"""A system that gave several labels in order for an item, without probabilities."""
SCORED_SYSTEM: Final = "scored_system"
"""A system that gave a probability for every label."""
POSITION: Final = "position"
"""Place in a system's list of labels for an item."""
POOL: Final = "pool"
"""A group of annotators."""
CLUSTER: Final = "cluster"
"""Items that belong together, such as the images of one patient."""
STRATUM: Final = "stratum"
"""Items that are reported separately."""
ANNOTATION: Final = "annotation"
"""A row: a label that one annotator gives one item."""
VOTE: Final = "vote"
"""A row of votes: one voter's choice between two systems."""
PAIR: Final = "pair"
"""Two systems' answers to one prompt, which judges have compared."""
JUDGE: Final = "judge"
"""A judge of all pairs, such as a language model; people vote on some of the pairs."""
CHAIN: Final = "chain"
DRAW: Final = "draw"
SAMPLE: Final = (CHAIN, DRAW)
"""The dimensions of posterior draws; metrics keep them in front."""
BOUNDARY: Final = "boundary"
"""The boundary of two adjacent ordered labels, which has a cutpoint."""
MEMBER: Final = "member"
"""An annotator in a pool: an annotator in two pools is two members."""
RELIABILITY: Final = "reliability"
"""The reliabilities for which an evaluation is repeated."""
BIN: Final = "bin"
"""A bin of items whose most probable label has about the same probability."""
COLUMN: Final = "column"
"""The columns of a table of bins."""
ESTIMATOR: Final = "estimator"
"""Method of estimating an accuracy, if several are compared."""
READER: Final = "reader"
"""An annotator in a reader study, who scores cases."""
MODALITY: Final = "modality"
"""How readers see cases, such as a kind of imaging, or with and without a system."""
STUDY: Final = "study"
"""One of several simulated studies."""
THRESHOLD: Final = "threshold"
"""Thresholds of scores: a system's label is positive if the score is at least the threshold."""
FALSE_POSITIVE_RATE: Final = "false_positive_rate"
"""Places on the horizontal axis of an ROC curve."""
SCOPE: Final = "scope"
"""Whether an interval is for these items or for new items."""
SCOPES: Final = ("these items", "new items")
"""The coordinate of `SCOPE`. For new items, the sampling of items adds uncertainty."""
LEVEL: Final = "level"
"""Levels of confidence."""
TERM: Final = "term"
"""A column of the design matrix of a formula: a covariate, a level, or a product."""
SCALE: Final = "scale"
"""Scale of a reliability: latent, on which effects are additive, or observed labels."""


def other(dim: str) -> str:
    """Return the name of the second of two equal dimensions, as in a matrix of pairs.

    Examples
    --------
    >>> other("system")
    'system_'
    """
    return f"{dim}_"
