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
from ._report import report as report
from ._summary import summary as summary
from .errors import AnnotationError as AnnotationError
from .errors import ArgumentError as ArgumentError
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
from .schema import validate as validate

__version__: str
