"""Simulated studies with a known truth.

`toy` has items on a line, with three overlapping labels; `study` has items, annotators who
disagree, and systems of known quality; `replication_study` has one or several pools of annotators
with known reliability; `confusion_study` has one true label for each item, and known confusion
matrices.
"""

from __future__ import annotations

from dissensus.studies.simulate._confusion import ConfusionStudy, confusion_study
from dissensus.studies.simulate._replication import ReplicationStudy, replication_study
from dissensus.studies.simulate._study import Study, Toy, study, toy

__all__ = [
    "ConfusionStudy", "ReplicationStudy", "Study", "Toy", "confusion_study", "replication_study",
    "study", "toy",
]  # fmt: skip
