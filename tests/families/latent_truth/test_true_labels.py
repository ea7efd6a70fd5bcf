"""True labels given the label behind the annotations, against independent sums and grids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from dissensus.families.latent_truth.kernels import true_labels
from dissensus.kernels.random import started
from dissensus.kernels.votes import votes

PRIOR = np.array([0.6, 0.5])
WEIGHT = np.array([-0.1, 1.2, 0.5, 3.5])


def study(known=None, n_items=40, n_respondents=5, n_labels=3):
    """Labels of items, what they point to as some model has it, and systems' answers."""
    rng = np.random.default_rng(3)
    item = np.repeat(np.arange(n_items), n_respondents)
    respondent = np.tile(np.arange(n_respondents), n_items)
    label = rng.integers(n_labels, size=len(item))
    result, pattern = votes(item, respondent, label, n_items, known)
    truth = rng.dirichlet(np.full(n_labels, 0.3), len(result.n_items))
    codes = rng.integers(-1, n_labels + 1, (n_items, 2))
    codes[0] = 0, n_labels
    return result, pattern, truth, codes


def flattened(truth, n, correlation):
    share = truth ** (1 / (1 + (n - 1) * correlation))
    return share / share.sum(-1, keepdims=True)


def correlations(result, truth, draws, prior=PRIOR):
    state, x, out = started(1), np.zeros(1), np.empty_like(truth)
    n_given = np.full(len(truth), 5.0)
    return np.array([
        true_labels.draw_correlation(state, result, truth, n_given, prior, x, out)
        for _ in range(draws)
    ]), out  # fmt: skip


def test_without_known_labels_the_correlation_is_its_prior():
    result, _, truth, _ = study()
    drawn, out = correlations(result, truth, 4000)
    law = stats.norm(np.log(PRIOR[0]), PRIOR[1])
    assert stats.kstest(np.log(drawn[::2]), law.cdf).pvalue > 0.01
    np.testing.assert_allclose(out, flattened(truth, 5, drawn[-1]), rtol=1e-9)


@pytest.mark.long
def test_known_labels_tell_the_correlation_as_a_grid_has_it():
    known = np.random.default_rng(5).integers(-1, 3, 40)
    result, pattern, truth, _ = study(known)
    np.testing.assert_array_equal(result.known[pattern], known)
    drawn, _ = correlations(result, truth, 20_000)
    grid = np.linspace(-4, 3, 2001)
    log_height = stats.norm.logpdf(grid, np.log(PRIOR[0]), PRIOR[1])
    for i in np.flatnonzero(known >= 0):
        share = np.array([flattened(truth[pattern[i]], 5, r)[known[i]] for r in np.exp(grid)])
        log_height += np.log(share)
    height = np.exp(log_height - log_height.max())
    height /= height.sum()
    mean = (height * grid).sum()
    sd = np.sqrt((height * (grid - mean) ** 2).sum())
    assert np.log(drawn).mean() == pytest.approx(mean, abs=0.02)
    assert np.log(drawn).std() == pytest.approx(sd, rel=0.03)


def test_a_number_is_kept():
    result, _, truth, _ = study()
    drawn, _ = correlations(result, truth, 5, np.array([0.7, 0.0]))
    np.testing.assert_array_equal(drawn, 0.7)


def test_annotators_are_right_as_often_as_their_labels_are():
    known = np.full(40, -1)
    known[:7] = 1
    actual, pattern, truth, _ = study(known)
    rows = shares(actual, pattern, truth, 5, 4000)
    sure = np.where(known[:, None] >= 0, np.eye(3)[np.maximum(known, 0)], truth[pattern])
    right, lead = np.zeros(5), 0.0
    labels = np.zeros((40, 3))
    for p in range(len(actual.n_items)):
        (items,) = np.nonzero(pattern == p)
        for entry in range(actual.start[p], actual.start[p + 1]):
            v, y, times = actual.respondent[entry], actual.label[entry], actual.times[entry]
            right[v] += times * sure[items, y].sum()
            labels[items, y] += times
    top = labels == labels.max(1, keepdims=True)
    lead = (top / top.sum(1, keepdims=True) * sure).sum(1).mean()
    # Of four labels more each is right as often as all are on average.
    expected = (right + 4 * right.sum() / 200) / 44
    np.testing.assert_allclose(np.mean(rows, axis=0), [*expected, lead], atol=0.006)


