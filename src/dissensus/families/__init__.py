"""A wing for each family of models: process, sampler, PyMC form, and kernels."""
