"""Parts of the Rasch model: settings, PyMC form, sampler, and fit."""
