"""Labels with a known truth, which is hidden from the models; from the shared data."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from data import SHARED

import dissensus as dx


class Study(NamedTuple):
    """Labels, and what they should have been."""

    labels: pd.DataFrame
    """item, annotator, label, and trial, which tells repeated labels apart"""
    names: list[str]
    kind: str
    gold: pd.Series
    """By item; of some items."""
    systems: pd.DataFrame
    """item, system, label; of true systems, mostly none."""

    def annotations(self, without: str = "") -> xr.Dataset:
        """Read the labels, perhaps without those of one annotator."""
        table = self.labels[self.labels["annotator"] != without]
        return dx.annotations(table, trial="trial", kind=self.kind, labels=self.names)

    def answers(self, system: str) -> pd.Series[str]:
        """Return what an annotator first said of each item with a known truth, or a system."""
        labels = self.labels.rename(columns={"annotator": "system"})
        table = pd.concat([labels[labels["trial"] == 0], self.systems])
        mine = table["item"].isin(self.gold.index) & (table["system"] == system)
        return table[mine].set_index("item")["label"]


def _study(
    labels: pd.DataFrame, names: list[str], gold: pd.Series, *, kind: str = "nominal",
    systems: pd.DataFrame | None = None,
) -> Study:  # fmt: skip
    table = labels[["item", "annotator", "label"]].astype(str)
    table["trial"] = table.groupby(["item", "annotator"]).cumcount()
    gold.index = gold.index.astype(str)
    gold = gold.astype(str)
    gold = gold[gold.index.isin(table["item"])]
    none = pd.DataFrame({"item": [], "system": [], "label": []}, dtype=str)
    return Study(table, names, kind, gold, none if systems is None else systems)


def _amt(name: str, n: int) -> Study:
    folder = SHARED / name
    gold = pd.read_csv(folder / "gold.csv", index_col="item")["gold"]
    return _study(pd.read_csv(folder / "ratings.csv"), [str(k) for k in range(n)], gold)


def adult() -> Study:
    """825 workers about web sites, ordered labels; the truth of 333 of 11,040 is known."""
    folder = SHARED / "adult_content2"
    gold = pd.read_csv(folder / "gold.csv", index_col="item")["gold"]
    return _study(pd.read_csv(folder / "ratings.csv.gz"), list("GPRX"), gold, kind="ordinal")


def drugs(experts: bool) -> Study:
    """Laymen about drug labels: truth is what experts agreed on, or the test questions' key.

    The crowd's "I do not know" stays a label that is never true. Three questions with two keys
    are left out.
    """
    folder = SHARED / "drug_relations"
    crowd = pd.read_csv(folder / "crowd.csv")
    names = sorted(crowd["label"].unique())
    if experts:
        gold = pd.read_csv(folder / "expert_consensus.csv", index_col="item")["consensus"]
    else:
        gold = pd.read_csv(folder / "gold_questions.csv", index_col="item")["gold"]
    return _study(crowd, names, gold[gold.isin(names)])


def radiologists() -> Study:
    """Nine radiologists and a computer about 200 mammograms, 80 with a malignant mass.

    Each reader's degrees of suspicion are cut where the share of the cases above comes closest to
    the true 40 %, the computer's too. What is so used of the truth is that one number.
    """
    folder = SHARED / "cad_radiologists"
    gold = pd.read_csv(folder / "gold.csv", index_col="item")["gold"]
    ratings, computer = (pd.read_csv(folder / f"{name}.csv") for name in ("ratings", "predictions"))
    share = float(gold.mean())
    ratings["label"] = ratings.groupby("annotator")["label"].transform(_cut, share)
    computer["label"] = _cut(computer["cad_score"], share)
    computer["system"] = "CAD"
    answers = computer[["item", "system", "label"]].astype(str)
    return _study(ratings, ["0", "1"], gold, systems=answers)


def _cut(score: pd.Series, share: float) -> pd.Series:
    """Mark the highest scores."""
    edge = min(sorted(set(score)), key=lambda edge: abs((score >= edge).mean() - share))
    return (score >= edge).astype(int)


def chatbot() -> Study:
    """Twenty of 123 raters about answers of a chatbot: safe or not; experts say which are."""
    folder = SHARED / "dices350"
    gold = pd.read_csv(folder / "expert.csv", index_col="item")["gold"]
    ratings = pd.read_csv(folder / "ratings.csv.gz")
    raters = sorted(ratings["annotator"].unique())
    drawn = np.random.default_rng(5).choice(raters, 20, replace=False)
    ratings = ratings[ratings["annotator"].isin(drawn)]
    return _study(ratings, ["No", "Unsure", "Yes"], gold)


def few(study: Study, seed: int) -> Study:
    """Draw five labels an item, or three where there are not many more."""
    n = 5 if len(study.labels) > 8 * study.labels["item"].nunique() else 3
    mixed = study.labels.sample(frac=1, random_state=seed)
    return study._replace(labels=mixed[mixed.groupby("item").cumcount() < n].sort_index())


def systems(study: Study, rng: np.random.Generator) -> dict[str, tuple[str, pd.Series[str]]]:
    """Make systems that give the truth with noise, and that err where people do; and real ones."""
    out, gold = {}, study.gold
    labels = sorted(set(gold))
    for right in (0.7, 0.85, 0.95):
        wrong = [rng.choice([label for label in labels if label != true]) for true in gold]
        answers = gold.where(rng.random(len(gold)) < right, pd.Series(wrong, index=gold.index))
        out[f"noisy {right}"] = "noisy truth", answers.rename("label")
    given = study.labels[study.labels["item"].isin(gold.index)]
    votes = pd.crosstab(given["item"], given["label"]).reindex(gold.index)
    for power in (1, 3):
        share = votes.to_numpy(float) ** power
        place = (share.cumsum(1) < rng.random((len(share), 1)) * share.sum(1)[:, None]).sum(1)
        answers = pd.Series(votes.columns.to_numpy()[place], index=gold.index, name="label")
        out[f"like people, power {power}"] = "errs where people err", answers
    for name in study.systems["system"].unique():
        out[str(name)] = "real", study.answers(str(name))
    return {name: (kind, answers.rename_axis("item")) for name, (kind, answers) in out.items()}


STUDIES: dict[str, Callable[[], Study]] = {
    "weather_sentiment_amt": lambda: _amt("weather_sentiment_amt", 5),
    "sentiment_popularity_amt": lambda: _amt("sentiment_popularity_amt", 2),
    "adult_content2": adult,
    "drug_relations, experts": lambda: drugs(experts=True),
    "drug_relations, test questions": lambda: drugs(experts=False),
    "cad_radiologists": radiologists,
    "dices350": chatbot,
}
