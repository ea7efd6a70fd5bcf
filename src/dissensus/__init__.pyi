# The public names, and where each is found. `lazy_loader` reads this file at run time, type
# checkers read it as it stands.
from . import arrays as arrays
from . import datasets as datasets
from . import dims as dims
from . import distributions as distributions
from . import errors as errors
from . import formats as formats
from . import metrics as metrics
from . import models as models
from . import plausibility as plausibility
from . import plots as plots
from . import schema as schema
from . import simulate as simulate
from . import statistics as statistics
from ._annotations import annotations as annotations
from ._evaluate import evaluate as evaluate
from ._nested import from_matrix as from_matrix
from ._nested import from_rankings as from_rankings
from ._plan import plan as plan
from ._predictions import predictions as predictions
from ._replication.agreement_check import agreement_check as agreement_check
from ._replication.model_discrepancy_ratio import model_discrepancy_ratio as model_discrepancy_ratio
from ._report import report as report
from ._summary import summary as summary
from .errors import AnnotationError as AnnotationError
from .errors import ArgumentError as ArgumentError
from .errors import ConvergenceWarning as ConvergenceWarning
from .errors import DissensusError as DissensusError
from .errors import DissensusWarning as DissensusWarning
from .errors import FormatError as FormatError
from .errors import PredictionError as PredictionError
from .formats import read_annotations as read_annotations
from .formats import read_predictions as read_predictions
from .metrics.accuracy import set_accuracy as set_accuracy
from .metrics.accuracy import top_k_accuracy as top_k_accuracy
from .metrics.annotation import annotation_certainty as annotation_certainty
from .metrics.annotation import certainty as certainty
from .metrics.comparison import compare as compare
from .metrics.events import event_plausibility as event_plausibility
from .metrics.groups import expected_risk as expected_risk
from .metrics.groups import group_labels as group_labels
from .metrics.rank_correlation import kendall_tau as kendall_tau
from .metrics.rank_correlation import spearman_footrule as spearman_footrule
from .metrics.ranked_overlap import average_overlap as average_overlap
from .metrics.ranked_overlap import overlap as overlap
from .metrics.ranked_overlap import rank_biased_overlap as rank_biased_overlap
from .metrics.rankings import mean_average_overlap as mean_average_overlap
from .metrics.rankings import partial_ranking_logp as partial_ranking_logp
from .schema import validate as validate
from .statistics.advantage_probability import advantage_probability as advantage_probability
from .statistics.alt_test import alt_test as alt_test
from .statistics.annotator_discrepancy_ratio import (
    annotator_discrepancy_ratio as annotator_discrepancy_ratio,
)
from .statistics.bayesian_bootstrap import bayesian_bootstrap as bayesian_bootstrap
from .statistics.bennett_s import bennett_s as bennett_s
from .statistics.cohen_kappa import cohen_kappa as cohen_kappa
from .statistics.cross_kappa import cross_kappa as cross_kappa
from .statistics.discrepancy_curve import best_threshold as best_threshold
from .statistics.discrepancy_curve import discrepancy_curve as discrepancy_curve
from .statistics.discrepancy_ratio import discrepancy_ratio as discrepancy_ratio
from .statistics.fleiss_kappa import fleiss_kappa as fleiss_kappa
from .statistics.gwet_ac import gwet_ac as gwet_ac
from .statistics.iota import iota as iota
from .statistics.krippendorff_alpha import krippendorff_alpha as krippendorff_alpha
from .statistics.leave_one_out_agreement import leave_one_out_agreement as leave_one_out_agreement
from .statistics.majority_vote_accuracy import majority_vote_accuracy as majority_vote_accuracy
from .statistics.naive_accuracy import naive_accuracy as naive_accuracy
from .statistics.non_inferiority import non_inferiority as non_inferiority
from .statistics.percent_agreement import percent_agreement as percent_agreement
from .statistics.relative_f1 import relative_f1 as relative_f1
from .statistics.winning_rate import winning_rate as winning_rate

__version__: str
