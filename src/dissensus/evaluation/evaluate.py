"""The main job: from annotations and predictions to a posterior over the truth, and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.chunks import ITEM_CHUNKS, by_item, checked_items, chunked, is_chunked
from dissensus.data.known_labels import recorded as recorded_truth
from dissensus.data.schema import checked_annotations, checked_once, checked_predictions
from dissensus.dims import ITEM
from dissensus.errors import AnnotationError, ArgumentError
from dissensus.evaluation import accuracy
from dissensus.evaluation import ground_truth as _ground_truth_plan
from dissensus.evaluation.accuracy import with_accuracy
from dissensus.evaluation.answers import question_of, with_answers
from dissensus.evaluation.categories import categories
from dissensus.evaluation.components import AUTO, planned, with_components
from dissensus.evaluation.ground_truth import with_ground_truth
from dissensus.evaluation.notes import Notes
from dissensus.evaluation.observed import Settings, observed
from dissensus.evaluation.provenance import of_model, provenance
from dissensus.evaluation.recipes import DEFAULT, Recipe, ThresholdRecipe, companion_for, recipe_for
from dissensus.evaluation.runs import Run, Task, results
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
    """Evaluate systems against annotators who disagree, over a range of trust in them.

    The reliability of the annotators is not in the data, and what one concludes may hang on it:
    everything is therefore computed along a range of reliabilities. It may hang on the model
    too: rankings go through two, `plackett_luce` and beside it `inverse_rank`, its *companion*.

    Parameters
    ----------
    annotations : xarray.Dataset
        From `dissensus.annotations` or one of its kin.
    predictions : xarray.Dataset, optional
        From `dissensus.predictions`. Without it only the annotations are described.
    reliability : sequence of float, optional
        Values to go through; by default a range that suits the model. The posterior is kept at
        its reference (1 for `dirichlet` and `plackett_luce`, 30 for `inverse_rank`) if that is
        among them, else at the middle one. A companion keeps its own range: 2 is two of every
        ranking to `plackett_luce`, and two labels' worth in all to `inverse_rank`.
    draws, chains : int
        Posterior draws per chain, and chains.
    random_seed : int, optional
        Makes everything repeatable. Without one, one is drawn and recorded.
    progressbar : bool
        Show progress.
    model : str, optional
        A name of `dissensus.models`; by default chosen by the kind of the annotations.
    companion : str or None
        A second model that the same is computed by, with its own defaults. By default
        `inverse_rank` beside `plackett_luce` where the model is chosen by default, else none.
    threshold : float, optional
        For scores on a scale: the cut whose two sides are the labels. Needed there.
    risk : mapping from label to number, optional
        Adds each item's expected risk.
    groups : mapping from label to category, optional
        Adds what holds at the level of categories, such as low, medium and high risk. They are
        names, in the order of the mapping, or numbers, ordered by size.
    distance : str or callable, optional
        How far two statements are apart, for discrepancy ratios: as `discrepancy_ratio` takes it.
    margin : float
        How much farther from the annotators than they are from each other a system may be and
        still count as not inferior, as a share.
    components : {"auto", "gaussian", "ordinal", "bernoulli"} or None
        Family of the model that parts a label's variance into the item's, the annotator's and the
        rest (`models.crossed_effects`; `models.cross_replication` where the annotations have two to
        eight pools). By default "gaussian" for numbers, "ordinal" for ordered labels ("gaussian"
        for more than ten that are numbers), "bernoulli" for two labels; nothing for other labels,
        for whole numbers that nobody called ordered, and for fewer than five items with two
        annotators. None leaves it out. It comes beside the rest, so numbers need ``threshold`` here
        too; for reliability alone fit `models.crossed_effects`, which needs none.
    reference : pool, optional
        The pool that all others are compared with: how much more or less reliable they are, and
        which of two is closer to it.
    truth : mapping, Series, DataArray (item) or table, optional
        Labels known to be true, of some items; a table has them in columns ``item`` and ``label``.
        They tell how often annotators are wrong together, and what a system knows beyond them.
    truth_model : {"auto", "dawid_skene", "symmetric_confusion"} or None
        Model by which accuracies are estimated as if every item had one true label. By default
        matrices for each annotator (`models.dawid_skene` without pooling, where there are a hundred
        labels for each label there is), or an accuracy for each (`models.symmetric_confusion`) if
        that predicts labels clearly better; nothing for numbers and rankings, for more than 30
        labels, and for fewer than five items with two annotators, or known labels. Systems that
        gave lists count with their first labels. None leaves it out.
    error_correlation : "learned", float or (median, spread)
        How much the errors of an item's annotators hang together, see the card of
        `models.dawid_skene`: by default what sets with a known truth say of it.
    ground_truth : {"auto", "majority"}, number, mapping, other accuracies, or None
        By which accuracies of annotators it is judged what the label that most of them gave is
        worth as ground truth. By default the same fit says so; without such a fit
        "majority", how often they say what most of the others say, which is too high on hard items;
        nothing for numbers and rankings, and for fewer than five items with two annotators. Or
        accuracies by annotator as `dissensus.weighted_reliability` takes them, from a test, say.
        None leaves it out.
    question : {"panel", "truth"}, optional
        Which of the ``answers`` leads: agreement with the panel, which is what to ask where people
        may rightly disagree, or accuracy against one true label of each item. By default the
        latter where some ``truth`` is known.
    new_items : bool
        Whether ``answers`` are to speak of new items like these, and not of these.
    on_missing : {"raise", "drop"}
        What to do about items that only one side has.
    chunks : int, optional
        Draw and score plausibilities by so many items at a time, see `dissensus.chunked`: for more
        draws than memory holds. Of the posterior the means are kept, and not the draws; all else
        comes out the same. By default as the annotations are cut, if they are.
    **hyper
        Other hyperparameters of the model, such as ``prior_count`` or ``concentration``.

    Returns
    -------
    xarray.DataTree
        ``answers``, draws of ``annotator_agreement`` (how often a label of an annotator is the
        system's answer), ``panel_agreement`` (how often the answer is the label that most of a
        large panel of such annotators would give: ``top_1_accuracy`` at the reference reliability,
        with what systems know beyond the labels left open where `models.dirichlet` learned its
        prior, as ``insight="learned"`` does)
        and ``accuracy`` (how often it is the one true label, as in ``accuracy`` below), over
        (chain, draw, system), and of ``human_agreement``, of one annotator with another of the same
        item; the attribute ``question`` says which leads. ``posterior`` (at the reference
        reliability), ``metrics`` (chain, draw, reliability,
        scope, system), ``comparison`` of the systems metric by metric, ``certainty`` and
        ``expected_risk`` per item, ``statistics`` of the observed annotations (among them the
        naive metrics against the point estimate), ``agreement`` and ``discrepancy``, draws of
        such statistics by the Bayesian bootstrap (coefficients of agreement; discrepancy ratios
        of systems and of annotators, advantage and non-inferiority; absent where no item has two
        annotators), ``components``, draws of ICCs, of the reliability of an item's mean label and,
        of pools, of xCCs (a fit itself, of which `dissensus.icc` and its kin can be asked; 1,000
        draws a chain or more, of over 5,000 labels half as many), and of pools ``pools``, the same
        as observed, ``accuracy``, draws of the accuracy of systems and of annotators if every item
        has one true label, with accuracy by majority vote beside them, of ``majority_correct``, how
        often the label of most annotators is true, and of ``error_correlation``; attributes say
        which model was taken, and why; ``weighted_reliability``,
        draws of ``concordance`` and ``weighted_reliability``, of how often a label is right and the
        majority label of an item (``label_accuracy``, ``truth_accuracy``) and of how many
        annotators an item takes for .95 (``annotators_for_truth``), ``diagnostics`` of the
        metrics' draws and, where Markov chains made them, ``convergence`` of the posterior at
        each reliability; the ``annotations`` and ``predictions`` themselves
        (``predictions_given`` too, where a threshold cut them).
        ``categories`` holds, where asked for, the plausibility of each category (in place of a
        label), the certainty of the leading one,
        and how often it is that of a system's first label. ``companion`` holds the same groups
        of the companion, of its posterior the means only; pictures and `summary` take it too.

    Raises
    ------
    AnnotationError, PredictionError
        If the two do not fit each other or the model.
    ArgumentError
        If an argument makes no sense.

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
        "model": model, "threshold": threshold, "risk": risk, "groups": groups,
        "companion": companion, "distance": distance, "margin": margin, "components": components,
        "reference": reference, "truth": recorded_truth(truth), "truth_model": truth_model,
        "error_correlation": error_correlation, "ground_truth": ground_truth,
        "question": question, "new_items": new_items, "on_missing": on_missing,
        "chunks": chunks, **hyper,
    }  # fmt: skip
    arguments.flags(new_items=new_items)
    cut = _cut(annotations, chunks)
    if cut is not None:
        recorded["chunks"] = cut.attrs[ITEM_CHUNKS][0]
        _require_none(risk=risk)
    with checked_once():
        annotations = checked_annotations(_in_memory(annotations))
        _require_clusters(annotations)
        main = recipe_for(annotations, model=model, threshold=threshold)
        beside = companion_for(main, companion, by_default=model is None)
        main.check_options(reliability, hyper)
        given = None
        if predictions is not None:
            given = checked_predictions(_in_memory(predictions))
            predictions = main.predictions(given)
        task = _task(
            main, annotations, predictions, groups, cut=cut, risk=risk, draws=draws, chains=chains,
            random_seed=random_seed, on_missing=on_missing, progressbar=progressbar,
        )  # fmt: skip
        run = replace(_run(main, reliability, hyper), keeps_draws=cut is None)
        plan = planned(annotations, given, components, reference)
        one_truth = accuracy.planned(
            annotations, given, truth_model, threshold, truth, error_correlation
        )
        question = question_of(question, one_truth.n_known)
        labels = _ground_truth_plan.planned(annotations, ground_truth, threshold)
        notes = Notes()
        asked = Settings(draws * chains, random_seed, distance, margin, on_missing)
        beyond = observed(annotations, given, asked)
        side = None
        if beside is not None:  # first: its draws are not kept
            other = _run(beside, None, {})
            side = xr.DataTree.from_dict(results(replace(other, keeps_draws=False), task, notes))
            side.attrs.update(_made_by(other, task, side))
        found = results(run, task, notes) | {"annotations": annotations}
        if beyond:
            found["statistics"] = found["statistics"].merge(beyond.pop("statistics"))
        found |= beyond
        if predictions is not None:
            found["predictions"] = predictions
        if given is not None and predictions is not given:  # cut: of the numbers nothing is left
            found["predictions_given"] = given
        found, words = with_components(found, plan, asked, chains, progressbar, notes)
        found, accuracies = with_accuracy(found, one_truth, asked, chains, progressbar, notes)
        found, judged_by = with_ground_truth(found, labels, asked)
        found = with_answers(
            found, question, new_items=new_items, random_seed=random_seed, reference=run.reference,
            shape=(chains, draws),
        )  # fmt: skip
        tree = xr.DataTree.from_dict(found)
        tree.attrs.update(
            _made_by(run, task, tree), components=words, truth_model=accuracies,
            ground_truth=judged_by, random_seed_source=seed_source,
            **provenance(annotations, given, recorded), **of_model(main.model),
        )  # fmt: skip
        if side is not None:
            tree["companion"] = side
        notes.say()
        return tree


