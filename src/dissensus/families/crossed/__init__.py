"""What the models of crossed effects share, and their cards need not show.

`process` checks annotations and settings, `priors` and `exactness` help it; `model` writes the
PyMC form part by part; `sampler` runs chains; `fit` gives draws their names.
"""