def judged(result, pattern, truth, codes, draws, prior=WEIGHT):
    laid = true_labels.answers(pattern, codes, -1, np.diff(result.start), truth.shape[1])
    now = true_labels.room(len(truth), truth.shape[1], codes.shape[1])
    state, n = started(4), codes.shape[1]
    drawn = true_labels.judged(truth.shape[1], n)
    kept = {name: np.empty((draws, *values.shape)) for name, values in drawn._asdict().items()}
    kept["logit"] = np.empty((draws, n))
    for d in range(draws):
        true_labels.judge(state, result, laid, truth, prior, now.systems, drawn)
        for name, values in drawn._asdict().items():
            kept[name][d] = values
        kept["logit"][d] = now.systems.independent
    return kept


def everywhere(result, pattern):
    """Items as they are laid out where no item lacks labels."""
    none = np.zeros((len(pattern), 0), dtype=np.int64)
    return true_labels.difficulty(pattern, none, -1, np.diff(result.start))


def shares(result, pattern, truth, n_respondents, draws, codes=None):
    """Draws of annotators' accuracies, and of the share of items with a right majority label."""
    laid = everywhere(result, pattern)
    if codes is not None:
        laid = true_labels.difficulty(pattern, codes, -1, np.diff(result.start))
    state, out = started(2), np.empty(n_respondents)
    people = true_labels.room(1, 1, 0).people
    rows = []
    for _ in range(draws):
        majority = true_labels.draw_right(state, result, laid, truth, people, n_respondents, out)
        rows.append([*out, majority])
    return np.array(rows)


def chances(truth, pattern, codes, system):
    """The probability that each answer of a system is right, by the labels alone."""
    code = codes[:, system]
    given = code >= 0
    inside = np.where(code < truth.shape[1], code, 0)
    q = np.where(code < truth.shape[1], truth[pattern, inside], 0.0)
    return q, given


def log_height(grid, q, given, known, code, n_labels):
    """The accuracy of a system that errs independently, summed over true labels by hand."""
    out = np.zeros_like(grid)
    for i in np.flatnonzero(given):
        if known[i] >= 0:
            out += np.log(grid if known[i] == code[i] else (1 - grid) / (n_labels - 1))
        else:
            out += np.log(q[i] * grid + (1 - q[i]) * (1 - grid) / (n_labels - 1))
    return out


@pytest.mark.long
@pytest.mark.parametrize("some_known", [False, True])
def test_systems_are_judged_as_grids_have_it(some_known):
    known = np.full(40, -1)
    if some_known:
        known = np.random.default_rng(6).integers(-1, 3, 40)
    result, pattern, truth, codes = study(known)
    kept = judged(result, pattern, truth, codes, 20_000)
    # A grid over the accuracy, where the weight lies between its bounds, and what is added.
    grid = (np.arange(120) + 0.5) / 120
    share = (np.arange(80) + 0.5) / 80
    noise = np.linspace(-4, 4, 61)
    log_odds = np.clip(logit(grid) + np.log(2), 0, 3.5)[:, None, None]
    w = log_odds * (-0.1 + 1.3 * share[:, None]) + 0.5 * noise
    for s in range(2):
        q, given = chances(truth, pattern, codes, s)
        joint = log_height(grid, q, given, known, codes[:, s], 3)[:, None, None]
        joint = joint + stats.norm.logpdf(noise)
        right = np.zeros_like(w)
        for i in np.flatnonzero(given):
            if known[i] >= 0:
                right += float(known[i] == codes[i, s])
                if q[i] > 0:
                    yes, no = np.log(q[i]) + w, np.log1p(-q[i])
                    joint = joint + (yes if known[i] == codes[i, s] else no) - np.logaddexp(yes, no)
            elif q[i] > 0:
                right += expit(logit(q[i]) + w)
        height = np.exp(joint - joint.max())
        height = np.broadcast_to(height / (height + 0 * w).sum(), w.shape)
        n = given.sum()
        weight = kept["weight"][-1, s, 0]
        sure = np.where(q > 0, expit(logit(np.maximum(q, 1e-12)) + weight), 0.0)
        expected_doubt = (sure * (1 - sure))[given].mean()
        assert kept["variance"][-1, s] == pytest.approx(expected_doubt, rel=1e-9)
        mean = (height * grid[:, None, None]).sum()
        assert expit(kept["logit"][:, s]).mean() == pytest.approx(mean, abs=0.006)
        assert kept["weight"][:, s, 0].mean() == pytest.approx((height * w).sum(), abs=0.03)
        share_right = (height * right).sum() / n
        assert kept["correct"][:, s].mean() == pytest.approx(share_right, abs=0.004)
        again = (share_right * n + 0.5) / (n + 1)
        assert kept["accuracy"][:, s].mean() == pytest.approx(again, abs=0.006)
        assert kept["accuracy"][:, s].std() > kept["correct"][:, s].std()


