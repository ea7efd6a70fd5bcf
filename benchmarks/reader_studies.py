"""Reader studies: coverage in simulations after Roe & Metz (1997), published values, and speed.

    uv run python benchmarks/reader_studies.py --part coverage --studies 500
    uv run python benchmarks/reader_studies.py --part latent --studies 200
    uv run python benchmarks/reader_studies.py --part uncertain --studies 200
    uv run python benchmarks/reader_studies.py --part perfect --studies 40
    uv run python benchmarks/reader_studies.py --part panel --shared FOLDER_OF_SETS
    uv run python benchmarks/reader_studies.py --part published --shared FOLDER_OF_SETS
    uv run python benchmarks/reader_studies.py --part mammograms --shared FOLDER_OF_SETS
    uv run python benchmarks/reader_studies.py --part speed

A score is the sum of effects of the reader, the case, and their products with the modality; effects
of readers differ between positive and negative cases. The true average area has a closed form.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr

import dissensus as dx

# Variances of case, case x modality, case x reader, rest (their sum is 1), and whether the
# variance of readers is small or large.
STRUCTURES = {
    "LL": ((0.1, 0.1, 0.2, 0.6), False), "HL": ((0.3, 0.3, 0.2, 0.2), False),
    "LH": ((0.1, 0.1, 0.2, 0.6), True), "HH": ((0.3, 0.3, 0.2, 0.2), True),
}  # fmt: skip
# Distance of positive from negative cases, with the large variance of readers that belongs to it.
DISTANCES = {0.75: 0.011, 1.5: 0.03, 2.5: 0.056}
SMALL = 0.0055
AREAS = ("empirical", "latent")
SIZES = ((5, 50), (5, 100), (10, 100), (10, 200))


def simulate(
    structure: str,
    distance: float,
    n_readers: int,
    n_cases: int,
    rng: np.random.Generator,
    *,
    crossed: bool = True,
    grades: int | None = None,
    gain: float = 0.0,
) -> tuple[pd.DataFrame, tuple[float, float]]:
    """Return the table of a study with two modalities, and both true average areas."""
    (case, case_modality, case_reader, rest), large = STRUCTURES[structure]
    reader = DISTANCES[distance] if large else SMALL
    ill = np.arange(n_cases) % 2
    normal = rng.standard_normal
    at = np.array([distance, distance + gain])
    score = ill * at[:, None, None] + np.zeros((2, n_readers, n_cases))
    for variance, shape in (
        (case, (1, 1, n_cases)), (case_modality, (2, 1, n_cases)),
        (case_reader, (1, n_readers, n_cases)), (rest, (2, n_readers, n_cases)),
    ):  # fmt: skip
        score += np.sqrt(variance) * normal(shape)
    score += np.sqrt(reader) * normal((1, n_readers, 2))[:, :, ill]
    score += np.sqrt(reader) * normal((2, n_readers, 2))[:, :, ill]
    if grades:  # readers give grades: cut at quantiles of all scores
        score = np.searchsorted(np.quantile(score, np.arange(1, grades) / grades), score)
    modality, who, patient = np.indices(score.shape).reshape(3, -1)
    table = pd.DataFrame(
        {
            "modality": modality,
            "reader": who,
            "case": patient,
            "score": score.ravel(),
            "ill": ill[patient],
        }
    )
    if not crossed:  # each reader reads a random half of the cases, the same with both modalities
        keep = rng.permuted(np.arange(n_readers * n_cases).reshape(n_readers, -1) % 2, axis=1) == 0
        table = table[keep[who, patient]]
    first, second = ndtr(at / np.sqrt(2.0 + 4.0 * reader))
    return table, (float(first), float(second))


def coverage(studies: int, draws: int, seed: int, only: str) -> None:
    """Print how often 95 % intervals contain the true difference and the true average area."""
    print(
        "structure,distance,readers,cases,crossed,grades,gain,difference,average,width,sd,empirical_sd,n"
    )
    designs = [
        (s, d, j, n, c, g, gain)
        for s in STRUCTURES for d in DISTANCES for j, n in SIZES for c in (True, False)
        for g, gain in ((None, 0.0), (5, 0.3))
    ]  # fmt: skip
    for k, (structure, distance, j, n, crossed, grades, gain) in enumerate(designs):
        name = f"{structure},{distance},{j},{n},{crossed},{grades},{gain}"
        if not re.search(only, name):
            continue
        inside, widths, sds, means, average = [], [], [], [], []
        for study in range(studies):
            rng = np.random.default_rng((seed, k, study))
            table, true = simulate(
                structure, distance, j, n, rng, crossed=crossed, grades=grades, gain=gain
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dx.DissensusWarning)
                readers = dx.reader_study(table, "ill", draws=draws, random_seed=study)
            d = readers["difference"].values.ravel()
            low, high = np.quantile(d, [0.025, 0.975])
            inside.append(low <= true[0] - true[1] <= high)
            widths.append(high - low)
            sds.append(d.std())
            means.append(d.mean())
            a = readers["average_auc"].values[0, :, 0]
            low, high = np.quantile(a, [0.025, 0.975])
            average.append(low <= true[0] <= high)
        print(
            f"{name},{np.mean(inside):.3f},{np.mean(average):.3f},{np.mean(widths):.3f},"
            f"{np.mean(sds):.4f},{np.std(means):.4f},{studies}", flush=True,
        )  # fmt: skip


def latent(studies: int, draws: int, seed: int, only: str) -> None:
    """Print the coverage in small studies, with and without the model of latent scores."""
    names = ["covered difference", "covered average", "width", "error", "average error"]
    columns = [f"{areas}: {name}" for name in names for areas in AREAS]
    print(",".join(("structure,distance,readers,cases,crossed,grades", *columns, "n")))
    designs = [
        (s, d, j, n, c, g)
        for j, n in ((4, 30), (5, 50)) for s in ("LL", "HH") for d in DISTANCES
        for c, g in ((True, None), (True, 5), (False, 5))
    ]  # fmt: skip
    for k, (structure, distance, j, n, crossed, grades) in enumerate(designs):
        name = f"{structure},{distance},{j},{n},{crossed},{grades}"
        if not re.search(only, name):
            continue
        rows = []
        for study in range(studies):
            rng = np.random.default_rng((seed, k, study))
            table, true = simulate(structure, distance, j, n, rng, crossed=crossed, grades=grades)
            row = []
            for areas in AREAS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", dx.DissensusWarning)
                    readers = dx.reader_study(
                        table, "ill", areas=areas, draws=draws, random_seed=study,
                        progressbar=False,
                    )  # fmt: skip
                less, average = readers["difference"], readers["average_auc"][..., 0]
                low, high = less.quantile([0.025, 0.975]).values
                ends = average.quantile([0.025, 0.975]).values
                row.append((
                    low <= 0.0 <= high, ends[0] <= true[0] <= ends[1], high - low,
                    float(less.mean()) ** 2, float(average.mean() - true[0]) ** 2,
                ))  # fmt: skip
            rows.append(row)
        means = np.mean(np.array(rows, dtype=float), axis=0).T
        means[3:] = np.sqrt(means[3:])
        print(f"{name}," + ",".join(f"{x:.3f}" for x in means.ravel()) + f",{studies}", flush=True)


def uncertain(studies: int, draws: int, seed: int) -> None:
    """Cover areas whose truth a panel of three tells, with known accuracy."""
    print("accuracy,cases,covered,mean error,drawn labels,width,known width,n")
    for accuracy in (0.75, 0.85):
        for n in (100, 400):
            rows = []
            for study in range(studies):
                rng = np.random.default_rng((seed, n, study))
                table, true = simulate("HL", 1.5, 4, n, rng)
                ill = np.arange(n) % 2
                votes = rng.binomial(3, np.where(ill, accuracy, 1 - accuracy))
                odds = (accuracy / (1 - accuracy)) ** (2.0 * votes - 3)
                p = odds / (1 + odds)
                truth = np.broadcast_to(np.stack([1 - p, p], axis=-1), (1, draws, n, 2))
                data = xr.Dataset(
                    {"truth": (("chain", "draw", "item", "label"), truth)},
                    {"item": np.arange(n), "label": [0, 1]},
                )
                fit = xr.DataTree.from_dict({"posterior": data})
                drawn = (rng.random(n) < p).astype(int)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", dx.DissensusWarning)
                    readers = dx.reader_study(table, fit, random_seed=study)["average_auc"]
                    known = dx.reader_study(table, "ill", draws=draws, random_seed=study)
                    labels = dx.reader_study(
                        table, dict(enumerate(drawn)), draws=draws, random_seed=study
                    )
                known, labels = known["average_auc"], labels["average_auc"]
                low, high = np.quantile(readers.values[0, :, 0], [0.025, 0.975])
                width = np.diff(np.quantile(known.values[0, :, 0], [0.025, 0.975]))[0]
                rows.append(
                    (low <= true[0] <= high, readers.values[0, :, 0].mean() - true[0],
                     labels.values[0, :, 0].mean() - true[0], high - low, width)
                )  # fmt: skip
            means = ",".join(f"{x:.3f}" for x in np.mean(rows, axis=0))
            print(f"{accuracy},{n},{means},{studies}", flush=True)


# Distance of positive from negative cases with two modalities, or None: some positive cases, a
# share of them, have the scores of negative ones, and all others are told without error.
ALMOST_PERFECT = (
    ((3.6, 3.2), 45, 4), ((4.5, 3.6), 45, 4), ((4.5, 4.5), 45, 4), ((5.5, 4.2), 30, 3),
    (None, 45, 4),
)  # fmt: skip
HIDDEN = (0.02, 0.06)


def perfect(studies: int, draws: int, seed: int) -> None:
    """Print the coverage of 95 % intervals where readers make almost no errors."""
    print("| areas | cases, readers | first area | second area | difference | mean width |")
    print("|---|---|--:|--:|--:|--:|")
    for distances, n_cases, n_readers in ALMOST_PERFECT:
        rng = np.random.default_rng(seed)
        if distances is None:
            truth = 1.0 - 0.5 * np.array(HIDDEN)
        else:
            truth = ndtr(np.array(distances) / np.sqrt(2.05))
        inside, widths = [], []
        for _ in range(studies):
            table = almost_perfect(distances, n_cases, n_readers, rng)
            study = dx.reader_study(table, truth="ill", draws=draws, random_seed=seed)
            each = [study["average_auc"].sel(modality=m) for m in (0, 1)] + [study["difference"]]
            ends = np.quantile([x.to_numpy().ravel() for x in each], [0.025, 0.975], axis=1)
            values = np.array([*truth, truth[0] - truth[1]])
            inside.append((ends[0] <= values) & (values <= ends[1]))
            widths.append(ends[1, 2] - ends[0, 2])
        a, b, less = np.mean(inside, axis=0)
        print(f"| {truth[0]:.4f}, {truth[1]:.4f} | {n_cases}, {n_readers} | {a:.2f} | {b:.2f} | "
              f"{less:.2f} | {np.mean(widths):.2f} |", flush=True)  # fmt: skip


def almost_perfect(
    distances: tuple[float, float] | None, n_cases: int, n_readers: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the table of a study with two modalities; a third of the cases are positive."""
    ill = (np.arange(n_cases) % 3 == 0).astype(int)
    shape = (2, n_readers, n_cases)
    if distances is None:
        hidden = rng.random((2, 1, n_cases)) < np.array(HIDDEN)[:, None, None]
        score = 8.0 * (ill & ~hidden) + rng.normal(size=shape)
    else:
        score = np.array(distances)[:, None, None] * ill + 0.6 * rng.normal(size=(1, 1, n_cases))
        score = score + ill * np.sqrt(0.05) * rng.normal(size=(2, n_readers, 1))
        score = score + 0.8 * rng.normal(size=shape)
    modality, who, patient = np.indices(shape).reshape(3, -1)
    return pd.DataFrame({"modality": modality, "reader": who, "case": patient,
                         "score": score.ravel(), "ill": ill[patient]})  # fmt: skip


