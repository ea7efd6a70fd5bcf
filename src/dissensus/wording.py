"""The form of numbers and names in figures, reports and tables.

Shares and probabilities are written as .83, counts as 1,008. Names from the data are shortened,
and made safe to print.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

MINUS: Final = "\N{MINUS SIGN}"
ELLIPSIS: Final = "\N{HORIZONTAL ELLIPSIS}"
_TITLES: Final = {
    "top_1_accuracy": "agreement with the panel",
    "annotation_certainty": "annotation certainty",
    "average_overlap": "average overlap",
    "expected_risk": "expected risk",
    "kendall_tau": "Kendall's tau",
    "spearman_footrule": "Spearman's footrule",
    "rank_biased_overlap": "rank-biased overlap",
    "icc": "ICC",
    "annotator_icc": "annotator ICC",
    "f1": "F1",
    "xcc": "xCC",
    "normalized_xcc": "normalised xCC",
    "cross_kappa": "cross-replication kappa",
    "jaccard": "Jaccard similarity",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
}


def share(value: float, digits: int = 2) -> str:
    """Write a share, a probability or their mean: .83, 1.00, or n/a.

    Numbers of 10 or more, such as errors in the unit of the scores, have fewer decimals: one fewer
    for each digit before the point, except the first digit.

    >>> share(0.834), share(1), share(0), share(float("nan"))
    ('.83', '1.00', '.00', 'n/a')
    >>> share(12.345), share(412.3), share(50_000.4, 3)
    ('12.3', '412', '50,000')
    >>> share(-0.1) == MINUS + ".10"
    True
    """
    if not np.isfinite(value):
        return "n/a"
    before = max(len(f"{abs(value):.0f}") - 1, 0)
    text = f"{abs(value):,.{max(digits - before, 0)}f}"
    text = text.removeprefix("0") if abs(value) < 1 else text
    negative = value < 0 and float(text.replace(",", "")) != 0
    return MINUS + text if negative else text


def probability(value: float) -> str:
    """Write a probability estimated from draws: at most "> .99", at least "< .01".

    >>> probability(0.7), probability(1.0), probability(0.001)
    ('.70', '> .99', '< .01')
    """
    if value > 0.995:
        return "> .99"
    return "< .01" if value < 0.005 else share(value)


def spoken_probability(value: float) -> str:
    """Write a probability in the form for sentences.

    >>> spoken_probability(0.7), spoken_probability(1.0), spoken_probability(0.0)
    ('.70', 'above .99', 'below .01')
    """
    return probability(value).replace("> ", "above ").replace("< ", "below ")


def number(value: float) -> str:
    """Write a number such as a reliability without needless zeros.

    >>> number(1.0), number(0.5), number(30), number(1234567)
    ('1', '.5', '30', '1,234,567')
    """
    if not np.isfinite(value):
        return "n/a"
    text = f"{abs(value):,.0f}" if float(value).is_integer() else f"{abs(value):.4g}"
    text = text.removeprefix("0") if text.startswith("0.") else text
    return MINUS + text if value < 0 else text


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Write a count with its noun.

    >>> counted(1, "item"), counted(1008, "item"), counted(2, "diagnosis", "diagnoses")
    ('1 item', '1,008 items', '2 diagnoses')
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def left_out_note(count: int, noun: str, reason: str) -> str:
    """Write the note on rows that a table leaves out, or "" if it leaves out none.

    >>> left_out_note(1, "voter", "with fewer votes"), left_out_note(0, "voter", "with fewer votes")
    ('1 voter with fewer votes is left out.', '')
    """
    verb = "is" if count == 1 else "are"
    return f"{counted(count, noun)} {reason} {verb} left out." if count > 0 else ""


def digits_for(widths: Iterable[float]) -> int:
    """Return the decimals for intervals of these widths: 2, or 3 if one is below .05.

    >>> digits_for([0.2, 0.1]), digits_for([0.2, 0.03]), digits_for([])
    (2, 3, 2)
    """
    known = [width for width in widths if np.isfinite(width) and width > 0]
    return 2 if min(known, default=1.0) >= 0.05 else 3


def metric_title(name: str) -> str:
    """Write a metric's name in words.

    >>> metric_title("top_1_accuracy"), metric_title("top_2_set_accuracy")
    ('agreement with the panel', 'top-2 set accuracy')
    >>> metric_title("average_overlap_at_3"), metric_title("annotation_certainty_2")
    ('average overlap at depth 3', 'top-2 annotation certainty')
    """
    if name in _TITLES:
        return _TITLES[name]
    k, _, rest = name.removeprefix("top_").partition("_")
    if name.startswith("top_") and k.isdigit():
        return f"top-{k} {rest.replace('_', ' ')}"
    stem, _, last = name.rpartition("_")
    if stem == "annotation_certainty" and last.isdigit():
        return f"top-{last} annotation certainty"
    stem, separator, depth = name.partition("_at_")
    title = _TITLES.get(stem, stem.replace("_", " "))
    return f"{title} at depth {depth}" if separator else title


_COEFFICIENTS: Final = {
    "normalized_cross_kappa": "Normalised cross kappa",
    "percent_agreement": "Agreement of two annotators",
    "krippendorff_alpha": "Krippendorff's alpha",
    "cohen_kappa": "Cohen's kappa",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2, quadratic",
    "gwet_ac": "Gwet's AC1",
    "bennett_s": "Bennett's S",
    "leave_one_out_agreement": "Agreement with the other annotators",
}


_DISTANCES: Final = {"masi": "MASI distance", "jaccard": "Jaccard distance"}


def coefficient_title(name: str) -> str:
    """Write the name of a coefficient of agreement in words.

    >>> coefficient_title("krippendorff_alpha_ordinal"), coefficient_title("gwet_ac1")
    ("Krippendorff's alpha, ordinal", "Gwet's AC1")
    """
    for stem, title in _COEFFICIENTS.items():
        if name.startswith(stem):
            level = name.removeprefix(stem).removeprefix("_")
            return f"{title}, {_DISTANCES.get(level, level)}" if level else title
    return capital(name.replace("_", " "))


def capital(text: str) -> str:
    """Begin a text with a capital letter; all other letters are unchanged.

    >>> capital("top-1 accuracy of McNemar")
    'Top-1 accuracy of McNemar'
    """
    return text[:1].upper() + text[1:]


def clean(name: object) -> str:
    r"""Make a name from the data safe to show: no control characters, nothing that reorders text.

    >>> clean("two\nlines"), clean("x\u202ey") == "x\ufffdy", clean(7)
    ('two lines', True, '7')
    """
    text = str(name)
    if text.isascii() and text.isprintable():
        return text
    return "".join(_harmless(letter) for letter in text)


def _harmless(letter: str) -> str:
    if letter in "\n\r\t":
        return " "
    overrides = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    bad = letter in overrides or unicodedata.category(letter) in {"Cc", "Cs"}
    return "\N{REPLACEMENT CHARACTER}" if bad else letter


def short(name: object, width: int = 32) -> str:
    """Make a name safe to print, and cut it to a width.

    >>> short("a rather long name", 10)
    'a rather …'
    """
    text = clean(str(name)[: 4 * width])
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def short_names(names: Sequence[object], width: int = 32) -> list[str]:
    """Shorten names; different names stay different.

    Names that begin alike are cut in the middle, because models of a family differ at the end.

    >>> short_names(["system-one-a", "system-one-b", "system-one-c", "else"], 8)
    ['syst…e-a', 'syst…e-b', 'syst…e-c', 'else']
    >>> short_names(["a-long-box", "also-a-long-box", "a-longer-box"], 5)
    ['a-…ox', 'also…', 'a-…ox (2)']
    """
    texts = [short(name, width) for name in names]
    often = Counter(texts)
    texts = [
        _without_middle(clean(str(name)), width) if often[text] > 1 else text
        for name, text in zip(names, texts, strict=True)
    ]
    out: dict[str, None] = {}
    for text in texts:
        unique, count = text, 1
        while unique in out:
            count += 1
            unique = f"{text} ({count})"
        out[unique] = None
    return list(out)


def _without_middle(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    head = width // 2
    return text[:head] + ELLIPSIS + text[len(text) - (width - 1 - head) :]


def listed(names: Sequence[str], last: str = "and") -> str:
    """Join names with commas, and a word before the last name.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def interval_name(prob: float, kind: str) -> str:
    """Name an interval by its level and kind; the space before "%" does not break.

    >>> interval_name(0.89, "eti").replace("\N{NO-BREAK SPACE}", " ")
    '89 % equal-tailed interval'
    """
    name = {"eti": "equal-tailed", "hdi": "highest-density"}.get(kind, kind)
    return f"{percent(prob)} {name} interval"


def percent(prob: float) -> str:
    """Write the level of an interval.

    >>> percent(0.89).replace("\N{NO-BREAK SPACE}", " ")
    '89 %'
    """
    return f"{100 * prob:.4g}\N{NO-BREAK SPACE}%"