def three_kinds(known=None):
    """Two labels 0, two labels 1, and one of each, for 40, 30 and 30 items."""
    label = np.repeat([[0, 0], [1, 1], [0, 1]], [40, 30, 30], axis=0).ravel()
    respondent, item = np.tile([0, 1], 100), np.repeat(np.arange(100), 2)
    data, pattern = votes(item, respondent, label, 100, known)
    truth = np.empty((len(data.n_items), 2))
    truth[pattern] = np.repeat([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], [40, 30, 30], axis=0)
    return data, pattern, truth


def test_answers_are_counted_by_their_true_label():
    data, pattern, truth = three_kinds()
    codes = np.array([0] * 35 + [1] * 5 + [1] * 30 + [2] * 10 + [0] * 20)[:, None]
    kept = judged(data, pattern, truth, codes, 400)
    hits, share = kept["by_truth"][:, :, 0].swapaxes(0, 1)
    np.testing.assert_allclose(share.sum(axis=-1), 1.0)
    np.testing.assert_allclose(hits.sum(axis=-1), kept["correct"][:, 0])
    # Answers 0 are right where 0 is true; the 10 answers that are never right are split evenly.
    of_wrong = (np.array([55, 35]) / 100)[::-1] - hits[:, ::-1]
    rest = share - hits - of_wrong
    np.testing.assert_allclose(rest.sum(axis=-1), 0.1)
    np.testing.assert_allclose(rest.mean(axis=0), 0.05, atol=0.005)


def test_counts_of_known_labels_are_those_of_a_table():
    known = np.repeat([0, 1, 0, 1], [30, 10, 20, 40])
    data, pattern, truth = three_kinds(known)
    codes = np.random.default_rng(1).integers(2, size=(100, 1))
    shares = judged(data, pattern, truth, codes, 3)["by_truth"]
    for z in range(2):
        np.testing.assert_allclose(shares[:, 1, 0, z], (known == z).mean())
        right = ((known == z) & (codes[:, 0] == z)).mean()
        np.testing.assert_allclose(shares[:, 0, 0, z], right)


@pytest.mark.parametrize("some_known", [False, True])
def test_two_answers_have_weights_as_a_grid_has_them(some_known):
    """The system errs on one side; the grid is over its accuracy, and over u, v and d of w."""
    known = np.full(100, -1)
    if some_known:
        known[::2] = np.random.default_rng(3).integers(2, size=50)
    data, pattern, truth = three_kinds(known)
    codes = np.array([0] * 20 + [1] * 20 + [1] * 28 + [0] * 2 + [1] * 20 + [0] * 10)[:, None]
    codes[::2][known[::2] == 1] = 1
    kept = judged(data, pattern, truth, codes, 6000)
    grid = ((np.arange(30) + 0.5) / 30)[:, None, None, None]
    low, high, spread, most = WEIGHT
    u = ((np.arange(20) + 0.5) / 20)[:, None, None]
    v, d = np.linspace(-3.5, 3.5, 29)[:, None], np.linspace(-3.5, 3.5, 41)
    w = np.clip(logit(grid), 0, most) * (low + (high - low) * u) + spread * v
    weight = w + 0.7 * d, w - 0.7 * d
    q, given = chances(truth, pattern, codes, 0)
    joint = log_height(grid[:, 0, 0, 0], q, given, known, codes[:, 0], 2)[:, None, None, None]
    joint = joint + stats.norm.logpdf(v) + stats.norm.logpdf(d) + 0 * w
    hits = [0.0, 0.0]
    for chance, y, z in zip(q, codes[:, 0], known, strict=True):
        if z >= 0:
            hits[y] = hits[y] + (z == y)
            yes, no = np.log(chance) + weight[y], np.log1p(-chance)
            joint = joint + (yes if z == y else no) - np.logaddexp(yes, no)
        else:
            hits[y] = hits[y] + expit(logit(chance) + weight[y])
    height = np.exp(joint - joint.max())
    height /= height.sum()
    for y in range(2):
        mean = (height * weight[y]).sum()
        sd = np.sqrt((height * weight[y] ** 2).sum() - mean**2)
        assert kept["weight"][:, 0, y].mean() == pytest.approx(mean, abs=0.04)
        assert kept["weight"][:, 0, y].std() == pytest.approx(sd, rel=0.08)
        share = (height * hits[y]).sum() / 100
        assert kept["by_truth"][:, 0, 0, y].mean() == pytest.approx(share, abs=0.004)
    if some_known:  # its answer 0 is always right where the truth is known
        assert kept["weight"][:, 0, 0].mean() > kept["weight"][:, 0, 1].mean() + 0.5