def panel(shared: Path) -> None:
    """Print areas of some radiologists against a fit of others, their majority, and the truth."""
    folder = shared / "cad_radiologists"
    rows = pd.read_csv(folder / "ratings.csv")
    gold = pd.read_csv(folder / "gold.csv").set_index("item")["gold"]
    people, rng = sorted(rows["annotator"].unique()), np.random.default_rng(0)
    names = {"reader": "annotator", "case": "item", "score": "label", "new_readers": False}
    print("panel,truth,fit,fit low,fit high,majority")
    for _ in range(6):
        five = list(rng.permutation(people)[:5])
        votes = rows[rows["annotator"].isin(five)]
        votes = votes.assign(found=(votes["label"] >= 50).astype(int))
        others = rows[~rows["annotator"].isin(five)]
        ann = dx.annotations(votes, "item", "annotator", "found")
        fit = dx.models.dawid_skene.fit(ann, random_seed=1, progressbar=False)
        majority = (votes.groupby("item")["found"].mean() > 0.5).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dx.DissensusWarning)
            areas = [
                dx.reader_study(others, truth, random_seed=1, **names)["average_auc"]
                for truth in (gold, fit, majority)
            ]
        known, fitted, by_most = (float(area.mean()) for area in areas)
        low, high = areas[1].quantile([0.025, 0.975]).values
        print(f"{' '.join(five)},{known:.3f},{fitted:.3f},{low:.3f},{high:.3f},{by_most:.3f}")


