"""`evaluate`: from annotations and predictions to posteriors and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.chunks import ITEM_CHUNKS, by_item, chunked, is_chunked
from dissensus.data.contents import label_warnings, name_warnings, probability_warning
from dissensus.data.known_labels import recorded as recorded_truth
from dissensus.data.pairs import are_votes
from dissensus.data.refusals import SIDES, require_fit
from dissensus.data.schema import checked_annotations, checked_once, checked_predictions
from dissensus.dims import LABEL
from dissensus.errors import ArgumentError, brief, shown, warn_caller
from dissensus.evaluation import accuracy as _accuracy
from dissensus.evaluation import components as _components
from dissensus.evaluation import ground_truth as _ground_truth
from dissensus.evaluation.answers import question_of, with_answers
from dissensus.evaluation.categories import categories
from dissensus.evaluation.observed import observed
from dissensus.evaluation.provenance import of_model, provenance
from dissensus.evaluation.recipes import (
    DEFAULT,
    Recipe,
    ScoreRecipe,
    companion_for,
    off_scale,
    recipe_for,
)
from dissensus.evaluation.runs import Run, Task, results
from dissensus.evaluation.section import AUTO, Plan, Reason, Section, Settings, added
from dissensus.evaluation.sets import are_sets, evaluate_sets
from dissensus.evaluation.votes import evaluate_votes
from dissensus.families.latent_truth.errors import LEARNED
from dissensus.kernels.random import seed_or_drawn


def evaluate(
    annotations: xr.Dataset,
    predictions: xr.Dataset | None = None,
    *,
    reliability: Sequence[float] | None = None,
    draws: int = 1000,
    chains: int = 4,
    random_seed: int | None = None,
    progressbar: bool = True,
    model: str | None = None,
    threshold: float | None = None,
    positive: Any = None,
    risk: Any = None,
    groups: Mapping[Any, Any] | None = None,
    companion: str | None = DEFAULT,
    distance: Any = None,
    margin: float = 0.1,
    components: str | None = AUTO,
    reference: Any = None,
    truth: Any = None,
    truth_model: str | None = AUTO,
    error_correlation: Any = LEARNED,
    ground_truth: Any = AUTO,
    question: str | None = None,
    new_items: bool = False,
    on_missing: str = "raise",
    chunks: int | None = None,
    **hyper: Any,
) -> xr.DataTree:
    """Evaluate systems against annotators who disagree.

    The data do not determine the reliability of the annotators, and results depend on it: metrics
    are computed at several reliabilities. Results may also depend on the model: rankings are
    evaluated by `plackett_luce` and, as its *companion*, by `inverse_rank`.

    Parameters
    ----------
    annotations : xarray.Dataset
        From `dissensus.annotations` or another reader of annotations; or votes on pairs of systems,
        from `dissensus.pairs`.
    predictions : xarray.Dataset, optional
        From `dissensus.predictions`. Without it, only the annotations are described. If annotations
        are sets, predicted sets (``kind="set"``). If they are votes, judges' verdicts from
        `dissensus.pairs`, as `models.bradley_terry` takes them.
    reliability : sequence of float, optional
        Reliabilities at which metrics are computed; by default a range for the model. The posterior
        is kept at the model's reference (1, or 30 for `inverse_rank`), or at the middle value if
        the reference is not among them.
        A companion uses its own range, since its scale differs.
    draws, chains : int
        Number of posterior draws per chain, and number of chains. If chains of variance components
        were too short, they are run once more, with at most eight times the draws.
    random_seed : int, optional
        Makes results repeatable. By default a seed is drawn and recorded.
    progressbar : bool
        Show progress.
    model : str, optional
        A name of `dissensus.models`. By default it depends on the kind of the annotations.
    threshold : float, optional
        For numbers: the cut whose two sides are the labels. By default systems are judged by the
        distance of their numbers from the panel's mean, see `dissensus.score_error`.
    positive : label, optional
        The positive one of two labels, for sensitivity and specificity (against the panel and, if
        accuracies are estimated, against the true labels); by default the second of two labels with
        an order.
    risk : mapping from label to number, optional
        Adds each item's expected risk.
    groups : mapping from label to category, optional
        Adds results for categories of labels, such as low, medium and high risk. Categories are
        names, in the order of the mapping, or numbers, ordered by size.
    companion : str or None
        A second model, with its own defaults, for the same results. By default `inverse_rank` for
        rankings if ``model`` is not given, else none.
    distance : str or callable, optional
        Distance of two labels, as `discrepancy_ratio` takes it. By default rankings are compared by
        their first labels, as systems often list more labels than annotators, and sets by "masi".
    margin : float
        Margin of non-inferiority: the share by which a system's discrepancy may exceed the
        annotators' own discrepancy.
    components : {"auto", "gaussian", "ordinal", "bernoulli"} or None
        Family of `models.crossed_effects`, or of `models.cross_replication` for two to eight pools.
        By default "gaussian" for numbers, for more than ten numeric grades, and for ordered labels
        of several pools, which may differ in noise; "ordinal" for other ordered labels, "bernoulli"
        for two labels, and no model otherwise.
    reference : pool, optional
        The pool with which all other pools are compared.
    truth : mapping, Series, DataArray (item) or table, optional
        True labels of some items; a table has columns ``item`` and ``label``. They show how often
        annotators are wrong together, and what systems know beyond the annotators. These items must
        be drawn at random: with 30 unanimous items of three real data sets, accuracies had biases
        of up to .12, and 89 % intervals a coverage of .60 (with random items, .92). Reports caution
        if annotators agree much more, or less, on these items than on others. Known sets are
        written as in the annotations, or given as annotations with one answer for each item.
    truth_model : {"auto", "dawid_skene", "symmetric_confusion"} or None
        Model of one true label, for accuracies. By default the one that predicts labels better.
        No model is fitted to numbers, to rankings, to more than 30 labels, or if fewer than five
        items have two annotators and fewer than five have a known label. Of a system's list, only
        the first label counts.
    error_correlation : "learned", float or (median, spread)
        Correlation of the errors of an item's annotators, see `models.dawid_skene`. By default its
        prior comes from data sets with a known truth.
    ground_truth : {"auto", "majority"}, number, mapping, other accuracies, or None
        Accuracies of annotators, from which the accuracy of majority labels is computed. By default
        the accuracies of ``truth_model``, or else "majority": agreement with the majority of the
        other annotators, which overestimates accuracy on hard items. Or accuracies by annotator, as
        `dissensus.weighted_reliability` takes them.
    question : {"panel", "truth"}, optional
        Which of the ``answers`` leads: agreement with a large panel, or accuracy against one true
        label. By default "truth" if ``truth`` is given, else "panel". The panel also leads if no
        accuracy of systems can be estimated; ``answers.attrs["notes"]`` says why. For sets, all
        scores are against the panel's sets, or against the true sets by `models.dawid_skene`.
    new_items : bool
        Whether ``answers``, or a ``leaderboard``, are about new items like these, instead of these
        items.
    on_missing : {"raise", "drop"}
        What to do about items that only the annotations or only the predictions have.
    chunks : int, optional
        Number of items whose plausibilities are drawn and scored at a time, if memory is short
        (see `dissensus.chunked`). Only posterior means are kept, of numbers also standard
        deviations. By default the chunks of the annotations, if they have any.
    **hyper
        Other hyperparameters of the model, such as ``prior_count`` or ``concentration``. For votes,
        settings of `models.bradley_terry` such as ``side``.

    Returns
    -------
    xarray.DataTree
        Attributes name the models and the settings. Groups, where the data allow them:

        - ``answers``: draws of ``annotator_agreement``, ``panel_agreement`` and ``accuracy``
          (chain, draw, system) and of ``human_agreement`` (chain, draw). The first three are how
          often a system gives an annotator's label, the majority label of a large panel, and the
          one true label. The last is the agreement of two annotators. In the first and the last,
          items with more labels count more. Intervals of all but ``accuracy`` allow for other
          annotators; those of ``panel_agreement`` if those of ``metrics`` do.
        - ``posterior``: draws at the reference reliability.
        - ``metrics``: draws (chain, draw, reliability, scope, system); ``comparison`` of systems,
          ``diagnostics`` of these draws. Without predictions these three are empty. If the same
          three to twenty annotators labelled most items, or scored a part of them (not in chunks,
          not rankings), the intervals of all these metrics allow for other annotators, and so do
          those of accuracies in ``categories``.
          ``convergence`` of Markov chains.
        - ``certainty`` and ``expected_risk`` of each item.
        - ``statistics``: observed values, and naive metrics against the point estimate.
        - ``agreement`` and ``discrepancy``: Bayesian bootstrap draws of coefficients of agreement
          and of discrepancies, if an item has two annotators. Draws of coefficients and of systems'
          discrepancies also contain the variation between annotators.
        - ``components``: draws of ICCs, of the reliability of an item's mean label and, for pools,
          of xCCs. If the interval of the observed ICC is shorter than that of alpha, draws of
          ``sigma_item`` are widened: other annotators may differ in more than leniency.
          `dissensus.icc` takes this group as a fit, with the widened draws.
        - ``pools``: observed agreement within pools and between them.
        - ``accuracy``: draws of accuracies of systems and annotators, of ``majority_correct``
          and of ``error_correlation``; and accuracy by majority vote. Accuracies are for all items,
          including items that only systems labelled. With a positive label also
          ``estimated_sensitivity`` and ``estimated_specificity`` of systems, against the true
          labels; those in ``metrics`` are against the panel.
        - ``weighted_reliability``: draws of ``concordance``, ``weighted_reliability``,
          ``label_accuracy``, ``truth_accuracy`` (of the majority label) and
          ``annotators_for_truth`` (annotators per item for a majority accuracy of .95).
        - ``agreement_check``, if a list has two labels or more: agreement of annotators in the data
          and under the model `plackett_luce` (`dissensus.agreement_check` at the reference
          reliability, with 100 to 400 replicates; not with chunks).
        - ``categories``: plausibility and certainty of categories, and accuracy at that level.
        - ``companion``: results of the companion, with posterior means only.
        - ``annotations``, ``predictions``, and ``predictions_given`` before a cut at ``threshold``.

        For sets: ``metrics`` with the scores of `dissensus.set_score` (reliability 1), and
        ``comparison``, ``diagnostics``, ``statistics``, ``agreement`` and ``discrepancy`` as above;
        ``labels``, with draws of ``share`` (of items with the label, by the panel or in truth) and
        ``krippendorff_alpha`` (chain, draw, element), and of ``f1``, ``sensitivity`` and
        ``specificity`` (chain, draw, element, system); ``posterior`` with mean plausibilities
        (item, element), or ``truth_mean``; and ``annotations``, ``predictions``.

        For votes: ``posterior`` and the other groups of the fit; ``leaderboard``, with draws of
        ``win_rate``, ``rank`` and ``strength`` (chain, draw, system), and the ``group`` of each
        system within which systems are compared; ``comparison`` by win rate or, with verdicts, by
        strength, like the rank (the attribute ``order`` says which); ``vote_check``, with shares
        of votes won by pair of systems, observed and replicated; ``votes_alone``, if there are
        verdicts, with draws of ``win_rate`` and ``strength`` from the votes alone; and
        ``annotations``, ``predictions``.

    Raises
    ------
    AnnotationError, PredictionError
        If annotations and predictions do not fit each other or the model.
    ArgumentError
        If an argument is not one of the values above.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...                       "label": ["x", "y", "x", "x"]})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["x", "x"]})
    >>> result = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)
    >>> result["metrics"]["top_1_accuracy"].dims
    ('chain', 'draw', 'reliability', 'scope', 'system')
    """
    random_seed, seed_source = seed_or_drawn(random_seed)
    recorded = {
        "reliability": reliability, "draws": draws, "chains": chains, "random_seed": random_seed,
        "model": model, "threshold": threshold, "positive": positive, "risk": risk,
        "groups": groups, "companion": companion, "distance": distance, "margin": margin,
        "components": components,
        "reference": reference, "truth": recorded_truth(truth), "truth_model": truth_model,
        "error_correlation": error_correlation, "ground_truth": ground_truth,
        "question": question, "new_items": new_items, "on_missing": on_missing,
        "chunks": chunks, **hyper,
    }  # fmt: skip
    arguments.flags(new_items=new_items)
    arguments.sample_shape(draws, chains)
    if are_votes(annotations):
        return evaluate_votes(
            annotations, predictions, recorded, evaluate.__kwdefaults__ or {},
            progressbar=progressbar, seed_source=seed_source,
        )  # fmt: skip
    if are_sets(annotations):
        return evaluate_sets(
            _in_memory(annotations), _in_memory(predictions), recorded,
            evaluate.__kwdefaults__ or {}, truth, progressbar=progressbar, seed_source=seed_source,
        )  # fmt: skip
    cut = _cut(annotations, chunks)
    if cut is not None:
        recorded["chunks"] = cut.attrs[ITEM_CHUNKS][0]
        if risk is not None:  # needs the draws of all items
            raise ArgumentError(
                "risk", expected="None with annotations in chunks", found=type(risk).__name__,
                hint="dx.expected_risk(fit, risk) is drawn chunk by chunk",
            )  # fmt: skip
    with checked_once():
        annotations = checked_annotations(_in_memory(annotations))
        main = recipe_for(annotations, model=model, threshold=threshold)
        companion_recipe = companion_for(main, companion, by_default=model is None)
        main.check_options(reliability, hyper)
        predictions_given = None
        if predictions is not None:
            predictions_given = checked_predictions(_in_memory(predictions))
            if warning := probability_warning(predictions_given):
                warn_caller(f"{warning}.")
        for warning in label_warnings(annotations) + name_warnings(annotations, predictions_given):
            warn_caller(f"{warning}.")
        arguments.one_of("on_missing", on_missing, ("raise", "drop"))
        require_fit(
            annotations, predictions_given, on_missing, scores=isinstance(main, ScoreRecipe)
        )
        if predictions_given is not None:
            predictions = main.predictions(predictions_given)
        _require_labels(main, risk=risk, groups=groups, positive=positive)
        positive_label = positive_of(annotations, positive, cut=threshold is not None)
        task = _task(
            annotations, predictions, groups, cut=cut, risk=risk, draws=draws, chains=chains,
            random_seed=random_seed, on_missing=on_missing, progressbar=progressbar,
            predictions_given=predictions_given,
            positive=positive_label,
            positive_named=positive is not None,
        )  # fmt: skip
        run = replace(_run(main, reliability, hyper), keeps_draws=cut is None)
        # Grades that are evaluated as numbers have no accuracy either.
        judged = annotations.assign_attrs(kind="continuous") if main.of_numbers else annotations
        # The order of computation: ``ground_truth`` uses the accuracies of ``truth_model``.
        plans: dict[str, tuple[Section, Plan | Reason]] = {
            "components": (_components, _components.plan(
                annotations, predictions_given, components, reference
            )),
            "truth_model": (_accuracy, _accuracy.plan(
                judged, predictions_given, truth_model, threshold, truth, error_correlation,
                positive_label,
            )),
        }  # fmt: skip
        question = question_of(question, _accuracy.n_known(judged, truth))
        plans["ground_truth"] = (
            _ground_truth, _ground_truth.plan(judged, ground_truth, threshold)
        )  # fmt: skip
        settings = Settings(
            draws * chains, random_seed, distance, margin, on_missing, chains, progressbar
        )
        compared = predictions_given
        if main.of_numbers and predictions is not None:
            systems_off = off_scale(annotations, predictions)
            task = replace(task, same_unit=not systems_off)
            compared = None if systems_off else predictions
            if systems_off:
                warn_caller(
                    f"The numbers of {shown(systems_off)} seem to be in another unit than the "
                    "annotators' scores: only correlations are computed, not errors or discrepancy "
                    "ratios. Leave out these systems, or convert their numbers."
                )
        statistics = observed(annotations, compared, settings)
        companion_tree = None
        if companion_recipe is not None:  # runs first: its draws are freed before the main fits
            companion_run = replace(_run(companion_recipe, None, {}), keeps_draws=False)
            companion_tree = xr.DataTree.from_dict(results(companion_run, task, settings.notes))
            companion_tree.attrs.update(_made_by(companion_run, task, companion_tree))
        all_groups = results(run, task, settings.notes) | {"annotations": annotations}
        if statistics:
            all_groups["statistics"] = all_groups["statistics"].merge(statistics.pop("statistics"))
        all_groups |= statistics
        if predictions is not None:
            all_groups["predictions"] = predictions
        if predictions_given is not None and predictions is not predictions_given:
            all_groups["predictions_given"] = predictions_given
        status = {}
        for name, (section, plan) in plans.items():
            all_groups, status[name] = added(all_groups, section, plan, settings)
        all_groups = with_answers(
            all_groups, question, new_items=new_items, random_seed=random_seed,
            reference=run.reference, shape=(chains, draws), truth_model=status["truth_model"],
        )  # fmt: skip
        all_groups.setdefault("metrics", xr.Dataset())
        tree = xr.DataTree.from_dict(all_groups)
        tree.attrs.update(
            _made_by(run, task, tree), **status, random_seed_source=seed_source,
            **provenance(annotations, predictions_given, recorded), **of_model(main.model),
        )  # fmt: skip
        if companion_tree is not None:
            tree["companion"] = companion_tree
        settings.notes.say()
        return tree


def _in_memory(data: Any) -> Any:
    """Load a Dataset into memory. Anything else is returned unchanged."""
    return data.compute() if isinstance(data, xr.Dataset) else data


def _cut(annotations: xr.Dataset, chunks: int | None) -> xr.Dataset | None:
    """Return annotations in chunks, if ``chunks`` is set or they have chunks; else None."""
    if chunks is not None:
        return chunked(annotations, arguments.whole("chunks", chunks))
    return by_item(annotations) if is_chunked(annotations) else None


def _run(recipe: Recipe, reliability: Sequence[float] | None, hyper: Mapping[str, Any]) -> Run:
    """Choose the reliabilities of a model, and its reference."""
    values = _checked_range(recipe.reliabilities if reliability is None else reliability)
    reference = recipe.reference if recipe.reference in values else values[len(values) // 2]
    return Run(recipe, values, reference, hyper)


def _task(
    annotations: xr.Dataset, predictions: xr.Dataset | None,
    groups: Mapping[Any, Any] | None, **settings: Any,
) -> Task:  # fmt: skip
    """Return the settings that all models share, with the categories of labels."""
    known, firsts = None, []
    if groups is not None:
        known = categories(groups, annotations, predictions)
        firsts = [] if predictions is None else known.predictions(predictions)
    return Task(annotations, predictions, known, firsts, **settings)


def _require_labels(main: Recipe, **given: Any) -> None:
    """Raise if arguments about labels are given, but there are only numbers."""
    if not isinstance(main, ScoreRecipe):
        return
    for name, value in given.items():
        if value is not None and (main.of_numbers or name == "groups"):
            raise ArgumentError(
                name, expected="None: scores have no labels", found=brief(value),
                hint="" if name == "groups" else "threshold= makes two labels of them",
            )  # fmt: skip


def positive_of(annotations: xr.Dataset, positive: Any, *, cut: bool) -> Any:
    """Return the positive one of two labels, or None."""
    labels: list[Any] = list(SIDES) if cut else []
    if not cut and LABEL in annotations.coords:
        labels = annotations[LABEL].to_numpy().tolist()
    if positive is None:
        kind = annotations.attrs["kind"]
        has_order = cut or kind == "ordinal" or all(isinstance(label, int) for label in labels)
        return labels[1] if len(labels) == 2 and has_order else None
    if len(labels) != 2:
        raise ArgumentError(
            "positive", expected="None, unless there are two labels", found=repr(positive)
        )
    if not np.isscalar(positive) or positive not in labels:
        raise ArgumentError(
            "positive", expected=f"one of the two labels, {shown(labels)}", found=repr(positive)
        )
    return labels[labels.index(positive)]  # in the type of the labels: 1 if True was given


def _checked_range(reliability: Sequence[float]) -> tuple[float, ...]:
    expected = "one or more different positive numbers"
    given = reliability if np.iterable(reliability) else [reliability]
    values = arguments.finite_row("reliability", given, expected).tolist()
    if min(values) <= 0 or len(set(values)) < len(values):
        raise ArgumentError("reliability", expected=expected, found=brief(reliability))
    return tuple(sorted(values))


def _made_by(run: Run, task: Task, tree: xr.DataTree) -> dict[str, Any]:
    """Return attributes of one model: its name, settings and reference."""
    fitted = tree["posterior"].attrs
    out = {
        "model": run.recipe.model,
        "kind": run.recipe.kind,
        "inference": fitted["inference"],
        "reference_reliability": run.reference,
        "point_estimate": run.recipe.leading,
        "point_is_limit": int(run.recipe.is_limit),
        "markov_chains": int(run.recipe.markov_chains),
        "draws": task.draws,
        "chains": task.chains,
        "random_seed": str(task.random_seed),
    }
    if "metrics" in tree.children and "sensitivity" in tree["metrics"]:
        out["positive"] = str(task.positive)
    out |= {str(name): value for name, value in fitted.items() if str(name).startswith("hyper_")}
    if run.recipe.prior_weight is not None:
        out["prior_weight"] = run.recipe.prior_weight(task.annotations, run.reference, **run.hyper)
    return out
