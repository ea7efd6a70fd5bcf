"""Models, metrics and statistics that the documentation links from the page of another.

A name without a row here is linked to the functions that its docstring names in backticks.
"""

from __future__ import annotations

import inspect
import re
from typing import Final

import dissensus as dx

RELATED: Final[dict[str, tuple[str, ...]]] = {
    # Models
    "dirichlet": ("inverse_rank", "plackett_luce", "dawid_skene", "top_k_accuracy"),
    "inverse_rank": ("plackett_luce", "dirichlet", "average_overlap"),
    "plackett_luce": ("inverse_rank", "dirichlet", "partial_ranking_logp"),
    "normal_scores": ("event_plausibility", "crossed_effects"),
    "crossed_effects": ("icc", "annotator_icc", "cross_replication", "krippendorff_alpha"),
    "cross_replication": ("xcc", "normalized_xcc", "crossed_effects", "cross_kappa"),
    "symmetric_confusion": ("dawid_skene", "lehner", "majority_vote_accuracy"),
    "dawid_skene": ("symmetric_confusion", "rasch", "annotator_roc"),
    "rasch": ("dawid_skene", "confidence_difficulty", "weighted_reliability"),
    "bradley_terry": ("win_rate", "rank", "compare", "plackett_luce"),
    # Metrics
    "annotation_certainty": ("certainty", "leave_one_out_agreement", "top_k_accuracy"),
    "certainty": ("annotation_certainty", "top_k_accuracy"),
    "top_k_accuracy": ("set_accuracy", "compare", "majority_vote_accuracy", "naive_accuracy"),
    "score_error": ("normal_scores", "discrepancy_ratio", "compare"),
    "probability_score": ("dirichlet", "top_k_accuracy", "compare"),
    "set_score": ("by_label", "sensitivity_specificity", "krippendorff_alpha"),
    "sensitivity_specificity": ("top_k_accuracy", "annotator_roc"),
    "set_accuracy": ("top_k_accuracy", "overlap", "average_overlap"),
    "overlap": ("average_overlap", "rank_biased_overlap", "set_accuracy"),
    "average_overlap": ("overlap", "rank_biased_overlap", "kendall_tau"),
    "rank_biased_overlap": ("average_overlap", "overlap"),
    "kendall_tau": ("spearman_footrule", "average_overlap"),
    "spearman_footrule": ("kendall_tau", "average_overlap"),
    "group_labels": ("expected_risk", "top_k_accuracy"),
    "expected_risk": ("group_labels", "annotation_certainty"),
    "event_plausibility": ("normal_scores", "top_k_accuracy"),
    "compare": ("top_k_accuracy", "discrepancy_ratio", "xcc"),
    "mean_average_overlap": ("average_overlap", "leave_one_out_agreement"),
    "partial_ranking_logp": ("plackett_luce",),
    "icc": ("annotator_icc", "spearman_brown", "krippendorff_alpha", "crossed_effects"),
    "annotator_icc": ("icc", "crossed_effects"),
    "normalized_xcc": ("xcc", "cross_kappa", "cross_replication"),
    "xcc": ("normalized_xcc", "cross_kappa", "icc"),
    "win_rate": ("rank", "compare", "bradley_terry"),
    "rank": ("win_rate", "compare", "bradley_terry"),
    "spearman_brown": ("annotators_needed", "icc"),
    "annotators_needed": ("spearman_brown", "icc", "annotators_for_truth"),
    "majority_accuracy": ("annotators_for_truth", "truth_accuracy"),
    "annotators_for_truth": ("majority_accuracy", "annotators_needed"),
    "truth_accuracy": ("actual_accuracy", "weighted_reliability", "majority_accuracy"),
    "actual_accuracy": ("truth_accuracy", "probability_of_support"),
    "probability_of_support": ("actual_accuracy", "truth_accuracy"),
    # Statistics
    "bayesian_bootstrap": ("krippendorff_alpha", "discrepancy_ratio"),
    "percent_agreement": ("krippendorff_alpha", "gwet_ac", "bennett_s"),
    "bennett_s": ("percent_agreement", "fleiss_kappa", "gwet_ac"),
    "cohen_kappa": ("iota", "fleiss_kappa", "krippendorff_alpha", "gwet_ac"),
    "fleiss_kappa": ("krippendorff_alpha", "cohen_kappa", "gwet_ac"),
    "krippendorff_alpha": ("gwet_ac", "percent_agreement", "icc"),
    "gwet_ac": ("krippendorff_alpha", "percent_agreement"),
    "iota": ("cohen_kappa", "krippendorff_alpha"),
    "cross_kappa": ("xcc", "normalized_xcc", "krippendorff_alpha"),
    "leave_one_out_agreement": ("percent_agreement", "annotation_certainty"),
    "concordance": ("weighted_reliability", "confidence_check"),
    "weighted_reliability": ("concordance", "truth_accuracy", "rasch"),
    "confidence_check": ("confidence_difficulty", "concordance"),
    "confidence_difficulty": ("confidence_check", "rasch"),
    "annotator_roc": ("dawid_skene", "confidence_check", "reader_study"),
    "reader_study": ("annotator_roc", "sensitivity_specificity", "non_inferiority"),
    "discrepancy_ratio": ("non_inferiority", "annotator_discrepancy_ratio",
                          "advantage_probability"),
    "annotator_discrepancy_ratio": ("discrepancy_ratio", "dawid_skene"),
    "discrepancy_curve": ("best_threshold", "discrepancy_ratio"),
    "best_threshold": ("discrepancy_curve",),
    "non_inferiority": ("discrepancy_ratio", "compare"),
    "advantage_probability": ("winning_rate", "alt_test", "discrepancy_ratio"),
    "winning_rate": ("alt_test", "advantage_probability"),
    "alt_test": ("winning_rate", "advantage_probability"),
    "relative_f1": ("discrepancy_ratio", "majority_vote_accuracy"),
    "naive_accuracy": ("majority_vote_accuracy", "top_k_accuracy", "symmetric_confusion"),
    "majority_vote_accuracy": ("naive_accuracy", "top_k_accuracy", "symmetric_confusion"),
    "lehner": ("symmetric_confusion", "majority_vote_accuracy"),
}  # fmt: skip


def related(name: str) -> tuple[str, ...]:
    """Return the related names: the row of the table, or the names in the docstring."""
    if name in RELATED:
        return RELATED[name]
    models = dx.models.names()
    documented = dx.models.get(name).module if name in models else getattr(dx, name)
    named = re.findall(r"`(\w+)`", inspect.getdoc(documented) or "")
    known = [other for other in named if other in models or hasattr(dx, other)]
    return tuple(dict.fromkeys(other for other in known if other != name))