def test_answers_to_items_alike_are_one_cell():
    codes = np.array([[2], [0], [2], [-1]])
    laid = true_labels.answers(np.array([0, 1, 0, 1]), codes, -1, np.array([1.0, 2.0]), 3)
    np.testing.assert_array_equal(laid.start, [0, 2])
    cells = sorted(zip(laid.pattern, laid.label, laid.n_items, strict=True))
    assert cells == [(0, 2, 2), (1, 0, 1)]


def hierarchy(right, total):
    """Return means and variances of shares (group, answer), summed over a grid.

    Shares are Beta(4 p_g, 4 (1 - p_g)), p_g is Beta(2 p, 2 (1 - p)), p is uniform; right answers
    (group, answer) are binomial.
    """
    edges = np.linspace(0.0, 1.0, 241)
    p = (edges[1:] + edges[:-1]) / 2
    # The density of p_g is unbounded at both ends: masses of cells, from the distribution function.
    mass = np.diff(stats.beta.cdf(edges, 2 * p[:, None], 2 * (1 - p[:, None])), axis=1)
    log_cell = stats.betabinom.logpmf(
        right[..., None], total[..., None], 4 * p, 4 * (1 - p)
    )  # (group, answer, p_g)
    of_group = np.exp(log_cell.sum(axis=1))  # (group, p_g)
    inside = of_group @ mass.T  # (group, p)
    mean, square = np.empty(right.shape), np.empty(right.shape)
    for g in range(len(right)):
        rest = np.delete(inside, g, axis=0).prod(axis=0)  # (p)
        weight = (rest[:, None] * mass * of_group[g]).sum(axis=0)  # (p_g)
        weight /= weight.sum()
        for y in range(right.shape[1]):
            a, b = 4 * p + right[g, y], 4 * (1 - p) + (total - right)[g, y]
            mean[g, y] = (weight * a / (a + b)).sum()
            square[g, y] = (weight * a * (a + 1) / ((a + b) * (a + b + 1))).sum()
    return mean, square - mean**2


@pytest.mark.parametrize("counts", ["some", "few", "none"])
def test_systems_are_right_without_labels_as_a_hierarchy_of_shares_has_it(counts):
    """All labelled items have a known truth; 3,000 others have one answer and one agreement."""
    n = {"some": 40, "few": 6, "none": 0}[counts]
    rng = np.random.default_rng(8)
    known = np.full(n + 3000, -1)
    known[:n] = rng.integers(2, size=n)
    item = np.arange(max(n, 1))  # at least one label of somebody
    label = rng.integers(2, size=len(item))
    result, pattern = votes(item, np.zeros_like(item), label, len(known), known)
    truth = rng.dirichlet(np.ones(2), len(result.n_items))
    code = np.where(rng.random(n) < 0.85, known[:n], 1 - known[:n])
    other = np.where(rng.random(n) < 0.7, code, 1 - code)
    codes = np.ones((len(known), 2), dtype=np.int64)
    codes[:n] = np.stack([code, other], axis=1)
    if counts == "none":
        codes[0] = -1  # the labelled item is not answered
    kept = judged(result, pattern, truth, codes, 6000)
    right, total = np.zeros((4, 2)), np.zeros((4, 2))
    for i in range(n):
        group = 3 if code[i] == other[i] else 0
        total[group, code[i]] += 1
        right[group, code[i]] += code[i] == known[i]
    mean, variance = (each[3, 1] for each in hierarchy(right, total))
    share = (kept["correct"][:, 0] * (codes[:, 0] >= 0).sum() - right.sum()) / (
        codes[n:, 0] >= 0
    ).sum()
    assert share.mean() == pytest.approx(mean, abs=0.015)
    noise = mean * (1 - mean) / 3000
    assert share.std() == pytest.approx(np.sqrt(variance + noise), rel=0.08)