def mammograms(shared: Path, draws: int) -> None:
    """Print how areas from 35 cases and 5 radiologists agree with areas in the other cases."""
    folder = shared / "cad_radiologists"
    rows = pd.read_csv(folder / "ratings.csv")
    gold = pd.read_csv(folder / "gold.csv").set_index("item")["gold"]
    people, names = sorted(rows["annotator"].unique()), {"reader": "annotator", "case": "item"}
    names |= {"score": "label"}
    result = []
    for k in range(60):
        rng = np.random.default_rng((5, k))
        mine = rows[rows["annotator"].isin(rng.permutation(people)[:5])]
        cases = [rng.permutation(gold.index[gold == d])[:n] for d, n in ((1, 15), (0, 20))]
        few = mine["item"].isin(np.concatenate(cases))
        rest = dx.reader_study(mine[~few], gold, draws=1, new_readers=False, **names)
        true = float(rest["observed_auc"].mean())
        for areas in AREAS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dx.DissensusWarning)
                average = dx.reader_study(
                    mine[few], gold, areas=areas, draws=draws, random_seed=k, new_readers=False,
                    progressbar=False, **names,
                )["average_auc"]  # fmt: skip
            low, high = average.quantile([0.025, 0.975]).values
            result.append(
                (areas, float(average.mean() - true) ** 2, low <= true <= high, high - low)
            )
    table = pd.DataFrame(result, columns=["areas", "squared error", "covered", "width"])
    table = table.groupby("areas").mean()
    print(table.assign(error=np.sqrt(table["squared error"])).round(4).to_string())


