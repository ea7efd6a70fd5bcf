"""One with a reliability, and without a module's name of its own in `MODEL`."""

from plugins import panel

from dissensus.models import Model

MODEL = Model("trusting", ("nominal",), "the panel, trusted more or less")
build = panel.build


def fit(annotations, *, reliability=2.0, smoothing=1.0, **options):
    return panel.fit(annotations, smoothing=smoothing / reliability, **options)
