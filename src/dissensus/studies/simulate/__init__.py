"""Studies whose truth is known, to see what an evaluation finds of it.

`toy` is a line with three overlapping labels, small enough to look at; `study` is a whole
evaluation: items, annotators who disagree, and systems of known quality; `replication_study` is one
pool of annotators, or several that label the same items, with a known reliability;
`confusion_study` has one true label for each item, and annotators and systems that mistake it.
Nothing here is data of anybody.
"""

from __future__ import annotations

from dissensus.studies.simulate._confusion import ConfusionStudy, confusion_study
from dissensus.studies.simulate._replication import ReplicationStudy, replication_study
from dissensus.studies.simulate._study import Study, study
from dissensus.studies.simulate._toy import Toy, toy

__all__ = [
    "ConfusionStudy", "ReplicationStudy", "Study", "Toy", "confusion_study", "replication_study",
    "study", "toy",
]  # fmt: skip