def _in_memory(data: Any) -> Any:
    """Return what is still on disk, or to be computed, in memory; what is no data as it is."""
    return data.compute() if isinstance(data, xr.Dataset) else data


def _cut(annotations: xr.Dataset, chunks: int | None) -> xr.Dataset | None:
    """Return annotations in chunks, if these are asked for or given."""
    if chunks is not None:
        return chunked(annotations, checked_items(chunks, "chunks"))
    return by_item(annotations) if is_chunked(annotations) else None


def _require_none(risk: Any) -> None:
    """Raise if draws of each item are asked for, which are not held together."""
    if risk is not None:
        raise ArgumentError(
            "risk", expected="None with annotations in chunks", found=type(risk).__name__,
            hint="dx.expected_risk(fit, risk) is drawn chunk by chunk",
        )  # fmt: skip


def _require_clusters(annotations: xr.Dataset) -> None:
    """Raise if all items are of one cluster: nothing could be said of new ones."""
    if "cluster_code" not in annotations or annotations.sizes[ITEM] < 2:
        return
    if len(np.unique(annotations["cluster_code"].to_numpy())) < 2:
        raise AnnotationError(
            "annotations",
            expected="two clusters at least: they are the sample",
            found=f"one for all of {annotations.sizes[ITEM]:,} items",
            hint="Read them without cluster=, if items are what was sampled",
        )