def published(shared: Path) -> None:
    """Print areas and differences of three published studies."""
    for name in ("vandyke", "franken", "kundel"):
        table = pd.read_csv(shared / "mrmc_readers" / f"{name}_ratings.csv")
        for new_readers, areas in (
            (True, "empirical"),
            (False, "empirical"),
            (True, "latent"),
            (False, "latent"),
        ):
            readers = dx.reader_study(
                table, "gold", reader="annotator", case="item", modality="group", score="label",
                new_readers=new_readers, areas=areas, random_seed=1, progressbar=False,
            )  # fmt: skip
            print(name, readers.in_words)
            first = readers["average_auc"]
            second = first.rename(modality="other")
            less = (first - second).stack(sample=("chain", "draw"))
            print(less.mean("sample").values.round(4), less.std("sample").values.round(4))
            print(less.quantile([0.025, 0.975], "sample").values.round(4))


def speed() -> None:
    """Print seconds for 20 readers, 2,000 cases and two modalities."""
    rng = np.random.default_rng(1)
    for grades in (None, 5):
        table, _ = simulate("HH", 1.5, 20, 2000, rng, grades=grades)
        start, used = time.perf_counter(), time.process_time()
        dx.reader_study(table, "ill", random_seed=1)
        print(grades, time.perf_counter() - start, time.process_time() - used)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--part",
        choices=(
            "coverage",
            "latent",
            "uncertain",
            "perfect",
            "panel",
            "published",
            "mammograms",
            "speed",
        ),
        required=True,
    )
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    if options.part == "coverage":
        coverage(options.studies, options.draws, options.seed, options.only)
    elif options.part == "latent":
        latent(options.studies, options.draws, options.seed, options.only)
    elif options.part == "uncertain":
        uncertain(options.studies, options.draws, options.seed)
    elif options.part == "perfect":
        perfect(options.studies, options.draws, options.seed)
    elif options.part == "panel":
        panel(options.shared)
    elif options.part == "mammograms":
        mammograms(options.shared, options.draws)
    elif options.part == "published":
        published(options.shared)
    else:
        speed()
