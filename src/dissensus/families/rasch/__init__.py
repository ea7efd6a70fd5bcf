"""What the Rasch model's file puts together: settings, PyMC form, sampler, and the fit."""