def _run(recipe: Recipe, reliability: Sequence[float] | None, hyper: Mapping[str, Any]) -> Run:
    """Settle what a model goes through."""
    trust = _checked_range(recipe.reliabilities if reliability is None else reliability)
    reference = recipe.reference if recipe.reference in trust else trust[len(trust) // 2]
    return Run(recipe, trust, reference, hyper)


def _task(
    main: Recipe,
    annotations: xr.Dataset,
    predictions: xr.Dataset | None,
    groups: Mapping[Any, Any] | None,
    **settings: Any,
) -> Task:
    """Look up the categories, and put together what all models are asked."""
    which, firsts = None, []
    if groups is not None:
        if isinstance(main, ThresholdRecipe):
            raise ArgumentError(
                "groups", expected="None: scores cut at a threshold have no labels to group",
                found=type(groups).__name__,
            )  # fmt: skip
        which = categories(groups, annotations, predictions)
        firsts = [] if predictions is None else which.predictions(predictions)
    return Task(annotations, predictions, which, firsts, **settings)


def _checked_range(reliability: Sequence[float]) -> tuple[float, ...]:
    try:
        given = np.atleast_1d(np.asarray(reliability, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.array([])
    values = tuple(given.ravel().tolist())
    bad = not values or given.ndim > 1 or not np.isfinite(values).all() or min(values) <= 0
    if bad or len(set(values)) < len(values):
        raise ArgumentError(
            "reliability",
            expected="one or more different positive numbers",
            found=repr(reliability),
        )
    return tuple(sorted(values))


def _made_by(run: Run, task: Task, tree: xr.DataTree) -> dict[str, Any]:
    """Say how the groups of one model came about."""
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
    out |= {str(name): value for name, value in fitted.items() if str(name).startswith("hyper_")}
    if run.recipe.prior_weight is not None:
        out["prior_weight"] = run.recipe.prior_weight(task.annotations, run.reference, **run.hyper)
    return out