@pytest.mark.long
def test_annotators_on_easier_items_without_labels_are_right_as_a_hierarchy_of_shares_has_it():
    """Two annotators had different items, all of known truth; shares by importance sampling."""
    rng = np.random.default_rng(5)
    n, n_all = 24, 60
    who = np.repeat([0, 1], n // 2)
    agree = np.concatenate([rng.random(n // 2) < 0.2, rng.random(n // 2) < 0.6,
                            rng.random(n_all - n) < 0.8])  # fmt: skip
    known = np.full(n_all, -1)
    known[:n] = 1
    label = (rng.random(n) < np.where(agree[:n], 0.9, 0.6)).astype(np.int64)
    actual, pattern = votes(np.arange(n), who, label, n_all, known)
    codes = np.stack([np.zeros(n_all, dtype=np.int64), 1 - agree], axis=1)
    rows = shares(actual, pattern, np.full((len(actual.n_items), 2), 0.5), 2, 20000, codes)

    total = np.bincount(agree[:n], minlength=2)
    right = np.bincount(agree[:n], label, minlength=2)
    top = rng.random((2_000_000, 1))
    share = rng.beta(2 * top, 2 * (1 - top), (len(top), 2))
    share = np.clip(share, 1e-9, 1 - 1e-9)
    weight = np.exp((right * np.log(share) + (total - right) * np.log1p(-share)).sum(axis=1))
    weight /= weight.sum()
    whole = share @ (np.bincount(agree, minlength=2) / n_all)
    for r in range(2):
        mine = who == r
        got, prior = label[mine].sum(), 4 * label.mean()
        own = rng.beta(got + prior, mine.sum() - got + 4 - prior, len(top))
        there = share @ (np.bincount(agree[:n][mine], minlength=2) / mine.sum())
        expected = expit(logit(own) + logit(whole) - logit(there))
        centre = weight @ expected
        assert rows[:, r].mean() == pytest.approx(centre, abs=0.005)
        assert rows[:, r].std() == pytest.approx(
            np.sqrt(weight @ (expected - centre) ** 2), rel=0.04
        )
        assert abs(centre - own.mean()) > 0.02
    bare = np.bincount(agree[n:], minlength=2)
    leading = label.sum() + (weight[:, None] * share).sum(axis=0) @ bare
    assert rows[:, 2].mean() == pytest.approx(leading / n_all, abs=0.004)


def test_items_without_labels_count_as_the_others_do_where_one_system_or_none_answered():
    item, who = np.repeat(np.arange(10), 3), np.tile(np.arange(3), 10)
    label = np.random.default_rng(9).integers(2, size=30)
    rows = []
    for n_items, n_systems in ((10, 1), (300, 1), (300, 0)):
        result, pattern = votes(item, who, label, n_items)
        truth = np.tile([0.9, 0.1], (len(result.n_items), 1))
        codes = np.ones((n_items, n_systems), dtype=np.int64)
        rows.append(shares(result, pattern, truth, 3, 2000, codes).mean(axis=0))
    np.testing.assert_allclose(rows[1], rows[2])
    np.testing.assert_allclose(rows[0], rows[1], atol=0.02)


def test_items_without_predictions_do_not_stand_for_those_on_which_systems_differ():
    """Labels are right on items that no system answered, and seldom where systems differ."""
    n, n_all = 40, 100
    known = np.full(n_all, -1)
    known[:n] = 1
    label = np.concatenate([np.ones(20), np.tile([1, 0, 0, 0], 5)]).astype(np.int64)
    actual, pattern = votes(np.arange(n), np.zeros(n, dtype=np.int64), label, n_all, known)
    codes = np.tile([0, 1], (n_all, 1))
    codes[:20] = -1
    rows = shares(actual, pattern, np.full((len(actual.n_items), 2), 0.5), 1, 4000, codes)
    expected = (20 * 1.0 + 80 * 0.25) / 100
    assert rows[:, 0].mean() == pytest.approx(expected, abs=0.05)
    assert rows[:, 1].mean() == pytest.approx(expected, abs=0.05)
